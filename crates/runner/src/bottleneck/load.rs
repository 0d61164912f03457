//! Describes what a stage did in the form that `stats::limit` expects.

use engine::StageResult;
use metrics::OpKind;
use stats::limit::{ObservedLoad, TargetMedium};

/// The requested load.
#[derive(Clone, Copy, Debug)]
pub struct RequestedLoad {
    /// The kind of medium behind the target.
    pub kind: TargetMedium,
    /// Maximum operations in flight.
    pub lanes: f64,
    /// Operations start on a schedule, not when a lane becomes free.
    pub open: bool,
    /// The workload leaves lanes idle itself.
    pub paced: bool,
    /// Other cells are measured at the same time.
    pub concurrent: bool,
}

/// The load that was observed over the measured window.
pub fn load(result: &StageResult, asked: &RequestedLoad) -> ObservedLoad {
    let seconds = result.window_ns as f64 / 1e9;
    let per_second = |count: u64| if seconds > 0.0 { count as f64 / seconds } else { 0.0 };
    let all = result.total.all_ops();
    let ended = (all.ok + all.failed()).max(1) as f64;
    let time = |nanos: u64| nanos as f64 / 1e9;
    let moved = |way: fn(OpKind) -> bool| {
        let ops = result.total.ops.iter().filter(|(kind, _)| way(*kind));
        per_second(ops.map(|(_, stats)| stats.bytes).sum())
    };
    let missed = (result.shed + result.missed_starts) as f64;
    ObservedLoad {
        kind: asked.kind,
        seconds,
        lanes: asked.lanes,
        ops_per_s: per_second(all.ok),
        bytes_per_s: per_second(result.total.bytes()),
        read_bytes_per_s: moved(OpKind::reads),
        written_bytes_per_s: moved(OpKind::writes),
        latency_s: all.service.mean_ns() / 1e9,
        median_s: time(all.service.quantile_ns(0.5)),
        p99_s: time(all.service.quantile_ns(0.99)),
        failed: all.failed() as f64 / ended,
        unanswered: result.abandoned,
        offered_ops_per_s: asked.open.then(|| per_second(result.offered)),
        not_started: if asked.open { missed / (result.offered.max(1) as f64) } else { 0.0 },
        paced: asked.paced,
        concurrent: asked.concurrent,
        place: None,
    }
}
