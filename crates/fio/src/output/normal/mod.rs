//! `--output-format=normal`: text for people, with the lines that programs search for.

mod figures;
mod prelude;
mod status;

use std::io::{self, Write};

use experiment::ShownDirections;

use self::figures::{latency_line, percentile_lines, sample_lines, shares_lines};
pub use self::prelude::prelude;
use super::direction::DirectionFigures;
use super::entry::{FioEntry, SteadyFigures};
use super::groups::{self, EntryGroup, Summary};
use super::latency::LatencyOutput;
use super::numbers::Style;
use super::report::{FioReport, target_numbers};

/// Names of the directions, and of all combined.
const NAMES: [&str; 4] = ["read", "write", "trim", "mixed"];

/// Writes the report, starting with an empty line.
///
/// # Errors
/// It cannot be written.
pub fn write(report: &FioReport, out: &mut dyn Write) -> io::Result<()> {
    for (client, entries) in report.lists() {
        match client {
            Some(client) => out.write_all(format!("<{}> \n", client.host).as_bytes())?,
            None if report.clients.is_empty() => out.write_all(b"\n")?,
            None => {}
        }
        write_entries(report, entries, client.is_some() || report.clients.is_empty(), out)?;
    }
    out.write_all(super::disks::lines(&report.disks).as_bytes())
}

/// A list of entries, followed by the group sums if requested.
fn write_entries(
    report: &FioReport,
    entries: &[FioEntry],
    sums: bool,
    out: &mut dyn Write,
) -> io::Result<()> {
    let groups = groups::of(entries);
    for entry in entries {
        out.write_all(entry_text(report, entry, &groups[&entry.group]).as_bytes())?;
    }
    for (number, group) in groups.iter().filter(|_| sums) {
        let style = entries.iter().find(|entry| entry.group == *number).map(|e| Style::of(&e.report));
        if let Some(style) = style {
            out.write_all(status::group_lines(*number, group, style).as_bytes())?;
        }
    }
    Ok(())
}

fn entry_text(report: &FioReport, entry: &FioEntry, group: &EntryGroup) -> String {
    let mut text = heading(report, entry);
    let mut line = |added: String| {
        text.push_str(&added);
        text.push('\n');
    };
    if entry.report.directions != ShownDirections::Together {
        for (number, direction) in entry.directions.iter().enumerate().filter(|(_, d)| d.ops > 0) {
            direction_lines(entry, NAMES[number], direction, &group.directions[number])
                .into_iter()
                .for_each(&mut line);
        }
    }
    if entry.report.directions != ShownDirections::Apart {
        let all = entry.together();
        if all.ops > 0 {
            direction_lines(entry, NAMES[3], &all, &group.mixed).into_iter().for_each(&mut line);
        }
    }
    shares_lines(&entry.shares()).into_iter().for_each(&mut line);
    let commits = entry.commits();
    if commits.count > 0 {
        line("  fsync/fdatasync/sync_file_range:".to_owned());
        line(latency_line("    sync", &commits));
        percentile_lines("sync", &commits).into_iter().for_each(&mut line);
    }
    work_lines(entry).into_iter().for_each(&mut line);
    if let Some(steady) = entry.steady.as_ref().and_then(|(rule, outcome)| SteadyFigures::of(rule, outcome)) {
        line(steady_line(&steady, Style::of(&entry.report)));
    }
    text
}

fn heading(report: &FioReport, entry: &FioEntry) -> String {
    let reason = entry.failure.as_ref().map(|failure| format!(" ({})", failure.text)).unwrap_or_default();
    let mut text = format!(
        "{}: (groupid={}, jobs={}): err={:2}{reason}: pid={}: {}\n",
        entry.name,
        entry.group,
        entry.jobs,
        entry.error_code(),
        std::process::id(),
        report.time,
    );
    if !entry.report.description.is_empty() {
        text.push_str(&format!("  Description  : [{}]\n", entry.report.description));
    }
    text
}

fn direction_lines(
    entry: &FioEntry,
    name: &str,
    direction: &DirectionFigures,
    group: &Summary,
) -> Vec<String> {
    let style = Style::of(&entry.report);
    let [first, second] = style.rate(direction.bytes_per_s() as u64);
    let [bytes, _] = style.bytes(direction.bytes);
    let mut lines = vec![format!(
        "  {name}: IOPS={}, BW={first} ({second})({bytes}/{}msec){}",
        style.count(direction.ops_per_s() as u64),
        direction.runtime_ms(),
        if name == NAMES[1] { "; 0 zone resets" } else { "" },
    )];
    let both: [(&str, &str, LatencyOutput); 2] =
        [("    clat", "clat", entry.service(direction)), ("     lat", "lat", entry.response(direction))];
    let counted = both.iter().filter(|(_, _, latency)| latency.count > 0);
    lines.extend(counted.clone().map(|(label, _, latency)| latency_line(label, latency)));
    lines.extend(counted.flat_map(|(_, name, latency)| percentile_lines(name, latency)));
    if !entry.report.hide_samples {
        lines.extend(sample_lines(direction, group.percent(direction), style.bits));
    }
    lines
}

fn work_lines(entry: &FioEntry) -> Vec<String> {
    let usage = entry.usage;
    let [user, system] = entry.processor_percent();
    let shares = |names: [&str; 7], values: [f64; 7]| {
        let each: Vec<String> =
            names.iter().zip(values).map(|(name, share)| format!("{name}={share:.1}%")).collect();
        each.join(", ")
    };
    let batches = shares(["0", "4", "8", "16", "32", "64", ">=64"], [0.0; 7]);
    let [read, write, trim] = &entry.directions;
    let (target_ns, window_us, percent) = target_numbers(entry.target);
    let mut lines = vec![
        format!(
            "  cpu          : usr={user:.2}%, sys={system:.2}%, ctx={}, majf={}, minf={}",
            usage.voluntary_switches + usage.involuntary_switches,
            usage.major_faults,
            usage.minor_faults,
        ),
        format!(
            "  IO depths    : {}",
            shares(["1", "2", "4", "8", "16", "32", ">=64"], entry.depth_shares())
        ),
        format!("     submit    : {batches}"),
        format!("     complete  : {batches}"),
        format!(
            "     issued rwts: total={},{},{},{} short={},{},{},0 dropped=0,0,0,0",
            read.ops, write.ops, trim.ops, entry.syncs, read.short, write.short, trim.short,
        ),
    ];
    if entry.goes_on {
        let why = entry.failure.as_ref().map_or("Success", |failure| failure.text.as_str());
        lines.push(format!(
            "     errors    : total={}, first_error={}/<{why}>",
            entry.failed,
            entry.error_code()
        ));
    }
    lines.push(format!(
        "     latency   : target={target_ns}, window={window_us}, percentile={percent:.2}%, depth={}",
        entry.depth,
    ));
    lines
}

fn steady_line(steady: &SteadyFigures, style: Style) -> String {
    let [first, second] = style.rate(steady.bytes_per_s as u64);
    format!(
        "  steadystate  : attained={}, bw={first} ({second}), iops={}, {}{}={:.3}%",
        if steady.reached { "yes" } else { "no" },
        style.count(steady.ops_per_s as u64),
        steady.metric,
        if steady.slope { " slope" } else { " mean dev" },
        steady.percent,
    )
}
