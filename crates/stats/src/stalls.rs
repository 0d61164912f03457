//! Stalls: moments in which next to nothing moved, between moments in which data did.
//!
//! They are neither a warm-up nor another level, and rare ones are easily missed: if a stall occurs every five minutes,
//! a window of one minute sees it one time in five. They are therefore detected over the whole measurement, left out of
//! level detection, and counted.

use std::borrow::Cow;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::numbers::{median, poisson_bound, share};

/// A second below this share of the median counts as stalled.
const STALLED: f64 = 0.5;
/// Anything longer than this, in seconds, is a level.
const LONGEST_S: f64 = 30.0;

/// Stalls of total throughput over a whole measurement.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stalls {
    /// Number of stalls.
    pub count: u32,
    /// Their total duration, in seconds.
    pub seconds: f64,
    /// Duration of the longest, in seconds.
    pub longest_s: f64,
    /// Number of stalls in the reported window.
    pub in_window: u32,
    /// Expected number in a window of that length if they were spread evenly over the measurement.
    pub expected_in_window: f64,
    /// Their cost over the whole measurement, as a share of the throughput without them.
    pub cost: f64,
    /// Cost of those in the window, as a share of the window's throughput without them; the figures include it.
    pub window_cost: f64,
}

impl Stalls {
    /// Upper 95 % bound on the long-run share of time lost to stalls, estimated from a window of `window_s` seconds.
    pub(crate) fn share_bound(&self, window_s: f64) -> f64 {
        let each = share(self.seconds, f64::from(self.count));
        share(poisson_bound(f64::from(self.in_window)) * each, window_s)
    }
}

/// The points of each stall, in order. Drops at the start or end of the series do not count: they may be a warm-up or a
/// cliff.
pub(crate) fn find(values: &[f64], seconds: &[f64]) -> Vec<Range<usize>> {
    let limit = STALLED * median(&mut values.to_vec());
    let mut found = Vec::new();
    let mut from = None;
    for (at, value) in values.iter().enumerate() {
        match (*value < limit, from) {
            (true, None) if at > 0 => from = Some(at),
            (false, Some(first)) => {
                if seconds[first..at].iter().sum::<f64>() <= LONGEST_S && values[first - 1] >= limit {
                    found.push(first..at);
                }
                from = None;
            }
            _ => {}
        }
    }
    found
}

/// The series without stalls: each stalled point is replaced by the mean of the points on either side of its stall.
pub(crate) fn without<'v>(values: &'v [f64], stalls: &[Range<usize>]) -> Cow<'v, [f64]> {
    let mut values = Cow::Borrowed(values);
    for stall in stalls {
        let between = f64::midpoint(values[stall.start - 1], values[stall.end]);
        values.to_mut()[stall.clone()].fill(between);
    }
    values
}

/// Summarises the stalls of a series, and those within its points `window`. `None` without any.
pub(crate) fn sum_up(
    values: &[f64],
    seconds: &[f64],
    stalls: &[Range<usize>],
    window: Range<usize>,
) -> Option<Stalls> {
    let undisturbed = without(values, stalls);
    let length = |points: Range<usize>| seconds[points].iter().sum::<f64>();
    let lasted: Vec<f64> = stalls.iter().map(|stall| length(stall.clone())).collect();
    let inside = |stall: &&Range<usize>| stall.start < window.end && stall.end > window.start;
    let moved = |values: &[f64], points: Range<usize>| {
        values[points.clone()].iter().zip(&seconds[points]).map(|(rate, seconds)| rate * seconds).sum::<f64>()
    };
    let cost = |points: Range<usize>| {
        let full = moved(&undisturbed, points.clone());
        if full > 0.0 { 1.0 - moved(values, points) / full } else { 0.0 }
    };
    let whole = 0..values.len();
    (!stalls.is_empty()).then(|| Stalls {
        count: u32::try_from(stalls.len()).unwrap_or(u32::MAX),
        seconds: lasted.iter().sum(),
        longest_s: lasted.iter().copied().fold(0.0, f64::max),
        in_window: u32::try_from(stalls.iter().filter(inside).count()).unwrap_or(u32::MAX),
        expected_in_window: stalls.len() as f64 * length(window.clone()) / length(whole.clone()),
        cost: cost(whole),
        window_cost: cost(window.clone()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stall_lies_between_levels_and_is_short() {
        let mut values = [100.0; 200];
        values[..4].fill(1.0);
        values[50..52].fill(0.0);
        values[90] = 49.0;
        values[120..155].fill(10.0);
        values[198..].fill(0.0);
        let seconds = [1.0; 200];
        let found = find(&values, &seconds);
        assert_eq!(found, [50..52, 90..91]);
        let patched = without(&values, &found);
        assert_eq!((patched[51], patched[90], patched[130]), (100.0, 100.0, 10.0));
        let stalls = sum_up(&values, &seconds, &found, 60..110).unwrap();
        assert_eq!((stalls.count, stalls.seconds, stalls.longest_s, stalls.in_window), (2, 3.0, 2.0, 1));
        assert!((stalls.expected_in_window - 0.5).abs() < 1e-12);
        assert!((stalls.window_cost - 51.0 / 5000.0).abs() < 1e-12, "{}", stalls.window_cost);
        assert_eq!(sum_up(&values, &seconds, &[], 60..110), None);
    }

    #[test]
    fn nothing_stalls_where_nothing_moves() {
        assert!(find(&[0.0; 50], &[1.0; 50]).is_empty());
        assert!(find(&[], &[]).is_empty());
    }
}
