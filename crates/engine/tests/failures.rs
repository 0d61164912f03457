//! A stage that cannot run, is stopped, or has a defect ends soon and says why.

mod support;

use std::time::Duration;

use drivers::null::NullDriver;
use drivers::sim::{SimConfig, SimDriver};
use drivers::{Done, Driver, DriverError, Op, OpError, Session, SessionFacts, WorkerContext};
use engine::{Control, DataSet, Schedule, StageError, StagePlan, StageWorkload, VisitOrder, run_stage};
use metrics::ErrorKind;
use reactor::{Backend, BackendChoice, Reactor};
use support::{ms, plan, run};

/// Fails at a chosen point, in one worker of several.
#[derive(Clone, Copy, PartialEq)]
enum Defect {
    PanicInConnect,
    PanicInPerform,
    HangInConnect,
}

struct Defective(Defect);
struct DefectiveSession(Defect, u32, Reactor);

impl Driver for Defective {
    type Session = DefectiveSession;

    async fn connect(
        &self,
        reactor: &Reactor,
        context: &WorkerContext,
    ) -> Result<DefectiveSession, DriverError> {
        match self.0 {
            Defect::PanicInConnect if context.worker == 1 => panic!("no legs"),
            Defect::HangInConnect if context.worker == 1 => std::future::pending().await,
            _ => Ok(DefectiveSession(self.0, context.worker, reactor.clone())),
        }
    }
}

impl Session for DefectiveSession {
    async fn perform(&self, _: &Op) -> Result<Done, OpError> {
        assert!(!(self.0 == Defect::PanicInPerform && self.1 == 1), "out of {}", "cheese");
        self.2.sleep(ms(1)).await;
        Ok(Done::default())
    }

    fn facts(&self) -> SessionFacts {
        SessionFacts::default()
    }
}

fn three_workers() -> StagePlan {
    // Far longer than the test may take: it must end for a different reason.
    StagePlan { workers: 3, lanes_per_worker: 2, window: Duration::from_secs(3600), ..plan() }
}

fn fail<D: Driver>(driver: &D, plan: &StagePlan) -> StageError {
    run_stage(driver, plan, &Control::new(), &mut |_| {}).expect_err("this stage cannot succeed")
}

#[test]
fn a_panic_in_a_worker_is_an_error_and_ends_the_others() {
    for (defect, said) in [(Defect::PanicInConnect, "no legs"), (Defect::PanicInPerform, "out of cheese")] {
        match fail(&Defective(defect), &three_workers()) {
            StageError::Panicked { worker: 1, message } => assert_eq!(message, said),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_target_that_cannot_be_opened_is_an_error_with_its_cause() {
    let refusal = DriverError::new(ErrorKind::AccessDenied, "export /secret is not for 10.0.0.1");
    let driver = SimDriver::new(SimConfig { refuse: Some(refusal), ..SimConfig::default() });
    let error = fail(&driver, &three_workers());
    assert_eq!(error.to_string(), "export /secret is not for 10.0.0.1");
    assert!(matches!(error, StageError::Connect { error, .. } if error.kind == ErrorKind::AccessDenied));
}

#[test]
fn a_driver_that_hangs_while_connecting_is_cut_off() {
    let plan = StagePlan { connect_timeout: ms(50), ..three_workers() };
    match fail(&Defective(Defect::HangInConnect), &plan) {
        StageError::Connect { worker: 1, error } => assert_eq!(error.kind, ErrorKind::ConnectFailed),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_stop_ends_connecting() {
    let control = Control::new();
    let plan = StagePlan { connect_timeout: Duration::from_secs(3600), ..three_workers() };
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(ms(50));
            control.stop();
        });
        let ended = run_stage(&Defective(Defect::HangInConnect), &plan, &control, &mut |_| {});
        assert!(matches!(ended, Err(StageError::Stopped)), "{ended:?}");
    });
}

#[test]
fn a_stop_ends_a_stage_whose_lanes_all_hang() {
    let config = SimConfig { hang_from: Some(0), virtual_clock: false, ..SimConfig::default() };
    let control = Control::new();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(ms(100));
            control.stop();
        });
        let result = run_stage(&SimDriver::new(config), &three_workers(), &control, &mut |_| {}).unwrap();
        assert!(result.stopped && !result.exhausted);
        assert_eq!((result.total.ok(), result.in_flight_at_end, result.abandoned), (0, 6, 6));
        // By design the stop takes 60 ms; a busy machine may need longer.
        assert!(result.window_ns < 60_000_000_000, "{}", result.window_ns);
    });
    let again = run_stage(&NullDriver, &plan(), &control, &mut |_| {});
    assert!(matches!(again, Err(StageError::Stopped)), "a stopped control stays so");
}

