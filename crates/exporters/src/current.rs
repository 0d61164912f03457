//! The latest interval of each cell under way, for whoever samples a run.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use experiment::{Cell, Plan};
use jiff::{SignedDuration, Timestamp};
use metrics::{Interval, OpKind, OpStats, SeriesPoint};
use runner::progress::{Limit, SharedProgress};
use runner::{Events, RunEvent, timestamp};
use stats::limit::Bottleneck;
use store::{CellRecord, Validity};

use crate::buckets::LatencyBuckets;

/// Maximum number of cells under way that are kept; the ones above it are counted.
pub(crate) const MAX_CELLS: usize = 32;
/// Maximum number of points of single hosts that are kept of a run.
pub(crate) const MAX_HOST_POINTS: usize = 1024;
/// Number of ended cells whose outcome is kept.
pub(crate) const MAX_ENDED: usize = 32;
/// Maximum number of facts about the client that are kept of a cell.
pub(crate) const MAX_EVIDENCE: usize = 16;

/// What a run measures now: an observer of its events.
#[derive(Debug)]
pub struct CurrentRun {
    /// Its id.
    pub id: String,
    /// The experiment's name.
    pub name: String,
    planned: BTreeMap<u32, PlannedCell>,
    progress: OnceLock<Arc<SharedProgress>>,
    state: Mutex<RunState>,
}

/// What labels say about a cell.
#[derive(Clone, Debug)]
pub(crate) struct PlannedCell {
    /// The name of its target.
    pub target: String,
    /// Its workload.
    pub workload: String,
    /// All of its parameters.
    pub name: String,
}

impl PlannedCell {
    fn of(cell: &Cell) -> Self {
        Self {
            target: cell.target.name.clone(),
            workload: cell.workload_name.clone(),
            name: cell.name.clone(),
        }
    }
}

/// The cells of a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct RunState {
    /// Those under way, by index.
    pub cells: BTreeMap<u32, CurrentCell>,
    /// Those that ended with a result, oldest first.
    pub ended: VecDeque<EndedCell>,
    /// Intervals of cells that were not kept because too many are under way.
    pub left_out: u64,
}

/// A cell under way.
#[derive(Clone, Debug, Default)]
pub(crate) struct CurrentCell {
    /// `prepare`, `measure`, `verify`.
    pub stage: String,
    trial: u32,
    /// When its first interval began.
    pub began: Timestamp,
    /// One point per operation of the last interval.
    pub points: Vec<SeriesPoint>,
    /// Each operation since the stage began.
    pub totals: BTreeMap<OpKind, StageTotals>,
    /// The last interval of each host of a fleet.
    pub hosts: BTreeMap<String, Vec<SeriesPoint>>,
}

/// An operation since its stage began.
#[derive(Clone, Debug, Default)]
pub(crate) struct StageTotals {
    pub failed: u64,
    pub bytes: u64,
    pub response: LatencyBuckets,
}

/// The outcome of a cell.
#[derive(Clone, Debug)]
pub(crate) struct EndedCell {
    pub cell: u32,
    pub validity: Validity,
    /// What limited it.
    pub limit: Option<Box<Bottleneck>>,
    /// The client during the measurement, as shares or counts.
    pub evidence: Vec<(String, f64)>,
}

