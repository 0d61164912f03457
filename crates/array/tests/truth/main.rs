//! Truth: what the engine measures of a target whose latency and bandwidth are programmed is what was programmed,
//! within 1 %.
//!
//! Why these tests are not flaky although they time real sockets on machines that do other things as well:
//!
//! * Whatever the machine adds (system calls, loopback, waking a thread) is microseconds, milliseconds on a machine
//!   that is overloaded; the programmed latency is 400 ms, so that 1 % of it is 4 ms.
//! * The latency that is compared is the median of hundreds of operations that are begun at even distances, so that
//!   they do not end in step. A pause of the machine, however long, moves the operations whose end it meets, and
//!   would have to meet half of them to move the median.
//! * An answer is due at its request's arrival plus its latency, by timers of nanoseconds; lateness is not summed up.
//! * The programmed bandwidth is a pipe in virtual time behind which 64 operations wait, more than 100 ms of work: a pause
//!   shorter than that leaves the pipe busy, and the bytes that are through after it are what they would have been.
//! * Throughput is what was acknowledged inside the exact window, divided by the window. Only the two borders of the
//!   window can be off by a pause, in a window of seconds.
//!
//! The runs take turns, so that they do not disturb each other.

#![allow(clippy::unwrap_used, reason = "a test may panic")]
#![allow(clippy::print_stdout, reason = "the figures are worth seeing with --nocapture")]

#[path = "../rest/http.rs"]
mod http;
mod nfs;
mod s3;

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use array::faults::{Latency, PathRule, Plan};
use drivers::{Driver, Payload, Sink};
use engine::{Control, Schedule, StagePlan, StageResult, StopRule, Workload, run_stage};
use metrics::OpKind;

/// How far a measured figure may be from the programmed one.
pub const TOLERANCE: f64 = 0.01;
/// The programmed latency of tests.
pub const LATENCY: Duration = Duration::from_millis(400);
/// How long latencies are measured for: 240 operations.
pub const LATENCY_WINDOW: Duration = Duration::from_secs(3);
/// Lets one run at a time have the machine.
pub fn alone() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Faults of every address: so much latency, so much bandwidth.
pub fn shaped(latency: Option<Latency>, bandwidth_bytes_per_s: Option<u64>) -> Plan {
    let rule = PathRule { latency, bandwidth_bytes_per_s, ..PathRule::default() };
    Plan { paths: vec![rule], ..Plan::default() }
}

/// Operations a second in tests of latency: fewer than the lanes can do.
pub const EVEN: Schedule = Schedule::Rate { ops_per_s: 80.0 };

/// Runs a workload with 64 lanes for so long.
pub fn measure<D: Driver>(
    driver: &D,
    workload: Workload,
    schedule: Schedule,
    window: Duration,
) -> StageResult {
    let plan = StagePlan {
        workers: 1,
        lanes_per_worker: 64,
        reactor: reactor::Choice::Auto,
        pin: false,
        // Longer than an operation takes, so that the pipe is full when the window begins.
        ramp: Duration::from_millis(700),
        window,
        drain: Duration::from_secs(10),
        interval: Duration::from_secs(1),
        schedule,
        stop: StopRule::Window,
        workload,
        payload: Payload::new(1),
        sink: Sink::Buffer,
        op_timeout: Duration::from_secs(30),
        connect_timeout: Duration::from_secs(10),
    };
    let result = run_stage(driver, &plan, &Control::new(), &mut |_| {}).unwrap();
    assert_eq!(result.total.failed(), 0, "{:?}", result.error_samples);
    result
}

/// Asserts that a figure is the programmed one.
#[track_caller]
pub fn assert_true(what: &str, measured: f64, programmed: f64) {
    let off = measured / programmed - 1.0;
    println!("{what}: {measured:.6} measured, {programmed:.6} programmed, {:+.3} %", off * 100.0);
    assert!(off.abs() <= TOLERANCE, "{what}: {measured} measured, {programmed} programmed");
}

/// A quantile of the latencies of one kind of operation, in seconds.
pub fn quantile(result: &StageResult, kind: OpKind, quantile: f64) -> f64 {
    let stats = result.total.op(kind).expect("operations of this kind");
    assert!(stats.ok >= 200, "only {} operations", stats.ok);
    stats.service.quantile_ns(quantile) as f64 / 1e9
}
