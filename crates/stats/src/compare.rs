//! Whether two results differ, by how much, and how certain that is.
//!
//! The ratio of the two means is tested with Welch's t-test on its logarithm (to first order this tests the difference,
//! and the interval never contains a negative rate). Where a mean is uncertain by more than 10 %, as with repetitions
//! that alternate between levels, first order is not enough: the difference is tested too, and only what both tests find
//! counts. The input of the test depends on the data:
//!
//! * both sides were repeated: the spread between the repetitions' means, which covers everything that differs from run
//!   to run. It is never taken to be smaller than the runs' own intervals allow: repetitions that agree better than
//!   that are luck;
//! * one run per side: its standard error from effective samples. The run-to-run variation is then unknown; 0.7 %
//!   ([`BETWEEN_RUNS`]) is assumed, or what the other side's repetitions show.
//!
//! A significant difference is a change only if each side is known beyond the minutes in which it was measured: from
//! [`CONFIRMING_REPETITIONS`], or a level held for a horizon ([`LevelHeld::Horizon`]). Otherwise it is unconfirmed: a
//! target that changes its level by itself differs from itself in the same way.

use serde::{Deserialize, Serialize};

use crate::numbers::{share, t_quantile, t_two_sided};
use crate::{Estimate, LevelHeld};

/// Relative standard deviation between runs, assumed where no repetitions show it.
pub const BETWEEN_RUNS: f64 = 0.007;
/// A difference is significant when its two-sided p-value is below this, that is when the 95 % interval excludes 0.
pub const SIGNIFICANCE: f64 = 0.05;

/// Relative standard error of a mean above which the difference is tested besides the logarithm of the ratio.
const WIDE_ERROR: f64 = 0.1;

/// Repetitions that are enough to tell a change from a target that alternates between two levels: with three on each
/// side, all six agree with their own side and contradict the other in 1 of 32 cases; with two, in 1 of 8.
pub const CONFIRMING_REPETITIONS: usize = 3;

/// One side of a comparison.
#[derive(Clone, Copy, Debug)]
pub struct ComparedSide<'a> {
    /// One estimate per repetition of the cell; at least one.
    pub repetitions: &'a [Estimate],
    /// The least that a repetition held its level ([`crate::SteadyOutcome::level_held`]). If one held none, its own
    /// interval does not hold for any other time, and only the spread between repetitions counts.
    pub level: LevelHeld,
}

/// Which direction is good.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Better {
    /// Throughput, rates.
    Higher,
    /// Latencies.
    Lower,
}

/// The verdict of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Call {
    /// The second is better.
    Better,
    /// The second is worse.
    Worse,
    /// The second was better, but a side is known only for the minutes in which it was measured.
    UnconfirmedBetter,
    /// The second was worse, but a side is known only for the minutes in which it was measured.
    UnconfirmedWorse,
    /// No difference was shown.
    NoDifference,
    /// A single run did not hold one level: a second run could have ended elsewhere.
    NotComparable,
}

/// How the second result differs from the first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Difference {
    /// `b / a - 1`.
    pub relative: f64,
    /// Lower end of its 95 % confidence interval.
    pub low: f64,
    /// Upper end of its 95 % confidence interval.
    pub high: f64,
    /// Two-sided p-value.
    pub p_value: f64,
    /// The test, in words: `Welch's t-test on 3 and 3 repetitions`.
    pub test: String,
    /// Better, worse or no difference.
    pub call: Call,
    /// The second is called worse, and its estimate is worse by more than the threshold.
    pub regression: bool,
    /// The same of a second that is called worse, unconfirmed.
    pub unconfirmed_regression: bool,
}

/// A side's mean, the relative variance of that mean, and the degrees of freedom of that variance.
struct Side {
    mean: f64,
    variance: f64,
    freedom: f64,
}

