//! Running stages against a shaped target.

use std::time::Duration;

use array::FaultHandle;
use array::faults::{FaultPlan, LatencyDistribution, PathRule};
use drivers::{Driver, Payload, Sink};
use engine::{
    Control, DataSet, DataShape, Schedule, StageContext, StagePlan, StageResult, StageWorkload, StopRule,
    run_stage,
};
use metrics::OpKind;

const LANES: u32 = 64;

/// A protocol of the simulated array.
pub trait Target {
    /// Its driver.
    type Driver: Driver;
    /// The kind of its writes.
    const WRITE: OpKind;
    /// The kind of its reads.
    const READ: OpKind;

    /// A driver with a place of its own.
    fn driver(&self, place: &str) -> Self::Driver;
    /// The handle to the active faults.
    fn faults(&self) -> &FaultHandle;
    /// Files or objects for writes of this size; 16 writes fill a lane's share.
    fn shape(&self, write_bytes: u64) -> DataShape;
    /// Bytes per read: a block of a file, or whole objects.
    fn read_bytes(&self, write_bytes: u64) -> Option<u64>;
}

/// Faults of every address: this latency, this bandwidth.
pub fn shaped(latency: Option<LatencyDistribution>, bandwidth_bytes_per_s: Option<u64>) -> FaultPlan {
    let rule = PathRule { latency, bandwidth_bytes_per_s, ..PathRule::default() };
    FaultPlan { paths: vec![rule], ..FaultPlan::default() }
}

/// Runs a workload for this long, after a ramp that fills the pipe and completes every lane's first operation, which
/// needs an additional call to find its file.
pub fn measure(
    driver: &impl Driver,
    workload: StageWorkload,
    schedule: Schedule,
    window: Duration,
) -> StageResult {
    let ramp = Duration::from_secs(if schedule == Schedule::Closed { 1 } else { 3 });
    run(driver, workload, schedule, ramp, StopRule::Window, window)
}

/// Writes each lane's share once.
pub fn fill(driver: &impl Driver, shape: DataShape) -> DataSet {
    let workload = StageWorkload::Write { shape, limit_bytes: 16 * u64::from(LANES) * WRITE_MAX };
    let patience = Duration::from_secs(60);
    run(driver, workload, Schedule::Closed, Duration::ZERO, StopRule::Exhausted, patience).data_set
}

/// Maximum write, in bytes.
pub const WRITE_MAX: u64 = 128 << 10;

fn run(
    driver: &impl Driver,
    workload: StageWorkload,
    schedule: Schedule,
    ramp: Duration,
    stop: StopRule,
    window: Duration,
) -> StageResult {
    let plan = StagePlan {
        workers: 1,
        lanes_per_worker: LANES,
        reactor: reactor::BackendChoice::Auto,
        pin: false,
        ramp,
        window,
        drain: Duration::from_secs(10),
        interval: Duration::from_secs(1),
        schedule,
        stop,
        workload,
        payload: Payload::new(1),
        sink: Sink::Buffer,
        op_timeout: Duration::from_secs(30),
        connect_timeout: Duration::from_secs(10),
        error_limit: None,
        beside: StageContext::default(),
    };
    let result = run_stage(driver, &plan, &Control::new(), &mut |_| {}).unwrap();
    assert_eq!(result.total.failed(), 0, "{:?}", result.error_samples);
    result
}

/// A quantile of the latencies of one kind of operation, in seconds.
pub fn quantile(result: &StageResult, kind: OpKind, quantile: f64) -> f64 {
    let stats = result.total.op(kind).expect("operations of this kind");
    assert!(stats.ok >= 150, "only {} operations", stats.ok);
    stats.service.quantile_ns(quantile) as f64 / 1e9
}
