//! `--output-format=terse`, `--minimal`: one line per job, with fields separated by semicolons, following versions 2 to
//! 5 in fio's HOWTO ("Terse output"). Latencies are whole microseconds, bandwidths KiB/s.

use std::io::{self, Write};

use super::direction::{DirectionFigures, RateSamples};
use super::entry::FioEntry;
use super::groups::{self, EntryGroup, Summary};
use super::json::FIO_VERSION;
use super::latency::{LatencyOutput, at_percent};
use super::report::FioReport;

/// Percentiles per line, whatever the list holds.
const PERCENTILES: usize = 20;

/// Which fields a line has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TerseVersion {
    /// Without the program's version and the disks.
    Two,
    /// fio's default: without trims.
    #[default]
    Three,
    /// All fields.
    Four,
    /// All fields, plus the samples of operations per second.
    Five,
}

impl TerseVersion {
    /// The version with this number.
    pub fn from_number(number: u64) -> Option<TerseVersion> {
        Some(match number {
            2 => TerseVersion::Two,
            3 => TerseVersion::Three,
            4 => TerseVersion::Four,
            5 => TerseVersion::Five,
            _ => return None,
        })
    }

    fn number(self) -> u32 {
        match self {
            TerseVersion::Two => 2,
            TerseVersion::Three => 3,
            TerseVersion::Four => 4,
            TerseVersion::Five => 5,
        }
    }
}

/// Writes a line per job.
///
/// # Errors
/// It cannot be written.
pub fn write(report: &FioReport, version: TerseVersion, out: &mut dyn Write) -> io::Result<()> {
    for (_, entries) in report.lists() {
        lines(report, entries, version, out)?;
    }
    Ok(())
}

fn lines(
    report: &FioReport,
    entries: &[FioEntry],
    version: TerseVersion,
    out: &mut dyn Write,
) -> io::Result<()> {
    let groups = groups::of(entries);
    for entry in entries {
        let mut line = fields(report, entry, &groups[&entry.group], version).join(";");
        let description = &entry.report.description;
        if !description.is_empty() {
            // Version 2 has it on a separate line.
            line.push_str(if version == TerseVersion::Two { "\n;" } else { ";" });
            line.push_str(&description.replace('\n', " "));
        }
        line.push('\n');
        out.write_all(line.as_bytes())?;
    }
    Ok(())
}

fn fields(report: &FioReport, entry: &FioEntry, group: &EntryGroup, version: TerseVersion) -> Vec<String> {
    let mut fields = vec![version.number().to_string()];
    if version != TerseVersion::Two {
        fields.push(FIO_VERSION.to_owned());
    }
    fields.extend([
        entry.name.replace([';', '\n'], "_"),
        entry.group.to_string(),
        entry.error_code().to_string(),
    ]);
    let shown = if version == TerseVersion::Three { 2 } else { 3 };
    if entry.report.directions == experiment::ShownDirections::Together {
        fields.extend(direction(entry, &entry.together(), &group.mixed, version));
    } else {
        for (of, summary) in entry.directions.iter().zip(&group.directions).take(shown) {
            fields.extend(direction(entry, of, summary, version));
        }
    }
    if entry.report.directions == experiment::ShownDirections::Both {
        fields.extend(direction(entry, &entry.together(), &group.mixed, version));
    }
    let usage = entry.usage;
    fields.extend(entry.processor_percent().map(|percent| format!("{percent:.6}%")));
    fields.push((usage.voluntary_switches + usage.involuntary_switches).to_string());
    fields.extend([usage.major_faults, usage.minor_faults].map(|count| count.to_string()));
    fields.extend(entry.depth_shares().map(|share| format!("{share:.1}%")));
    let shares = entry.shares();
    // Everything below two microseconds is one field.
    let below_two = shares.ns.iter().sum::<f64>() + shares.us[0];
    let rest = shares.us[1..].iter().chain(&shares.ms);
    fields.extend(std::iter::once(&below_two).chain(rest).map(|share| format!("{share:.2}%")));
    if version != TerseVersion::Two {
        for disk in &report.disks {
            let numbers = [disk.operations, disk.merged, disk.waited_ms].concat();
            fields.push(disk.name.clone());
            fields.extend(numbers.iter().map(u64::to_string));
            fields.push(disk.queued_ms.to_string());
            fields.push(format!("{:.2}%", super::disks::busy_percent(disk)));
        }
    }
    if entry.goes_on {
        fields.extend([entry.failed.to_string(), entry.error_code().to_string()]);
    }
    fields
}

fn direction(
    entry: &FioEntry,
    direction: &DirectionFigures,
    group: &Summary,
    version: TerseVersion,
) -> Vec<String> {
    let bytes_per_s = direction.bytes_per_s();
    let mut fields = vec![
        (direction.bytes / 1024).to_string(),
        ((bytes_per_s / 1024.0) as u64).to_string(),
        (direction.ops_per_s() as u64).to_string(),
        direction.runtime_ms().to_string(),
    ];
    let (service, response) = (entry.service(direction), entry.response(direction));
    fields.extend(latency(&LatencyOutput::default()));
    fields.extend(latency(&service));
    fields.extend(percentiles(entry, direction));
    fields.extend(latency(&response));
    let nothing = RateSamples::default();
    let hide = entry.report.hide_samples;
    let (bandwidth, rate) = if hide { (&nothing, &nothing) } else { (&direction.bandwidth, &direction.rate) };
    let whole = |value: f64| (value as u64).to_string();
    fields.extend([whole(bandwidth.min / 1024.0), whole(bandwidth.max / 1024.0)]);
    fields.push(format!("{:.6}%", if hide { 0.0 } else { group.percent(direction) }));
    fields.extend([bandwidth.mean, bandwidth.deviation()].map(|value| format!("{:.6}", value / 1024.0)));
    if version == TerseVersion::Five {
        fields.extend([bandwidth.count.to_string(), whole(rate.min), whole(rate.max)]);
        fields.extend([rate.mean, rate.deviation()].map(|value| format!("{value:.6}")));
        fields.push(rate.count.to_string());
    }
    fields
}

/// Min, max, mean, deviation.
fn latency(latency: &LatencyOutput) -> [String; 4] {
    [
        (latency.min / 1000).to_string(),
        (latency.max / 1000).to_string(),
        format!("{:.6}", latency.mean / 1000.0),
        format!("{:.6}", latency.deviation / 1000.0),
    ]
}

/// Always twenty; missing ones are `0%=0`.
fn percentiles(entry: &FioEntry, direction: &DirectionFigures) -> Vec<String> {
    let list = entry.percentiles(!entry.report.without_service).unwrap_or_default();
    let hidden = entry.report.hide_service;
    let mut fields: Vec<String> = list
        .iter()
        .take(PERCENTILES)
        .map(|percent| {
            let ns = if hidden { 0 } else { at_percent(&direction.service, *percent) };
            format!("{percent:.6}%={}", ns / 1000)
        })
        .collect();
    fields.resize(PERCENTILES, "0%=0".to_owned());
    fields
}
