//! The report of a check as JSON, conforming to `schemas/check.schema.json`. A change of meaning raises [`VERSION`].

use std::collections::BTreeMap;

use fleet::probe::{CardFacts, CoreLoad};
use serde::Serialize;
use stats::limit::{Bottleneck, Bound};

use super::paths::SlowPath;
use super::report::{CheckReport, CheckSettings, CheckedArray};
use super::row::{CheckRow, PhaseFigures, WrittenData};
use super::verdict::{BestFigure, CheckVerdict};
use crate::reactor_facts::ReactorFacts;

/// Version of the schema. Adding a field does not raise it; removing or redefining one does.
const VERSION: u32 = 1;

#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    schema_version: u32,
    manometer_version: &'static str,
    run_id: &'a str,
    started: String,
    finished: String,
    success: bool,
    interrupted_by: Option<&'a str>,
    settings: &'a CheckSettings,
    array: &'a Option<CheckedArray>,
    reactor: &'a ReactorFacts,
    rows: Vec<JsonRow<'a>>,
    verdict: JsonVerdict<'a>,
    left_behind: &'a [String],
}

#[derive(Serialize)]
struct JsonRow<'a> {
    data_vip: String,
    protocol: &'static str,
    result: &'static str,
    cause: Option<&'a str>,
    subnet: Option<&'a str>,
    array_mtu_bytes: Option<u32>,
    warnings: &'a [String],
    written: Option<WrittenData>,
    write: Option<JsonPhase<'a>>,
    read: Option<JsonPhase<'a>>,
}

#[derive(Serialize)]
struct JsonPhase<'a> {
    window_s: f64,
    bytes: u64,
    bytes_per_s: f64,
    ops: BTreeMap<&'static str, JsonOp>,
    errors: BTreeMap<&'static str, u64>,
    error_samples: Vec<String>,
    retries: u64,
    reconnects: u64,
    late_replies: u64,
    in_flight_at_end: u64,
    unanswered: u64,
    tcp: JsonTcp,
    client: JsonClient<'a>,
    limit: &'a Option<Bottleneck>,
    seconds: Vec<JsonSecond>,
}

#[derive(Serialize)]
struct JsonOp {
    ok: u64,
    failed: u64,
    rpcs: u64,
    latency_ns: JsonLatency,
}

#[derive(Serialize)]
struct JsonLatency {
    min: u64,
    mean: f64,
    p50: u64,
    p90: u64,
    p99: u64,
    p99_9: u64,
    max: u64,
}

#[derive(Serialize)]
struct JsonTcp {
    connections: u64,
    mss_bytes: Option<u32>,
    retransmits: u64,
}

#[derive(Serialize)]
struct JsonClient<'a> {
    busiest_core: Option<CoreLoad>,
    steal: f64,
    cores: &'a [CoreLoad],
    nic: &'a Option<CardFacts>,
}

#[derive(Serialize)]
struct JsonSecond {
    start_s: f64,
    length_s: f64,
    bytes_per_s: f64,
    ok: u64,
    failed: u64,
}

#[derive(Serialize)]
struct JsonVerdict<'a> {
    limit: &'static str,
    sentences: Vec<String>,
    best: Vec<JsonBest<'a>>,
    slow_paths: Vec<JsonSlowPath<'a>>,
    busiest_core: Option<f64>,
    steal: f64,
}

#[derive(Serialize)]
struct JsonBest<'a> {
    protocol: &'static str,
    phase: &'static str,
    data_vip: String,
    bytes_per_s: f64,
    limit: &'a Bottleneck,
}

#[derive(Serialize)]
struct JsonSlowPath<'a> {
    data_vip: String,
    protocol: &'static str,
    phase: &'static str,
    bytes_per_s: f64,
    others_bytes_per_s: f64,
    because: Option<&'a str>,
}

