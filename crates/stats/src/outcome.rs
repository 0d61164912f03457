//! What the statistics say about a series of intervals: values that are stored, printed and compared.

use metrics::OpKind;
use serde::{Deserialize, Serialize};

use crate::Stalls;

/// A mean with its uncertainty, corrected for autocorrelation.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// The mean over the window.
    pub mean: f64,
    /// Lower end of the 95 % confidence interval.
    pub low: f64,
    /// Upper end of the 95 % confidence interval.
    pub high: f64,
    /// Standard deviation of the intervals' values.
    pub deviation: f64,
    /// Intervals in the window.
    pub samples: u64,
    /// Effective (independent) samples: `samples / autocorrelation`.
    pub effective_samples: f64,
    /// Integrated autocorrelation time, in intervals; 1 when they are independent.
    pub autocorrelation: f64,
}

impl Estimate {
    /// The estimate of so many times the quantity.
    #[must_use]
    pub fn scaled(self, by: f64) -> Self {
        Self {
            mean: self.mean * by,
            low: self.low * by,
            high: self.high * by,
            deviation: self.deviation * by,
            ..self
        }
    }
}

/// The quantity of a series.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Measure {
    /// Payload bytes per second.
    BytesPerS,
    /// Successful operations per second.
    OpsPerS,
    /// Median response time of the interval, in nanoseconds.
    P50Ns,
    /// 99th percentile of the interval's response times, in nanoseconds.
    P99Ns,
    /// Mean response time of the interval, in nanoseconds.
    MeanNs,
}

/// One series over the reported window.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SeriesEstimate {
    /// The operation; `None` for all together.
    pub op: Option<OpKind>,
    /// Its quantity.
    pub measure: Measure,
    /// Its mean with confidence interval.
    pub estimate: Estimate,
    /// Change of the fitted line over the window, relative to the mean.
    pub drift: f64,
    /// Upper 95 % bound on the magnitude of that change, relative to the mean.
    pub drift_bound: f64,
}

/// A range of intervals by number: from `first` up to, but excluding, `end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Window {
    /// The first interval.
    pub first: u32,
    /// One past the last.
    pub end: u32,
}

/// Unit of a [`Criterion`]'s two numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CriterionUnit {
    /// A share of the mean: 0.03 is 3 %.
    #[default]
    Share,
    /// A plain number.
    Count,
    /// Seconds.
    Seconds,
    /// Bytes.
    Bytes,
    /// Bytes per second.
    BytesPerS,
    /// Operations per second.
    OpsPerS,
    /// Nanoseconds.
    Nanoseconds,
}

/// One condition of a rule.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Criterion {
    /// The requirement, in words: `read ops/s: half-width of the 95 % interval`.
    pub name: String,
    /// The actual value.
    pub value: f64,
    /// The limit.
    pub limit: f64,
    /// True if the value must not exceed the limit; otherwise it must reach it.
    pub at_most: bool,
    /// Whether it holds.
    pub met: bool,
    /// Unit of `value` and `limit`.
    #[serde(default)]
    pub unit: CriterionUnit,
}

/// A stretch of time in which a series keeps its level.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Regime {
    /// The intervals.
    pub window: Window,
    /// The level.
    pub estimate: Estimate,
}

/// The shape of the whole run (Barrett et al. 2017).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RunShape {
    /// One level throughout.
    Flat,
    /// Throughput rose and stayed up.
    WarmUp,
    /// Throughput fell and stayed down.
    Slowdown,
    /// Throughput alternated between levels.
    MultiModal,
    /// Throughput never settled, or there was too little data to tell.
    Unsettled,
}

/// The statement that SNIA SSS PTS 2.0.2 requires with every steady-state result, for one tracked variable.
///
/// All values are in the variable's own unit, not relative.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PtsStatement {
    /// The operation; `None` for all together.
    pub op: Option<OpKind>,
    /// The tracked variable.
    pub measure: Measure,
    /// First round of the measurement window, from 1.
    pub first_round: u32,
    /// Last round of the measurement window.
    pub last_round: u32,
    /// Average over the window.
    pub average: f64,
    /// Allowed maximum data excursion: 20 % of the average.
    pub allowed_data_excursion: f64,
    /// Measured maximum data excursion: largest minus smallest round.
    pub measured_data_excursion: f64,
    /// Allowed maximum slope excursion: 10 % of the average.
    pub allowed_slope_excursion: f64,
    /// Measured maximum slope excursion: how far the fitted line moves over the window.
    pub measured_slope_excursion: f64,
    /// Rise of the fitted line per round.
    pub slope: f64,
    /// The fitted line's value at round 0, such that the line is `slope * round + intercept`.
    pub intercept: f64,
}

/// Loss of a steady level.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Loss {
    /// The interval at which the level changed.
    pub interval: u32,
    /// The mean before.
    pub before: f64,
    /// The mean from there to the next change.
    pub after: f64,
}

/// How throughput moved within the reported window, and what that implies for the time after.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Trend {
    /// Bandwidth, or operations per second if no bytes moved.
    pub measure: Measure,
    /// Its mean over the window.
    pub mean: f64,
    /// Change per minute of the fitted line, relative to the mean.
    pub per_minute: f64,
    /// Upper 95 % bound on the magnitude of that change.
    pub per_minute_bound: f64,
}

impl Trend {
    /// Relative change after a time in seconds if the drift continues.
    pub fn change_over(&self, seconds: f64) -> f64 {
        self.per_minute * seconds / 60.0
    }

    /// Largest relative change after a time in seconds that the measurement does not rule out (95 %).
    pub fn bound_over(&self, seconds: f64) -> f64 {
        self.per_minute_bound * seconds / 60.0
    }

