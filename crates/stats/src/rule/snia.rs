//! The rule of the SNIA Solid State Storage Performance Test Specification 2.0.2.
//!
//! The measurement is divided into rounds. It is steady when, over a window of five rounds, every tracked variable has
//! a data excursion (largest minus smallest) of at most 20 % of its average and a slope excursion (how far the
//! least-squares line moves from the window's first to its last round) of at most 10 % of its average. After 25 rounds
//! the PTS gives up. Purge and preconditioning are earlier stages, not part of this rule.

use super::{Look, floor_criteria};
use crate::history::History;
use crate::numbers::{Line, mean, range, share};
use crate::series::{Series, name};
use crate::{Criterion, CriterionUnit, Floors, PtsStatement, Window};

/// Rounds in the measurement window.
const WINDOW: usize = 5;
/// Maximum number of rounds.
const MOST: usize = 25;
/// Largest data excursion, relative to the average.
const DATA: f64 = 0.20;
/// Largest slope excursion, relative to the average.
const SLOPE: f64 = 0.10;

/// The statement over the last five rounds; `None` if there are fewer.
pub(crate) fn statement(series: &Series<'_>, rounds: &[f64]) -> Option<PtsStatement> {
    let from = rounds.len().checked_sub(WINDOW)?;
    let values = &rounds[from..];
    let line = Line::fit(values.iter().enumerate().map(|(i, v)| ((from + i + 1) as f64, *v)))?;
    let average = mean(values);
    Some(PtsStatement {
        op: series.op,
        measure: series.measure,
        first_round: from as u32 + 1,
        last_round: rounds.len() as u32,
        average,
        allowed_data_excursion: DATA * average,
        measured_data_excursion: range(values)?,
        allowed_slope_excursion: SLOPE * average,
        measured_slope_excursion: line.slope.abs() * (WINDOW - 1) as f64,
        slope: line.slope,
        intercept: line.at(0.0),
    })
}

impl PtsStatement {
    /// Whether both excursions are within their limits.
    pub fn is_steady(&self) -> bool {
        self.measured_data_excursion <= self.allowed_data_excursion
            && self.measured_slope_excursion <= self.allowed_slope_excursion
    }
}

pub(crate) fn look(round_s: f64, floors: &Floors, history: &History) -> Look {
    let rounds = history.rounds(round_s);
    let mut criteria = floor_criteria(floors, history);
    let (value, limit) = (rounds.len() as f64, WINDOW as f64);
    criteria.push(Criterion::at_least("rounds", value, limit, CriterionUnit::Count));
    let mut tracked = history.throughput();
    tracked.extend(history.mean_latencies());
    let pts: Vec<PtsStatement> = tracked
        .iter()
        .filter(|series| series.judged)
        .filter_map(|series| statement(series, &history.per_round(series, &rounds)))
        .collect();
    for (what, limit, of) in [
        ("data excursion", DATA, data_excursion as fn(&PtsStatement) -> f64),
        ("slope excursion over the window", SLOPE, slope_excursion),
    ] {
        if let Some(worst) = pts.iter().max_by(|a, b| of(a).total_cmp(&of(b))) {
            let name = format!("{what}, largest: {}", name(worst.op, worst.measure));
            let value = of(worst);
            // A value exactly at the limit passes, despite rounding in the division.
            let met = value <= limit * (1.0 + 1e-12);
            criteria.push(Criterion { name, value, limit, at_most: true, met, unit: CriterionUnit::Share });
        }
    }
    let reached = criteria.iter().all(|c| c.met);
    let from = rounds.len().saturating_sub(WINDOW);
    let window = match rounds.get(from..) {
        Some([first, .., last]) => {
            Window { first: history.grid.first(first.start), end: history.grid.end(last.end - 1) }
        }
        _ => history.everything(),
    };
    let span = format!("rounds {} to {} of {round_s} s", from + 1, rounds.len());
    let reason = match reached {
        true => format!("steady by the SNIA PTS over {span}"),
        false if rounds.len() >= MOST => {
            format!(
                "no steady state by the SNIA PTS within {MOST} rounds; over {span}: {}",
                super::misses(&criteria)
            )
        }
        false => format!("no steady state by the SNIA PTS: {}", super::misses(&criteria)),
    };
    // A floor may be longer than the rounds that the PTS grants.
    let exhausted = rounds.len() >= MOST && floor_criteria(floors, history).iter().all(|c| c.met);
    Look { reached, exhausted, reason, window: Some(window), criteria, pts, ..Look::default() }
}

fn data_excursion(statement: &PtsStatement) -> f64 {
    share(statement.measured_data_excursion, statement.average)
}

fn slope_excursion(statement: &PtsStatement) -> f64 {
    share(statement.measured_slope_excursion, statement.average)
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use super::*;
    use crate::Measure;
    use crate::history::Grid;

    fn of(rounds: &[f64]) -> Option<PtsStatement> {
        let grid = Grid::default();
        let (op, measure, values) = (None, Measure::OpsPerS, Cow::Owned(Vec::new()));
        statement(&Series { op, measure, values, undisturbed: None, grid: &grid, judged: true }, rounds)
    }

    #[test]
    fn the_statement_by_hand() {
        // Rounds 2 to 6 of 900 100 104 98 102 106: average 102, range 8, slope (−200−104+0+102+212)/10 = 1,
        // excursion 4, line at round 0: 102 − 4 = 98.
        let s = of(&[900.0, 100.0, 104.0, 98.0, 102.0, 106.0]).unwrap();
        assert_eq!((s.first_round, s.last_round, s.average), (2, 6, 102.0));
        assert_eq!((s.measured_data_excursion, s.measured_slope_excursion), (8.0, 4.0));
        assert!(
            (s.allowed_data_excursion - 20.4).abs() < 1e-12
                && (s.allowed_slope_excursion - 10.2).abs() < 1e-12
        );
        assert!((s.slope - 1.0).abs() < 1e-12 && (s.intercept - 98.0).abs() < 1e-12);
        assert!(s.is_steady());
    }

    #[test]
    fn a_ramp_of_fifteen_percent_fails_by_its_slope_alone() {
        let s = of(&[92.5, 96.25, 100.0, 103.75, 107.5]).unwrap();
        assert!(s.measured_data_excursion < s.allowed_data_excursion);
        assert!(s.measured_slope_excursion > s.allowed_slope_excursion && !s.is_steady());
        // A drop and a recovery: no slope, but too large a range.
        let s = of(&[100.0, 100.0, 70.0, 100.0, 100.0]).unwrap();
        assert!(s.measured_slope_excursion <= s.allowed_slope_excursion && !s.is_steady());
    }

    #[test]
    fn four_rounds_are_too_few_and_zeros_are_steady() {
        assert_eq!(of(&[1.0; 4]), None);
        assert!(of(&[0.0; 5]).unwrap().is_steady());
    }
}
