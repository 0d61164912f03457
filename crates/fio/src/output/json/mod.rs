//! `--output-format=json` and `json+`: one document with the keys, types and units of fio 3.33, conforming to
//! `schemas/fio-output.schema.json`. What only manometer reports is under the key `manometer` of the document and of
//! each job.

mod clients;
mod parts;
mod style;

use std::collections::BTreeMap;
use std::io::{self, Write};

use engine::CheckedBlocks;
use experiment::ShownDirections;
use metrics::ErrorKind;
use serde::Serialize;

use self::clients::ClientPart;
use self::parts::{DirectionPart, Ordered, SyncPart, distribution, keyed};
use self::style::FioStyle;
use super::direction::DirectionFigures;
use super::disks;
use super::entry::{FioEntry, SteadyFigures};
use super::groups::{self, EntryGroup};
use super::report::{FioReport, target_numbers};
use runner::DiskUse;

/// The fio version whose format this is; programs check that it starts with `fio-`.
pub const FIO_VERSION: &str = "fio-3.33";

const DEPTHS: [&str; 7] = ["1", "2", "4", "8", "16", "32", ">=64"];
const BATCHES: [&str; 7] = ["0", "4", "8", "16", "32", "64", ">=64"];

/// Writes the document and a line end, with latency buckets if `bins` is set (`json+`).
///
/// # Errors
/// It cannot be written.
pub fn write(report: &FioReport, bins: bool, out: &mut dyn Write) -> io::Result<()> {
    let alone = report.clients.is_empty();
    let document = Document {
        fio_version: FIO_VERSION,
        timestamp: report.timestamp_ms / 1000,
        timestamp_ms: report.timestamp_ms,
        time: &report.time,
        manometer: OwnPart { version: env!("CARGO_PKG_VERSION"), run: &report.run },
        global_options: Ordered(report.global_options.clone()),
        jobs: alone.then(|| jobs(report, &report.entries, bins)),
        client_stats: (!alone).then(|| clients::stats(report, bins)),
        disk_util: (!alone || !report.disks.is_empty()).then(|| report.disks.iter().flat_map(disk).collect()),
    };
    let mut serializer = serde_json::Serializer::with_formatter(&mut *out, FioStyle::new());
    document.serialize(&mut serializer).map_err(io::Error::from)?;
    out.write_all(b"\n")
}

fn jobs<'a>(report: &FioReport, entries: &'a [FioEntry], bins: bool) -> Vec<JobPart<'a>> {
    let groups = groups::of(entries);
    entries.iter().map(|entry| JobPart::of(report, entry, &groups[&entry.group], bins)).collect()
}

#[derive(Serialize)]
struct Document<'a> {
    #[serde(rename = "fio version")]
    fio_version: &'static str,
    timestamp: i64,
    timestamp_ms: i64,
    time: &'a str,
    manometer: OwnPart<'a>,
    #[serde(rename = "global options", skip_serializing_if = "no_options")]
    global_options: Ordered<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    jobs: Option<Vec<JobPart<'a>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    client_stats: Option<Vec<ClientPart<'a>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    disk_util: Option<Vec<Ordered<Number>>>,
}

fn no_options(options: &Ordered<String>) -> bool {
    options.0.is_empty()
}

#[derive(Serialize)]
struct OwnPart<'a> {
    version: &'static str,
    run: &'a str,
}

#[derive(Serialize)]
struct JobPart<'a> {
    jobname: &'a str,
    groupid: u32,
    error: i32,
    #[serde(skip_serializing_if = "Option::is_none")]
    eta: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    elapsed: Option<u64>,
    #[serde(rename = "job options", skip_serializing_if = "Option::is_none")]
    options: Option<Ordered<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    read: Option<DirectionPart>,
    #[serde(skip_serializing_if = "Option::is_none")]
    write: Option<DirectionPart>,
    #[serde(skip_serializing_if = "Option::is_none")]
    trim: Option<DirectionPart>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sync: Option<SyncPart>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mixed: Option<DirectionPart>,
    job_runtime: u64,
    usr_cpu: f64,
    sys_cpu: f64,
    ctx: u64,
    majf: u64,
    minf: u64,
    iodepth_level: Ordered<f64>,
    iodepth_submit: Ordered<f64>,
    iodepth_complete: Ordered<f64>,
    latency_ns: Ordered<f64>,
    latency_us: Ordered<f64>,
    latency_ms: Ordered<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    total_err: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    first_error: Option<i32>,
    #[serde(flatten)]
    target: Option<TargetPart>,
    #[serde(skip_serializing_if = "Option::is_none")]
    desc: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    steadystate: Option<SteadyPart>,
    manometer: OwnJobPart<'a>,
}

/// The target latency.
#[derive(Serialize)]
struct TargetPart {
    latency_depth: u32,
    latency_target: u64,
    latency_percentile: f64,
    latency_window: u64,
}

#[derive(Serialize)]
struct OwnJobPart<'a> {
    cells: &'a [u32],
    #[serde(skip_serializing_if = "Option::is_none")]
    verdict: Option<&'a store::Verdict>,
    #[serde(skip_serializing_if = "Option::is_none")]
    limit: Option<&'a stats::limit::Bottleneck>,
    #[serde(skip_serializing_if = "Option::is_none")]
    failure: Option<&'a str>,
    errors: &'a BTreeMap<ErrorKind, u64>,
    in_flight_at_end: u64,
    log_waits: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    verification: Option<CheckedBlocks>,
}

