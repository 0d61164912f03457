//! Follows a measurement interval by interval and says when it may end.

use experiment::SteadyRule;
use metrics::Interval;

use crate::history::{History, LONGEST};
use crate::rule::{self, Look};
use crate::{Criterion, Regime, RunShape, SeriesEstimate, SteadyOutcome, Trend, shape};

/// What must be reached before anything is called steady, and when to give up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Floors {
    /// Seconds of measurement, at least.
    pub seconds: f64,
    /// Bytes moved since the measurement began, at least; 0 for no such floor.
    pub bytes: u64,
    /// Seconds of measurement, at most.
    pub limit_seconds: f64,
}

/// What to do after an interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Measure on.
    GoOn,
    /// The rule is satisfied: the measurement may end.
    Steady,
    /// The time limit is reached and the rule is not satisfied.
    LimitReached,
}

/// How far a measurement is, for the live view.
#[derive(Clone, Debug, PartialEq)]
pub struct RuleProgress {
    /// Seconds measured.
    pub elapsed_s: f64,
    /// Bytes moved.
    pub bytes: u64,
    /// When the rule looks next, in seconds since the measurement began.
    pub next_look_s: f64,
    /// When the measurement ends at the latest, in seconds since it began.
    pub limit_s: f64,
    /// The rule's conditions as they stood at the last look; empty before the first.
    pub criteria: Vec<Criterion>,
}

/// Follows one measurement and judges it by a rule.
///
/// [`Monitor::push`] only stores a few numbers, but for the moments at which the rule looks. Memory is bounded whatever the
/// length (see `docs/steady-state.md`). Intervals may be pushed after the decision: they do not change what is reported,
/// but a level that is left then is told.
#[derive(Clone, Debug)]
pub struct Monitor {
    rule: SteadyRule,
    floors: Floors,
    history: History,
    next_look_s: f64,
    last: Option<Look>,
    decided: Option<Decision>,
    /// What was found at the decision, with its series.
    verdict: Option<SteadyOutcome>,
}

impl Monitor {
    /// A monitor that has seen nothing.
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

    /// Takes the next interval of the measurement (merged over all workers), in order.
    ///
    /// An interval of no length is ignored. After a decision the same is answered again.
    pub fn push(&mut self, interval: &Interval) -> Decision {
        if !self.history.push(interval) {
            return self.decided.unwrap_or(Decision::GoOn);
        }
        if let Some(decided) = self.decided {
            return decided;
        }
        // A hundredth of an interval is how exactly its end is met, not a reason to wait for another.
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

    /// The rule that it judges by.
    pub fn rule(&self) -> &SteadyRule {
        &self.rule
    }

    /// How far it is.
    pub fn progress(&self) -> RuleProgress {
        RuleProgress {
            elapsed_s: self.history.elapsed_s,
            bytes: self.history.bytes,
            next_look_s: self.next_look_s.min(self.floors.limit_seconds),
            limit_s: self.floors.limit_seconds,
            criteria: self.last.as_ref().map(|look| look.criteria.clone()).unwrap_or_default(),
        }
    }

    /// The judgement over what was pushed so far; at any moment, also when interrupted.
    ///
    /// After a decision it is that decision's, with the shape of all that was pushed.
    pub fn outcome(&self) -> SteadyOutcome {
        let Some(decided) = &self.verdict else {
            let mut look = rule::look(&self.rule, &self.floors, &self.history);
            // A rule that looks at certain moments may not be satisfied at any other.
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

/// The drift of the first series, which is total throughput, for each minute.
fn trend(series: &[SeriesEstimate], window_s: f64) -> Option<Trend> {
    let SeriesEstimate { measure, estimate, drift, drift_bound, .. } = series.first()?;
    // A drift over the window is that from the first of its points to the last.
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
