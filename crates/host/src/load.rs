//! Translates a cell of the plan into the engine's terms.

use std::time::Duration;

use drivers::Payload;
use experiment::{Arrivals, Cell, ErrorPolicy, Prepare, RateFrom, RateStep, SteadyRule, TargetKind};

/// Maximum wait for operations in flight after a measurement.
pub const DRAIN: Duration = Duration::from_secs(10);
/// Bytes per operation when filling or verifying.
const LARGE_BLOCK: u64 = 1 << 20;
/// Minimum bytes per operation when verifying, if the file is that large.
const MIN_BLOCK: u64 = 64 << 10;
/// Longer than any filling or verification takes.
pub const WITHOUT_LIMIT: Duration = Duration::from_secs(400 * 24 * 3600);

/// Length of the intervals, in seconds: one second, or less for a short measurement, so that the rule has enough of
/// them.
pub fn interval_s(measured_s: f64) -> f64 {
    let wanted = measured_s / 120.0;
    if wanted >= 1.0 {
        return 1.0;
    }
    // Tenths of a second, which people can add up; below 12 seconds one tenth.
    ((wanted * 10.0).ceil() / 10.0).clamp(0.1, 1.0).min(measured_s)
}

/// Maximum duration of a measurement, in seconds.
pub fn limit_s(cell: &Cell) -> f64 {
    match cell.steady {
        // A load that ends by itself does so when its amount of work is done; its time is an upper limit.
        SteadyRule::None if !cell.workload.ends_by_itself() => cell.stages.measure_at_least_s,
        _ => cell.stages.measure_at_most_s.max(cell.stages.measure_at_least_s),
    }
}

/// Whether the load changes the content of the data set.
pub fn writes(cell: &Cell) -> bool {
    cell.workload.changes_data()
}

/// Whether this cell writes to a device that it loads, in preparation or by the load.
pub fn changes_device(cell: &Cell) -> bool {
    writes(cell) || matches!(cell.stages.prepare, Prepare::Fill | Prepare::FillAlways)
}

/// Whether anything is created or written on a target of this kind: our own place, the preparation, or the load's data.
pub fn changes_target(cell: &Cell, kind: &TargetKind) -> bool {
    if kind.device { changes_device(cell) } else { writes(cell) || cell.stages.prepare != Prepare::Keep }
}

/// Whether the load creates or removes files or objects of the run's own, and so changes the set of them. Those of a pass
/// are the user's.
pub fn makes_or_removes(cell: &Cell) -> bool {
    cell.workload.pass().is_none() && cell.workload.makes_or_removes()
}

/// Whether read data is compared with what was written.
pub fn verifies(cell: &Cell) -> bool {
    cell.workload.verifies() || cell.stages.verify
}

/// The payload of a cell: the same in every run of an experiment, so that kept data can be verified.
pub fn payload(cell: &Cell, seed: u64) -> Payload {
    Payload::new(seed).with(cell.workload.compressible(), cell.workload.dedupe())
}

/// Number of errors that ends a cell's measurement.
pub fn error_limit(policy: ErrorPolicy) -> Option<u64> {
    match policy {
        ErrorPolicy::Continue => None,
        ErrorPolicy::Stop => Some(1),
        ErrorPolicy::StopCellAfter(count) => Some(count.max(1)),
    }
}

/// Bytes per operation when verifying what a cell left: small enough to locate an error, large enough to finish.
pub fn verify_block(cell: &Cell, item_bytes: u64) -> u64 {
    let largest = cell.workload.block_sizes().iter().map(|size| size.bytes).max().unwrap_or(0);
    largest.clamp(MIN_BLOCK, LARGE_BLOCK).min(item_bytes).max(1)
}

/// Bytes per operation for a full pass over files of this size.
pub fn large_block(item_bytes: u64) -> u64 {
    LARGE_BLOCK.min(item_bytes).max(1)
}

/// This many seconds; unlimited if the number cannot be represented.
pub fn duration(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds).unwrap_or(WITHOUT_LIMIT)
}

/// One host's share of a rate that this many hosts generate together.
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
