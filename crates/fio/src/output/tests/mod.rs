//! fio's formats, compared with the output of fio 3.33 for the job file tests/data/fio/sample.fio (see README.md
//! there).

mod json;
mod normal;
mod terse;

use engine::Usage;
use experiment::{Reporting, ShownDirections, SteadyRule};
use metrics::OpKind;
use metrics::OpStats;
use runner::{DiskUse, JobFailure, SampleSeries, SampleSummary};
use stats::{Criterion, CriterionUnit, RunShape, SteadyOutcome, Window};

use super::direction::DirectionFigures;
use super::entries;
use super::entry::FioEntry;
use super::report::{FioClient, FioReport};

/// The sample's jobs as run here: the same options, other figures.
pub(super) fn sample() -> FioReport {
    let text =
        |pairs: &[(&str, &str)]| pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    FioReport {
        run: "abcdefgh".to_owned(),
        timestamp_ms: 1_795_318_666_624,
        time: "Sun Nov 22 03:37:46 2026".to_owned(),
        elapsed_s: 4,
        eta_s: 0,
        global_options: text(&[("size", "1m"), ("bs", "4k")]),
        entries: vec![files(), trims()],
        clients: Vec::new(),
        all_clients: None,
        disks: vec![DiskUse {
            name: "vda".to_owned(),
            operations: [512, 536],
            watched_ms: 2_000,
            busy_ms: 4,
            ..DiskUse::default()
        }],
    }
}

/// tests/data/fio/client.fio as run on two hosts.
pub(super) fn fleet() -> FioReport {
    let job = |name: &str, group: u32, ops: u64| {
        let mut entry = FioEntry { name: name.to_owned(), group, jobs: 1, depth: 1, ..FioEntry::default() };
        entry.directions[0] = direction(ops, 4096, 30, 1_000_000, 0.0);
        if group == 0 {
            entry.directions[1] = direction(16 - ops, 4096, 20, 1_000_000, 0.0);
        }
        entry
    };
    let jobs = |more: u64| vec![job("mixed", 0, 10), job("mixed", 0, 5 + more), job("reads", 1, 16)];
    let client = |host: &str, port, more| FioClient { host: host.to_owned(), port, entries: jobs(more) };
    let clients = vec![client("alpha", 2222, 0), client("beta", 22, 1)];
    let all: Vec<FioEntry> = clients.iter().flat_map(|client| client.entries.clone()).collect();
    FioReport { all_clients: entries::together("All clients", &all), clients, entries: all, ..sample() }
}

fn files() -> FioEntry {
    let mut entry = FioEntry {
        name: "files".to_owned(),
        jobs: 1,
        depth: 1,
        depths: [760, 0, 0, 0, 0, 0, 0],
        goes_on: true,
        syncs: 95,
        report: Reporting {
            description: "reads, writes and commits".to_owned(),
            response: true,
            ..Reporting::default()
        },
        usage: Usage { user_ns: 20_000_000, voluntary_switches: 972, minor_faults: 19, ..Usage::default() },
        wall_ns: 1_901_000_000,
        steady: Some((
            SteadyRule::Fio { metric: "iops".to_owned(), slope: false, limit: 0.5, window_s: 2.0 },
            steady(),
        )),
        ..FioEntry::default()
    };
    entry.directions[0] = direction(380, 4096, 206_000, 1_901_000_000, 200.0);
    entry.directions[1] = direction(380, 4096, 6_900, 1_901_000_000, 200.0);
    (0..95).for_each(|n| entry.sync.record(1_000_000 + n * 10_000));
    entry
}

fn trims() -> FioEntry {
    let mut entry = FioEntry {
        name: "trims".to_owned(),
        group: 1,
        jobs: 2,
        depth: 4,
        depths: [0, 0, 512, 0, 0, 0, 0],
        report: Reporting {
            directions: ShownDirections::Both,
            percentiles: vec![50.0, 99.9],
            ..Reporting::default()
        },
        ..FioEntry::default()
    };
    entry.directions[2] = direction(512, 4096, 80, 1_000_000, 0.0);
    entry
}

