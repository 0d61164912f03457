//! Follows a measurement interval by interval and says when it may end.

use experiment::SteadyRule;
use metrics::Interval;

use crate::{Criterion, Shape, SteadyOutcome, Window};

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
pub struct Progress {
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
#[derive(Clone, Debug)]
pub struct Monitor {
    rule: SteadyRule,
    floors: Floors,
    elapsed_s: f64,
    bytes: u64,
    intervals: u32,
}

impl Monitor {
    /// A monitor that has seen nothing.
    pub fn new(rule: &SteadyRule, floors: Floors) -> Self {
        Self { rule: rule.clone(), floors, elapsed_s: 0.0, bytes: 0, intervals: 0 }
    }

    /// Takes the next interval of the measurement (merged over all workers), in order.
    pub fn push(&mut self, interval: &Interval) -> Decision {
        self.elapsed_s += interval.length_ns as f64 / 1e9;
        self.bytes += interval.bytes();
        self.intervals = interval.index + 1;
        match self.elapsed_s + 1e-9 < self.floors.limit_seconds {
            true => Decision::GoOn,
            false => Decision::LimitReached,
        }
    }

    /// How far it is.
    pub fn progress(&self) -> Progress {
        Progress {
            elapsed_s: self.elapsed_s,
            bytes: self.bytes,
            next_look_s: self.floors.seconds,
            limit_s: self.floors.limit_seconds,
            criteria: Vec::new(),
        }
    }

    /// The judgement over what was pushed so far; at any moment, also when interrupted.
    pub fn outcome(&self) -> SteadyOutcome {
        let rule = match self.rule {
            SteadyRule::Default { .. } => "default",
            SteadyRule::Snia { .. } => "snia",
            SteadyRule::Storperf { .. } => "storperf",
            SteadyRule::Fio { .. } => "fio",
            SteadyRule::None => "none",
        };
        SteadyOutcome {
            rule: rule.to_owned(),
            reached: false,
            reason: "nothing was judged".to_owned(),
            window: Window { first: 0, end: self.intervals },
            criteria: Vec::new(),
            series: Vec::new(),
            shape: Shape::Unsettled,
            regimes: Vec::new(),
            pts: Vec::new(),
            lost: None,
            notes: Vec::new(),
        }
    }
}
