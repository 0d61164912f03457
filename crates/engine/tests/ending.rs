//! Stages that end early, by decision or because of errors: at exactly the announced point, on all workers.

#![allow(clippy::unwrap_used)] // a test may fail loudly

mod support;

use drivers::null::NullDriver;
use drivers::sim::{SimConfig, SimDriver, SimLatency};
use engine::{Control, Schedule, StagePlan, StageResult, run_stage};
use metrics::{ErrorKind, Interval};
use support::{LogDriver, MS, ms, plan, run, simulate_intervals};

fn random() -> SimConfig {
    SimConfig { seed: 6, latency: SimLatency::Exponential(3 * MS), ..SimConfig::default() }
}

fn three_workers() -> StagePlan {
    StagePlan { workers: 3, lanes_per_worker: 4, ramp: ms(700), window: ms(60_000), ..plan() }
}

/// Runs a stage, and calls `decide` with the control and each interval.
fn run_deciding(
    config: SimConfig,
    plan: &StagePlan,
    control: &Control,
    mut decide: impl FnMut(&Control, &Interval),
) -> (StageResult, Vec<Interval>) {
    let mut seen = Vec::new();
    let result = run_stage(&SimDriver::new(config), plan, control, &mut |interval| {
        seen.push(interval.clone());
        decide(control, interval);
    });
    (result.unwrap(), seen)
}

#[test]
fn a_window_that_is_ended_is_as_if_it_had_been_planned_so() {
    // At the low rate a start is due at the very moment at which the window turns out to have ended.
    for schedule in [Schedule::Closed, Schedule::rate(2500.0), Schedule::rate(10.0)] {
        let short = StagePlan { window: ms(7000), schedule: schedule.clone(), ..three_workers() };
        let (planned, planned_intervals) = simulate_intervals(random(), &short);
        let long = StagePlan { schedule, ..three_workers() };
        for _ in 0..3 {
            let (ended, intervals) = run_deciding(random(), &long, &Control::new(), |control, interval| {
                if interval.index == 6 {
                    control.finish_after(6);
                }
            });
            assert!(intervals == planned_intervals);
            assert_eq!((ended.window_ns, ended.stopped, ended.exhausted), (7000 * MS, false, false));
            assert_eq!(
                (&ended.total, ended.before, ended.after),
                (&planned.total, planned.before, planned.after)
            );
            assert_eq!((ended.in_flight_at_end, ended.offered), (planned.in_flight_at_end, planned.offered));
            assert_eq!(ended.abandoned, 0);
        }
    }
}

#[test]
fn a_later_end_can_be_named_and_an_earlier_one_is_the_next() {
    let run = |at: u32, named: u32| {
        let (result, intervals) =
            run_deciding(random(), &three_workers(), &Control::new(), |control, interval| {
                if interval.index == at {
                    control.finish_after(named);
                }
            });
        assert_eq!(result.window_ns, intervals.len() as u64 * 1000 * MS);
        intervals.len()
    };
    assert_eq!(run(2, 9), 10);
    assert_eq!(run(5, 1), 6, "interval 1 is over: the one that was just seen is the last");
    assert_eq!(run(0, 1000), 60, "an end beyond the plan's is no end");
}

#[test]
fn a_decision_is_for_one_stage() {
    let control = Control::new();
    let (first, _) = run_deciding(random(), &three_workers(), &control, |control, _| control.finish_after(3));
    assert_eq!(first.window_ns, 4000 * MS);
    let (second, _) = run_deciding(random(), &three_workers(), &control, |_, _| ());
    assert_eq!(second.window_ns, 60_000 * MS);
}

#[test]
fn in_real_time_all_workers_end_with_the_same_interval() {
    let plan = StagePlan {
        workers: 3,
        lanes_per_worker: 4,
        ramp: ms(20),
        window: ms(600_000),
        interval: ms(30),
        ..plan()
    };
    let control = Control::new();
    let mut seen = Vec::new();
    let result = run_stage(&NullDriver, &plan, &control, &mut |interval| {
        seen.push(interval.index);
        if interval.index == 2 {
            control.finish_after(4);
        }
    })
    .unwrap();
    // The fifth interval, or a later one on a slow machine; the same for all workers.
    assert!(result.window_ns >= 150 * MS && result.window_ns.is_multiple_of(30 * MS), "{}", result.window_ns);
    assert!(result.window_ns < 600_000 * MS && !result.stopped);
    if result.unseen_intervals == 0 {
        assert_eq!(seen, (0..(result.window_ns / (30 * MS)) as u32).collect::<Vec<_>>());
    }
}

#[test]
fn the_error_that_is_one_too_many_is_the_last() {
    let driver = LogDriver::new(|number, _| number.is_multiple_of(3).then_some(ErrorKind::Busy));
    let result = run(&driver, &StagePlan { error_limit: Some(5), ..plan() });
    // Out of operations 0, 3, 6, 9 and 12; each takes a millisecond.
    assert_eq!((result.total.failed(), result.total.ok()), (5, 8));
    assert_eq!((result.error_limit_reached, result.stopped, result.in_flight_at_end), (true, false, 0));
    assert_eq!(result.window_ns, 13 * MS + 1, "up to and with the last error");
    let result = run(&driver, &StagePlan { error_limit: Some(1_000_000), window: ms(100), ..plan() });
    assert!(!result.error_limit_reached && result.total.failed() > 5);
}

#[test]
fn on_virtual_clocks_all_workers_end_with_the_interval_of_the_error() {
    let config = || SimConfig { errors: vec![(100, ErrorKind::ServerFault)], ..random() };
    let plan = StagePlan { error_limit: Some(200), ..three_workers() };
    let (first, intervals) = simulate_intervals(config(), &plan);
    let failed: Vec<u64> = intervals.iter().map(|interval| interval.failed()).collect();
    assert!(first.error_limit_reached && failed.iter().sum::<u64>() >= 200);
    assert!(failed[..failed.len() - 1].iter().sum::<u64>() < 200, "{failed:?}");
    assert_eq!(first.window_ns, intervals.len() as u64 * 1000 * MS);
    let (again, _) = simulate_intervals(config(), &plan);
    assert_eq!((first.total, first.after), (again.total, again.after));
}

#[test]
fn lanes_that_wait_for_a_far_start_do_not_hold_up_an_early_end() {
    // In real time: one start every 1000 s, and an hour for operations in flight; without the early end this hangs.
    let plan = StagePlan {
        schedule: Schedule::rate(0.001),
        lanes_per_worker: 3,
        window: ms(100_000_000),
        drain: ms(3_600_000),
        interval: ms(20),
        ..plan()
    };
    let config = SimConfig { virtual_clock: false, ..SimConfig::default() };
    let (ended, _) = run_deciding(config, &plan, &Control::new(), |control, interval| {
        control.finish_after(interval.index + 1);
    });
    assert_eq!((ended.offered, ended.missed_starts, ended.total.ok() + ended.after.ok), (1, 0, 1));
}

#[test]
fn in_real_time_errors_of_all_workers_count_together() {
    let config =
        SimConfig { errors: vec![(1, ErrorKind::ServerFault)], virtual_clock: false, ..SimConfig::default() };
    let plan = StagePlan { error_limit: Some(30), workers: 3, window: ms(600_000), ..plan() };
    let (result, _) = simulate_intervals(config, &plan);
    // Each worker alone would take longer; operations in flight when the limit is reached may fail as well.
    let failed = result.total.failed() + result.after.failed;
    assert!((30..40).contains(&failed) && result.error_limit_reached, "{failed}");
    assert!(result.window_ns < 600_000 * MS);
}