/// Operations of about this latency; samples of this rate per second, if any.
fn direction(ops: u64, bytes: u64, latency_ns: u64, runtime_ns: u64, ops_per_s: f64) -> DirectionFigures {
    let mut stats = OpStats { ok: ops, bytes: ops * bytes, ..OpStats::default() };
    (0..ops).for_each(|n| stats.service.record(latency_ns + n));
    let mut direction = DirectionFigures::default();
    direction.add_stage(&stats, runtime_ns);
    let mut series = SampleSeries::default();
    for sample in 0..3 {
        if ops_per_s > 0.0 {
            series.ops_per_s.add(ops_per_s + f64::from(sample));
            series.bytes_per_s.add((ops_per_s + f64::from(sample)) * bytes as f64);
        }
    }
    direction.add_series(&series);
    direction
}

fn steady() -> SteadyOutcome {
    let criterion = Criterion {
        name: "iops: largest distance from the mean".to_owned(),
        value: 0.00125,
        limit: 0.5,
        at_most: true,
        met: true,
        unit: CriterionUnit::Share,
    };
    SteadyOutcome {
        rule: "fio".to_owned(),
        reached: true,
        reason: String::new(),
        window: Window { first: 0, end: 2 },
        criteria: vec![criterion],
        series: Vec::new(),
        shape: RunShape::Flat,
        regimes: Vec::new(),
        pts: Vec::new(),
        lost: None,
        stalls: None,
        trend: None,
        notes: Vec::new(),
    }
}

/// A sample output of fio.
pub(super) fn by_fio(name: &str) -> String {
    let path = format!("{}/../../tests/data/fio/{name}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

#[test]
fn an_operation_of_seventy_seconds_is_one_everywhere() {
    let mut report = sample();
    let mut stats = OpStats { ok: 1_000, bytes: 4_096_000, ..OpStats::default() };
    (0..999).for_each(|_| stats.service.record(1_000_000));
    stats.service.record(70_000_000_000);
    let entry = FioEntry { name: "slow".to_owned(), jobs: 1, ..FioEntry::default() };
    report.entries = vec![entry];
    report.entries[0].directions[runner::op_logs::direction::of_kind(OpKind::Read).unwrap()]
        .add_stage(&stats, 71_000_000_000);
    report.entries[0].report.percentiles = vec![99.9, 99.99, 100.0];
    let value = json::write(&report, true);
    let clat = &value["jobs"][0]["read"]["clat_ns"];
    let near = |value: &serde_json::Value, ns: f64| (value.as_f64().unwrap() / ns - 1.0).abs() < 0.01;
    assert!(near(&clat["max"], 70e9) && near(&clat["percentile"]["100.000000"], 70e9), "{clat}");
    assert!(
        near(&clat["percentile"]["99.990000"], 70e9) && near(&clat["percentile"]["99.900000"], 1e6),
        "{clat}"
    );
    let (longest, count) =
        clat["bins"].as_object().unwrap().iter().max_by_key(|(ns, _)| ns.parse::<u64>().unwrap()).unwrap();
    assert!((longest.parse::<f64>().unwrap() / 70e9 - 1.0).abs() < 0.01 && count == 1, "{clat}");
}

#[test]
fn what_failed_is_said_with_its_number() {
    let mut report = sample();
    report.entries[1].failure = Some(JobFailure { code: 28, text: "write: no space left".to_owned() });
    let value = json::write(&report, false);
    assert_eq!(value["jobs"][1]["error"], 28);
    let text = normal::write(&report);
    assert!(text.contains("trims: (groupid=1, jobs=2): err=28 (write: no space left): pid="), "{text}");
}

#[test]
fn samples_of_no_length_are_nothing() {
    assert_eq!(
        super::direction::RateSamples::of(&SampleSummary::default()),
        super::direction::RateSamples::default()
    );
}
