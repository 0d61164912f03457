//! What a run has stored: its cells, its intervals, its report.

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use report::Document;
use serde::{Deserialize, Serialize};
use store::{CellRecord, RunRecord, StageKey, Store, StoreError};

use super::{ApiState, RunPath, blocking, page_size, parameters};
use crate::observer::PointView;
use crate::problem::Problem;
use crate::queue::RunQueue;

/// What the report may load: nothing but what it contains.
const REPORT_POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; \
                             img-src data: blob:; base-uri 'none'; form-action 'none'";

pub(super) fn failed(error: StoreError) -> Problem {
    Problem::internal(error)
}

/// The results of a run; `None` if it has not begun to measure.
pub(super) fn stored(queue: &RunQueue, id: &str) -> Result<Option<(Store, RunRecord)>, Problem> {
    let run = queue.run(id)?;
    let store = match Store::open_existing(&queue.results()) {
        Ok(store) => store,
        Err(StoreError::Missing(_)) => return Ok(None),
        Err(error) => return Err(failed(error)),
    };
    match store.run(&run.id) {
        Ok(record) => Ok(Some((store, record))),
        Err(StoreError::Unknown { .. }) => Ok(None),
        Err(error) => Err(failed(error)),
    }
}

/// The results of a run that must have some.
pub(super) fn measured(queue: &RunQueue, id: &str) -> Result<(Store, RunRecord), Problem> {
    stored(queue, id)?.ok_or_else(|| {
        let detail = format!("run {id} has no results; next: GET /api/v3/runs/{id} for its state");
        Problem::new(StatusCode::CONFLICT, "no-results", detail)
    })
}

/// A page that contains everything it needs.
pub(super) fn page(html: String) -> impl IntoResponse {
    let headers = [
        (header::CONTENT_TYPE, "text/html; charset=utf-8"),
        (header::CONTENT_SECURITY_POLICY, REPORT_POLICY),
    ];
    (headers, html)
}

/// A part of a list.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CellsQuery {
    #[serde(default)]
    from: u32,
    limit: Option<u32>,
}

/// A cell with its name and stages.
#[derive(Serialize)]
struct StoredCell {
    name: String,
    target: String,
    #[serde(flatten)]
    record: CellRecord,
    /// The stages with stored intervals.
    stages: Vec<StageKey>,
}

/// A page of cells.
#[derive(Serialize)]
pub(crate) struct CellPage {
    cells: Vec<StoredCell>,
    /// The next page; absent on the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

/// The cells of a run with their results.
pub(crate) async fn cells(
    State(state): State<ApiState>,
    RunPath(id): RunPath,
    query: Result<Query<CellsQuery>, QueryRejection>,
) -> Result<Json<CellPage>, Problem> {
    let CellsQuery { from, limit } = parameters(query)?;
    let limit = page_size(limit, 100, 1000)?;
    blocking(move || {
        let Some((store, record)) = stored(&state.queue, &id)? else {
            return Ok(Json(CellPage { cells: Vec::new(), next: None }));
        };
        let records = store.cells(&record.id).map_err(failed)?;
        let rest = records.into_iter().filter(|cell| cell.index >= from);
        let mut page: Vec<CellRecord> = rest.take(limit as usize + 1).collect();
        let next = page.get(limit as usize);
        let next =
            next.map(|cell| format!("/api/v3/runs/{}/cells?limit={limit}&from={}", record.id, cell.index));
        page.truncate(limit as usize);
        let mut cells = Vec::with_capacity(page.len());
        for cell in page {
            let planned = record.planned(cell.index);
            cells.push(StoredCell {
                name: planned.map_or_else(String::new, |cell| cell.name.clone()),
                target: planned.map_or_else(String::new, |cell| cell.target.url.clone()),
                stages: store.stages(&record.id, cell.index).map_err(failed)?,
                record: cell,
            });
        }
        Ok(Json(CellPage { cells, next }))
    })
    .await
}

/// Which intervals.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct IntervalsQuery {
    #[serde(default)]
    cell: u32,
    stage: Option<String>,
    #[serde(default)]
    trial: u32,
    #[serde(default)]
    from: u32,
    limit: Option<u32>,
}

/// An interval with one point per operation.
#[derive(Serialize)]
struct StoredInterval {
    interval: u32,
    start_s: f64,
    length_s: f64,
    ops: Vec<PointView>,
}

/// A page of intervals.
#[derive(Serialize)]
pub(crate) struct IntervalPage {
    cell: u32,
    stage: String,
    trial: u32,
    intervals: Vec<StoredInterval>,
    /// The next page; absent if there is no further interval yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

/// The stored intervals of a stage of a cell.
pub(crate) async fn intervals(
    State(state): State<ApiState>,
    RunPath(id): RunPath,
    query: Result<Query<IntervalsQuery>, QueryRejection>,
) -> Result<Json<IntervalPage>, Problem> {
    let IntervalsQuery { cell, stage, trial, from, limit } = parameters(query)?;
    let limit = page_size(limit, 1000, 10_000)?;
    let stage = stage.unwrap_or_else(|| runner::MEASURE.to_owned());
    if !stage.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-') {
        let detail = "stage: write prepare, warm-up, measure or verify";
        return Err(Problem::bad_request("query", detail));
    }
    blocking(move || {
        let mut points: BTreeMap<u32, StoredInterval> = BTreeMap::new();
        let to = from.saturating_add(limit).saturating_add(1);
        if let Some((store, record)) = stored(&state.queue, &id)? {
            if record.planned(cell).is_none() {
                let detail = format!("run {id} has no cell {cell}");
                return Err(Problem::new(StatusCode::NOT_FOUND, "no-such-cell", detail));
            }
            for point in store.series(&record.id, cell, &stage, trial, from..to).map_err(failed)? {
                let point = point.map_err(failed)?;
                let interval = points.entry(point.interval).or_insert_with(|| StoredInterval {
                    interval: point.interval,
                    start_s: point.start_s(),
                    length_s: point.length_s(),
                    ops: Vec::new(),
                });
                interval.ops.push(PointView::of(&point));
            }
        }
        let mut intervals: Vec<StoredInterval> = points.into_values().collect();
        let next = intervals.get(limit as usize).map(|interval| {
            let from = interval.interval;
            format!(
                "/api/v3/runs/{id}/intervals?cell={cell}&stage={stage}&trial={trial}&from={from}&limit={limit}"
            )
        });
        intervals.truncate(limit as usize);
        Ok(Json(IntervalPage { cell, stage, trial, intervals, next }))
    })
    .await
}

/// The report: the same page that `manometer report` writes.
pub(crate) async fn report(
    State(state): State<ApiState>,
    RunPath(id): RunPath,
) -> Result<impl IntoResponse, Problem> {
    blocking(move || {
        let (store, record) = measured(&state.queue, &id)?;
        let document = Document::load(&store, record).map_err(failed)?;
        Ok(page(report::html(&document)))
    })
    .await
}
