//! The report of a check in four formats. Nothing here measures or judges.

mod csv;
mod table;
#[cfg(test)]
mod tests;

use std::fs::File;
use std::io::{self, Write};

use checks::CheckReport;

use crate::check::arguments::CheckFormat;

/// The report as text, with a final line end.
pub fn render(report: &CheckReport, format: CheckFormat, width: Option<u16>) -> String {
    match format {
        CheckFormat::Table => table::render(report, width),
        CheckFormat::Csv => csv::render(report),
        CheckFormat::CsvFull => csv::render_full(report),
        CheckFormat::Json => report.json(),
    }
}

/// Where the report goes. A file is created before the run, so that a wrong path costs no time.
#[derive(Debug)]
pub struct ReportDestination {
    format: CheckFormat,
    file: Option<File>,
}

impl ReportDestination {
    /// Opens the file, if one is named.
    ///
    /// # Errors
    /// The system's error if the file cannot be created.
    pub fn open(format: CheckFormat, path: Option<&std::path::Path>) -> io::Result<Self> {
        let file = path.map(File::create).transpose()?;
        Ok(Self { format, file })
    }

    /// Writes the report: to `out`, which is standard output, or to the file, with a table to `out`.
    ///
    /// # Errors
    /// It cannot be written. A reader that closed the pipe early is no error.
    pub fn write(self, report: &CheckReport, out: &mut impl Write) -> io::Result<()> {
        let shown = match self.file {
            None => self.format,
            Some(mut file) => {
                file.write_all(render(report, self.format, None).as_bytes())?;
                file.sync_all()?;
                CheckFormat::Table
            }
        };
        let text = render(report, shown, crate::messages::terminal_width());
        match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            other => other,
        }
    }
}