#[test]
fn what_was_measured_before_a_stop_is_reported() {
    let config = SimConfig { virtual_clock: false, ..SimConfig::default() };
    let control = Control::new();
    let mut intervals = 0;
    let plan = StagePlan { interval: ms(20), ..three_workers() };
    let result = run_stage(&SimDriver::new(config), &plan, &control, &mut |_| {
        intervals += 1;
        if intervals == 3 {
            control.stop();
        }
    });
    let result = result.unwrap();
    assert!(result.stopped && result.total.ok() > 0 && intervals >= 3);
    assert_eq!(result.abandoned, 0, "a millisecond's operations end within the grace");
}

#[test]
fn plans_that_make_no_sense_are_refused() {
    let data_set = DataSet::default();
    let faulty = [
        StagePlan { workers: 0, ..plan() },
        StagePlan { lanes_per_worker: 0, ..plan() },
        StagePlan { lanes_per_worker: 65_536, ..plan() },
        StagePlan { window: Duration::ZERO, ..plan() },
        StagePlan { schedule: Schedule::rate(0.0), ..plan() },
        StagePlan { schedule: Schedule::rate(f64::NAN), ..plan() },
        StagePlan {
            workload: StageWorkload::Read { data_set, block_bytes: None, order: VisitOrder::Random },
            ..plan()
        },
    ];
    for plan in faulty {
        assert!(matches!(fail(&NullDriver, &plan), StageError::Plan(_)));
    }
}

#[test]
fn the_null_target_runs_on_every_reactor_in_real_time() {
    for choice in [BackendChoice::Auto, BackendChoice::Epoll] {
        let plan = StagePlan {
            workers: 2,
            lanes_per_worker: 32,
            reactor: choice,
            pin: true,
            // Long enough for even an overloaded machine to run each worker in both.
            ramp: ms(300),
            window: ms(500),
            interval: ms(100),
            ..plan()
        };
        let mut seen = 0;
        let result = run_stage(&NullDriver, &plan, &Control::new(), &mut |i| seen += i.ok()).unwrap();
        assert_eq!(result.window_ns, 500_000_000);
        assert!(result.total.ok() > 0 && result.before.ok > 0);
        assert_eq!((result.abandoned, result.total.failed()), (0, 0));
        assert!(result.in_flight_at_end <= 64);
        if result.unseen_intervals == 0 {
            assert_eq!(seen, result.total.ok());
        }
        assert_eq!(result.worker_cpu_ns.len(), 2);
        assert!(choice == BackendChoice::Auto || result.backend == Backend::Epoll);
    }
}

#[test]
fn a_slow_observer_loses_sight_but_not_counts() {
    let plan = StagePlan { window: ms(300), interval: ms(5), ..plan() };
    let mut seen = (0, 0);
    let result = run_stage(&NullDriver, &plan, &Control::new(), &mut |interval| {
        seen = (seen.0 + 1, seen.1 + interval.ok());
        std::thread::sleep(ms(50));
    });
    let result = result.unwrap();
    assert_eq!(seen.0 + result.unseen_intervals, 60);
    assert!(result.total.ok() >= seen.1);
}

#[test]
fn sessions_facts_are_added_up() {
    let driver = support::LogDriver::new(|_, _| None);
    assert_eq!(run(&driver, &three_workers_for_a_second()).facts.reconnects, 3);
}

fn three_workers_for_a_second() -> StagePlan {
    StagePlan { window: ms(1000), ..three_workers() }
}
