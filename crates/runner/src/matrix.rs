//! The cells of a run: one after the other, and those of a group at the same time.
//!
//! A cell without a group is a group of one. Job files are laid out for all jobs, one after the other, before the first
//! group starts, as in fio; other cells' data sets when their turn comes. Then a thread per cell of the group drives
//! that cell's stages.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use experiment::{Access, Cell, FailurePolicy, Plan, Study, WITHOUT_LIMIT_S};
use host::load;
use host::replay::{self, ReplayError};
use jiff::Timestamp;
use metrics::OpKind;
use reactor::clock;
use store::{CellRecord, State};

use super::cell::{self, EndedCell, OpenedCell};
use super::cell_group::CellGroup;
use super::context::{CellFailure, Context};
use super::data_sets::{self, DataSets};
use super::outcome;
use crate::disks::DiskWatch;
use crate::events::RunEvent;
use crate::progress::CellLine;
use crate::server_size::ServerSize;
use crate::stop::StopReason;
use crate::summary;
use crate::timestamp::now;

/// Expected number of trials in a search.
const EXPECTED_TRIALS: f64 = 10.0;

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MatrixOutcome {
    /// How far it got.
    pub state: State,
    /// Why it ended early, in one line.
    pub failure: Option<String>,
}

/// Runs all cells that are not in `done`; a group runs as a whole.
pub fn carry_out(context: &Context, plan: &Plan, done: &[u32]) -> MatrixOutcome {
    let data_sets = Mutex::new(DataSets::default());
    let groups: Vec<Vec<&Cell>> = groups(plan)
        .into_iter()
        .filter(|cells| !cells.iter().all(|cell| done.contains(&cell.index)))
        .collect();
    let mut laid_out = Openings::new();
    let mut server = plan.server_scale.as_ref().map(ServerSize::new);
    let outcome = match lay_out(context, &data_sets, &groups, &mut laid_out) {
        Ok(()) => {
            let disks = context.outcomes.is_some().then(|| watch(&laid_out));
            let outcome = run_groups(context, &data_sets, plan, &groups, (&mut laid_out, server.as_mut()));
            if let Some(disks) = disks {
                *context.disks.lock().unwrap_or_else(PoisonError::into_inner) = disks.used();
            }
            outcome
        }
        Err(outcome) => outcome,
    };
    // Cells whose files were laid out but which did not run.
    for (index, opening) in laid_out {
        drop(opening);
        let cell = &plan.cells[index as usize];
        context.recorder().finish_cell(&CellRecord {
            index,
            state: State::Pending,
            started: None,
            finished: None,
            result: None,
            failure: None,
        });
        outcome::keep_failure(context, cell, None);
    }
    let mut data_sets = data_sets::lock(&data_sets);
    for place in places(plan) {
        if keeps(plan, &place) {
            data_sets.forget(&place);
        }
    }
    data_sets.leave_all(context);
    let outcome = match server.as_ref().and_then(|server| server.reset(context)) {
        Some(failure) => {
            context.events.warn(&failure);
            if outcome.state == State::Finished { failed(failure) } else { outcome }
        }
        None => outcome,
    };
    context.recorder().finish_run(outcome.state);
    match context.recorder().failure() {
        Some(failure) if outcome.failure.is_none() => failed(failure.to_string()),
        _ => outcome,
    }
}

/// Cells that run at the same time, in order: adjacent cells with the same group.
pub fn groups(plan: &Plan) -> Vec<Vec<&Cell>> {
    let same = |a: &Cell, b: &Cell| match (a.group, b.group) {
        (Some(a), Some(b)) => a.number == b.number,
        _ => false,
    };
    plan.cells.chunk_by(same).map(|cells| cells.iter().collect()).collect()
}

/// The opened cells, or why they cannot run.
type Openings = BTreeMap<u32, (Timestamp, Result<OpenedCell, CellFailure>)>;