impl CheckReport {
    /// The whole report as one indented object in JSON, with a final line end.
    pub fn json(&self) -> String {
        let document = Document {
            schema: "manometer.check",
            schema_version: VERSION,
            manometer_version: env!("CARGO_PKG_VERSION"),
            run_id: &self.run_id,
            started: self.started.to_string(),
            finished: self.finished.to_string(),
            success: self.success(),
            interrupted_by: self.interrupted_by,
            settings: &self.settings,
            array: &self.array,
            reactor: &self.reactor,
            rows: self.rows.iter().map(row).collect(),
            verdict: verdict(&self.verdict),
            left_behind: &self.left_behind,
        };
        let mut text = serde_json::to_string_pretty(&document).expect("all keys are strings");
        text.push('\n');
        text
    }
}

fn verdict(verdict: &CheckVerdict) -> JsonVerdict<'_> {
    JsonVerdict {
        limit: verdict.limit.map_or("unknown", Bound::words),
        sentences: verdict.sentences(),
        best: verdict.best.iter().map(best).collect(),
        slow_paths: verdict.slow_paths.iter().map(slow).collect(),
        busiest_core: verdict.busiest_core,
        steal: verdict.steal,
    }
}

fn best(best: &BestFigure) -> JsonBest<'_> {
    JsonBest {
        protocol: best.protocol,
        phase: best.phase,
        data_vip: best.address.to_string(),
        bytes_per_s: best.rate.0,
        limit: &best.finding,
    }
}

fn slow(slow: &SlowPath) -> JsonSlowPath<'_> {
    JsonSlowPath {
        data_vip: slow.address.to_string(),
        protocol: slow.protocol,
        phase: slow.phase,
        bytes_per_s: slow.rate.0,
        others_bytes_per_s: slow.others.0,
        because: slow.because.as_deref(),
    }
}

fn row(row: &CheckRow) -> JsonRow<'_> {
    JsonRow {
        data_vip: row.path.address.to_string(),
        protocol: row.protocol,
        result: row.outcome.words(),
        cause: row.cause.as_deref(),
        subnet: row.path.subnet.as_deref(),
        array_mtu_bytes: row.path.array_mtu,
        warnings: &row.warnings,
        written: row.written,
        write: row.write.as_ref().map(phase),
        read: row.read.as_ref().map(phase),
    }
}

fn seconds(nanos: u64) -> f64 {
    nanos as f64 / 1e9
}

fn phase(phase: &PhaseFigures) -> JsonPhase<'_> {
    JsonPhase {
        window_s: seconds(phase.window_ns),
        bytes: phase.total.bytes(),
        bytes_per_s: phase.rate().0,
        ops: phase.total.ops.iter().map(|(kind, stats)| (kind.name(), op(stats))).collect(),
        errors: phase.errors().into_iter().map(|(kind, count)| (kind.name(), count)).collect(),
        error_samples: phase.error_samples.iter().map(|(kind, detail)| format!("{kind}: {detail}")).collect(),
        retries: phase.retries,
        reconnects: phase.reconnects,
        late_replies: phase.late_replies,
        in_flight_at_end: phase.in_flight_at_end,
        unanswered: phase.unanswered,
        tcp: JsonTcp {
            connections: phase.connections,
            mss_bytes: (phase.mss_bytes > 0).then_some(phase.mss_bytes),
            retransmits: phase.retransmits,
        },
        client: JsonClient {
            busiest_core: phase.client.busiest(),
            steal: phase.client.steal(),
            cores: &phase.client.cores,
            nic: &phase.client.nic,
        },
        limit: &phase.limit,
        seconds: phase
            .seconds
            .iter()
            .map(|second| JsonSecond {
                start_s: seconds(second.start_ns),
                length_s: seconds(second.length_ns),
                bytes_per_s: second.bytes_per_s(),
                ok: second.ok,
                failed: second.failed,
            })
            .collect(),
    }
}

fn op(stats: &metrics::OpStats) -> JsonOp {
    let latency = &stats.service;
    JsonOp {
        ok: stats.ok,
        failed: stats.failed(),
        rpcs: stats.rpcs,
        latency_ns: JsonLatency {
            min: latency.min_ns(),
            mean: latency.mean_ns(),
            p50: latency.quantile_ns(0.50),
            p90: latency.quantile_ns(0.90),
            p99: latency.quantile_ns(0.99),
            p99_9: latency.quantile_ns(0.999),
            max: latency.max_ns(),
        },
    }
}
