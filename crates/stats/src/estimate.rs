//! A mean with its confidence interval, from autocorrelated values.

use crate::autocorrelation::integrated_time;
use crate::numbers::{mean, t_quantile, variance};
use crate::{Estimate, Window};

/// The mean of `values` with its 95 % confidence interval.
///
/// `values` belong to consecutive intervals. They count as `samples / autocorrelation` effective samples, and the
/// interval is `mean ± t(0.975, effective − 1) · deviation / √effective`. A single value, or values that are all equal,
/// give an interval of zero width; `effective_samples` tells how much they are worth. No values give zeros. Finite
/// values give finite results.
pub fn estimate(values: &[f64]) -> Estimate {
    estimate_with(values, 1.0)
}

/// Like [`estimate`], with an autocorrelation time of at least `least`, as found in a longer stretch of the same
/// series.
pub(crate) fn estimate_with(values: &[f64], least: f64) -> Estimate {
    let largest = values.iter().fold(0.0f64, |a, v| a.max(v.abs()));
    let samples = values.len() as u64;
    let n = values.len() as f64;
    // Squares of very large or very small values would leave the floating-point range.
    let (scaled, scale): (Vec<f64>, f64) = match largest.is_normal() && !(1e-100..1e100).contains(&largest) {
        true => (values.iter().map(|v| v / largest).collect(), largest),
        false => (values.to_vec(), 1.0),
    };
    let centre = mean(&scaled);
    let mut spread = variance(&scaled);
    // Equal values differ from their own mean by rounding; that is not noise.
    if spread.sqrt() <= 1e-13 * centre.abs() {
        spread = 0.0;
    }
    let time = match spread > 0.0 {
        true => integrated_time(&scaled).max(least).min((n / 2.0).max(1.0)),
        false => 1.0,
    };
    let effective = n / time;
    let half =
        if spread > 0.0 { t_quantile(0.975, effective - 1.0) * (spread / effective).sqrt() } else { 0.0 };
    let store = |v: f64| (v * scale).clamp(-f64::MAX, f64::MAX);
    Estimate {
        mean: store(centre),
        low: store(centre - half),
        high: store(centre + half),
        deviation: store(spread.sqrt()),
        samples,
        effective_samples: effective,
        autocorrelation: time,
    }
}

/// The mean of independent repetitions with its 95 % confidence interval by Student's t.
pub fn estimate_of_repetitions(values: &[f64]) -> Estimate {
    let samples = values.len() as f64;
    let (centre, spread) = (mean(values), variance(values));
    let half =
        if values.len() > 1 { t_quantile(0.975, samples - 1.0) * (spread / samples).sqrt() } else { 0.0 };
    Estimate {
        mean: centre,
        low: centre - half,
        high: centre + half,
        deviation: spread.sqrt(),
        samples: values.len() as u64,
        effective_samples: samples,
        autocorrelation: 1.0,
    }
}

impl Estimate {
    /// Half the width of the interval, relative to the mean; 0 when nothing varies.
    pub fn relative_half_width(&self) -> f64 {
        crate::numbers::share(0.5 * self.high - 0.5 * self.low, self.mean)
    }

    /// The standard error of the mean.
    pub fn standard_error(&self) -> f64 {
        if self.effective_samples > 0.0 { self.deviation / self.effective_samples.sqrt() } else { 0.0 }
    }
}

impl Window {
    /// How many intervals it spans.
    pub fn len(&self) -> u32 {
        self.end.saturating_sub(self.first)
    }

    /// How many intervals it shares with another window.
    pub fn shared_with(&self, other: Window) -> u32 {
        self.end.min(other.end).saturating_sub(self.first.max(other.first))
    }

    /// Whether it spans none.
    pub fn is_empty(&self) -> bool {
        self.end <= self.first
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulation::Noise;

    #[test]
    fn three_values_by_hand() {
        // 1 2 3: mean 2, deviation 1, too few to see dependence: 2 ± t(0.975, 2) / √3 = 2 ± 4.3027 · 0.57735.
        let e = estimate(&[1.0, 2.0, 3.0]);
        assert_eq!((e.mean, e.deviation, e.samples, e.effective_samples), (2.0, 1.0, 3, 3.0));
        assert!((e.high - (2.0 + 2.484_14)).abs() < 1e-4 && (e.low - (2.0 - 2.484_14)).abs() < 1e-4);
        assert!((e.standard_error() - 1.0 / 3f64.sqrt()).abs() < 1e-12);
    }

    #[test]
    fn no_spread_gives_no_width_and_full_worth() {
        let e = estimate(&[0.1 + 0.2; 77]);
        assert_eq!((e.low, e.high, e.deviation), (e.mean, e.mean, 0.0));
        assert_eq!((e.effective_samples, e.autocorrelation), (77.0, 1.0));
        assert_eq!(e.relative_half_width(), 0.0);
        let one = estimate(&[5.0]);
        assert_eq!((one.mean, one.low, one.high, one.effective_samples), (5.0, 5.0, 5.0, 1.0));
        assert_eq!(estimate(&[]).mean, 0.0);
    }

    /// The interval keeps its promise: it covers the true mean in about 95 of 100 cases.
    #[test]
    fn the_interval_covers_the_truth() {
        for rho in [0.0, 0.3, 0.5, 0.7, 0.9] {
            let n = (45.0 * (1.0 + rho) / (1.0 - rho)) as usize;
            let covered = (0..1000u64)
                .filter(|&run| {
                    let mut noise = Noise::new(run, rho);
                    let values: Vec<f64> = (0..n).map(|_| 100.0 + 5.0 * noise.next()).collect();
                    let e = estimate(&values);
                    e.low <= 100.0 && 100.0 <= e.high
                })
                .count();
            assert!((920..=980).contains(&covered), "rho {rho}: {covered} of 1000");
        }
    }
}
