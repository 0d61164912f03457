//! The report: what a check found, in four formats. Nothing here measures or judges.

mod csv;
mod json;
mod table;
#[cfg(test)]
pub mod tests;

use std::fs::File;
use std::io::{self, Write};

use crate::check::arguments::Format;
use crate::check::row::{Outcome, Row};
use crate::check::verdict::Verdict;

/// Everything that a check found.
#[derive(Clone, Debug)]
pub struct Report {
    /// The run's name: eight characters.
    pub run_id: String,
    /// When it began.
    pub started: jiff::Timestamp,
    /// When everything was removed again.
    pub finished: jiff::Timestamp,
    /// What was asked for.
    pub settings: Settings,
    /// The array, when one was provisioned.
    pub array: Option<ArrayFacts>,
    /// The kernel interface that made the load.
    pub reactor: ReactorFacts,
    /// One row an address and protocol.
    pub rows: Vec<Row>,
    /// The judgement.
    pub verdict: Verdict,
    /// What could not be removed; empty when all is as it was.
    pub left_behind: Vec<String>,
    /// The signal that ended the run early.
    pub interrupted_by: Option<&'static str>,
}

/// What the load was made of.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Settings {
    /// Measured time of each phase, in seconds.
    pub duration_s: f64,
    /// Time before it that is not counted, in seconds.
    pub ramp_s: f64,
    /// Threads that made load.
    pub workers: u32,
    /// Operations in flight per thread.
    pub lanes: u32,
    /// NFS connections per thread.
    pub connections: u32,
    /// Bytes of one NFS operation.
    pub block_size: u64,
    /// Bytes of one object.
    pub object_size: u64,
    /// Most that a phase wrote before starting over.
    pub dataset: u64,
    /// Where data of reads went: buffer, verify or discard.
    pub sink: &'static str,
    /// Whether NFS writes were asked to be durable at once.
    pub stable: bool,
    /// How S3 uploads were protected.
    pub s3_payload: &'static str,
}

/// The array that was provisioned.
#[derive(Clone, Debug, serde::Serialize)]
pub struct ArrayFacts {
    /// Its management address.
    pub management: String,
    /// The API version that was agreed on.
    pub api_version: String,
    /// Why which data addresses were chosen.
    pub address_choice: Vec<String>,
}

/// How the kernel was asked for I/O.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct ReactorFacts {
    /// io_uring or epoll.
    pub backend: &'static str,
    /// Why io_uring was not used, when it was refused.
    pub refusal: Option<String>,
}

impl Report {
    /// True when every row succeeded and nothing was left behind.
    pub fn success(&self) -> bool {
        self.interrupted_by.is_none()
            && self.left_behind.is_empty()
            && !self.rows.is_empty()
            && self.rows.iter().all(|row| row.outcome == Outcome::Success)
    }

    /// The report as text that ends in a line end.
    pub fn render(&self, format: Format, width: Option<u16>) -> String {
        match format {
            Format::Table => table::render(self, width),
            Format::Csv => csv::render(self),
            Format::CsvFull => csv::render_full(self),
            Format::Json => json::render(self),
        }
    }
}

/// Where the report goes. A file is made before the run, so that a wrong path costs no time.
#[derive(Debug)]
pub struct Destination {
    format: Format,
    file: Option<File>,
}

impl Destination {
    /// Opens the file, if one is named.
    ///
    /// # Errors
    /// What the system says when the file cannot be made.
    pub fn open(format: Format, path: Option<&std::path::Path>) -> io::Result<Self> {
        let file = path.map(File::create).transpose()?;
        Ok(Self { format, file })
    }

    /// Writes the report: to `out`, standard output, or to the file and a table to `out`.
    ///
    /// # Errors
    /// When it cannot be written. A reader that closed the pipe early is no error.
    pub fn write(self, report: &Report, out: &mut impl Write) -> io::Result<()> {
        let shown = match self.file {
            None => self.format,
            Some(mut file) => {
                file.write_all(report.render(self.format, None).as_bytes())?;
                file.sync_all()?;
                Format::Table
            }
        };
        let text = report.render(shown, crate::messages::terminal_width());
        match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            other => other,
        }
    }
}