/// Lays out the files of all grouped jobs, as fio does. The files of a job that runs alone are laid out when it starts,
/// since the job before it may have removed them.
fn lay_out(
    context: &Context,
    data_sets: &Mutex<DataSets>,
    groups: &[Vec<&Cell>],
    laid_out: &mut Openings,
) -> Result<(), MatrixOutcome> {
    // A replay names its files itself, and an earlier job may write the log.
    let early =
        |cell: &&&Cell| cell.group.is_some() && cell.workload.lays_out_files() && !replay::replays(cell);
    for cell in groups.iter().flatten().filter(early) {
        if context.stop.is_requested() {
            return Err(interrupted(context));
        }
        laid_out.insert(cell.index, open(context, data_sets, cell));
        if let Some(failure) = context.recorder().failure() {
            return Err(failed(failure.to_string()));
        }
    }
    Ok(())
}

/// Watches the disks under the files of all jobs.
fn watch(laid_out: &Openings) -> DiskWatch {
    let made = laid_out.values().filter_map(|(_, opening)| opening.as_ref().ok());
    DiskWatch::start(&made.flat_map(|opening| opening.devices.iter().copied()).collect())
}

fn open(
    context: &Context,
    data_sets: &Mutex<DataSets>,
    cell: &Cell,
) -> (Timestamp, Result<OpenedCell, CellFailure>) {
    let started = now();
    context.recorder().begin_cell(cell.index, started);
    (started, cell::open(context, &mut data_sets::lock(data_sets), cell))
}

