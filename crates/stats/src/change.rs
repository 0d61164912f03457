//! Where the level of a series changes: PELT with squared-error cost.
//!
//! Killick, Fearnhead and Eckley 2012, "Optimal detection of changepoints with a linear computational cost". The best
//! segmentation into stretches of constant level has the smallest squared error plus a penalty per cut. The penalty
//! decides how much evidence a change needs. For independent noise it is `2 σ² ln n` (BIC, Yao 1988); autocorrelated
//! noise wanders and would be mistaken for changes, so σ² is replaced by the long-run variance (Romano, Rigaill, Runge
//! and Fearnhead 2021 on autocorrelated noise). That is estimated from medians of differences between neighbours, which
//! a few jumps cannot move.

use crate::numbers::{mean, median};

/// Minimum number of values in a stretch.
pub(crate) const SHORTEST: usize = 5;
/// Longer series are averaged in batches first: without any change, the work grows with the square of the length.
const LONGEST: usize = 1024;
/// Penalty in units of `long-run variance · ln n`. BIC would be two; it is three because the long-run variance is
/// itself an estimate.
const STRENGTH: f64 = 3.0;

/// The first value of each stretch except the first, in order.
pub(crate) fn points(values: &[f64]) -> Vec<usize> {
    let batch = values.len().div_ceil(LONGEST).max(1);
    if batch == 1 {
        return segment(values);
    }
    let means: Vec<f64> = values.chunks_exact(batch).map(mean).collect();
    segment(&means).into_iter().map(|at| at * batch).collect()
}

fn segment(values: &[f64]) -> Vec<usize> {
    if values.len() < 2 * SHORTEST {
        return Vec::new();
    }
    cuts(values, SHORTEST, STRENGTH * long_run_noise(values))
}

/// The cuts of the best segmentation into stretches of at least `shortest` values, where each cut costs `penalty · ln n`.
pub(crate) fn cuts(values: &[f64], shortest: usize, penalty: f64) -> Vec<usize> {
    let n = values.len();
    if n < 2 * shortest {
        return Vec::new();
    }
    let about = mean(values);
    let mut sums = vec![0.0; n + 1];
    let mut squares = vec![0.0; n + 1];
    for (i, v) in values.iter().enumerate() {
        let y = v - about;
        sums[i + 1] = sums[i] + y;
        squares[i + 1] = squares[i] + y * y;
    }
    let whole = squares[n];
    // All equal up to rounding: no change.
    if whole <= n as f64 * (1e-12 * about).powi(2) || whole.is_nan() {
        return Vec::new();
    }
    let cost = |from: usize, to: usize| {
        let sum = sums[to] - sums[from];
        (squares[to] - squares[from] - sum * sum / (to - from) as f64).max(0.0)
    };
    // A noise-free series with steps has a median difference of zero; use a tiny fraction of its spread instead.
    let penalty = penalty.max(STRENGTH * 1e-9 * whole / n as f64) * (n as f64).ln();

    let mut best = vec![f64::INFINITY; n + 1];
    best[0] = -penalty;
    let mut before = vec![0usize; n + 1];
    // Candidate starts of the last stretch, each with the point from which it can no longer win.
    let mut candidates: Vec<(usize, usize)> = vec![(0, usize::MAX)];
    for to in shortest..=n {
        for &(from, _) in &candidates {
            let total = best[from] + cost(from, to) + penalty;
            if total < best[to] {
                best[to] = total;
                before[to] = from;
            }
        }
        // A start that already costs more, even without paying for another cut, loses to cutting here as soon as a
        // stretch starting here is long enough.
        for (from, hopeless) in &mut candidates {
            if best[*from] + cost(*from, to) > best[to] {
                *hopeless = (*hopeless).min(to + shortest);
            }
        }
        candidates.retain(|&(_, hopeless)| to + 1 < hopeless);
        if to + 1 >= 2 * shortest {
            candidates.push((to + 1 - shortest, usize::MAX));
        }
    }
    let mut found = Vec::new();
    let mut at = n;
    while before[at] > 0 {
        at = before[at];
        found.push(at);
    }
    found.reverse();
    found
}

