//! Cells that run at the same time: they share a start, and the end of one may end the others.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use engine::{Control, Rendezvous};
use experiment::Cell;

use super::context::CellFailure;
use crate::stop::StopToken;

/// How often a waiting cell checks for a signal.
const LOOK: Duration = Duration::from_millis(50);

/// The cells of a group while they run.
pub struct CellGroup {
    members: usize,
    rendezvous: Rendezvous,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// Stages under way, by cell.
    under_way: Vec<(u32, Control)>,
    /// Cells that have not ended.
    open: Vec<u32>,
    /// The cell whose end ended all others.
    closed_by: Option<u32>,
}

/// A stage that another cell's end can stop, until this is dropped.
pub struct Listed<'a> {
    together: &'a CellGroup,
    cell: u32,
}

impl Drop for Listed<'_> {
    fn drop(&mut self) {
        self.together.state().under_way.retain(|(cell, _)| *cell != self.cell);
    }
}

/// A cell's slot at the common start; if it is dropped unused, nobody waits for it.
pub struct StartSlot(Option<Rendezvous>);

impl StartSlot {
    /// The common start, handed to the first stage that asks.
    pub fn take(&mut self) -> Option<Rendezvous> {
        self.0.take()
    }
}

impl Drop for StartSlot {
    fn drop(&mut self) {
        if let Some(rendezvous) = self.0.take() {
            rendezvous.leave();
        }
    }
}

impl CellGroup {
    /// For the cells of a group, all of which will run.
    pub fn new(cells: &[&Cell]) -> Self {
        let open: Vec<u32> = cells.iter().map(|cell| cell.index).collect();
        let at_start = cells.iter().filter(|cell| awaited(cell, cells).is_empty()).count();
        Self {
            members: cells.len(),
            rendezvous: Rendezvous::new(at_start as u32),
            state: Mutex::new(State { open, ..State::default() }),
            changed: Condvar::new(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// True for a cell that runs alone.
    pub fn is_alone(&self) -> bool {
        self.members == 1
    }

    /// Waits for the cell's turn: the group's start, or the end of the cells that it waits for.
    ///
    /// # Errors
    /// A signal arrived.
    pub fn turn(&self, cell: &Cell, cells: &[&Cell], stop: &StopToken) -> Result<StartSlot, CellFailure> {
        let awaited = awaited(cell, cells);
        if awaited.is_empty() {
            return Ok(StartSlot(Some(self.rendezvous.clone())));
        }
        let mut state = self.state();
        while awaited.iter().any(|other| state.open.contains(other)) && state.closed_by.is_none() {
            if stop.is_requested() {
                return Err(CellFailure::Interrupted);
            }
            state = self.changed.wait_timeout(state, LOOK).unwrap_or_else(PoisonError::into_inner).0;
        }
        Ok(StartSlot(None))
    }

    /// Lets the end of another cell stop this stage; stops it at once if the group has ended.
    pub fn lists(&self, cell: u32, control: &Control) -> Listed<'_> {
        let mut state = self.state();
        if state.closed_by.is_some_and(|other| other != cell) {
            control.stop();
        }
        state.under_way.push((cell, control.clone()));
        drop(state);
        Listed { together: self, cell }
    }

    /// The cell whose end ended this one, if any.
    pub fn closed_by(&self, cell: u32) -> Option<u32> {
        self.state().closed_by.filter(|other| *other != cell)
    }

    /// Ends all other cells, because the load of a cell that closes the group has ended.
    pub fn close(&self, cell: u32) {
        let mut state = self.state();
        if state.closed_by.is_none() {
            state.closed_by = Some(cell);
            state
                .under_way
                .iter()
                .filter(|(other, _)| *other != cell)
                .for_each(|(_, control)| control.stop());
        }
        self.changed.notify_all();
    }

    /// Marks a cell as ended: cells that waited for it start.
    pub fn ended(&self, cell: u32) {
        self.state().open.retain(|other| *other != cell);
        self.changed.notify_all();
    }
}

/// The cells of the group that this one waits for: every clone of the job that it names.
fn awaited(cell: &Cell, cells: &[&Cell]) -> Vec<u32> {
    let Some(named) = cell.group.and_then(|group| group.after_cell) else { return Vec::new() };
    let job = |cell: &Cell| cell.workload.stream().map(|job| job.name.clone());
    let Some(named) = cells.iter().find(|other| other.index == named) else { return Vec::new() };
    let same =
        |other: &&&Cell| other.index == named.index || (job(other).is_some() && job(other) == job(named));
    cells.iter().filter(same).map(|other| other.index).filter(|index| *index != cell.index).collect()
}

#[cfg(test)]
mod tests {
    use experiment::{ConcurrentCells, Settings, SourceText};

    use super::*;

    fn cells(after: &[Option<u32>]) -> Vec<Cell> {
        let text = "targets: {t: 'null:'}\nworkloads: {w: {ops: read}}\n";
        let plan =
            experiment::parse(&SourceText { file: "t.yaml", text }, &Settings::of(targets::kinds())).unwrap();
        let of = |(index, after): (usize, &Option<u32>)| Cell {
            index: index as u32,
            group: Some(ConcurrentCells {
                number: 0,
                ends_group: false,
                ends_run: false,
                after_cell: *after,
                report: None,
            }),
            ..plan.cells[0].clone()
        };
        after.iter().enumerate().map(of).collect()
    }

    #[test]
    fn a_cell_begins_when_the_one_that_it_waits_for_has_ended() {
        let cells = cells(&[None, Some(0), Some(1)]);
        let cells: Vec<&Cell> = cells.iter().collect();
        assert_eq!((awaited(cells[1], &cells), awaited(cells[2], &cells)), (vec![0], vec![1]));
        let together = CellGroup::new(&cells);
        assert!(!together.is_alone() && CellGroup::new(&cells[..1]).is_alone());
        assert_eq!(together.state().open, [0, 1, 2]);
        together.ended(0);
        assert_eq!(together.state().open, [1, 2]);
    }

    #[test]
    fn the_end_of_one_stops_those_under_way_and_those_that_come_later() {
        let cells = cells(&[None, None, None]);
        let cells: Vec<&Cell> = cells.iter().collect();
        let together = CellGroup::new(&cells);
        let (first, second, third) = (Control::new(), Control::new(), Control::new());
        let _first = together.lists(0, &first);
        let listed = together.lists(1, &second);
        drop(listed);
        together.close(0);
        let _third = together.lists(2, &third);
        assert!(!first.is_stopped() && !second.is_stopped() && third.is_stopped());
        assert_eq!((together.closed_by(0), together.closed_by(1)), (None, Some(0)));
    }
}
