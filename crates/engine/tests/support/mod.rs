//! Plans, and a target on a virtual clock that logs the operations it receives and answers according to a function.
#![allow(dead_code, clippy::unwrap_used, reason = "a test helper of which each file uses a part")]

pub mod jobs;
pub mod memory;

use std::cell::Cell;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use drivers::sim::{SimConfig, SimDriver};
use drivers::{Done, Driver, DriverError, Op, OpError, Payload, Session, SessionFacts, Sink, WorkerContext};
use engine::{Control, Schedule, StageContext, StagePlan, StageResult, StageWorkload, StopRule, run_stage};
use metrics::{ErrorKind, Interval, OpKind};
use reactor::Reactor;

pub const MS: u64 = 1_000_000;

pub fn ms(count: u64) -> Duration {
    Duration::from_millis(count)
}

/// One lane that reads 4 KiB for ten seconds, in a closed loop without a ramp.
pub fn plan() -> StagePlan {
    StagePlan {
        workers: 1,
        lanes_per_worker: 1,
        reactor: reactor::BackendChoice::Auto,
        pin: false,
        ramp: Duration::ZERO,
        window: ms(10_000),
        drain: ms(1000),
        interval: ms(1000),
        schedule: Schedule::Closed,
        stop: StopRule::Window,
        workload: StageWorkload::Repeat { kind: OpKind::Read, bytes: 4096 },
        payload: Payload::new(1),
        sink: Sink::Buffer,
        op_timeout: ms(5000),
        connect_timeout: ms(2000),
        error_limit: None,
        beside: StageContext::default(),
    }
}

pub fn run<D: Driver>(driver: &D, plan: &StagePlan) -> StageResult {
    run_stage(driver, plan, &Control::new(), &mut |_| {}).unwrap()
}

/// Runs against the scripted target.
pub fn simulate(config: SimConfig, plan: &StagePlan) -> StageResult {
    run(&SimDriver::new(config), plan)
}

/// Runs against the scripted target, keeping the intervals.
pub fn simulate_intervals(config: SimConfig, plan: &StagePlan) -> (StageResult, Vec<Interval>) {
    let mut seen = Vec::new();
    let driver = SimDriver::new(config);
    let result = run_stage(&driver, plan, &Control::new(), &mut |interval| seen.push(interval.clone()));
    (result.unwrap(), seen)
}

/// Successful operations of a kind inside the window.
pub fn ok(result: &StageResult, kind: OpKind) -> u64 {
    result.total.op(kind).map_or(0, |stats| stats.ok)
}

/// Asserts that a measured latency is the expected one within the histogram's resolution.
#[track_caller]
pub fn assert_ns(measured: u64, expected: u64) {
    assert!(measured.abs_diff(expected) * 1000 <= expected, "{measured} ns instead of {expected} ns");
}

type Answer = dyn Fn(u64, &Op) -> Option<ErrorKind> + Send + Sync;

/// Answers each operation after a millisecond with the result of a function of its number and content.
#[derive(Clone)]
pub struct LogDriver {
    answer: Arc<Answer>,
    log: Arc<Mutex<Vec<Op>>>,
}

pub struct LogSession {
    driver: LogDriver,
    reactor: Reactor,
    number: Cell<u64>,
}

impl LogDriver {
    pub fn new(answer: impl Fn(u64, &Op) -> Option<ErrorKind> + Send + Sync + 'static) -> Self {
        Self { answer: Arc::new(answer), log: Arc::default() }
    }

    /// The operations received, with workers and lanes interleaved in order of arrival.
    pub fn asked(&self) -> Vec<Op> {
        self.log.lock().unwrap().clone()
    }
}

impl Driver for LogDriver {
    type Session = LogSession;

    fn virtual_clock(&self) -> bool {
        true
    }

    async fn connect(&self, reactor: &Reactor, _: &WorkerContext) -> Result<LogSession, DriverError> {
        Ok(LogSession { driver: self.clone(), reactor: reactor.clone(), number: Cell::new(0) })
    }
}

impl Session for LogSession {
    async fn perform(&self, op: &Op) -> Result<Done, OpError> {
        let number = self.number.replace(self.number.get() + 1);
        self.driver.log.lock().unwrap().push(*op);
        self.reactor.sleep(ms(1)).await;
        match (self.driver.answer)(number, op) {
            Some(kind) => Err(OpError::new(kind, "scripted")),
            None => Ok(Done { bytes: op.payload_bytes(), rpcs: 1, ..Done::default() }),
        }
    }

    fn facts(&self) -> SessionFacts {
        SessionFacts { reconnects: 1, ..SessionFacts::default() }
    }
}