/// Compares `b` with `a`.
///
/// `threshold` (0.05 is 5 %) affects only the regressions; `call` depends on significance, and on how long each side is
/// known to hold. A side without repetitions, or with one that has fewer than two effective samples, shows no
/// difference. A single run that held no level cannot be compared.
pub fn compare(a: &ComparedSide<'_>, b: &ComparedSide<'_>, better: Better, threshold: f64) -> Difference {
    let test = test_name(a, b);
    let (one, two) = (side(a, b), side(b, a));
    let relative = share(two.mean - one.mean, one.mean);
    let none = |low: f64, high: f64, p_value: f64| Difference {
        relative,
        low,
        high,
        p_value,
        test: test.clone(),
        call: Call::NoDifference,
        regression: false,
        unconfirmed_regression: false,
    };
    let known = [a, b].iter().all(|s| is_known(s));
    if known && ![a, b].iter().all(|side| is_comparable(side)) {
        return Difference { call: Call::NotComparable, ..none(-1.0, f64::MAX, 1.0) };
    }
    if !known || one.mean == two.mean && one.variance + two.variance == 0.0 {
        return none(if known { 0.0 } else { -1.0 }, if known { 0.0 } else { f64::MAX }, 1.0);
    }
    // A zero rate or latency has no ratio; it certainly differs from a non-zero one.
    let (low, high, p_value) = if one.mean <= 0.0 || two.mean <= 0.0 {
        (relative, relative, if one.mean == two.mean { 1.0 } else { 0.0 })
    } else {
        let of_ratio = welch((two.mean / one.mean).ln(), one.variance, two.variance, &one, &two);
        let [low, high] = [of_ratio.low, of_ratio.high].map(f64::exp_m1);
        // A relative error of 10 % is off by half a percent as an error of the logarithm.
        let (low, high, p_value) = match one.variance.max(two.variance) > WIDE_ERROR * WIDE_ERROR {
            false => (low, high, of_ratio.p_value),
            true => {
                // In units of the first mean.
                let second = two.variance * (two.mean / one.mean).powi(2);
                let of_difference = welch(relative, one.variance, second, &one, &two);
                (
                    low.min(of_difference.low),
                    high.max(of_difference.high),
                    of_ratio.p_value.max(of_difference.p_value),
                )
            }
        };
        (bounded(low), bounded(high), p_value)
    };
    let mut difference = none(low, high, p_value);
    if p_value < SIGNIFICANCE {
        let improved = (relative > 0.0) == (better == Better::Higher);
        let confirmed = [a, b].iter().all(|side| lasts(side));
        difference.call = match (improved, confirmed) {
            (true, true) => Call::Better,
            (false, true) => Call::Worse,
            (true, false) => Call::UnconfirmedBetter,
            (false, false) => Call::UnconfirmedWorse,
        };
        let beyond = !improved && relative.abs() > threshold;
        (difference.regression, difference.unconfirmed_regression) =
            (beyond && confirmed, beyond && !confirmed);
    }
    difference
}

fn bounded(value: f64) -> f64 {
    if value.is_nan() { 0.0 } else { value.clamp(-1.0, f64::MAX) }
}

/// A single run needs an interval of its own.
fn is_known(sample: &ComparedSide<'_>) -> bool {
    match sample.repetitions {
        [] => false,
        [only] => only.effective_samples >= 2.0,
        _ => true,
    }
}

/// Repetitions show the run-to-run variation; a single run must have held its level.
fn is_comparable(sample: &ComparedSide<'_>) -> bool {
    sample.level > LevelHeld::Unsettled || sample.repetitions.len() > 1
}

/// What it shows holds beyond the minutes in which it was measured.
fn lasts(sample: &ComparedSide<'_>) -> bool {
    sample.level == LevelHeld::Horizon || sample.repetitions.len() >= CONFIRMING_REPETITIONS
}

fn side(sample: &ComparedSide<'_>, other: &ComparedSide<'_>) -> Side {
    let runs = sample.repetitions;
    let mean = mean_of(runs);
    if runs.len() > 1 {
        let n = runs.len() as f64;
        let variance = between(runs).max(within(runs)) / n;
        return Side { mean, variance, freedom: n - 1.0 };
    }
    let own = within(runs);
    let own_freedom = runs.first().map_or(1.0, |run| run.effective_samples - 1.0).max(1.0);
    let repeated = other.repetitions;
    if repeated.len() > 1 {
        // The other side's run-to-run variation beyond its own noise, but at least the assumed one.
        let beyond = (between(repeated) - within(repeated)).max(BETWEEN_RUNS * BETWEEN_RUNS);
        let freedom = satterthwaite(own, own_freedom, beyond, repeated.len() as f64 - 1.0);
        return Side { mean, variance: own + beyond, freedom };
    }
    // An assumed variance is not an estimate and adds no uncertainty of its own: infinite degrees of freedom.
    let variance = own + BETWEEN_RUNS * BETWEEN_RUNS;
    Side { mean, variance, freedom: satterthwaite(own, own_freedom, BETWEEN_RUNS * BETWEEN_RUNS, 1e6) }
}

fn mean_of(runs: &[Estimate]) -> f64 {
    // Divide before adding, so that the largest numbers do not overflow.
    runs.iter().map(|run| run.mean / runs.len() as f64).sum()
}

/// Relative variance between the means of runs.
fn between(runs: &[Estimate]) -> f64 {
    let mean = mean_of(runs);
    let relative: Vec<f64> = runs.iter().map(|run| share(run.mean, mean)).collect();
    let variance = crate::numbers::variance(&relative);
    if variance.is_finite() { variance } else { f64::MAX }
}

