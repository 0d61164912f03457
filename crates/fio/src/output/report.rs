//! A run as fio's output shows it: the source of all four formats.

use experiment::{LatencyTarget, bare_host, host_port};
use jiff::tz::TimeZone;

use super::entries;
use super::entry::FioEntry;
use runner::{DiskUse, JobsOutcome};

/// fio's name for all jobs of all hosts.
const ALL_CLIENTS: &str = "All clients";
/// The default ssh port.
const SSH_PORT: u16 = 22;
/// fio's value for an unknown time.
const UNKNOWN_S: u64 = i32::MAX as u64;

/// A run.
#[derive(Clone, Debug, Default)]
pub struct FioReport {
    /// Its id in the results file.
    pub run: String,
    /// Time of writing, in milliseconds since 1970.
    pub timestamp_ms: i64,
    /// The same for people: `Sun Nov 22 03:37:46 2026`, local time.
    pub time: String,
    /// Seconds since the run began, rounded up.
    pub elapsed_s: u64,
    /// Seconds until it ends; 0 if it has ended.
    pub eta_s: u64,
    /// Options of the section `[global]`.
    pub global_options: Vec<(String, String)>,
    /// Jobs, clones, or groups of them; for a fleet, of all hosts together.
    pub entries: Vec<FioEntry>,
    /// The hosts of a fleet (`--client`); empty if this host alone ran the jobs.
    pub clients: Vec<FioClient>,
    /// fio's `All clients`: all jobs of all hosts, if there are several.
    pub all_clients: Option<FioEntry>,
    /// Disks, unless the jobs hide them.
    pub disks: Vec<DiskUse>,
}

/// A host of a fleet.
#[derive(Clone, Debug, Default)]
pub struct FioClient {
    /// Its name, without user and port.
    pub host: String,
    /// Its ssh port.
    pub port: u16,
    /// Its entries.
    pub entries: Vec<FioEntry>,
}

impl FioReport {
    /// The report of a run, as it ended or (`still_running`) as it is now; times for people are in `zone`.
    pub fn of(outcome: &JobsOutcome, still_running: bool, zone: TimeZone) -> FioReport {
        let milliseconds = outcome.finished.as_millisecond() - outcome.started.as_millisecond();
        let entries = entries::entries(outcome);
        let mut clients = clients(outcome);
        let all_clients = all_clients(&clients, &entries);
        if let ([client], [whole]) = (clients.as_mut_slice(), entries.as_slice())
            && let [only] = client.entries.as_mut_slice()
        {
            // One job on one host: its entry is the total.
            *only = FioEntry { steady: whole.steady.clone(), own: whole.own.clone(), ..only.clone() };
        }
        let jobs = outcome.plan.cells.iter().filter_map(|cell| cell.workload.stream());
        let global_options = jobs.map(|job| &job.report.global_options).find(|options| !options.is_empty());
        let hidden = !entries.is_empty() && entries.iter().all(|entry| entry.report.hide_disks);
        FioReport {
            run: outcome.run.clone(),
            timestamp_ms: outcome.finished.as_millisecond(),
            time: outcome.finished.to_zoned(zone).strftime("%a %b %e %H:%M:%S %Y").to_string(),
            elapsed_s: (milliseconds.max(1) as u64).div_ceil(1000),
            eta_s: if still_running { UNKNOWN_S } else { 0 },
            global_options: global_options.cloned().unwrap_or_default().into_iter().collect(),
            disks: if hidden { Vec::new() } else { outcome.disks.clone() },
            all_clients,
            clients,
            entries,
        }
    }

    /// Entries in display order: of this host, or host by host and then combined.
    pub fn lists(&self) -> Vec<(Option<&FioClient>, &[FioEntry])> {
        if self.clients.is_empty() {
            return vec![(None, &self.entries)];
        }
        let each = self.clients.iter().map(|client| (Some(client), client.entries.as_slice()));
        each.chain(self.all_clients.iter().map(|all| (None, std::slice::from_ref(all)))).collect()
    }
}

/// The hosts of a fleet, in fleet order.
fn clients(outcome: &JobsOutcome) -> Vec<FioClient> {
    let mut names: Vec<&str> = Vec::new();
    for host in outcome.cells.iter().flat_map(|cell| &cell.hosts) {
        if !names.contains(&host.name.as_str()) {
            names.push(&host.name);
        }
    }
    let client = |name: &&str| FioClient {
        host: bare_host(name).to_owned(),
        port: host_port(name).unwrap_or(SSH_PORT),
        entries: entries::of_host(outcome, name),
    };
    names.iter().map(client).collect()
}

/// All jobs of all hosts combined, if there are several. Run-level statements come from `whole`.
fn all_clients(clients: &[FioClient], whole: &[FioEntry]) -> Option<FioEntry> {
    let each: Vec<FioEntry> = clients.iter().flat_map(|client| client.entries.clone()).collect();
    if each.len() < 2 {
        return None;
    }
    let said = entries::together(ALL_CLIENTS, whole)?;
    let all = entries::together(ALL_CLIENTS, &each)?;
    Some(FioEntry { steady: said.steady, own: said.own, ..all })
}

/// The target latency as three numbers: nanoseconds, microseconds, percent.
pub fn target_numbers(target: Option<LatencyTarget>) -> (u64, u64, f64) {
    target.map_or((0, 0, 100.0), |target| {
        let scaled = |seconds: f64, scale: f64| (seconds * scale).round() as u64;
        (scaled(target.target_s, 1e9), scaled(target.window_s, 1e6), target.percentile)
    })
}
