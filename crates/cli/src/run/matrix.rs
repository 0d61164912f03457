//! The cells of a run, one after the other.

use experiment::{Cell, Plan, Study};
use reactor::clock;
use store::{CellRecord, State};

use super::cell::{self, Ended};
use super::context::Context;
use super::ground::Ground;
use super::load;
use super::output;
use crate::live::model::CellLine;
use crate::moment::now;

/// Trials that a search is expected to need.
const EXPECTED_TRIALS: f64 = 10.0;

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// How far it came.
    pub state: State,
    /// Why it went no further, in one line.
    pub failure: Option<String>,
}

/// Carries out all cells that `done` does not hold.
pub fn carry_out(context: &mut Context, plan: &Plan, done: &[u32]) -> Outcome {
    let mut ground = Ground::default();
    let outcome = cells(context, &mut ground, plan, done);
    for place in places(plan) {
        if keeps(plan, &place) {
            ground.forget(&place);
        }
    }
    ground.leave_all(context);
    context.recorder.finish_run(outcome.state);
    match context.recorder.failure() {
        Some(failure) if outcome.failure.is_none() => {
            Outcome { state: State::Failed, failure: Some(failure.to_owned()) }
        }
        _ => outcome,
    }
}

fn cells(context: &mut Context, ground: &mut Ground, plan: &Plan, done: &[u32]) -> Outcome {
    let failed = |failure: String| Outcome { state: State::Failed, failure: Some(failure) };
    for (at, cell) in plan.cells.iter().enumerate() {
        if done.contains(&cell.index) {
            continue;
        }
        if context.interrupt.arrived_already() {
            return interrupted(context);
        }
        let ended = one(context, ground, cell, at);
        let rest = plan.cells[at + 1..].iter().filter(|later| !done.contains(&later.index));
        let needed = rest.clone().any(|later| later.target.place() == cell.target.place());
        let place = cell.target.place();
        if !needed && !keeps(plan, &place) {
            ground.leave(context, &place);
        }
        if let Some(failure) = context.recorder.failure() {
            return failed(failure.to_owned());
        }
        if ended.stops_run {
            return failed(format!(
                "stopped by `errors: stop` in cell {} ({}); {} cells were not run",
                cell.index + 1,
                cell.name,
                rest.count()
            ));
        }
        if ended.state == State::Interrupted {
            return interrupted(context);
        }
    }
    Outcome { state: State::Finished, failure: None }
}

fn interrupted(context: &mut Context) -> Outcome {
    let signal = context.interrupt.ended_by().map_or("a signal", |(name, _)| name);
    context.recorder.event(None, "signal", format!("{signal} ended the run"));
    Outcome { state: State::Interrupted, failure: None }
}

fn one(context: &mut Context, ground: &mut Ground, cell: &Cell, at: usize) -> Ended {
    let started = now();
    context.screen.model().begin_cell(at, &cell.target.url, clock::now_ns());
    context.recorder.begin_cell(cell.index, started);
    let ended = cell::carry_out(context, ground, cell);
    let record = CellRecord {
        index: cell.index,
        state: ended.state,
        started: Some(started),
        finished: Some(now()),
        result: ended.result.clone(),
        failure: ended.failure.clone(),
    };
    context.recorder.finish_cell(&record);
    let line = output::in_a_line(&record);
    context.screen.model().end_cell(at, ended.state, line.clone(), clock::now_ns());
    context.messages.note(&format!("cell {} ({}): {line}", cell.index + 1, cell.name));
    ended
}

/// Whether a place's data stays: no cell that uses it removes it.
fn keeps(plan: &Plan, place: &str) -> bool {
    !plan.cells.iter().any(|cell| cell.target.place() == place && cell.stages.clean_up)
}

fn places(plan: &Plan) -> Vec<String> {
    let mut places: Vec<String> = plan.cells.iter().map(|cell| cell.target.place()).collect();
    places.sort();
    places.dedup();
    places
}

/// The cells for those who watch; `done` ones are over already.
pub fn lines(plan: &Plan, records: &[CellRecord]) -> Vec<CellLine> {
    let cells = plan.cells.iter().map(|cell| {
        let record = records.iter().find(|record| record.index == cell.index);
        let over = record.filter(|record| record.state == State::Finished);
        CellLine {
            name: cell.name.clone(),
            state: over.map_or(State::Pending, |record| record.state),
            outcome: over.map_or_else(String::new, output::in_a_line),
            expected_s: expected_s(cell),
            took_s: None,
        }
    });
    cells.collect()
}

/// How long a cell is expected to take, without its preparation, in seconds.
fn expected_s(cell: &Cell) -> f64 {
    let stages = &cell.stages;
    match &cell.study {
        None => stages.warm_up_s + f64::midpoint(stages.measure_at_least_s, load::limit_s(cell)),
        Some(Study::Find { trial_s, .. }) => EXPECTED_TRIALS * trial_s * 1.25,
        Some(Study::Sweep { rates_ops_per_s, point_s }) => {
            let points = if rates_ops_per_s.is_empty() { 11 } else { rates_ops_per_s.len() };
            points as f64 * point_s * 1.25
        }
    }
}
