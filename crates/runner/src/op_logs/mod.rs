//! Files written while a job runs, in fio's formats ("Log File Formats" and "Trace file format v3" of its HOWTO).
//!
//! A separate thread writes them from the engine's trace: the load only fills buffers. docs/fio-output.md describes
//! what the files hold and where that differs from fio's.

pub mod buckets;
pub mod direction;
mod file;
mod lines;
mod operations;
mod plan;
mod windows;
mod writer;

#[cfg(test)]
mod tests;

use std::io;
use std::path::PathBuf;
use std::thread::JoinHandle;

use engine::{Trace, TraceReader};

pub use self::plan::LogPlan;
use self::writer::Writer;

/// The logs of one cell while its load runs.
#[derive(Debug)]
pub struct CellLogs {
    trace: Trace,
    thread: JoinHandle<io::Result<Vec<PathBuf>>>,
}

/// Opens the logs that a job asks for and starts writing; `None` when it asks for none.
///
/// # Errors
/// A file cannot be created.
pub fn begin(plan: LogPlan) -> io::Result<Option<CellLogs>> {
    let Some(writer) = Writer::open(plan)? else { return Ok(None) };
    let (trace, reader) = engine::trace();
    let thread =
        std::thread::Builder::new().name("fio-logs".to_owned()).spawn(move || write_all(writer, &reader))?;
    Ok(Some(CellLogs { trace, thread }))
}

impl CellLogs {
    /// Trace for the stage ([`engine::StageContext::trace`]). All its clones must be dropped before
    /// [`CellLogs::finish`].
    pub fn trace(&self) -> Trace {
        self.trace.clone()
    }

    /// Waits until everything is written; returns the files in creation order.
    ///
    /// # Errors
    /// A file could not be written; what was written stays.
    pub fn finish(self) -> io::Result<Vec<PathBuf>> {
        drop(self.trace);
        self.thread
            .join()
            .unwrap_or_else(|_| Err(io::Error::other("the thread that writes the logs panicked")))
    }
}

fn write_all(mut writer: Writer, reader: &TraceReader) -> io::Result<Vec<PathBuf>> {
    let mut failed = None;
    while let Some(buffer) = reader.next() {
        // The load must go on: records after a failure are received and dropped.
        if failed.is_none() {
            failed = writer.take(buffer.worker(), buffer.records()).err();
        }
    }
    match failed {
        Some(error) => Err(error),
        None => writer.finish(),
    }
}
