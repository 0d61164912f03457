//! What people see of a run: one HTML file, a notebook, a comparison with other runs.
//!
//! Everything comes from a [`Document`], which holds the stored records unchanged; nothing is measured or judged here,
//! and every displayed figure is in the document.

mod compare;
mod document;
mod figures;
mod headline;
mod html;
mod named_cell;
mod network;
mod notebook;
mod steadiness;
mod storperf;
mod svg;
mod table;

pub use compare::{
    CellComparison, CellFigure, CellSeries, CompareOptions, Figure, HostComparison, Metric, MetricError,
    RunComparison, RunSeries, Side,
};
pub use document::*;
pub use headline::{BestCell, Doubt, Headline, half_width};
pub use html::{data, html};
pub use named_cell::NamedCell;
pub use network::network_picture;
pub use notebook::notebook;
pub use steadiness::steadiness;
pub use storperf::{
    CellNames, StorperfMetric, StorperfSums, cell_key, host_key, storperf_cell_keys, storperf_report,
};
pub use table::{FittedTable, LOG_WIDTH, TableColumn, TextColour, paragraph};