impl CurrentRun {
    /// For a run of this plan.
    pub fn new(id: &str, plan: &Plan) -> Self {
        Self {
            id: id.to_owned(),
            name: plan.name.clone(),
            planned: plan.cells.iter().map(|cell| (cell.index, PlannedCell::of(cell))).collect(),
            progress: OnceLock::new(),
            state: Mutex::default(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, RunState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A copy; the run waits no longer than that takes.
    pub(crate) fn state(&self) -> RunState {
        self.lock().clone()
    }

    /// What the plan says about a cell.
    pub(crate) fn planned(&self, cell: u32) -> Option<&PlannedCell> {
        self.planned.get(&cell)
    }

    /// What may be limiting the run now.
    pub(crate) fn limits(&self) -> Vec<Limit> {
        self.progress.get().map(|progress| progress.lock().limits.clone()).unwrap_or_default()
    }
}

/// One point per operation that occurred.
fn points(interval: &Interval) -> Vec<SeriesPoint> {
    let used = interval.ops.iter().filter(|(_, stats)| !stats.is_empty());
    used.map(|(op, stats)| SeriesPoint::of(interval, Some(*op), stats)).collect()
}

/// Adds a point of zero for each operation that occurred before: a stall must not look like a series that ended.
fn add_stalled(
    points: &mut Vec<SeriesPoint>,
    interval: &Interval,
    before: impl Iterator<Item = Option<OpKind>>,
) {
    let stalled: Vec<_> = before.filter(|op| !points.iter().any(|point| point.op == *op)).collect();
    points.extend(stalled.into_iter().map(|op| SeriesPoint::of(interval, op, &OpStats::default())));
}

impl RunState {
    /// The cell in this stage, from its beginning if it was in another one; `None` if there is no room for it.
    fn cell(
        &mut self,
        index: u32,
        (stage, trial): (&str, u32),
        interval: &Interval,
    ) -> Option<&mut CurrentCell> {
        if self.cells.len() >= MAX_CELLS && !self.cells.contains_key(&index) {
            self.left_out += 1;
            return None;
        }
        let cell = self.cells.entry(index).or_default();
        if (cell.stage.as_str(), cell.trial) != (stage, trial) {
            let length = SignedDuration::from_nanos(i64::try_from(interval.length_ns).unwrap_or(i64::MAX));
            let now = timestamp::now();
            let began = now.checked_sub(length).unwrap_or(now);
            *cell = CurrentCell { stage: stage.to_owned(), trial, began, ..CurrentCell::default() };
        }
        Some(cell)
    }

    fn host(&mut self, index: u32, (stage, trial): (&str, u32), host: &str, interval: &Interval) {
        let mut points = points(interval);
        let others: usize = self
            .cells
            .iter()
            .flat_map(|(cell, current)| current.hosts.iter().map(move |(name, points)| (cell, name, points)))
            .filter(|(cell, name, _)| (**cell, name.as_str()) != (index, host))
            .map(|(_, _, points)| points.len())
            .sum();
        let Some(cell) = self.cell(index, (stage, trial), interval) else { return };
        let before = cell.hosts.get(host).into_iter().flatten().map(|point| point.op);
        add_stalled(&mut points, interval, before);
        match others + points.len() <= MAX_HOST_POINTS {
            true => drop(cell.hosts.insert(host.to_owned(), points)),
            false => drop(cell.hosts.remove(host)),
        }
    }

    fn end(&mut self, record: &CellRecord) {
        self.cells.remove(&record.index);
        let Some(result) = &record.result else { return };
        self.ended.retain(|ended| ended.cell != record.index);
        if self.ended.len() == MAX_ENDED {
            self.ended.pop_front();
        }
        let evidence = result.client.iter().take(MAX_EVIDENCE);
        self.ended.push_back(EndedCell {
            cell: record.index,
            validity: result.verdict.validity,
            limit: result.limit.clone(),
            evidence: evidence.map(|(name, value)| (name.clone(), *value)).collect(),
        });
    }
}

impl Events for CurrentRun {
    fn event(&self, event: RunEvent<'_>) {
        match event {
            RunEvent::Began(progress) => drop(self.progress.set(Arc::clone(progress))),
            RunEvent::Interval { cell, stage, trial, interval } => {
                let mut points = points(interval);
                let mut state = self.lock();
                let Some(current) = state.cell(cell, (stage, trial), interval) else { return };
                add_stalled(&mut points, interval, current.totals.keys().copied().map(Some));
                current.points = points;
                for (op, stats) in interval.ops.iter().filter(|(_, stats)| !stats.is_empty()) {
                    let totals = current.totals.entry(*op).or_default();
                    totals.failed = totals.failed.saturating_add(stats.failed());
                    totals.bytes = totals.bytes.saturating_add(stats.bytes);
                    totals.response.add(stats.response());
                }
            }
            RunEvent::HostInterval { cell, stage, trial, host, interval } => {
                self.lock().host(cell, (stage, trial), host, interval);
            }
            RunEvent::CellEnded(record) => self.lock().end(record),
            _ => {}
        }
    }
}