fn run_groups(
    context: &Context,
    data_sets: &Mutex<DataSets>,
    plan: &Plan,
    groups: &[Vec<&Cell>],
    (laid_out, mut server): (&mut Openings, Option<&mut ServerSize<'_>>),
) -> MatrixOutcome {
    for (at, cells) in groups.iter().enumerate() {
        if context.stop.is_requested() {
            return interrupted(context);
        }
        let sized = match server.as_mut() {
            Some(server) => bring_to_size(context, data_sets, plan, server, cells[0]),
            None => Ok(()),
        };
        let mut ended = match sized {
            Ok(()) => group(context, data_sets, cells, laid_out),
            Err(fault) => cells.iter().map(|cell| (*cell, not_run(context, cell, &fault))).collect(),
        };
        // Each repetition has one host fewer.
        while context.policy() == FailurePolicy::RepeatCell
            && ended.iter().any(|(_, ended)| ended.lost)
            && !context.host_group.alive().is_empty()
            && !context.stop.is_requested()
        {
            for cell in cells {
                context.remark(cell, "repeat", "it is repeated with the hosts that are left");
            }
            ended = group(context, data_sets, cells, laid_out);
        }
        let later = || groups[at + 1..].iter().flatten();
        for cell in cells {
            let place = cell.place();
            if !later().any(|later| later.place() == place) && !keeps(plan, &place) {
                data_sets::lock(data_sets).leave(context, &place);
            }
        }
        if let Some(failure) = context.recorder().failure() {
            return failed(failure.to_string());
        }
        if let Some((cell, _)) = ended.iter().find(|(_, ended)| ended.stops_run) {
            return failed(format!(
                "stopped by `errors: stop` in cell {} ({}); {}",
                cell.index + 1,
                cell.name,
                left_out(later().count())
            ));
        }
        let lost = ended.iter().find(|(_, ended)| ended.lost);
        if let Some((cell, EndedCell { failure: Some(failure), .. })) = lost {
            return failed(format!(
                "a host was lost in cell {} ({}): {failure}; {}",
                cell.index + 1,
                cell.name,
                left_out(later().count())
            ));
        }
        if context.host_group.alive().is_empty() {
            return failed(format!("no host is left; {}", left_out(later().count())));
        }
        if context.stop.is_requested() && ended.iter().any(|(_, ended)| ended.state == State::Interrupted) {
            return interrupted(context);
        }
        let last = cells.iter().find(|cell| cell.group.is_some_and(|group| group.ends_run));
        if let Some(cell) = last.filter(|_| later().count() > 0) {
            let text = format!(
                "cell {} ({}) ends the run: {}",
                cell.index + 1,
                cell.name,
                left_out(later().count())
            );
            context.events.note(&text);
            context.recorder().event(None, "end", text);
            return MatrixOutcome { state: State::Finished, failure: None };
        }
    }
    MatrixOutcome { state: State::Finished, failure: None }
}

/// Brings the server to the size that a cell needs. Data of the earlier size is removed first, unless it stays: the
/// next size would move it, or lose it.
fn bring_to_size(
    context: &Context,
    data_sets: &Mutex<DataSets>,
    plan: &Plan,
    server: &mut ServerSize<'_>,
    cell: &Cell,
) -> Result<(), CellFailure> {
    if server.changes_for(cell) && plan.size_of_data(cell).is_some() {
        let mut data_sets = data_sets::lock(data_sets);
        for place in places(plan).into_iter().filter(|place| !keeps(plan, place)) {
            data_sets.leave(context, &place);
        }
    }
    server.bring_to(context, cell)
}

/// Records a cell whose server could not be brought to its size.
fn not_run(context: &Context, cell: &Cell, fault: &CellFailure) -> EndedCell {
    let started = now();
    context.progress.lock().begin_cell(cell.index as usize, &cell.target.url, clock::now_ns());
    context.recorder().begin_cell(cell.index, started);
    let ended = EndedCell::early(cell, fault.clone());
    outcome::keep_failure(context, cell, ended.failure.as_deref());
    finish(context, cell, started, &ended);
    ended
}

/// Runs the cells of a group at the same time; returns the outcome of each.
fn group<'a>(
    context: &Context,
    data_sets: &Mutex<DataSets>,
    cells: &[&'a Cell],
    laid_out: &mut Openings,
) -> Vec<(&'a Cell, EndedCell)> {
    let named: Vec<(&'a Cell, Result<Cow<'a, Cell>, ReplayError>)> = cells
        .iter()
        .map(|cell| match replay::replays(cell) {
            true => (*cell, replay::named(cell).map(Cow::Owned)),
            false => (*cell, Ok(Cow::Borrowed(*cell))),
        })
        .collect();
    let mut openings = Vec::new();
    for (cell, named) in &named {
        context.progress.lock().begin_cell(cell.index as usize, &cell.target.url, clock::now_ns());
        let (cell, opening): (&Cell, _) = match named {
            Ok(cell) => {
                (cell, laid_out.remove(&cell.index).unwrap_or_else(|| open(context, data_sets, cell)))
            }
            Err(error) => {
                let started = now();
                context.recorder().begin_cell(cell.index, started);
                (*cell, (started, Err(CellFailure::Failed(error.to_string()))))
            }
        };
        openings.push((cell, opening));
    }
    let able: Vec<&Cell> =
        openings.iter().filter(|(_, (_, made))| made.is_ok()).map(|(cell, _)| *cell).collect();
    let together = CellGroup::new(&able);
    let (able, together) = (&able, &together);
    std::thread::scope(|scope| {
        let threads: Vec<_> = openings
            .into_iter()
            .map(|(cell, (started, opening))| {
                let lead = move || {
                    let ended = match opening {
                        Ok(opening) => lead(context, data_sets, cell, opening, (able, together)),
                        Err(fault) => {
                            let ended = EndedCell::early(cell, fault);
                            outcome::keep_failure(context, cell, ended.failure.as_deref());
                            ended
                        }
                    };
                    finish(context, cell, started, &ended);
                    // Recorded first: cells that waited for it must not start before its recorded end.
                    together.ended(cell.index);
                    ended
                };
                scope.spawn(lead)
            })
            .collect();
        let joined = threads.into_iter().zip(&named).map(|(thread, (cell, _))| match thread.join() {
            Ok(ended) => (*cell, ended),
            Err(panic) => std::panic::resume_unwind(panic),
        });
        joined.collect()
    })
}

/// `1 cell was not run`.
fn left_out(cells: usize) -> String {
    format!("{} not run", if cells == 1 { "1 cell was".to_owned() } else { format!("{cells} cells were") })
}

/// Waits for a cell's turn and carries it out.
fn lead(
    context: &Context,
    data_sets: &Mutex<DataSets>,
    cell: &Cell,
    opening: OpenedCell,
    (cells, together): (&[&Cell], &CellGroup),
) -> EndedCell {
    let ended = match together.turn(cell, cells, &context.stop) {
        Ok(place) => cell::carry_out(context, data_sets, cell, opening, (together, place)),
        Err(fault) => {
            outcome::keep_failure(context, cell, None);
            EndedCell::early(cell, fault)
        }
    };
    match together.closed_by(cell.index) {
        Some(other) if ended.result.is_none() && ended.failure.is_none() => {
            let failure = format!("not started: cell {} had already ended the group", other + 1);
            EndedCell { state: State::Pending, failure: Some(failure), ..ended }
        }
        _ => ended,
    }
}

/// Records and reports the outcome of a cell.
fn finish(context: &Context, cell: &Cell, started: Timestamp, ended: &EndedCell) {
    let record = CellRecord {
        index: cell.index,
        state: ended.state,
        started: Some(started),
        finished: Some(now()),
        result: ended.result.clone(),
        failure: ended.failure.clone(),
    };
    context.recorder().finish_cell(&record);
    let line = summary::in_a_line(&record);
    context.progress.lock().end_cell(cell.index as usize, ended.state, line.clone(), clock::now_ns());
    context.events.note(&format!("cell {} ({}): {line}", cell.index + 1, cell.name));
    context.events.event(RunEvent::CellEnded(&record));
}

fn failed(failure: String) -> MatrixOutcome {
    MatrixOutcome { state: State::Failed, failure: Some(failure) }
}

fn interrupted(context: &Context) -> MatrixOutcome {
    let signal = context.stop.reason().map_or("a signal", StopReason::name);
    context.recorder().event(None, "signal", format!("{signal} ended the run"));
    MatrixOutcome { state: State::Interrupted, failure: None }
}

/// Whether a place's data is kept: no cell that uses it removes it.
fn keeps(plan: &Plan, place: &str) -> bool {
    !plan.cells.iter().any(|cell| cell.place() == place && cell.stages.clean_up)
}

fn places(plan: &Plan) -> Vec<String> {
    let mut places: Vec<String> = plan.cells.iter().map(|cell| cell.place()).collect();
    places.sort();
    places.dedup();
    places
}

/// The cells for observers; those in `done` have already ended.
pub fn lines(plan: &Plan, records: &[CellRecord]) -> Vec<CellLine> {
    let cells = plan.cells.iter().map(|cell| {
        let record = records.iter().find(|record| record.index == cell.index);
        let over = record.filter(|record| record.state == State::Finished);
        CellLine {
            name: cell.name.clone(),
            state: over.map_or(State::Pending, |record| record.state),
            outcome: over.map_or_else(String::new, summary::in_a_line),
            expected_s: expected_s(cell),
            took_s: None,
            workers: cell.workload.jobs,
            letter: letter(cell),
        }
    });
    cells.collect()
}

/// Letter of a cell's workers in fio's progress line.
fn letter(cell: &Cell) -> char {
    let letter = match (cell.workload.does(OpKind::reads), cell.workload.does(OpKind::writes)) {
        (true, true) => 'M',
        (true, false) => 'R',
        (false, true) => 'W',
        (false, false) => 'D',
    };
    let in_order = matches!(cell.workload.access(), Access::Sequential | Access::Strided { .. });
    if in_order { letter } else { letter.to_ascii_lowercase() }
}

/// Expected duration of a cell, without its preparation, in seconds.
fn expected_s(cell: &Cell) -> f64 {
    let stages = &cell.stages;
    match &cell.study {
        // The duration of a job without a runtime is unknown.
        None if load::limit_s(cell) >= WITHOUT_LIMIT_S => 0.0,
        None => {
            let measure_s = f64::midpoint(stages.measure_at_least_s, load::limit_s(cell));
            stages.warm_up_s + measure_s + stages.probing_s()
        }
        Some(Study::Find { trial_s, .. }) => EXPECTED_TRIALS * trial_s * 1.25,
        Some(Study::Sweep { rates_ops_per_s, point_s }) => {
            let points = if rates_ops_per_s.is_empty() { 11 } else { rates_ops_per_s.len() };
            points as f64 * point_s * 1.25
        }
    }
}
