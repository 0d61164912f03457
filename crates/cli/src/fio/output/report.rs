//! A run as fio's output shows it: what the four formats are written from.

use experiment::LatencyTarget;
use jiff::tz::TimeZone;

use super::entry::{self, Entry};
use crate::fio::outcome::{DiskUse, Outcome};

/// fio's word for a time that is not known.
const UNKNOWN_S: u64 = i32::MAX as u64;

/// A run.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Its id in the results file.
    pub run: String,
    /// When it was written, in milliseconds since 1970.
    pub timestamp_ms: i64,
    /// The same for people: `Sun Nov 22 03:37:46 2026`, local time.
    pub time: String,
    /// Seconds since the run began, rounded up.
    pub elapsed_s: u64,
    /// Seconds until it ends: 0 when it has.
    pub eta_s: u64,
    /// Options of the section `[global]`.
    pub global_options: Vec<(String, String)>,
    /// Jobs, clones, or groups of them.
    pub entries: Vec<Entry>,
    /// Disks, unless the jobs do not want them shown.
    pub disks: Vec<DiskUse>,
}

impl Report {
    /// Of a run, as it ended or (`still_running`) as it is now.
    pub fn of(outcome: &Outcome, still_running: bool) -> Report {
        Report::in_zone(outcome, still_running, TimeZone::system())
    }

    fn in_zone(outcome: &Outcome, still_running: bool, zone: TimeZone) -> Report {
        let milliseconds = outcome.finished.as_millisecond() - outcome.started.as_millisecond();
        let entries = entry::entries(outcome);
        let jobs = outcome.plan.cells.iter().filter_map(|cell| cell.workload.job.as_ref());
        let global_options = jobs.map(|job| &job.report.global_options).find(|options| !options.is_empty());
        let hidden = !entries.is_empty() && entries.iter().all(|entry| entry.report.hide_disks);
        Report {
            run: outcome.run.clone(),
            timestamp_ms: outcome.finished.as_millisecond(),
            time: outcome.finished.to_zoned(zone).strftime("%a %b %e %H:%M:%S %Y").to_string(),
            elapsed_s: (milliseconds.max(1) as u64).div_ceil(1000),
            eta_s: if still_running { UNKNOWN_S } else { 0 },
            global_options: global_options.cloned().unwrap_or_default().into_iter().collect(),
            disks: if hidden { Vec::new() } else { outcome.disks.clone() },
            entries,
        }
    }
}

/// The three numbers that say what latency was aimed at: nanoseconds, microseconds, percent.
pub fn target_numbers(target: Option<LatencyTarget>) -> (u64, u64, f64) {
    target.map_or((0, 0, 100.0), |target| {
        let scaled = |seconds: f64, scale: f64| (seconds * scale).round() as u64;
        (scaled(target.target_s, 1e9), scaled(target.window_s, 1e6), target.percentile)
    })
}
