//! Several measurements at different rates: the highest rate at which a goal holds, and the latency/throughput curve.
//!
//! Each is an open loop, so that an overloaded target cannot slow the load down to its own pace (coordinated omission).
//! A rate counts as held only if the target kept it: a growing backlog is a failure, however low the latency of the
//! completed operations.

use experiment::{Arrivals, Gate, Study};
use store::StudyPoint;
use units::OpRate;

use super::cell_run::CellRun;
use super::context::CellFailure;
use super::gates;
use super::measure::Measured;

/// Maximum trials of a search: bisection narrows a bracket of a thousand to one to 0.1 % in twenty.
const MAX_TRIALS: usize = 40;
/// Points of a sweep that names no rates.
const STEPS: u32 = 10;
/// A rate counts as kept when this share of it was done and no more than the remainder waits at the end.
const KEPT: f64 = 0.98;

/// What a study found.
pub struct StudyOutcome {
    /// The measurements, in the order in which they were taken.
    pub points: Vec<StudyPoint>,
    /// The highest rate that held, for a search.
    pub rate: Option<f64>,
    /// The measurement that represents the cell.
    pub best: Measured,
    /// Failed operations of all measurements.
    pub failed: u64,
    /// In one line.
    pub summary: String,
    /// A signal ended it.
    pub interrupted: bool,
}

/// Runs a study.
///
/// # Errors
/// Nothing could be measured.
pub fn carry_out(run: &mut CellRun<'_>, study: &Study) -> Result<StudyOutcome, CellFailure> {
    let seconds = match study {
        Study::Find { trial_s, .. } => *trial_s,
        Study::Sweep { point_s, .. } => *point_s,
    };
    let goal = match study {
        Study::Find { goal, .. } => Some(goal),
        Study::Sweep { .. } => None,
    };
    let mut trials = Trials { run, seconds, goal, made: Vec::new(), best: None, failed: 0 };
    let outcome = match study {
        Study::Find { from_ops_per_s, to_ops_per_s, tolerance, goal, .. } => {
            trials.find(goal, *from_ops_per_s, *to_ops_per_s, *tolerance)
        }
        Study::Sweep { rates_ops_per_s, .. } => trials.sweep(rates_ops_per_s),
    };
    let (rate, summary, interrupted) = match outcome {
        Ok((rate, summary)) => (rate, summary, false),
        Err(CellFailure::Interrupted) if trials.best.is_some() => {
            (None, "interrupted before it was over".to_owned(), true)
        }
        Err(fault) => return Err(fault),
    };
    let Some((best, _)) = trials.best else { return Err(CellFailure::Interrupted) };
    Ok(StudyOutcome { points: trials.made, rate, best, failed: trials.failed, summary, interrupted })
}

/// One measurement of a study.
struct Trial {
    point: StudyPoint,
    /// The target did what was offered, whatever the goal.
    kept: bool,
}

/// The measurements of a study so far.
struct Trials<'a, 'r> {
    run: &'a mut CellRun<'r>,
    seconds: f64,
    goal: Option<&'a Gate>,
    made: Vec<StudyPoint>,
    /// The representative measurement with its rate, and whether it held.
    best: Option<(Measured, bool)>,
    failed: u64,
}

impl Trials<'_, '_> {
    /// The highest rate at which the goal holds, by bisection.
    fn find(
        &mut self,
        goal: &Gate,
        from: f64,
        to: f64,
        tolerance: f64,
    ) -> Result<(Option<f64>, String), CellFailure> {
        let (mut low, mut high) = (from, to);
        if high <= 0.0 {
            high = self.at(Arrivals::Closed)?.point.ops_per_s;
        }
        let goal = &goal.text;
        if high <= low || !self.holds(low)? {
            return Ok((None, format!("{goal} does not hold even at {}", OpRate(low))));
        }
        if self.holds(high)? {
            let more =
                if to > 0.0 { ", the highest rate that was tried" } else { ", what a closed loop reaches" };
            return Ok((Some(high), format!("{goal} holds up to {}{more}", OpRate(high))));
        }
        while (high - low) / high > tolerance && self.made.len() < MAX_TRIALS {
            // A wide bracket is bisected geometrically, a narrow one arithmetically.
            let middle = if high > 4.0 * low { (high * low).sqrt() } else { f64::midpoint(high, low) };
            if self.holds(middle)? {
                low = middle;
            } else {
                high = middle;
            }
        }
        Ok((Some(low), format!("{goal} holds up to {} but not at {}", OpRate(low), OpRate(high))))
    }

