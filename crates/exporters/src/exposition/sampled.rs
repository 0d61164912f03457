//! Runs at one time, as series with labels.

use std::sync::Arc;

use jiff::Timestamp;
use metrics::{OpKind, SeriesPoint};
use serde::Serialize;
use stats::limit::Bottleneck;

use crate::current::{CurrentRun, EndedCell, RunState, StageTotals};

/// The labels of a series, in order.
pub(crate) type Labels = Vec<(&'static str, String)>;

/// A series that counts from a time on.
pub(crate) struct Since {
    pub labels: Labels,
    /// When its stage began.
    pub began: Timestamp,
}

/// A run at the time of a scrape or push.
pub(crate) struct Sampled {
    pub run: Arc<CurrentRun>,
    pub state: RunState,
}

impl Sampled {
    pub fn of(run: Arc<CurrentRun>) -> Self {
        Self { state: run.state(), run }
    }

    pub fn run_labels(&self) -> Labels {
        vec![("run", self.run.id.clone()), ("experiment", self.run.name.clone())]
    }

    fn cell_labels(&self, cell: u32) -> Labels {
        let mut labels = self.run_labels();
        labels.push(("cell", cell.to_string()));
        labels.push((
            "target",
            self.run.planned(cell).map(|planned| planned.target.clone()).unwrap_or_default(),
        ));
        labels
    }

    fn op_labels(&self, cell: u32, stage: &str, op: Option<OpKind>) -> Labels {
        let mut labels = self.cell_labels(cell);
        labels.push(("stage", stage.to_owned()));
        labels.push(("operation", report::op_name(op).to_owned()));
        labels
    }

    pub fn points(&self) -> impl Iterator<Item = (Labels, &SeriesPoint)> {
        self.state.cells.iter().flat_map(|(cell, current)| {
            current.points.iter().map(|point| (self.op_labels(*cell, &current.stage, point.op), point))
        })
    }

    pub fn host_points(&self) -> impl Iterator<Item = (Labels, &SeriesPoint)> {
        self.state.cells.iter().flat_map(move |(cell, current)| {
            current.hosts.iter().flat_map(move |(host, points)| {
                points.iter().map(move |point| {
                    let mut labels = self.op_labels(*cell, &current.stage, point.op);
                    labels.push(("host", host.clone()));
                    (labels, point)
                })
            })
        })
    }

    pub fn totals(&self) -> impl Iterator<Item = (Since, &StageTotals)> {
        self.state.cells.iter().flat_map(|(cell, current)| {
            let totals = current.totals.iter();
            totals.map(|(op, totals)| {
                let labels = self.op_labels(*cell, &current.stage, Some(*op));
                (Since { labels, began: current.began }, totals)
            })
        })
    }

    pub fn ended(&self) -> impl Iterator<Item = (Labels, &EndedCell)> {
        self.state.ended.iter().map(|ended| (self.cell_labels(ended.cell), ended))
    }

    pub fn limits(&self) -> impl Iterator<Item = (Labels, &Bottleneck)> {
        self.ended().filter_map(|(mut labels, ended)| {
            let limit = ended.limit.as_deref()?;
            labels.push(("bound", name(&limit.bound)));
            labels.push(("cause", name(&limit.cause)));
            labels.push(("place", limit.place.clone()));
            Some((labels, limit))
        })
    }

    /// The cells that other series name.
    pub fn cells(&self) -> impl Iterator<Item = Labels> {
        let cells = self.state.cells.keys().copied().chain(self.state.ended.iter().map(|ended| ended.cell));
        cells.filter_map(|cell| {
            let planned = self.run.planned(cell)?;
            let mut labels = self.cell_labels(cell);
            labels.push(("workload", planned.workload.clone()));
            labels.push(("name", planned.name.clone()));
            Some(labels)
        })
    }
}

/// A value of an enumeration as results name it.
fn name(value: &impl Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(name)) => name,
        _ => String::new(),
    }
}
