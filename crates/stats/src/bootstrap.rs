//! Percentiles over intervals, such as the throughput of the worst seconds, with a confidence interval from resampling.
//!
//! A percentile has no simple standard error. The moving-block bootstrap (Künsch 1989) draws whole blocks of
//! neighbours, longer than the autocorrelation reaches, until it has a series of the same length. It repeats this many
//! times; the spread of the percentile across the resampled series is its uncertainty.

use fastrand::Rng;

use crate::autocorrelation::integrated_time;
use crate::{Estimate, numbers};

/// Number of resampled series.
const DRAWS: usize = 1000;

/// The `quantile` (0 to 1) of per-interval values with its 95 % interval.
///
/// [`Estimate::mean`] is the percentile itself (interpolated between order statistics, type 7 of Hyndman and Fan 1996);
/// the interval runs from the 2.5th to the 97.5th percentile of 1000 resampled ones. The same seed gives the same
/// result. Use it for percentiles with at least five effective samples in the tail beyond them; with fewer, the
/// interval is too narrow to mean anything.
pub fn percentile(values: &[f64], quantile: f64, seed: u64) -> Estimate {
    let mut sorted = values.to_vec();
    let found = at(&mut sorted, quantile);
    let time = integrated_time(values);
    let n = values.len();
    let mut low = found;
    let mut high = found;
    if n >= 2 && numbers::variance(values) > 0.0 {
        // Blocks of several autocorrelation times keep most of the dependence; a third of the series leaves enough
        // blocks to choose from.
        let length = ((3.0 * time).max((n as f64).cbrt()).ceil() as usize).clamp(1, (n / 3).max(1));
        let mut rng = Rng::with_seed(seed);
        let mut drawn = Vec::with_capacity(n + length);
        let mut found: Vec<f64> = (0..DRAWS)
            .map(|_| {
                drawn.clear();
                while drawn.len() < n {
                    let from = rng.usize(0..=n - length);
                    drawn.extend_from_slice(&values[from..from + length]);
                }
                drawn.truncate(n);
                at(&mut drawn, quantile)
            })
            .collect();
        low = at(&mut found, 0.025);
        high = at(&mut found, 0.975);
    }
    Estimate {
        mean: found,
        low: low.min(found),
        high: high.max(found),
        deviation: numbers::variance(values).sqrt().min(f64::MAX),
        samples: n as u64,
        effective_samples: n as f64 / time,
        autocorrelation: time,
    }
}

/// The quantile of `values`, which it sorts.
fn at(values: &mut [f64], quantile: f64) -> f64 {
    let Some(last) = values.len().checked_sub(1) else {
        return 0.0;
    };
    values.sort_unstable_by(f64::total_cmp);
    let place = quantile.clamp(0.0, 1.0) * last as f64;
    let below = place.floor() as usize;
    let above = (below + 1).min(last);
    let part = place - below as f64;
    values[below] * (1.0 - part) + values[above] * part
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulation::Noise;

    #[test]
    fn by_hand() {
        assert_eq!(at(&mut [4.0, 1.0, 3.0, 2.0], 0.5), 2.5);
        assert_eq!(at(&mut [1.0, 2.0, 3.0, 4.0, 5.0], 0.75), 4.0);
        assert_eq!(at(&mut [], 0.5), 0.0);
        let constant = percentile(&[3.0; 20], 0.1, 1);
        assert_eq!((constant.mean, constant.low, constant.high), (3.0, 3.0, 3.0));
        assert_eq!(percentile(&[1.0, 5.0], 1.0, 1).mean, 5.0);
        let values: Vec<f64> = (0..100).map(f64::from).collect();
        assert_eq!(percentile(&values, 0.1, 7), percentile(&values, 0.1, 7));
    }

    #[test]
    fn the_interval_covers_the_tenth_percentile() {
        for rho in [0.0, 0.5] {
            let covered = (0..300u64)
                .filter(|&run| {
                    let mut noise = Noise::new(run, rho);
                    let values: Vec<f64> = (0..300).map(|_| noise.next()).collect();
                    let e = percentile(&values, 0.10, run);
                    e.low <= -1.281_55 && -1.281_55 <= e.high
                })
                .count();
            assert!((265..=297).contains(&covered), "rho {rho}: {covered} of 300");
        }
    }
}
