//! How far a series moves over a window, and the largest movement that it does not rule out.
//!
//! "The slope is not significant" only says that there was too little data to see one. Here the burden of proof is
//! reversed (two one-sided tests, Schuirmann 1987): the drift counts as small when its whole 90 % interval lies within
//! the limits, that is when `|drift| + t(0.95) · standard error` does not exceed the limit.

use crate::autocorrelation::integrated_time;
use crate::numbers::{Line, mean, share, t_quantile, variance};

/// The drift over a window, relative to the window's mean.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Drift {
    /// Change of the fitted line between the window's first and last value.
    pub change: f64,
    /// Upper 95 % bound on the magnitude of the change.
    pub bound: f64,
}

/// The drift over the last `window` of `values`.
///
/// The line is fitted to all of `values`, the stretch since the warm-up cut, which ends with the window: twice the span
/// gives the slope almost three times as precisely. The change is stated for the window's length. `least` is a lower
/// limit on the autocorrelation time.
pub(crate) fn over_window(values: &[f64], window: usize, least: f64) -> Drift {
    let window = window.min(values.len());
    let level = mean(&values[values.len() - window..]);
    let Some(line) = Line::even(values) else {
        return Drift { change: 0.0, bound: 0.0 };
    };
    let span = window.saturating_sub(1) as f64;
    let rest: Vec<f64> = values.iter().enumerate().map(|(i, v)| v - line.at(i as f64)).collect();
    let n = values.len() as f64;
    // Two fitted parameters.
    let noise = variance(&rest) * (n - 1.0) / (n - 2.0).max(1.0);
    let change = line.slope * span;
    if noise.sqrt() <= 1e-13 * level.abs() {
        return Drift { change: share(change, level), bound: share(change.abs(), level) };
    }
    let time = integrated_time(&rest).max(least).min((n / 2.0).max(1.0));
    let error = (noise * time / line.spread).sqrt() * span;
    let freedom = n / time - 2.0;
    Drift {
        change: share(change, level),
        bound: share(change.abs() + t_quantile(0.95, freedom) * error, level),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulation::Noise;

    #[test]
    fn a_straight_line_drifts_by_its_rise() {
        // 100 to 110 in 11 values: mean 105, change 10/105, no noise.
        let values: Vec<f64> = (0..11).map(|i| 100.0 + f64::from(i)).collect();
        let drift = over_window(&values, 11, 1.0);
        assert!((drift.change - 10.0 / 105.0).abs() < 1e-9 && (drift.bound - 10.0 / 105.0).abs() < 1e-9);
        // Its last six values: 105 to 110, mean 107.5.
        let half = over_window(&values, 6, 1.0);
        assert!((half.change - 5.0 / 107.5).abs() < 1e-9);
    }

    #[test]
    fn the_bound_by_hand() {
        // 9 11 9 11 around 10: x centred −1.5 … 1.5, Sxx 5, Sxy 2·0.5 − … = (−1.5)(−1)+(−.5)(1)+(.5)(−1)+(1.5)(1) = 2,
        // slope 0.4, change 1.2. Residual squares: 4 − 0.4·2 = 3.2, /2 = 1.6; error = √(1.6/5)·3 = 1.6971;
        // time 1 (alternating), freedom 2: t(0.95, 2) = 2.92; bound (1.2 + 4.9554)/10.
        let drift = over_window(&[9.0, 11.0, 9.0, 11.0], 4, 1.0);
        assert!((drift.change - 0.12).abs() < 1e-12);
        assert!((drift.bound - 0.615_5).abs() < 1e-3, "{}", drift.bound);
    }

    #[test]
    fn constants_and_single_values_do_not_drift() {
        for values in [&[5.0; 40][..], &[5.0], &[], &[0.0; 9]] {
            assert_eq!(over_window(values, values.len(), 1.0), Drift { change: 0.0, bound: 0.0 });
        }
    }

    /// The bound keeps its promise: the true drift exceeds it in about 5 of 100 cases.
    #[test]
    fn the_bound_holds() {
        let broken = (0..1000u64)
            .filter(|&run| {
                let mut noise = Noise::new(run, 0.5);
                let values: Vec<f64> =
                    (0..200).map(|i| 100.0 + 0.06 * f64::from(i) + 3.0 * noise.next()).collect();
                let truth = 0.06 * 99.0 / (100.0 + 0.06 * 149.5);
                over_window(&values, 100, 1.0).bound < truth
            })
            .count();
        assert!((20..=90).contains(&broken), "{broken} of 1000");
    }
}
