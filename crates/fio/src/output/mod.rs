//! The results of a run of jobs in fio's formats: text for people, lines for programs, JSON. docs/fio-output.md
//! describes what each figure means here, and where it differs from fio's.

pub mod direction;
mod disks;
mod entries;
mod entry;
mod groups;
mod json;
mod latency;
mod normal;
mod numbers;
pub mod progress;
mod report;
mod terse;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;

use std::io::{self, Write};

pub use json::FIO_VERSION;
pub use normal::prelude;
pub use numbers::Style;
pub use report::FioReport;
pub use terse::TerseVersion;

/// The requested formats (`--output-format`, `--minimal`, `--append-terse`, `--terse-version`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Formats {
    /// Text for people.
    pub normal: bool,
    /// Lines of fields.
    pub terse: bool,
    /// The version of those fields.
    pub terse_version: TerseVersion,
    /// One JSON document.
    pub json: bool,
    /// With latency buckets (`json+`).
    pub json_bins: bool,
}

impl Default for Formats {
    fn default() -> Self {
        Formats {
            normal: true,
            terse: false,
            terse_version: TerseVersion::default(),
            json: false,
            json_bins: false,
        }
    }
}

/// A word that is no shape of fio's output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownFormat(pub String);

impl std::fmt::Display for UnknownFormat {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?} is none of normal, json, json+ and terse", self.0)
    }
}

impl std::error::Error for UnknownFormat {}

impl Formats {
    /// Parses the value of `--output-format`: `normal`, `terse`, `json`, `json+`, or several separated by commas.
    ///
    /// # Errors
    /// The unknown word.
    pub fn from_list(list: &str, terse_version: TerseVersion) -> Result<Formats, UnknownFormat> {
        let mut formats =
            Formats { normal: false, terse: false, terse_version, json: false, json_bins: false };
        for word in list.split(',').map(str::trim) {
            match word {
                "normal" => formats.normal = true,
                "terse" | "minimal" => formats.terse = true,
                "json" => formats.json = true,
                "json+" => (formats.json, formats.json_bins) = (true, true),
                other => return Err(UnknownFormat(other.to_owned())),
            }
        }
        Ok(formats)
    }
}

/// Writes the report in each requested format, in fio's order: terse, JSON, normal.
///
/// # Errors
/// It cannot be written.
pub fn write(report: &FioReport, formats: &Formats, out: &mut dyn Write) -> io::Result<()> {
    if formats.terse {
        terse::write(report, formats.terse_version, out)?;
    }
    if formats.json {
        json::write(report, formats.json_bins, out)?;
    }
    if formats.normal {
        normal::write(report, out)?;
    }
    out.flush()
}
