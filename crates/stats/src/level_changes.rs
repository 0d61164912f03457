//! Where the level of a figure changes over runs.
//!
//! Runs before and after a change confirm it together, so a change that no pair of single runs can show is found, and one
//! odd run is none. Candidates are the cuts of the best segmentation (see `change.rs`) under a weak penalty. They are then
//! tested one against its neighbours, with a t-test whose variance is the scatter around all levels, and the weakest is
//! given up until every one is significant. The p-value is multiplied by the number of places for a cut (Bonferroni), as
//! the maximum over all of them was taken (Hawkins 1977, "Testing a sequence of observations for a shift in location"). A
//! change that rests on one run is none.

use serde::{Deserialize, Serialize};

use crate::Estimate;
use crate::change;
use crate::compare::SIGNIFICANCE;
use crate::numbers::{mean, median, t_quantile, t_two_sided};

/// Minimum number of runs on a level: a single one may be odd.
const SHORTEST: usize = 2;
/// Penalty of a cut in units of `variance · ln n`: BIC's (Yao 1988), because each cut is tested anyway.
const STRENGTH: f64 = 2.0;

/// A change of level from one stretch of runs to the next.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LevelChange {
    /// Position of the first run on the new level.
    pub run: usize,
    /// `new / old - 1`.
    pub relative: f64,
    /// Lower end of its 95 % confidence interval.
    pub low: f64,
    /// Upper end of its 95 % confidence interval.
    pub high: f64,
    /// p-value against no change here, adjusted for the number of places for a change.
    pub p_value: f64,
}

/// The changes of level over runs in chronological order, in that order; none if a run has no positive figure.
///
/// Each has a p-value below `significance`. The scatter around the levels is never taken to be less than the runs' own
/// intervals allow. Runs are taken to be independent: a slow drift shows as a change too.
pub fn level_changes(runs: &[Estimate], significance: f64) -> Vec<LevelChange> {
    if runs.len() < 2 * SHORTEST || runs.iter().any(|run| run.mean <= 0.0 || !run.mean.is_finite()) {
        return Vec::new();
    }
    let values: Vec<f64> = runs.iter().map(|run| run.mean.ln()).collect();
    let own =
        runs.iter().map(|run| (run.standard_error() / run.mean).powi(2)).sum::<f64>() / runs.len() as f64;
    let mut cuts = change::cuts(&values, SHORTEST, STRENGTH * noise(&values).max(own));
    loop {
        let found = tested(&values, own, &cuts);
        let weakest = (0..found.len()).max_by(|a, b| found[*a].p_value.total_cmp(&found[*b].p_value));
        match weakest {
            Some(at) if found[at].p_value >= significance => drop(cuts.remove(at)),
            _ => return found,
        }
    }
}

/// The variance of independent noise around a level that jumps, from differences of neighbours.
fn noise(values: &[f64]) -> f64 {
    let mut distances: Vec<f64> = values.windows(2).map(|pair| (pair[1] - pair[0]).abs()).collect();
    0.5 * (1.4826 * median(&mut distances)).powi(2)
}

/// Each cut as a change between the levels beside it.
fn tested(values: &[f64], own: f64, cuts: &[usize]) -> Vec<LevelChange> {
    let edges: Vec<usize> = std::iter::once(0).chain(cuts.iter().copied()).chain([values.len()]).collect();
    let levels: Vec<&[f64]> = edges.windows(2).map(|pair| &values[pair[0]..pair[1]]).collect();
    let freedom = (values.len() - levels.len()) as f64;
    let scatter = |level: &&[f64]| {
        let about = mean(level);
        level.iter().map(|value| (value - about).powi(2)).sum::<f64>()
    };
    let variance = (levels.iter().map(scatter).sum::<f64>() / freedom).max(own);
    let half_width = t_quantile(1.0 - SIGNIFICANCE / 2.0, freedom);
    let change = |(pair, run): (&[&[f64]], &usize)| {
        let rise = mean(pair[1]) - mean(pair[0]);
        let error = (variance * (1.0 / pair[0].len() as f64 + 1.0 / pair[1].len() as f64)).sqrt();
        let alone = match error > 0.0 {
            _ if rests_on_one_run(pair[0], pair[1]) || rests_on_one_run(pair[1], pair[0]) => 1.0,
            true => t_two_sided(rise / error, freedom),
            false => f64::from(rise == 0.0),
        };
        LevelChange {
            run: *run,
            relative: rise.exp_m1(),
            low: (rise - half_width * error).exp_m1(),
            high: (rise + half_width * error).exp_m1(),
            p_value: (alone * (values.len() - 1) as f64).min(1.0),
        }
    };
    levels.windows(2).zip(cuts).map(change).collect()
}

