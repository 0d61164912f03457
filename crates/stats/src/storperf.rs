//! The formulas of `StorPerf` (OPNFV), as users know them from its reports.
//!
//! Points are (sample number, value). The formulas reproduce the acceptance vectors in
//! `tests/data/storperf-vectors.json`; where the original loses digits (timestamps as x), the exact result is given.

use crate::numbers::Line;

/// Largest range, relative to the average.
pub const RANGE_LIMIT: f64 = 0.20;
/// Largest slope per sample, relative to the average.
pub const SLOPE_LIMIT: f64 = 0.10;

/// Slope of the least-squares line; `None` without points or when all x are equal.
pub fn slope(points: &[(f64, f64)]) -> Option<f64> {
    Line::fit(points.iter().copied()).map(|line| line.slope)
}

/// Maximum minus minimum value; `None` without points.
pub fn range(points: &[(f64, f64)]) -> Option<f64> {
    let values: Vec<f64> = points.iter().map(|p| p.1).collect();
    crate::numbers::range(&values)
}

/// Mean value; `None` without points.
pub fn average(points: &[(f64, f64)]) -> Option<f64> {
    match points.len() {
        0 => None,
        n => Some(points.iter().map(|p| p.1).sum::<f64>() / n as f64),
    }
}

/// At least `samples` points, a range of at most 20 % and a slope per sample of at most 10 % of the average; both
/// inclusive.
pub fn is_steady(points: &[(f64, f64)], samples: usize) -> bool {
    match (slope(points), range(points), average(points)) {
        (Some(slope), Some(range), Some(average)) if points.len() >= samples => {
            range.abs() <= RANGE_LIMIT * average.abs() && slope.abs() <= SLOPE_LIMIT * average.abs()
        }
        _ => false,
    }
}

/// How far the fitted line moves from the smallest to the largest x: what the SNIA PTS limits to 10 % of the average
/// instead of the slope per sample.
pub fn fit_excursion(points: &[(f64, f64)]) -> Option<f64> {
    let x: Vec<f64> = points.iter().map(|p| p.0).collect();
    Some(slope(points)?.abs() * crate::numbers::range(&x)?)
}

/// The line as `StorPerf` draws it: by position, so that with gaps in x it is not the fitted line.
pub fn series_slope(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let (Some(slope), Some(average)) = (slope(points), average(points)) else {
        return Vec::new();
    };
    let middle = (points.len() as f64 - 1.0) / 2.0;
    points.iter().enumerate().map(|(i, (x, _))| (*x, average + slope * (i as f64 - middle))).collect()
}

/// The lower edge of its band: 80 % of the average at each x.
pub fn series_min(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    band(points, 1.0 - RANGE_LIMIT)
}

/// The upper edge of its band: 120 % of the average at each x.
pub fn series_max(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    band(points, 1.0 + RANGE_LIMIT)
}

fn band(points: &[(f64, f64)], factor: f64) -> Vec<(f64, f64)> {
    let average = average(points).unwrap_or(0.0);
    points.iter().map(|(x, _)| (*x, average * factor)).collect()
}

/// The number of a sample: minutes since the start, halves to even.
pub fn sample_number(time_s: f64, start_s: f64) -> i64 {
    ((time_s - start_s) / 60.0).round_ties_even() as i64
}
