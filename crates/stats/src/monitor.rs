//! Follows a measurement interval by interval and decides when it may end.

use experiment::SteadyRule;
use metrics::Interval;

use crate::history::{History, LONGEST};
use crate::rule::{self, Look};
use crate::{Criterion, Regime, RunShape, SeriesEstimate, SteadyOutcome, Trend, shape};

/// What a measurement must reach before it may count as steady, and when to give up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Floors {
    /// Minimum seconds of measurement.
    pub seconds: f64,
    /// Minimum bytes moved since the measurement began; 0 for no minimum.
    pub bytes: u64,
    /// Maximum seconds of measurement.
    pub limit_seconds: f64,
}

/// What to do after an interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Continue measuring.
    GoOn,
    /// The rule is satisfied: the measurement may end.
    Steady,
    /// The time limit is reached, but the rule is not satisfied.
    LimitReached,
}

/// Progress of a measurement, for the live view.
#[derive(Clone, Debug, PartialEq)]
pub struct RuleProgress {
    /// Seconds measured.
    pub elapsed_s: f64,
    /// Bytes moved.
    pub bytes: u64,
    /// When the rule next evaluates, in seconds since the measurement began.
    pub next_look_s: f64,
    /// Latest end of the measurement, in seconds since it began.
    pub limit_s: f64,
    /// The rule's conditions at the last evaluation; empty before the first.
    pub criteria: Vec<Criterion>,
}

/// Follows one measurement and judges it by a rule.
///
/// [`Monitor::push`] only stores a few numbers, except when the rule evaluates. Memory is bounded whatever the length
/// (see `docs/steady-state.md`). Intervals may be pushed after the decision: they do not change what is reported, but
/// if the level is lost then, the outcome says so.
#[derive(Clone, Debug)]
pub struct Monitor {
    rule: SteadyRule,
    floors: Floors,
    history: History,
    next_look_s: f64,
    last: Option<Look>,
    decided: Option<Decision>,
    /// The outcome at the decision, with its series.
    verdict: Option<SteadyOutcome>,
}

impl Monitor {
    /// A monitor without any data.
    pub fn new(rule: &SteadyRule, floors: Floors) -> Self {
        Self {
            rule: rule.clone(),
            floors,
            history: History::default(),
            next_look_s: rule::first_look(rule, &floors),
            last: None,
            decided: None,
            verdict: None,
        }
    }

    /// Follows a load that leaves gaps itself (think time, a rate in steps): its silence is no stall of the target.
    #[must_use]
    pub fn of_uneven_load(mut self) -> Self {
        self.history.uneven = true;
        self
    }

    /// Adds the next interval of the measurement (merged over all workers), in order.
    ///
    /// An interval of zero length is ignored. After a decision, the same decision is returned again.
    pub fn push(&mut self, interval: &Interval) -> Decision {
        if !self.history.push(interval) {
            return self.decided.unwrap_or(Decision::GoOn);
        }
        if let Some(decided) = self.decided {
            return decided;
        }
        // An interval's end is only accurate to a hundredth of it; that is no reason to wait for another.
        let now = self.history.elapsed_s + 0.01 * interval.length_ns as f64 / 1e9;
        let at_limit = now >= self.floors.limit_seconds;
        if now < self.next_look_s && !at_limit {
            return Decision::GoOn;
        }
        let look = rule::look(&self.rule, &self.floors, &self.history);
        self.next_look_s = rule::next_look(&self.rule, self.next_look_s, now);
        let decision = match (look.reached, at_limit || look.exhausted) {
            (true, _) => Decision::Steady,
            (false, true) => Decision::LimitReached,
            (false, false) => Decision::GoOn,
        };
        if decision != Decision::GoOn {
            self.decided = Some(decision);
            self.verdict = Some(self.report(&look));
        }
        self.last = Some(look);
        decision
    }

    /// The rule in use.
    pub fn rule(&self) -> &SteadyRule {
        &self.rule
    }

    /// Progress so far.
    pub fn progress(&self) -> RuleProgress {
        RuleProgress {
            elapsed_s: self.history.elapsed_s,
            bytes: self.history.bytes,
            next_look_s: self.next_look_s.min(self.floors.limit_seconds),
            limit_s: self.floors.limit_seconds,
            criteria: self.last.as_ref().map(|look| look.criteria.clone()).unwrap_or_default(),
        }
    }

    /// The outcome of everything pushed so far; may be called at any time, also after an interruption.
    ///
    /// After a decision it is the outcome at that decision, with the shape of everything pushed.
    pub fn outcome(&self) -> SteadyOutcome {
        let Some(decided) = &self.verdict else {
            let mut look = rule::look(&self.rule, &self.floors, &self.history);
            // A rule that evaluates at certain moments cannot be satisfied at any other.
            if look.reached && !matches!(self.rule, SteadyRule::None) {
                look.reached = false;
                look.reason = "no steady state: ended before the rule had looked".to_owned();
            }
            return self.report(&look);
        };
        let mut outcome = decided.clone();
        let (regimes, shape) = self.shape();
        outcome.lost = shape::loss(&regimes);
        outcome.regimes = regimes;
        outcome.shape = shape;
        outcome
    }

    fn report(&self, look: &Look) -> SteadyOutcome {
        let window = look.window.unwrap_or_else(|| self.history.everything());
        let (regimes, shape) = self.shape();
        let mut notes = look.notes.clone();
        if self.history.halved > 0 {
            let spans = 1u64 << self.history.halved.min(63);
            notes.push(format!(
                "more than {LONGEST} intervals: each point of the series is the mean of {spans}"
            ));
        }
        for (kind, _) in self.history.latencies.iter().filter(|(_, latencies)| latencies.merged) {
            notes.push(format!("{kind}: intervals were merged to have enough latencies for a percentile"));
        }
        let series = rule::estimates(&self.rule, &self.history, window, look.cut);
        SteadyOutcome {
            rule: self.rule.name().to_owned(),
            reached: look.reached,
            reason: look.reason.clone(),
            trend: trend(&series, self.history.seconds_in(window)),
            window,
            criteria: look.criteria.clone(),
            series,
            shape,
            lost: shape::loss(&regimes),
            regimes,
            pts: look.pts.clone(),
            notes,
            stalls: self.history.stalls(window),
        }
    }

    fn shape(&self) -> (Vec<Regime>, RunShape) {
        let series = self.history.headline();
        let regimes = shape::regimes(series.level(), series.grid);
        let shape = shape::classify(&regimes);
        (regimes, shape)
    }
}

/// Drift per minute of the first series, which is total throughput.
fn trend(series: &[SeriesEstimate], window_s: f64) -> Option<Trend> {
    let SeriesEstimate { measure, estimate, drift, drift_bound, .. } = series.first()?;
    // A drift over the window runs from its first point to its last.
    let span_s = window_s * (1.0 - 1.0 / estimate.samples as f64);
    let minutes = span_s / 60.0;
    let known = estimate.samples > 2 && estimate.mean > 0.0 && drift_bound.is_finite();
    known.then(|| Trend {
        measure: *measure,
        mean: estimate.mean,
        per_minute: drift / minutes,
        per_minute_bound: drift_bound / minutes,
    })
}
