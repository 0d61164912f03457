//! Everything that a report shows about one run, in bounded memory: the stored records, and only as many points of the
//! intervals as a chart can show.

mod builder;
mod curve;
mod heat;
mod hosts;
mod load;
mod samples;
mod timeline;

pub use builder::CellBuilder;
pub use curve::{Curve, CurvePoint};
pub(crate) use heat::row_edge_ns;
pub use heat::{HeatColumn, HeatMap};
pub use hosts::{HostLine, HostLineBuilder};
pub(crate) use load::MEASURE;
pub use samples::{HostSamples, SamplePoint};
pub use timeline::{Timeline, TimelinePoint, ValueSpread};

use metrics::OpKind;
use serde::Serialize;
use store::{CellRecord, CellResult, Event, RunRecord, State};

/// A run, ready to be shown.
#[derive(Clone, Debug, Serialize)]
pub struct Document {
    /// The run as it is stored.
    pub run: RunRecord,
    /// The cells in plan order.
    pub cells: Vec<CellView>,
    /// The events in order of time.
    pub events: Vec<Event>,
}

/// A cell, ready to be shown.
#[derive(Clone, Debug, Serialize)]
pub struct CellView {
    /// The cell as it is stored.
    pub record: CellRecord,
    /// All operations together, then each operation when there is more than one.
    pub timelines: Vec<Timeline>,
    /// Response times of all operations over time.
    pub heat: Option<HeatMap>,
    /// Latencies by percentile over the reported window: all operations together, then each operation.
    pub curves: Vec<Curve>,
    /// Each host of a fleet over the measurement, if its intervals are stored.
    pub hosts: Vec<HostLine>,
    /// Each host's samples of itself during the measurement, if stored; without a fleet, those of the only host.
    pub samples: Vec<HostSamples>,
    /// The same of the observed hosts of the server.
    pub server_samples: Vec<HostSamples>,
}

impl Document {
    /// A cell as planned.
    pub fn planned(&self, index: u32) -> Option<&experiment::Cell> {
        self.run.planned(index)
    }

    /// The cells that measured something, each with its planned cell.
    pub fn measured(&self) -> impl Iterator<Item = (&experiment::Cell, &CellView, &CellResult)> {
        self.cells
            .iter()
            .filter_map(|cell| Some((self.planned(cell.record.index)?, cell, cell.record.result.as_ref()?)))
    }
}

impl CellView {
    /// A cell without any data yet.
    pub fn pending(index: u32) -> Self {
        let record = CellRecord {
            index,
            state: State::Pending,
            started: None,
            finished: None,
            result: None,
            failure: None,
        };
        Self {
            record,
            timelines: Vec::new(),
            heat: None,
            curves: Vec::new(),
            hosts: Vec::new(),
            samples: Vec::new(),
            server_samples: Vec::new(),
        }
    }

    /// The timeline of all operations together.
    pub fn total(&self) -> Option<&Timeline> {
        self.timelines.iter().find(|timeline| timeline.op.is_none())
    }
}

/// Maximum points per chart, so that a report of many cells still opens instantly in a browser.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PointLimits {
    /// Points of a timeline.
    pub points: usize,
    /// Columns of a heat map.
    pub columns: usize,
}

impl PointLimits {
    /// The limits for a run of this many cells: 1000 points for a few, fewer for many.
    pub fn for_cells(cells: usize) -> Self {
        let points = (16_000 / cells.max(1)).clamp(120, 1000);
        Self { points, columns: (points / 6).clamp(60, 150) }
    }
}

/// An operation's name, or `all` for all together.
pub fn op_name(op: Option<OpKind>) -> &'static str {
    op.map_or("all", OpKind::name)
}
