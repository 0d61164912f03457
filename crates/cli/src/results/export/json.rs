//! A run as one JSON document, conforming to `schemas/run.schema.json`. A change of meaning raises [`VERSION`].

use std::borrow::Cow;
use std::io::Write;

use anyhow::Result;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use metrics::{Histogram, Interval, LatencySummary, OpKind, OpStats};
use report::NamedCell;
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use store::{Event, RunRecord, Store};

use super::SeriesChoice;

/// Version of the schema. Adding a field does not raise it; removing or redefining one does.
pub const VERSION: u32 = 1;
/// Name of the schema.
pub const SCHEMA: &str = "manometer.run";

/// The document without its intervals, which are appended one by one.
#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    schema_version: u32,
    manometer_version: &'static str,
    run: &'a RunRecord,
    cells: Vec<NamedCell<'a>>,
    events: Vec<Event>,
}

/// One interval of one stage.
#[derive(Serialize)]
pub struct JsonInterval<'a> {
    cell: u32,
    stage: &'a str,
    trial: u32,
    /// Absent for all hosts combined.
    #[serde(skip_serializing_if = "Option::is_none")]
    host: Option<&'a str>,
    interval: u32,
    start_ns: u64,
    length_ns: u64,
    ops: Vec<JsonOp<'a>>,
}

/// One operation of an interval with its histograms.
struct JsonOp<'a>(OpKind, &'a OpStats);

/// Writes the document, with all cells or one. `intervals` adds their intervals, streamed.
///
/// # Errors
/// The results file cannot be read, or the output cannot be written.
pub fn write(
    store: &Store,
    run: &RunRecord,
    only: Option<u32>,
    intervals: Option<SeriesChoice>,
    out: &mut dyn Write,
) -> Result<()> {
    let cells = cells(store, run, only)?;
    let shown = |event: &Event| only.is_none() || event.cell.is_none() || event.cell == only;
    let events = store.events(&run.id)?.into_iter().filter(shown).collect();
    let document = Document {
        schema: SCHEMA,
        schema_version: VERSION,
        manometer_version: env!("CARGO_PKG_VERSION"),
        run,
        cells,
        events,
    };
    let text = serde_json::to_string_pretty(&document)?;
    let Some(series) = intervals else {
        out.write_all(text.as_bytes())?;
        out.write_all(b"\n")?;
        return Ok(());
    };
    // The end of the document stays open for data that is too large to hold in memory.
    let open = text.trim_end().strip_suffix('}').unwrap_or(&text).trim_end();
    out.write_all(open.as_bytes())?;
    out.write_all(b",\n  \"intervals\": [")?;
    let mut first = true;
    each_interval(store, run, only, series, &mut |line| {
        out.write_all(if std::mem::take(&mut first) { b"\n    " } else { b",\n    " })?;
        out.write_all(&serde_json::to_vec(line)?)?;
        Ok(())
    })?;
    out.write_all(b"\n  ]\n}\n")?;
    Ok(())
}

/// The cells, with names.
///
/// # Errors
/// The results file cannot be read.
pub fn cells<'a>(store: &Store, run: &'a RunRecord, only: Option<u32>) -> Result<Vec<NamedCell<'a>>> {
    let cells = store.cells(&run.id)?.into_iter();
    let wanted = cells.filter(|cell| only.is_none_or(|only| only == cell.index));
    Ok(wanted.map(|record| NamedCell::of(run, Cow::Owned(record))).collect())
}

/// Calls a function for every interval of every stage, in order of cells and stages.
///
/// # Errors
/// The results file cannot be read, or the function fails.
pub fn each_interval(
    store: &Store,
    run: &RunRecord,
    only: Option<u32>,
    series: SeriesChoice,
    each: &mut dyn FnMut(&JsonInterval<'_>) -> Result<()>,
) -> Result<()> {
    let wanted = run.plan.cells.iter().filter(|cell| only.is_none_or(|only| only == cell.index));
    for cell in wanted {
        series.each(store, run, cell.index, &mut |key, host| {
            let of = (key.stage.as_str(), key.trial, host.unwrap_or(""));
            for interval in store.host_intervals(&run.id, cell.index, of, 0..u32::MAX)? {
                each(&JsonInterval::new(cell.index, (&key.stage, key.trial, host), &interval?))?;
            }
            Ok(())
        })?;
    }
    Ok(())
}

impl<'a> JsonInterval<'a> {
    fn new(cell: u32, (stage, trial, host): (&'a str, u32, Option<&'a str>), interval: &'a Interval) -> Self {
        Self {
            cell,
            stage,
            trial,
            host,
            interval: interval.index,
            start_ns: interval.start_ns,
            length_ns: interval.length_ns,
            ops: interval.ops.iter().map(|(op, stats)| JsonOp(*op, stats)).collect(),
        }
    }
}

impl Serialize for JsonOp<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let JsonOp(op, stats) = self;
        let packed = |histogram: &Histogram| STANDARD.encode(store::pack_histogram(histogram));
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("op", op)?;
        map.serialize_entry("ok", &stats.ok)?;
        map.serialize_entry("failed", &stats.failed())?;
        map.serialize_entry("errors", &stats.errors_by_kind())?;
        map.serialize_entry("bytes", &stats.bytes)?;
        map.serialize_entry("rpcs", &stats.rpcs)?;
        map.serialize_entry("retries", &stats.retries)?;
        map.serialize_entry("service", &LatencySummary::of(&stats.service))?;
        map.serialize_entry("response", &LatencySummary::of(stats.response()))?;
        map.serialize_entry("service_histogram", &packed(&stats.service))?;
        // Absent in a closed loop, where it equals the service time.
        if let Some(response) = stats.response.as_deref() {
            map.serialize_entry("response_histogram", &packed(response))?;
        }
        map.end()
    }
}
