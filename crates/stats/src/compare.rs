//! Whether two results differ.

use serde::{Deserialize, Serialize};

use crate::Estimate;

/// One side of a comparison.
#[derive(Clone, Copy, Debug)]
pub struct Sample<'a> {
    /// One estimate a repetition of the cell; at least one.
    pub repetitions: &'a [Estimate],
}

/// Which direction is good.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Better {
    /// Bandwidth, rates.
    Higher,
    /// Latencies.
    Lower,
}

/// What a comparison came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Call {
    /// The second is better.
    Better,
    /// The second is worse.
    Worse,
    /// No difference was shown.
    NoDifference,
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
    /// Two-sided.
    pub p_value: f64,
    /// The test, in words: `Welch's t-test on 3 and 3 repetitions`.
    pub test: String,
    /// Better, worse or no difference.
    pub call: Call,
    /// The second is called worse, and worse by more than the threshold.
    pub regression: bool,
}

/// Compares `b` with `a`. A difference that is worse by more than `threshold` (0.05 is 5 %) is a regression.
pub fn compare(a: &Sample<'_>, b: &Sample<'_>, better: Better, threshold: f64) -> Difference {
    let mean = |s: &Sample<'_>| s.repetitions.iter().map(|e| e.mean).sum::<f64>() / s.repetitions.len().max(1) as f64;
    let relative = mean(b) / mean(a) - 1.0;
    let worse = if better == Better::Higher { -relative } else { relative };
    Difference {
        relative,
        low: relative,
        high: relative,
        p_value: 1.0,
        test: String::new(),
        call: Call::NoDifference,
        regression: worse > threshold,
    }
}
