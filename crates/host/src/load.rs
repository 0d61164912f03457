//! From a cell of the plan to what the engine is asked to do.

use std::time::Duration;

use drivers::Payload;
use experiment::{Arrivals, Cell, ErrorPolicy, Prepare, RateFrom, RateStep, SteadyRule, TargetKind};
use metrics::OpKind;

/// How long operations in flight are waited for once a measurement is over.
pub const DRAIN: Duration = Duration::from_secs(10);
/// Bytes of one operation that fills or verifies.
const LARGE_BLOCK: u64 = 1 << 20;
/// Bytes of one that verifies at least, where the file has this many.
const MIN_BLOCK: u64 = 64 << 10;
/// Longer than anything is filled or verified.
pub const WITHOUT_LIMIT: Duration = Duration::from_secs(400 * 24 * 3600);

/// Length of the intervals, in seconds: a second, or less where the measurement is short, so that there are enough
/// of them for the rule to judge by.
pub fn interval_s(measured_s: f64) -> f64 {
    let wanted = measured_s / 120.0;
    if wanted >= 1.0 {
        return 1.0;
    }
    // Tenths of a second, which people can add up; below 12 seconds a tenth.
    ((wanted * 10.0).ceil() / 10.0).clamp(0.1, 1.0).min(measured_s)
}

/// Seconds that a measurement lasts at most.
pub fn limit_s(cell: &Cell) -> f64 {
    match cell.steady {
        // What ends by itself does so when it has done its amount; its time is the longest that it may take.
        SteadyRule::None if !cell.workload.ends_by_itself() => cell.stages.measure_at_least_s,
        _ => cell.stages.measure_at_most_s.max(cell.stages.measure_at_least_s),
    }
}

/// Whether the load changes the content of the data set.
pub fn writes(cell: &Cell) -> bool {
    cell.workload.does(OpKind::changes_data)
}

/// Whether a device that this cell loads is written to, to prepare it or by the load.
pub fn changes_device(cell: &Cell) -> bool {
    writes(cell) || matches!(cell.stages.prepare, Prepare::Fill | Prepare::FillAlways)
}

/// Whether anything is made or written on a target of this kind: a place of our own, what prepares it, or the load's data.
pub fn changes_target(cell: &Cell, kind: &TargetKind) -> bool {
    if kind.device { changes_device(cell) } else { writes(cell) || cell.stages.prepare != Prepare::Keep }
}

/// Whether the load makes or removes files or objects, so that the set of them is another afterwards.
pub fn makes_or_removes(cell: &Cell) -> bool {
    cell.workload.does(OpKind::makes_or_removes)
}

/// Whether anything is compared with what was written.
pub fn verifies(cell: &Cell) -> bool {
    cell.workload.verifies() || cell.stages.verify
}

/// The payload of a cell: the same in each run of the same experiment, so that data that was kept can be verified.
pub fn payload(cell: &Cell, seed: u64) -> Payload {
    Payload::new(seed).with(cell.workload.compressible(), cell.workload.dedupe())
}

/// Errors that end a cell's measurement.
pub fn error_limit(policy: ErrorPolicy) -> Option<u64> {
    match policy {
        ErrorPolicy::Continue => None,
        ErrorPolicy::Stop => Some(1),
        ErrorPolicy::StopCellAfter(count) => Some(count.max(1)),
    }
}

/// Bytes of one operation that verifies what a cell left: small enough to say where something is wrong, large enough
/// to get through.
pub fn verify_block(cell: &Cell, item_bytes: u64) -> u64 {
    let largest = cell.workload.block_sizes().iter().map(|size| size.bytes).max().unwrap_or(0);
    largest.clamp(MIN_BLOCK, LARGE_BLOCK).min(item_bytes).max(1)
}

/// Bytes of one operation that goes over data in files of this size.
pub fn large_block(item_bytes: u64) -> u64 {
    LARGE_BLOCK.min(item_bytes).max(1)
}

/// This many seconds; what cannot be said is without limit.
pub fn duration(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds).unwrap_or(WITHOUT_LIMIT)
}

/// The share of one of this many hosts in a rate that they keep together.
pub fn share(arrivals: &Arrivals, hosts: usize) -> Arrivals {
    let part = |rate: f64| rate / hosts as f64;
    match arrivals {
        Arrivals::Closed => Arrivals::Closed,
        Arrivals::Constant { ops_per_s } => Arrivals::Constant { ops_per_s: part(*ops_per_s) },
        Arrivals::Poisson { ops_per_s } => Arrivals::Poisson { ops_per_s: part(*ops_per_s) },
        Arrivals::Ramp { from_ops_per_s, to_ops_per_s, over_s } => Arrivals::Ramp {
            from_ops_per_s: part(*from_ops_per_s),
            to_ops_per_s: part(*to_ops_per_s),
            over_s: *over_s,
        },
        Arrivals::Steps { steps } => Arrivals::Steps {
            steps: steps.iter().map(|step| RateStep { ops_per_s: part(step.ops_per_s), ..*step }).collect(),
        },
        Arrivals::Times { times } => Arrivals::Times {
            times: times.iter().map(|from| RateFrom { ops_per_s: part(from.ops_per_s), ..*from }).collect(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_short_enough_to_judge_by_and_long_enough_to_count_in() {
        for (measured, expected) in
            [(0.05, 0.05), (1.0, 0.1), (12.0, 0.1), (30.0, 0.3), (60.0, 0.5), (120.0, 1.0), (3600.0, 1.0)]
        {
            assert!((interval_s(measured) - expected).abs() < 1e-9, "{measured}: {}", interval_s(measured));
        }
    }

    #[test]
    fn a_rate_is_divided_evenly() {
        assert_eq!(
            share(&Arrivals::Constant { ops_per_s: 100.0 }, 4),
            Arrivals::Constant { ops_per_s: 25.0 }
        );
        let ramp = Arrivals::Ramp { from_ops_per_s: 10.0, to_ops_per_s: 30.0, over_s: 5.0 };
        let half = Arrivals::Ramp { from_ops_per_s: 5.0, to_ops_per_s: 15.0, over_s: 5.0 };
        assert_eq!(share(&ramp, 2), half);
        assert_eq!(share(&Arrivals::Closed, 9), Arrivals::Closed);
    }
}
