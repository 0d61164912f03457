//! The number of effective samples in a series.
//!
//! The variance of the mean of n correlated values is not s²/n but s²·tau/n, where the integrated autocorrelation time
//! tau is `1 + 2 Σ rho(k)`. It is estimated with Geyer's initial monotone sequence (Geyer 1992, "Practical Markov chain
//! Monte Carlo", section 3.3): autocorrelations are added in pairs, each pair no larger than the one before, until a
//! pair is not positive. Plain sample autocovariances are biased low by the variance of the sample mean that was
//! subtracted, which makes short series look more certain than they are. That variance is the unknown, so it is added
//! back and the equation is solved by iteration.
//! `docs/steady-state.md` compares the estimator with batch means, doubling and others in simulations.

use crate::numbers::{mean, variance};

/// Longer series are averaged in batches first, which does not change the variance of the mean.
const LONGEST: usize = 4096;

/// The integrated autocorrelation time of `values` in units of their spacing: at least 1, at most half their number.
pub(crate) fn integrated_time(values: &[f64]) -> f64 {
    let n = values.len();
    let spread = variance(values);
    if n < 4 || spread <= 0.0 {
        return 1.0;
    }
    let batch = n.div_ceil(LONGEST);
    let long_run = if batch == 1 {
        long_run_variance(values)
    } else {
        let means: Vec<f64> = values.chunks_exact(batch).map(mean).collect();
        batch as f64 * long_run_variance(&means)
    };
    let time = long_run / spread;
    if time.is_finite() { time.clamp(1.0, n as f64 / 2.0) } else { 1.0 }
}

/// n times the variance of the mean of n values, for large n.
fn long_run_variance(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    let centre = mean(values);
    let centred: Vec<f64> = values.iter().map(|v| v - centre).collect();
    let mut lags = Lags { centred: &centred, known: Vec::new() };
    let plain = lags.get(0);
    let mut time: f64 = 1.0;
    let mut total = plain;
    // Each round adds the variance of the mean implied by the previous one; it converges within a few.
    for _ in 0..10 {
        let of_mean = plain * time / n;
        total = plain + of_mean;
        let next = monotone_sum(&mut lags, of_mean, total).clamp(1.0, n / 2.0);
        let settled = (next - time).abs() < 1e-6 * time;
        time = next;
        if settled {
            break;
        }
    }
    total * time
}

/// `1 + 2 Σ rho(k)` over the pairs that are positive and non-increasing.
fn monotone_sum(lags: &mut Lags<'_>, of_mean: f64, total: f64) -> f64 {
    let mut sum = -1.0;
    let mut last = f64::INFINITY;
    let mut k = 0;
    while k + 1 < lags.centred.len() / 2 {
        let pair = (lags.get(k) + lags.get(k + 1) + 2.0 * of_mean) / total;
        if pair.is_nan() || pair <= 0.0 {
            break;
        }
        last = last.min(pair);
        sum += 2.0 * last;
        k += 2;
    }
    sum
}

/// Autocovariances, each computed once and only on demand.
struct Lags<'a> {
    centred: &'a [f64],
    known: Vec<f64>,
}

impl Lags<'_> {
    /// At lag `k`, divided by the number of pairs.
    fn get(&mut self, k: usize) -> f64 {
        while self.known.len() <= k {
            let lag = self.known.len();
            let pairs = self.centred.len() - lag;
            let sum: f64 = self.centred.iter().zip(&self.centred[lag..]).map(|(a, b)| a * b).sum();
            self.known.push(sum / pairs as f64);
        }
        self.known[k]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulation::Noise;

    #[test]
    fn constant_and_short_series_are_independent() {
        assert_eq!(integrated_time(&[3.0; 50]), 1.0);
        assert_eq!(integrated_time(&[]), 1.0);
        assert_eq!(integrated_time(&[1.0, 2.0, 3.0]), 1.0);
    }

    #[test]
    fn a_long_first_order_series_has_its_theoretical_time() {
        for (rho, tau) in [(0.0, 1.0), (0.5, 3.0), (0.9, 19.0)] {
            let mut noise = Noise::new(3, rho);
            let values: Vec<f64> = (0..60_000).map(|_| noise.next()).collect();
            let found = integrated_time(&values);
            assert!((found / tau - 1.0).abs() < 0.2, "rho {rho}: {found} instead of {tau}");
        }
    }

    #[test]
    fn six_values_by_hand() {
        // 0 0 0 1 1 1: centred at 1/2 all squares are 1/4. Lags by pairs: c0 1/4, c1 3/20, and only k = 0 is used
        // (6/2 = 3 lags at most). First round: 1/24 of the mean is added to each.
        // Fixed point of t = 2 (c0 + c1 + 2 c0 t/6) / (c0 (1 + t/6)) - 1, capped at n/2 = 3:
        // t = 2 (1.6 + t/3)/(1 + t/6) - 1  =>  t²/6 + t/2 - 2.2 = 0  =>  t = 2.4301.
        let time: f64 = (-0.5 + (0.25 + 4.0 * 2.2 / 6.0f64).sqrt()) * 3.0;
        let long_run = 0.25 * (1.0 + time / 6.0) * time;
        let expected = (long_run / 0.3).min(3.0);
        assert!((integrated_time(&[0.0, 0.0, 0.0, 1.0, 1.0, 1.0]) - expected).abs() < 1e-4);
    }
}
