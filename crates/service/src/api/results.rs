//! What a run has stored: its cells, its intervals, its report.

use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use report::Document;
use serde::{Deserialize, Serialize};
use store::{CellRecord, RunRecord, StageKey, Store, StoreError};
use utoipa::{IntoParams, ToSchema};

use super::runs::JSON;
use super::{ApiState, RunPath, blocking, page_size, parameters, stored as records};
use crate::problem::Problem;
use crate::queue::RunQueue;
use crate::work::RunKind;

/// What a page may load: nothing but what it contains.
const PAGE_POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; \
                             img-src data: blob:; base-uri 'none'; form-action 'none'";

pub(super) fn failed(error: StoreError) -> Problem {
    Problem::internal(error)
}

/// The results of a run; `None` if it has not begun to measure.
pub(super) fn stored(queue: &RunQueue, id: &str) -> Result<Option<(Store, RunRecord)>, Problem> {
    let run = queue.run(id)?;
    queue.results().run(&run.id).map_err(failed)
}

/// The results of a run that must have some.
pub(super) fn measured(queue: &RunQueue, id: &str) -> Result<(Store, RunRecord), Problem> {
    stored(queue, id)?.ok_or_else(|| no_results(id))
}

pub(super) fn no_results(id: &str) -> Problem {
    let detail = format!("run {id} has no results; next: GET /api/v3/runs/{id} for its state");
    Problem::new(StatusCode::CONFLICT, "no-results", detail)
}

/// A part of a list.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct CellsQuery {
    /// The index of the first cell
    #[serde(default)]
    #[param(maximum = 4_294_967_295_u32)]
    from: u32,
    /// The size of a page
    #[param(minimum = 1, maximum = 1000, default = 100)]
    limit: Option<u32>,
}

/// A cell with its name and stages.
#[derive(Serialize, ToSchema)]
struct StoredCell {
    /// The cell's name in the plan.
    name: String,
    /// The URL of its target.
    target: String,
    /// Whether a rule found it steady; absent if nothing was measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    steady: Option<&'static str>,
    #[serde(flatten)]
    #[schema(value_type = records::CellRecord)]
    record: CellRecord,
    /// The stages with stored intervals.
    stages: Vec<StageView>,
}

/// A series of intervals.
#[derive(Serialize, ToSchema)]
#[schema(as = StageIntervals)]
struct StageView {
    /// `prepare`, `warm-up`, `measure`, `verify`, …
    stage: String,
    /// Number of the measurement in a study; 0 otherwise.
    trial: u32,
    /// Number of intervals.
    intervals: u32,
}

impl From<StageKey> for StageView {
    fn from(StageKey { stage, trial, intervals }: StageKey) -> Self {
        Self { stage, trial, intervals }
    }
}

/// A page of cells.
#[derive(Serialize, ToSchema)]
pub(crate) struct CellPage {
    cells: Vec<StoredCell>,
    /// The path of the next page; absent on the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

/// The cells of a run with their results
#[utoipa::path(
    get, path = "/api/v3/runs/{id}/cells", operation_id = "runCells", tag = "results",
    params(RunPath, CellsQuery),
    responses(
        (status = 200, description = "A page of cells; empty until the run measures", body = CellPage),
        (status = 404, description = "There is no such run")
    )
)]
pub(crate) async fn cells(
    State(state): State<ApiState>,
    RunPath { id }: RunPath,
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
            let stages = store.stages(&record.id, cell.index).map_err(failed)?;
            cells.push(StoredCell {
                name: planned.map_or_else(String::new, |cell| cell.name.clone()),
                target: planned.map_or_else(String::new, |cell| cell.target.url.clone()),
                steady: cell.result.as_ref().map(|result| result.steady.judgement().words()),
                stages: stages.into_iter().map(StageView::from).collect(),
                record: cell,
            });
        }
        Ok(Json(CellPage { cells, next }))
    })
    .await
}

/// What a check, a network test or a calibration found, or a clean-up removed
///
/// Of the first three, the document that `manometer check`, `network` or `calibrate --output json` prints. An experiment has none: its results are its cells.
#[utoipa::path(
    get, path = "/api/v3/runs/{id}/result", operation_id = "runResult", tag = "results",
    params(RunPath),
    responses(
        (status = 200, description = "The result", body = records::RunResult),
        (status = 404, description = "There is no such run"),
        (status = 409, description = "The run has no result yet, or ended without one (`no-results`); or it is an experiment \
                                      (`experiment`)")
    )
)]
pub(crate) async fn result(
    State(state): State<ApiState>,
    RunPath { id }: RunPath,
) -> Result<impl IntoResponse, Problem> {
    blocking(move || {
        let run = state.queue.run(&id)?;
        if run.kind == RunKind::Experiment {
            let detail =
                format!("run {id} is an experiment; next: GET /api/v3/runs/{id}/cells for its results");
            return Err(Problem::new(StatusCode::CONFLICT, "experiment", detail));
        }
        let found = state.queue.result(&run)?.ok_or_else(|| no_results(&id))?;
        Ok(([(header::CONTENT_TYPE, JSON)], found))
    })
    .await
}

/// The report: the same page that `manometer report` writes
#[utoipa::path(
    get, path = "/api/v3/runs/{id}/report", operation_id = "runReport", tag = "results",
    params(RunPath),
    responses(
        (status = 200, description = "The page", body = String, content_type = "text/html"),
        (status = 404, description = "There is no such run"),
        (status = 409, description = "The run has no results yet")
    )
)]
pub(crate) async fn report(
    State(state): State<ApiState>,
    RunPath { id }: RunPath,
) -> Result<impl IntoResponse, Problem> {
    blocking(move || {
        let (store, record) = measured(&state.queue, &id)?;
        let document = Document::load(&store, record).map_err(failed)?;
        Ok(page(report::html(&document)))
    })
    .await
}

/// A page that may load nothing.
pub(super) fn page(html: String) -> impl IntoResponse {
    let headers =
        [(header::CONTENT_TYPE, "text/html; charset=utf-8"), (header::CONTENT_SECURITY_POLICY, PAGE_POLICY)];
    (headers, html)
}