/// The long-run variance of the noise around a level that may jump, modelled as first-order autoregressive noise.
///
/// `d(k)` is half the variance of differences at lag k; then `d(k) = σ² (1 − rho^k)`.
fn long_run_noise(values: &[f64]) -> f64 {
    let half_square = |k: usize| {
        let mut distances: Vec<f64> = values.iter().zip(&values[k..]).map(|(a, b)| (b - a).abs()).collect();
        let robust = 1.4826 * median(&mut distances);
        // A target that paces itself can have a median of 0 and still be noisy: use the mean square of all but the
        // largest twentieth, which contains the jumps. The median has already sorted them.
        let calm = &distances[..distances.len() * 19 / 20];
        let trimmed = calm.iter().map(|d| d * d).sum::<f64>() / calm.len().max(1) as f64;
        0.5 * (robust * robust).max(trimmed)
    };
    let one = half_square(1);
    if one <= 0.0 {
        return 0.0;
    }
    // d(2)/d(1) = 1 + rho and d(4)/d(2) = 1 + rho²: the second is more stable when rho is large.
    let (two, four) = (half_square(2), half_square(4));
    let first = (two / one - 1.0).clamp(0.0, 0.95);
    let second = (four / two.max(f64::MIN_POSITIVE) - 1.0).clamp(0.0, 0.9).sqrt();
    let rho = if first > 0.3 { 0.5 * (first + second) } else { first };
    let variance = one / (1.0 - rho);
    variance * (1.0 + rho) / (1.0 - rho)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulation::Noise;

    #[test]
    fn steps_without_noise_are_found_exactly() {
        let values: Vec<f64> = (0..90).map(|i| [10.0, 12.0, 9.0][i / 30]).collect();
        assert_eq!(points(&values), vec![30, 60]);
        assert!(points(&[4.0; 500]).is_empty());
        assert!(points(&[1.0, 100.0, 1.0]).is_empty());
    }

    /// Checks the dynamic programme against every way to cut a short series into at most three stretches.
    #[test]
    fn the_cut_is_the_best_there_is() {
        let values: Vec<f64> = {
            let mut noise = Noise::new(5, 0.0);
            (0..40).map(|i| if (12..27).contains(&i) { 9.0 } else { 0.0 } + noise.next()).collect()
        };
        let error = |from: usize, to: usize| {
            let m = mean(&values[from..to]);
            values[from..to].iter().map(|v| (v - m).powi(2)).sum::<f64>()
        };
        let mut best = (f64::INFINITY, 0, 0);
        for a in SHORTEST..40 - 2 * SHORTEST {
            for b in a + SHORTEST..=40 - SHORTEST {
                let total = error(0, a) + error(a, b) + error(b, 40);
                if total < best.0 {
                    best = (total, a, b);
                }
            }
        }
        assert_eq!(points(&values), vec![best.1, best.2]);
    }

    #[test]
    fn a_cliff_is_found_in_noise_and_noise_alone_is_not_a_cliff() {
        for rho in [0.0, 0.5, 0.9] {
            let (mut near, mut none) = (0, 0);
            for seed in 0..100 {
                let mut noise = Noise::new(seed, rho);
                let values: Vec<f64> =
                    (0..200).map(|i| if i < 130 { 1.0 } else { 0.6 } + 0.03 * noise.next()).collect();
                near += i32::from(points(&values).iter().any(|at| at.abs_diff(130) <= 3));
                let mut noise = Noise::new(1000 + seed, rho);
                let values: Vec<f64> = (0..200).map(|_| 1.0 + 0.05 * noise.next()).collect();
                none += i32::from(points(&values).is_empty());
            }
            assert!(near >= 95, "rho {rho}: found {near} of 100");
            assert!(none >= if rho > 0.8 { 70 } else { 85 }, "rho {rho}: quiet {none} of 100");
        }
    }

    #[test]
    fn long_series_are_cut_too() {
        let mut noise = Noise::new(9, 0.5);
        let values: Vec<f64> =
            (0..20_000).map(|i| if i < 11_000 { 1.0 } else { 1.2 } + 0.05 * noise.next()).collect();
        let found = points(&values);
        assert!(found.iter().any(|at| at.abs_diff(11_000) <= 60), "{found:?}");
    }
}