    /// The lowest and highest level after a time in seconds that the measurement does not rule out if the drift
    /// continues. `None` if that says nothing: the bound is as large as the level.
    pub fn level_after(&self, seconds: f64) -> Option<(f64, f64)> {
        let bound = self.bound_over(seconds);
        (bound < 1.0).then_some((self.mean * (1.0 - bound), self.mean * (1.0 + bound)))
    }
}

/// What a rule decided about a measurement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SteadyOutcome {
    /// The rule's name: `default`, `snia`, `storperf`, `fio`, `none`.
    pub rule: String,
    /// The rule found the measurement steady.
    pub reached: bool,
    /// One line: why, or why not.
    pub reason: String,
    /// The reported window: the steady one, or the best available.
    pub window: Window,
    /// The rule's conditions at the decision.
    pub criteria: Vec<Criterion>,
    /// The series over the window.
    pub series: Vec<SeriesEstimate>,
    /// The shape of total throughput over the whole measurement: of bandwidth, or of operations per second if no bytes
    /// moved. Regimes and loss refer to the same series.
    pub shape: RunShape,
    /// Its stretches of constant level.
    pub regimes: Vec<Regime>,
    /// The statements required by the PTS; only with rule `snia`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pts: Vec<PtsStatement>,
    /// Throughput held a level for long and then left it (a full cache, throttling, exhausted credits).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost: Option<Loss>,
    /// Moments in which next to nothing moved, over the whole measurement.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stalls: Option<Stalls>,
    /// How throughput moved in the window; absent if unknown, and in results that predate this field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trend: Option<Trend>,
    /// What else a reader must know: series that were left out and why, merged intervals, approximations.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// How far beyond its own window the level that a measurement reports may be taken to hold, from least to most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LevelHeld {
    /// It kept to no level: its figure describes the moment at which it was taken.
    Unsettled,
    /// It kept to one level within its window. A level that changes every few minutes does that too.
    Window,
    /// It kept to one level for the horizon of the rule `sustained`.
    Horizon,
}

/// Whether a measurement was steady, if a rule judged it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SteadyJudgement {
    /// A rule found it steady.
    Yes,
    /// A rule did not find it steady.
    No,
    /// No rule judged it: a fixed time, a fixed amount, or a study.
    NotJudged,
}

impl SteadyJudgement {
    /// The wording in every output: `yes`, `no`, `not judged`.
    pub const fn words(self) -> &'static str {
        match self {
            SteadyJudgement::Yes => "yes",
            SteadyJudgement::No => "no",
            SteadyJudgement::NotJudged => "not judged",
        }
    }
}

impl SteadyOutcome {
    /// Whether it was steady. `reached` alone does not tell: without a rule it is always reached.
    pub fn judgement(&self) -> SteadyJudgement {
        match (self.rule.as_str(), self.reached) {
            ("none", _) => SteadyJudgement::NotJudged,
            (_, true) => SteadyJudgement::Yes,
            (_, false) => SteadyJudgement::No,
        }
    }

    /// How long it held one level. Without a rule it held one if the stretches that make up at least a fifth of the
    /// window each differ by at most 5 %.
    pub fn level_held(&self) -> LevelHeld {
        let held = match self.judgement() {
            SteadyJudgement::Yes if self.rule == "sustained" => return LevelHeld::Horizon,
            SteadyJudgement::Yes => true,
            SteadyJudgement::No => false,
            SteadyJudgement::NotJudged => {
                let long = |regime: &&Regime| 5 * regime.window.shared_with(self.window) >= self.window.len();
                let levels = || self.regimes.iter().filter(long).map(|regime| regime.estimate.mean);
                levels().all(|a| levels().all(|b| !crate::shape::differ(a, b)))
            }
        };
        if held { LevelHeld::Window } else { LevelHeld::Unsettled }
    }
}

impl Criterion {
    /// The value must reach the limit.
    pub(crate) fn at_least(name: impl Into<String>, value: f64, limit: f64, unit: CriterionUnit) -> Self {
        Self { name: name.into(), value, limit, at_most: false, met: value >= limit, unit }
    }

    /// The value must not exceed the limit.
    pub(crate) fn at_most(name: impl Into<String>, value: f64, limit: f64, unit: CriterionUnit) -> Self {
        Self { name: name.into(), value, limit, at_most: true, met: value <= limit, unit }
    }
}

impl std::fmt::Display for Criterion {
    /// `read p99: half-width …: 4.1 % (at most 3 %)`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let word = if self.at_most { "at most" } else { "at least" };
        write!(f, "{}: {} ({word} {})", self.name, self.unit.print(self.value), self.unit.print(self.limit))
    }
}

impl CriterionUnit {
    /// Formats a value in this unit.
    pub fn print(self, value: f64) -> String {
        match self {
            CriterionUnit::Share if value >= 1e6 => "unknown".to_owned(),
            CriterionUnit::Share => format!("{} %", short(value * 100.0)),
            CriterionUnit::Count => short(value),
            CriterionUnit::Seconds => format!("{} s", short(value)),
            CriterionUnit::Bytes => format!("{} B", short(value)),
            CriterionUnit::BytesPerS => format!("{} B/s", short(value)),
            CriterionUnit::OpsPerS => format!("{} ops/s", short(value)),
            CriterionUnit::Nanoseconds => format!("{} ns", short(value)),
        }
    }
}

/// Three significant digits for small numbers, no decimals for large ones.
fn short(value: f64) -> String {
    let digits = match value.abs() {
        v if v >= 100.0 || v == v.trunc() => 0,
        v if v >= 10.0 => 1,
        _ => 2,
    };
    format!("{value:.digits$}")
}