/// Mean relative variance of a run's mean, as estimated within the run.
fn within(runs: &[Estimate]) -> f64 {
    let n = runs.len().max(1) as f64;
    let sum: f64 = runs.iter().map(|run| share(run.standard_error(), run.mean).min(1e6).powi(2)).sum();
    sum / n
}

/// Degrees of freedom of a sum of two estimated variances (Satterthwaite 1946).
fn satterthwaite(a: f64, freedom_a: f64, b: f64, freedom_b: f64) -> f64 {
    let sum = a + b;
    if sum <= 0.0 {
        return freedom_a.min(freedom_b);
    }
    let (a, b) = (a / sum, b / sum);
    1.0 / (a * a / freedom_a + b * b / freedom_b)
}

/// A tested quantity's 95 % interval and p-value.
struct Tested {
    low: f64,
    high: f64,
    p_value: f64,
}

/// Welch's t-test of a quantity that both sides contribute a variance to.
fn welch(value: f64, variance_a: f64, variance_b: f64, a: &Side, b: &Side) -> Tested {
    let error = (variance_a + variance_b).sqrt();
    let freedom = satterthwaite(variance_a, a.freedom, variance_b, b.freedom);
    let half = t_quantile(1.0 - SIGNIFICANCE / 2.0, freedom) * error;
    let p_value = if error > 0.0 { t_two_sided(value / error, freedom) } else { 0.0 };
    Tested { low: value - half, high: value + half, p_value }
}

fn test_name(a: &ComparedSide<'_>, b: &ComparedSide<'_>) -> String {
    let (one, two) = (a.repetitions.len(), b.repetitions.len());
    let worth = |s: &ComparedSide<'_>| s.repetitions.first().map_or(0.0, |run| run.effective_samples);
    match (one > 1, two > 1) {
        _ if one == 0 || two == 0 => "none: one side has no result".to_owned(),
        _ if !is_known(a) || !is_known(b) => {
            "none: too few intervals to know how sure the figures are".to_owned()
        }
        _ if !is_comparable(a) || !is_comparable(b) => {
            "none: a single run without a steady level may come out otherwise the next time".to_owned()
        }
        (true, true) => format!("Welch's t-test on {one} and {two} repetitions"),
        (false, false) => format!(
            "Welch's t-test on {:.0} and {:.0} effective samples of one run each; runs are taken to differ by {:.1} %",
            worth(a),
            worth(b),
            BETWEEN_RUNS * 100.0
        ),
        _ => format!(
            "Welch's t-test on {} repetitions and {:.0} effective samples of one run",
            one.max(two),
            worth(if one == 1 { a } else { b })
        ),
    }
}

impl Difference {
    /// One line: `worse: -5.1 % (95 % interval -7.3 % to -2.9 %, p 0.0003)`.
    pub fn line(&self) -> String {
        let p = if self.p_value < 1e-4 { "p < 0.0001".to_owned() } else { format!("p {:.4}", self.p_value) };
        // Against zero there is no percentage.
        let percent = |v: f64| {
            if v.abs() >= 1e6 { "beyond measure".to_owned() } else { format!("{:+.1} %", v * 100.0) }
        };
        let (relative, low, high) = (percent(self.relative), percent(self.low), percent(self.high));
        format!("{}: {relative} (95 % interval {low} to {high}, {p})", self.call)
    }
}

impl std::fmt::Display for Call {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Call::Better => "better",
            Call::Worse => "worse",
            Call::UnconfirmedBetter => "better, unconfirmed",
            Call::UnconfirmedWorse => "worse, unconfirmed",
            Call::NoDifference => "no difference",
            Call::NotComparable => "not comparable",
        })
    }
}

impl Call {
    /// A change for the better was shown, confirmed or not.
    pub fn is_better(self) -> bool {
        matches!(self, Call::Better | Call::UnconfirmedBetter)
    }

    /// A change for the worse was shown, confirmed or not.
    pub fn is_worse(self) -> bool {
        matches!(self, Call::Worse | Call::UnconfirmedWorse)
    }
}

impl Difference {
    /// Takes the call back: the difference is not significant among all that were tested.
    pub fn withdraw(&mut self) {
        self.call = Call::NoDifference;
        self.regression = false;
        self.unconfirmed_regression = false;
    }
}

/// P-values corrected for multiple comparisons (Holm 1979), in the order given: taking those below 0.05 keeps the
/// chance of even one false call below 5 %.
pub fn holm(p_values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|a, b| p_values[*a].total_cmp(&p_values[*b]));
    let mut adjusted = vec![1.0; p_values.len()];
    let mut least: f64 = 0.0;
    for (rank, at) in order.into_iter().enumerate() {
        least = least.max(p_values[at] * (p_values.len() - rank) as f64).min(1.0);
        adjusted[at] = least;
    }
    adjusted
}
