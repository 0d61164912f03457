//! fio's `steadystate`: one number over the last seconds.
//!
//! As fio documents it: `iops_slope:0.3%` requires the least-squares slope per interval to be below 0.3 % of the mean,
//! `iops:2%` requires every value to be within 2 % of the mean. It evaluates after every interval once the window is
//! full.

use super::{Look, floor_criteria};
use crate::history::{Counts, History};
use crate::numbers::{Line, mean, share};
use crate::{Criterion, CriterionUnit, Floors, Window};

/// The rule's parameters.
pub(crate) struct Demand<'a> {
    pub metric: &'a str,
    pub slope: bool,
    pub limit: f64,
    pub window_s: f64,
}

/// The largest deviation from the mean, relative to it.
pub(crate) fn deviation(values: &[f64]) -> f64 {
    let mean = mean(values);
    share(values.iter().fold(0.0f64, |a, v| a.max((v - mean).abs())), mean)
}

/// The magnitude of the slope per interval, relative to the mean.
pub(crate) fn slope(values: &[f64]) -> f64 {
    share(Line::even(values).map_or(0.0, |line| line.slope.abs()), mean(values))
}

pub(crate) fn look(demand: &Demand<'_>, floors: &Floors, history: &History) -> Look {
    let mut criteria = floor_criteria(floors, history);
    let n = history.grid.len();
    let mut covered = 0.0;
    let mut from = n;
    while from > 0 && covered < demand.window_s * 0.999 {
        from -= 1;
        covered += history.seconds[from];
    }
    let full = covered >= demand.window_s * 0.999 && n - from >= 2;
    let (name, unit) = ("the window is full", CriterionUnit::Seconds);
    criteria.push(Criterion { met: full, ..Criterion::at_least(name, covered, demand.window_s, unit) });
    let values = values(demand.metric, history, from);
    let (value, what) = match demand.slope {
        true => (slope(&values), "slope per interval"),
        false => (deviation(&values), "largest distance from the mean"),
    };
    criteria.push(Criterion {
        name: format!("{}: {what}", demand.metric),
        value,
        limit: demand.limit,
        at_most: true,
        met: value < demand.limit,
        unit: CriterionUnit::Share,
    });
    let reached = criteria.iter().all(|c| c.met);
    let window =
        Window { first: history.grid.first(from.min(n.saturating_sub(1))), end: history.everything().end };
    let reason = match reached {
        true => format!(
            "steady by fio's rule: {} {what} {:.3} % over {covered:.0} s",
            demand.metric,
            value * 100.0
        ),
        false => format!("no steady state by fio's rule: {}", super::misses(&criteria)),
    };
    Look { reached, reason, window: Some(window), criteria, ..Look::default() }
}

/// The values of the window that begins at point `from`, over all operations together, as fio sums reads, writes and
/// trims; latency is the mean over all.
fn values(metric: &str, history: &History, from: usize) -> Vec<f64> {
    let sum = |pick: fn(&Counts) -> &Vec<f64>| {
        let mut sums = vec![0.0; history.grid.len() - from];
        for counts in &history.counts {
            sums.iter_mut().zip(&pick(counts)[from..]).for_each(|(sum, v)| *sum += v);
        }
        sums
    };
    let ratio = |a: Vec<f64>, b: &[f64]| -> Vec<f64> {
        a.iter().zip(b).map(|(a, b)| if *b > 0.0 { a / b } else { 0.0 }).collect()
    };
    match metric {
        "bw" => ratio(sum(|c| &c.bytes), &history.seconds[from..]),
        "lat" => ratio(sum(|c| &c.waited), &sum(|c| &c.ok)),
        _ => ratio(sum(|c| &c.ok), &history.seconds[from..]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_criteria_by_hand() {
        // 9 10 11 10: mean 10, furthest 1; slope (−1.5·9 −0.5·10 + 0.5·11 + 1.5·10)/5 = 0.4.
        assert!((deviation(&[9.0, 10.0, 11.0, 10.0]) - 0.1).abs() < 1e-12);
        assert!((slope(&[9.0, 10.0, 11.0, 10.0]) - 0.04).abs() < 1e-12);
        assert_eq!((slope(&[5.0]), deviation(&[0.0, 0.0])), (0.0, 0.0));
    }
}