    /// Whether the goal holds at a rate. One stall must not decide the search: if the target kept the rate but missed
    /// the goal, the majority of three trials decides.
    fn holds(&mut self, ops_per_s: f64) -> Result<bool, CellFailure> {
        let first = self.rate(ops_per_s)?;
        if first.point.held || !first.kept {
            return Ok(first.point.held);
        }
        Ok(self.rate(ops_per_s)?.point.held && self.rate(ops_per_s)?.point.held)
    }

    /// Takes one measurement at each rate.
    fn sweep(&mut self, rates: &[f64]) -> Result<(Option<f64>, String), CellFailure> {
        let rates = if rates.is_empty() {
            let ceiling = self.at(Arrivals::Closed)?.point.ops_per_s;
            (1..=STEPS).map(|step| ceiling * f64::from(step) / f64::from(STEPS)).collect()
        } else {
            rates.to_vec()
        };
        let mut kept = None;
        for rate in &rates {
            if self.rate(*rate)?.point.held {
                kept = Some(*rate);
            }
        }
        let kept =
            kept.map_or("none of the rates was kept".into(), |rate| format!("kept up to {}", OpRate(rate)));
        Ok((None, format!("{} rates, {kept}", rates.len())))
    }

    fn rate(&mut self, ops_per_s: f64) -> Result<Trial, CellFailure> {
        let arrivals = match self.run.cell.workload.arrivals {
            Arrivals::Poisson { .. } => Arrivals::Poisson { ops_per_s },
            _ => Arrivals::Constant { ops_per_s },
        };
        self.at(arrivals)
    }

    /// Takes one measurement; a signal ends the study with what it has.
    fn at(&mut self, arrivals: Arrivals) -> Result<Trial, CellFailure> {
        let trial = self.made.len() as u32;
        let offered = match arrivals {
            Arrivals::Constant { ops_per_s } | Arrivals::Poisson { ops_per_s } => ops_per_s,
            _ => 0.0,
        };
        let measured = self.run.measure_at(trial, arrivals, self.seconds)?;
        let goal_holds =
            self.goal.is_none_or(|goal| gates::judge_one(goal, gates::of_op(goal, &measured.figures)).passed);
        let kept = offered == 0.0 || keeps(&measured, offered);
        let total = &measured.figures.total.summary;
        let point = StudyPoint {
            offered_ops_per_s: offered,
            ops_per_s: total.ops_per_s.mean,
            bytes_per_s: total.bytes_per_s.mean,
            response: total.response,
            deepest_backlog: measured.result.deepest_backlog,
            held: kept && goal_holds,
        };
        self.failed += measured.failed();
        self.say(&point, kept);
        self.made.push(point.clone());
        let interrupted = measured.interrupted;
        let ended_by_errors = measured.ended_by_errors(self.run.cell.errors);
        // The highest rate that held represents the cell; if none held, the one with the most work done.
        let holds = point.held && offered > 0.0;
        let better = self.best.as_ref().is_none_or(|(best, best_holds)| match (holds, *best_holds) {
            (true, false) => true,
            (false, true) => false,
            _ => point.ops_per_s > best.figures.total.summary.ops_per_s.mean,
        });
        if better {
            self.best = Some((measured, holds));
        }
        if interrupted {
            return Err(CellFailure::Interrupted);
        }
        if ended_by_errors {
            return Err(CellFailure::Failed(format!("errors ended the measurement at {}", OpRate(offered))));
        }
        Ok(Trial { point, kept })
    }

    fn say(&mut self, point: &StudyPoint, kept: bool) {
        let offered = match point.offered_ops_per_s {
            0.0 => "a closed loop".to_owned(),
            rate => OpRate(rate).to_string(),
        };
        let verdict = match (point.held, kept) {
            (true, _) => "held",
            (false, true) => "the goal does not hold",
            (false, false) => "the rate was not kept",
        };
        let text = format!(
            "{offered}: {} done, p50 {}, p99 {}: {verdict}",
            OpRate(point.ops_per_s),
            units::latency(point.response.p50_ns),
            units::latency(point.response.p99_ns),
        );
        self.run.context.remark(self.run.cell, "trial", &text);
    }
}

/// Whether the target did what was offered without a growing backlog.
fn keeps(measured: &Measured, offered: f64) -> bool {
    let result = &measured.result;
    let seconds = measured.seconds();
    // A Poisson process offers more or less than its rate: what was actually offered counts.
    let meant = if result.offered > 0 { result.offered as f64 } else { offered * seconds };
    result.shed == 0
        && result.total.ok() as f64 >= meant * KEPT
        && result.missed_starts as f64 <= (meant * (1.0 - KEPT)).max(1.0)
}
