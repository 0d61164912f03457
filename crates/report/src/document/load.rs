//! Loads a document from the results file. Intervals are streamed, never held in memory together.

use store::{Baseline, BaselineContent, CellRecord, CellResult, RunRecord, Store, StoreError};

use super::{CellBuilder, CellView, Document, HostLine, HostLineBuilder, HostSamples, PointLimits};

/// Stage names in the results file.
const WARM_UP: &str = "warm-up";
pub(crate) const MEASURE: &str = "measure";

impl Document {
    /// Everything stored about a run, ready to be shown.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn load(store: &Store, run: RunRecord) -> Result<Self, StoreError> {
        let limits = PointLimits::for_cells(run.plan.cells.len());
        let mut document = Self::load_records(store, run)?;
        for view in &mut document.cells {
            *view = cell(store, &document.run, view.record.clone(), limits)?;
        }
        Ok(document)
    }

    /// The same without timelines and curves: figures only, which loads at once.
    ///
    /// # Errors
    /// As [`Document::load`].
    pub fn load_records(store: &Store, run: RunRecord) -> Result<Self, StoreError> {
        let records = store.cells(&run.id)?;
        let events = store.events(&run.id)?;
        Ok(Self { events, ..Self::of_records(run, records) })
    }

    /// A run that has only its records, as in a baseline.
    pub fn of_records(run: RunRecord, mut records: Vec<CellRecord>) -> Self {
        let cells = run
            .plan
            .cells
            .iter()
            .map(|planned| {
                let mut view = CellView::pending(planned.index);
                if let Some(at) = records.iter().position(|record| record.index == planned.index) {
                    view.record = records.swap_remove(at);
                }
                view
            })
            .collect();
        Self { run, cells, events: Vec::new() }
    }

    /// The run behind a baseline; `None` for a network baseline, and for one that an earlier version saved.
    pub fn of_baseline(baseline: &Baseline) -> Option<Self> {
        match &baseline.content {
            BaselineContent::Run { whole: Some(whole), .. } => {
                Some(Self::of_records(whole.record.clone(), whole.cells.clone()))
            }
            _ => None,
        }
    }
}

fn cell(
    store: &Store,
    run: &RunRecord,
    record: CellRecord,
    limits: PointLimits,
) -> Result<CellView, StoreError> {
    let index = record.index;
    let trial = match &record.result {
        Some(result) => shown_trial(result),
        // For a study that did not finish, the last one.
        None => {
            let stages = store.stages(&run.id, index)?;
            stages.iter().filter(|key| key.stage == MEASURE).map(|key| key.trial).max().unwrap_or(0)
        }
    };
    let mut builder = CellBuilder::new(limits);
    for interval in store.intervals(&run.id, index, WARM_UP, trial, 0..u32::MAX)? {
        builder.warm_up(&interval?);
    }
    let window = record.result.as_ref().map(|result| result.steady.window);
    for interval in store.intervals(&run.id, index, MEASURE, trial, 0..u32::MAX)? {
        let interval = interval?;
        if window.is_none_or(|window| (window.first..window.end).contains(&interval.index)) {
            builder.window(&interval);
        }
        builder.measured(&interval);
    }
    let mut view = builder.finish(record);
    view.hosts = hosts(store, run, index, trial, limits)?;
    (view.samples, view.server_samples) = samples(store, run, index, limits)?;
    Ok(view)
}

fn hosts(
    store: &Store,
    run: &RunRecord,
    index: u32,
    trial: u32,
    limits: PointLimits,
) -> Result<Vec<HostLine>, StoreError> {
    let mut names = store.host_series(&run.id, index)?;
    in_order(run, &mut names);
    let limit = room(limits, names.len());
    let mut lines = Vec::with_capacity(names.len());
    for name in &names {
        let mut builder = HostLineBuilder::new(name, limit);
        for point in store.host_series_of(&run.id, index, (MEASURE, trial, name), 0..u32::MAX)? {
            builder.push(&point?);
        }
        lines.push(builder.finish());
    }
    Ok(lines)
}

/// Host samples in fleet order, and those of the observed hosts of the server.
fn samples(
    store: &Store,
    run: &RunRecord,
    index: u32,
    limits: PointLimits,
) -> Result<(Vec<HostSamples>, Vec<HostSamples>), StoreError> {
    let all = store.sampled_hosts(&run.id, index)?;
    let is_server = |name: &String| run.plan.observe.as_ref().is_some_and(|observe| observe.has_stored(name));
    let (servers, mut names): (Vec<String>, Vec<String>) = all.into_iter().partition(is_server);
    in_order(run, &mut names);
    let of = |names: &[String]| -> Result<Vec<HostSamples>, StoreError> {
        let limit = room(limits, names.len());
        names
            .iter()
            .map(|name| Ok(HostSamples::of(name, &store.samples(&run.id, index, name)?, limit)))
            .collect()
    };
    Ok((of(&names)?, of(&servers)?))
}

/// Sorts host names into fleet order.
fn in_order(run: &RunRecord, names: &mut [String]) {
    names.sort_by_key(|name| run.hosts.iter().position(|host| host.name == *name).unwrap_or(usize::MAX));
}

/// Points per host for this many hosts: in total a few times the points of the combined line.
fn room(limits: PointLimits, hosts: usize) -> usize {
    (limits.points * 4 / hosts.max(1)).clamp(60, limits.points)
}

/// The trial of a study that the cell's figures come from: the one with exactly these latencies.
fn shown_trial(result: &CellResult) -> u32 {
    let same = |point: &store::StudyPoint| point.response == result.total.response;
    result.points.iter().position(same).unwrap_or(0) as u32
}