/// Whether less than half of the difference between two levels would be left without one run of the first.
fn rests_on_one_run(level: &[f64], other: &[f64]) -> bool {
    let (sum, count, other) = (level.iter().sum::<f64>(), level.len() as f64, mean(other));
    let rise = sum / count - other;
    level.iter().any(|run| {
        let without = (sum - run) / (count - 1.0) - other;
        without * rise < 0.5 * rise * rise
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulation::Noise;

    fn run(mean: f64) -> Estimate {
        Estimate {
            mean,
            low: mean,
            high: mean,
            deviation: 0.01 * mean,
            samples: 60,
            effective_samples: 60.0,
            autocorrelation: 1.0,
        }
    }

    fn noisy(level: impl Fn(usize) -> f64, count: usize, scatter: f64, seed: u64) -> Vec<Estimate> {
        let mut noise = Noise::new(seed, 0.0);
        (0..count).map(|n| run(level(n) * (1.0 + scatter * noise.next()))).collect()
    }

    fn places(runs: &[Estimate]) -> Vec<usize> {
        level_changes(runs, SIGNIFICANCE).iter().map(|change| change.run).collect()
    }

    #[test]
    fn a_change_by_hand() {
        // Four runs at 100, four at 90, without scatter: the error is that of the runs' own 1 % of 60 samples.
        let found = level_changes(&noisy(|n| if n < 4 { 100.0 } else { 90.0 }, 8, 0.0, 1), SIGNIFICANCE);
        assert_eq!((found.len(), found[0].run), (1, 4));
        assert!((found[0].relative + 0.1).abs() < 1e-12);
        let half = 2.446_912 * 0.01 / 60f64.sqrt() * 0.5f64.sqrt();
        assert!((found[0].low - (0.9f64.ln() - half).exp_m1()).abs() < 1e-6, "{found:?}");
        assert!((found[0].high - (0.9f64.ln() + half).exp_m1()).abs() < 1e-6, "{found:?}");
    }

    #[test]
    fn too_few_and_impossible_runs_and_one_odd_run_have_none() {
        assert_eq!(places(&noisy(|n| [100.0, 100.0, 50.0][n], 3, 0.0, 1)), [0; 0]);
        assert_eq!(places(&noisy(|n| 4.0 - n as f64, 8, 0.0, 1)), [0; 0]);
        assert_eq!(places(&noisy(|_| 100.0, 30, 0.0, 1)), [0; 0]);
        let odd = (0..50).filter(|seed| {
            let runs = noisy(|n| if n == 12 { 70.0 } else { 100.0 }, 24, 0.01, *seed);
            !places(&runs).is_empty()
        });
        let odd = odd.count();
        assert!(odd <= 3, "{odd} of 50");
    }

    #[test]
    fn a_regression_that_was_repaired_has_both_ends() {
        let both = (0..100).filter(|seed| {
            let runs = noisy(|n| if (10..20).contains(&n) { 95.0 } else { 100.0 }, 30, 0.01, *seed);
            matches!(places(&runs)[..], [from, to] if from.abs_diff(10) <= 2 && to.abs_diff(20) <= 2)
        });
        let both = both.count();
        assert!(both >= 93, "{both} of 100");
    }

    /// Of 400 histories without a change at most one in twenty shows one; a change of four times the scatter is found where
    /// it is.
    #[test]
    fn noise_is_no_change_and_a_change_is_found() {
        for count in [6, 10, 20, 50, 100] {
            let wrong = (0..400).filter(|seed| !places(&noisy(|_| 100.0, count, 0.01, *seed)).is_empty());
            let wrong = wrong.count();
            assert!(wrong <= 28, "{wrong} of 400 with {count} runs");
        }
        let found = (0..400).filter(|seed| {
            let runs = noisy(|n| if n < 13 { 100.0 } else { 96.0 }, 20, 0.01, *seed);
            matches!(places(&runs)[..], [at] if at.abs_diff(13) <= 1)
        });
        let found = found.count();
        assert!(found >= 370, "{found} of 400");
    }
}
