//! Measurements: operations, errors, histograms and intervals, and how they merge.
//!
//! No I/O, no clock, no randomness. Every other crate may use it.

mod histogram;
mod kind;
mod latency_summary;
mod path;
mod procedure;
mod series_point;
mod stats;
#[cfg(test)]
mod tests;
mod traits;

pub use histogram::{Histogram, HistogramError};
pub use kind::{CallKind, ErrorKind, OpKind};
pub use latency_summary::LatencySummary;
pub use path::PathFacts;
pub use procedure::{ListingStats, ProcedureStats};
pub use series_point::SeriesPoint;
pub use stats::{Interval, OpStats};
pub use traits::{OpChange, OpDirection, OpExtent, OpShapes, OpSubject, OpTraits};