#[derive(Serialize)]
struct SteadyPart {
    ss: String,
    duration: u64,
    attained: u8,
    criterion: String,
    max_deviation: f64,
    slope: f64,
    data: SteadyData,
}

#[derive(Serialize)]
struct SteadyData {
    bw_mean: u64,
    iops_mean: u64,
    iops: Vec<u64>,
    bw: Vec<u64>,
}

/// A value in a `disk_util` object.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
enum Number {
    Text(String),
    Whole(u64),
    Real(f64),
}

impl<'a> JobPart<'a> {
    fn of(report: &FioReport, entry: &'a FioEntry, group: &EntryGroup, bins: bool) -> Self {
        let hide = entry.report.hide_samples;
        let part = |direction: &DirectionFigures, summary| {
            let (service, response) = (entry.service(direction), entry.response(direction));
            DirectionPart::of(direction, summary, &service, &response, bins, hide)
        };
        let apart = entry.report.directions != ShownDirections::Together;
        let together = entry.report.directions != ShownDirections::Apart;
        let each = |n: usize| apart.then(|| part(&entry.directions[n], &group.directions[n]));
        let [latency_ns, latency_us, latency_ms] = distribution(&entry.shares());
        let [usr_cpu, sys_cpu] = entry.processor_percent();
        let unknown = [0.0; 7];
        let (latency_target, latency_window, latency_percentile) = target_numbers(entry.target);
        let description = entry.report.description.as_str();
        JobPart {
            jobname: &entry.name,
            groupid: entry.group,
            error: entry.error_code(),
            eta: Some(report.eta_s),
            elapsed: Some(report.elapsed_s),
            options: Some(Ordered(entry.options.clone())),
            read: each(0),
            write: each(1),
            trim: each(2),
            sync: apart.then(|| SyncPart::of(entry.syncs, &entry.commits(), bins)),
            mixed: together.then(|| part(&entry.together(), &group.mixed)),
            job_runtime: entry.wall_ns / 1_000_000,
            usr_cpu,
            sys_cpu,
            ctx: entry.usage.voluntary_switches + entry.usage.involuntary_switches,
            majf: entry.usage.major_faults,
            minf: entry.usage.minor_faults,
            iodepth_level: keyed(&DEPTHS, &entry.depth_shares()),
            iodepth_submit: keyed(&BATCHES, &unknown),
            iodepth_complete: keyed(&BATCHES, &unknown),
            latency_ns,
            latency_us,
            latency_ms,
            total_err: entry.goes_on.then_some(entry.failed),
            first_error: entry.goes_on.then_some(entry.error_code()),
            target: Some(TargetPart {
                latency_depth: entry.depth,
                latency_target,
                latency_percentile,
                latency_window,
            }),
            desc: (!description.is_empty()).then_some(description),
            steadystate: steady(entry),
            manometer: OwnJobPart {
                cells: &entry.own.cells,
                verdict: entry.own.verdict.as_ref(),
                limit: entry.own.limit.as_ref(),
                failure: entry.own.failure.as_deref(),
                errors: &entry.own.errors,
                in_flight_at_end: entry.own.in_flight_at_end,
                log_waits: entry.own.log_waits,
                verification: entry.own.verification,
            },
        }
    }
}

fn steady(entry: &FioEntry) -> Option<SteadyPart> {
    let (rule, outcome) = entry.steady.as_ref()?;
    let steady = SteadyFigures::of(rule, outcome)?;
    Some(SteadyPart {
        criterion: format!("{:.6}%", steady.percent),
        max_deviation: if steady.slope { 0.0 } else { steady.percent },
        slope: if steady.slope { steady.percent } else { 0.0 },
        ss: steady.rule,
        duration: steady.window_s,
        attained: steady.reached.into(),
        data: SteadyData {
            bw_mean: steady.bytes_per_s as u64,
            iops_mean: steady.ops_per_s as u64,
            iops: Vec::new(),
            bw: Vec::new(),
        },
    })
}

/// A disk and its members.
fn disk(disk: &DiskUse) -> Vec<Ordered<Number>> {
    let mut fields = vec![("name".to_owned(), Number::Text(disk.name.clone()))];
    fields.extend(disk_fields("", "write_merges", disk, disks::busy_percent(disk)));
    if !disk.parts.is_empty() {
        let mean = disks::mean_of_parts(disk);
        // fio names this one field differently.
        fields.extend(disk_fields("aggr_", "write_merge", &mean, disks::busiest_percent(disk)));
    }
    std::iter::once(Ordered(fields)).chain(disk.parts.iter().flat_map(self::disk)).collect()
}

fn disk_fields(prefix: &str, write_merges: &str, disk: &DiskUse, percent: f64) -> Vec<(String, Number)> {
    let counts = [
        ("read_ios", disk.operations[0]),
        ("write_ios", disk.operations[1]),
        ("read_merges", disk.merged[0]),
        (write_merges, disk.merged[1]),
        ("read_ticks", disk.waited_ms[0]),
        ("write_ticks", disk.waited_ms[1]),
        ("in_queue", disk.queued_ms),
    ];
    let whole = counts.map(|(name, count)| (format!("{prefix}{name}"), Number::Whole(count)));
    whole.into_iter().chain([(format!("{prefix}util"), Number::Real(percent))]).collect()
}
