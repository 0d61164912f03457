//! Whether a figure rises or falls from run to run.

use serde::{Deserialize, Serialize};

use crate::Estimate;
use crate::compare::SIGNIFICANCE;
use crate::numbers::{Line, t_quantile, t_two_sided};

/// Minimum number of runs for a trend: a line through three leaves one degree of freedom.
const FEWEST: usize = 4;

/// How a figure changes from one run to the next, from a line through the logarithms of the means.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunTrend {
    /// Relative change from one run to the next: 0.01 is 1 % more in each.
    pub per_run: f64,
    /// Lower end of its 95 % confidence interval.
    pub low: f64,
    /// Upper end of its 95 % confidence interval.
    pub high: f64,
    /// Two-sided p-value against no trend.
    pub p_value: f64,
}

/// The trend of runs in chronological order; `None` for fewer than four, and if one has no positive figure.
///
/// The scatter around the line tells how much runs differ; it is never taken to be less than the runs' own intervals
/// allow.
pub fn run_trend(runs: &[Estimate]) -> Option<RunTrend> {
    if runs.len() < FEWEST || runs.iter().any(|run| run.mean <= 0.0 || !run.mean.is_finite()) {
        return None;
    }
    let values: Vec<f64> = runs.iter().map(|run| run.mean.ln()).collect();
    let line = Line::even(&values)?;
    let n = runs.len() as f64;
    let rest = values.iter().enumerate().map(|(at, value)| (value - line.at(at as f64)).powi(2)).sum::<f64>();
    let own = runs.iter().map(|run| (run.standard_error() / run.mean).powi(2)).sum::<f64>() / n;
    let freedom = n - 2.0;
    let error = ((rest / freedom).max(own) / line.spread).sqrt();
    let half = t_quantile(1.0 - SIGNIFICANCE / 2.0, freedom) * error;
    Some(RunTrend {
        per_run: line.slope.exp_m1(),
        low: (line.slope - half).exp_m1(),
        high: (line.slope + half).exp_m1(),
        p_value: if error > 0.0 {
            t_two_sided(line.slope / error, freedom)
        } else {
            f64::from(line.slope == 0.0)
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulation::Noise;

    fn runs(level: impl Fn(f64) -> f64, count: u32, scatter: f64, seed: u64) -> Vec<Estimate> {
        let mut noise = Noise::new(seed, 0.0);
        let run = |mean: f64| Estimate {
            mean,
            low: mean,
            high: mean,
            deviation: 0.01 * mean,
            samples: 60,
            effective_samples: 60.0,
            autocorrelation: 1.0,
        };
        (0..count).map(|n| run(level(f64::from(n)) * (1.0 + scatter * noise.next()))).collect()
    }

    #[test]
    fn a_line_by_hand() {
        // ln 100, ln 99, ln 98.01, ln 97.0299: exactly −1 % per run; the error comes from the runs' own 1 % of 60
        // samples.
        let found = run_trend(&runs(|n| 100.0 * 0.99f64.powf(n), 4, 0.0, 1)).unwrap();
        assert!((found.per_run + 0.01).abs() < 1e-12);
        let error = 0.01 / 60f64.sqrt() / 5f64.sqrt();
        let half = 4.302_65 * error;
        assert!((found.low - (0.99f64.ln() - half).exp_m1()).abs() < 1e-6, "{found:?}");
        assert!((found.high - (0.99f64.ln() + half).exp_m1()).abs() < 1e-6, "{found:?}");
    }

    #[test]
    fn too_few_and_impossible_runs_have_none() {
        assert_eq!(run_trend(&runs(|_| 100.0, 3, 0.0, 1)), None);
        assert_eq!(run_trend(&runs(|n| 1.0 - n, 5, 0.0, 1)), None);
    }

    /// Ten nightly runs that vary by 1 %: 95 of 100 show no trend; −1 % per run is nearly always detected.
    #[test]
    fn a_trend_is_seen_and_noise_is_none() {
        let seen = |level: fn(f64) -> f64| {
            (0..400).filter(|seed| run_trend(&runs(level, 10, 0.01, *seed)).unwrap().p_value < 0.05).count()
        };
        assert!(seen(|_| 100.0) <= 32, "{}", seen(|_| 100.0));
        assert!(seen(|n| 100.0 * 0.99f64.powf(n)) >= 396);
    }
}
