//! The results database: runs, cells, intervals, events, environment, in one SQLite file.
//!
//! ```no_run
//! # fn f(record: store::RunRecord, cell: store::CellRecord, interval: metrics::Interval) -> Result<(), store::StoreError> {
//! let store = store::Store::open_default()?;            // created if absent; older files are migrated
//! store.begin_run(&record)?;                            // with all cells of its plan as pending
//! let mut writer = store.writer(&record.id)?;           // starts a thread, so that the measurement never waits for a disk
//! store.begin_cell(&record.id, 0, record.started)?;     // drops what an earlier attempt at this cell left
//! writer.interval(0, "measure", 0, &interval)?;         // when it returns, the previous one is in the file
//! writer.flush()?;                                      // now all of them are
//! store.finish_cell(&record.id, &cell)?;
//! store.finish_run(&record.id, store::State::Finished, record.started)?;
//!
//! let run = store.run("last")?;                         // an id, a unique prefix of one, a name, or `last`
//! for interval in store.intervals(&run.id, 0, "measure", 0, 0..u32::MAX)? {
//!     let _: metrics::Interval = interval?;             // read in small pages, never all at once
//! }
//! # Ok(())
//! # }
//! ```
//!
//! # What survives
//! The file is in write-ahead mode. A killed process loses at most the interval that it handed over last; a machine
//! that loses power at most the last few ([`SYNC_EVERY`]), but never what [`Store`] itself wrote: cells, results, runs.
//! In both cases the file stays intact.

mod baseline;
mod calibration;
mod encode;
mod error;
mod file;
mod find;
mod finite;
mod fleet;
mod forget;
mod hosts;
mod layout;
mod owner;
mod read;
mod record;
mod run_maker;
mod samples;
mod schema;
mod server_calls;
mod stages;
mod store;
pub use calibration::{CalibrationError, calibration_path, load_calibration, save_calibration};
mod summary;
#[cfg(test)]
mod tests;
mod writer;

pub use baseline::{Baseline, BaselineCell, BaselineContent, BaselineHost, WholeRun};
pub use database::DatabaseServer;
pub use encode::{pack_histogram, unpack_histogram};
pub use error::StoreError;
pub use file::default_path;
pub use fleet::{FleetFigures, HOSTS_KEPT, HostClock, HostRecord, HostResult, HostSpread, LostHost};
pub use owner::RunHolder;
pub use read::{Intervals, Series};
pub use record::*;
pub use run_maker::RunMaker;
pub use samples::{SAMPLES_KEPT, Sample};
pub use schema::VERSION;
pub use server_calls::{CallCounter, CallFigures, ProcedureCalls, ServerCalls, ServerFigures};
pub use stages::StageKey;
pub use store::Store;
pub use summary::RunSummary;
pub use writer::{SYNC_EVERY, Writer};

// Types that records contain.
pub use metrics::{LatencySummary, SeriesPoint};
pub use stats::{ListingSummary, OpSummary, ProcedureSummary};
