//! `StorPerf`'s rule, for comparison with its results, but computed from per-interval values, not running averages.
//!
//! Ten samples of 60 s; bandwidth, operations per second and mean latency of reads and of writes must each have a range
//! of at most 20 % of the average and a slope of at most 10 % of it *per sample*. The formulas are in
//! [`crate::storperf`]. The slope test is weak: four or more samples within the range cannot fail it.

use super::{Look, floor_criteria};
use crate::history::History;
use crate::numbers::share;
use crate::series::Series;
use crate::storperf::{RANGE_LIMIT, SLOPE_LIMIT, average, is_steady, range, slope};
use crate::{Criterion, CriterionUnit, Floors, Window};

pub(crate) fn look(sample_s: f64, samples: u32, floors: &Floors, history: &History) -> Look {
    let rounds = history.rounds(sample_s);
    let count = samples as usize;
    let mut criteria = floor_criteria(floors, history);
    let (value, limit) = (rounds.len() as f64, f64::from(samples));
    criteria.push(Criterion::at_least("samples", value, limit, CriterionUnit::Count));
    let from = rounds.len().saturating_sub(count);
    let mut steady = true;
    let mut worst_range: Option<(f64, String)> = None;
    let mut worst_slope: Option<(f64, String)> = None;
    for series in tracked(history) {
        let values = history.per_round(&series, &rounds);
        let points: Vec<(f64, f64)> =
            values.iter().enumerate().skip(from).map(|(i, v)| ((i + 1) as f64, *v)).collect();
        steady &= is_steady(&points, count);
        let mean = average(&points).unwrap_or(0.0);
        let largest = |worst: &mut Option<(f64, String)>, value: f64| {
            if worst.as_ref().is_none_or(|(w, _)| value > *w) {
                *worst = Some((value, series.name()));
            }
        };
        largest(&mut worst_range, share(range(&points).unwrap_or(0.0), mean));
        largest(&mut worst_slope, share(slope(&points).unwrap_or(0.0).abs(), mean));
    }
    for (worst, what, limit) in [
        (worst_range, "range, largest", RANGE_LIMIT),
        (worst_slope, "slope per sample, largest", SLOPE_LIMIT),
    ] {
        if let Some((value, series)) = worst {
            let name = format!("{what}: {series}");
            let met = value <= limit * (1.0 + 1e-12);
            criteria.push(Criterion { name, value, limit, at_most: true, met, unit: CriterionUnit::Share });
        }
    }
    let reached = steady && criteria.iter().all(|c| c.met);
    let window = match rounds.get(from..) {
        Some([first, .., last]) => {
            Window { first: history.grid.first(first.start), end: history.grid.end(last.end - 1) }
        }
        _ => history.everything(),
    };
    let reason = match reached {
        true => format!("steady by StorPerf's rule over the last {count} samples of {sample_s} s"),
        false => format!("no steady state by StorPerf's rule: {}", super::misses(&criteria)),
    };
    Look { reached, reason, window: Some(window), criteria, ..Look::default() }
}

/// Bandwidth, operations per second and mean latency of operations that read and of those that write; of every
/// operation if neither occurs, which never happens in `StorPerf`.
fn tracked(history: &History) -> Vec<Series<'_>> {
    let any = history.counts.iter().any(|c| c.kind.moves_bytes());
    let mut all = history.throughput();
    all.extend(history.mean_latencies());
    all.retain(|s| s.op.is_some_and(|op| !any || op.moves_bytes()));
    all
}
