//! `/api/v3/baselines`: named results of runs and of networks, with which later runs are compared.

use axum::Json;
use axum::body::Body;
use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use jiff::Timestamp;
use provision::RunId;
use runner::timestamp::now;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use stats::NetworkMatrix;
use store::{Baseline, BaselineCell, BaselineContent, Store, StoreError};
use utoipa::{IntoParams, ToSchema};

use super::page::{PageStart, page};
use super::results::{failed, measured, no_results};
use super::{ApiState, blocking, page_size, parameters};
use crate::body;
use crate::database::AskedState;
use crate::problem::Problem;
use crate::queue::RunQueue;
use crate::work::{FieldFault, RunKind, object, read};

/// Maximum number of baselines that requests add; each holds the records of a whole run.
const MOST: usize = 1000;
/// What is sent to add one, for the documents.
const EXAMPLE: &str = r#"{"run": "abcdefgh"}"#;

/// What a baseline holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
enum BaselineKind {
    /// The results of a run.
    Run,
    /// What the links between hosts carry.
    Network,
}

/// A baseline.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Baseline)]
pub(crate) struct BaselineView {
    /// Its name.
    name: String,
    /// When it was saved; for a network, when it was measured.
    #[schema(value_type = String, format = DateTime)]
    kept: Timestamp,
    kind: BaselineKind,
    /// The run that it was; null for a network. The run may have been removed since.
    #[schema(required = true)]
    run: Option<String>,
    /// Number of cells that measured something.
    cell_count: usize,
    /// Number of links, each in one direction and with one number of streams.
    link_count: usize,
    /// Names of the hosts of a network.
    hosts: Vec<String>,
    /// Throughput of the fastest cell; for a network, the sum of each host's best link. In bytes per second; null if nothing
    /// moved bytes.
    #[schema(required = true)]
    bytes_per_s: Option<f64>,
}

impl From<&Baseline> for BaselineView {
    fn from(baseline: &Baseline) -> Self {
        let (kind, run, cell_count, link_count, hosts) = match &baseline.content {
            BaselineContent::Run { run, cells, .. } => {
                (BaselineKind::Run, Some(run.clone()), cells.len(), 0, Vec::new())
            }
            BaselineContent::Network(matrix) => {
                (BaselineKind::Network, None, 0, matrix.links.len(), matrix.hosts.clone())
            }
        };
        let bytes_per_s = baseline.bytes_per_s("", None).filter(|rate| rate.is_finite());
        let (name, kept) = (baseline.name.clone(), baseline.kept);
        Self { name, kept, kind, run, cell_count, link_count, hosts, bytes_per_s }
    }
}

/// A cell of a baseline.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = BaselineCell)]
struct BaselineCellView {
    /// Its name.
    name: String,
    /// The URL of its target.
    target: String,
    bytes_per_s: f64,
    ops_per_s: f64,
    p50_ns: u64,
    p99_ns: u64,
}

impl From<&BaselineCell> for BaselineCellView {
    fn from(cell: &BaselineCell) -> Self {
        let total = &cell.total;
        Self {
            name: cell.name.clone(),
            target: cell.target.clone(),
            bytes_per_s: total.bytes_per_s.mean,
            ops_per_s: total.ops_per_s.mean,
            p50_ns: total.response.p50_ns,
            p99_ns: total.response.p99_ns,
        }
    }
}

/// A link of a network baseline: one direction between two hosts.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = BaselineLink)]
struct LinkView {
    /// The sender.
    from: String,
    /// The receiver.
    to: String,
    /// Number of TCP connections.
    streams: u32,
    /// The other direction was loaded at the same time.
    both_ways: bool,
    /// Bytes per second that arrived; null if the measurement failed.
    #[schema(required = true)]
    bytes_per_s: Option<f64>,
    /// Min round-trip time, in nanoseconds.
    #[schema(required = true)]
    round_trip_ns: Option<u64>,
}

fn links(matrix: &NetworkMatrix) -> Vec<LinkView> {
    let of = |link: &stats::NetworkLink| LinkView {
        from: matrix.host(link.from).to_owned(),
        to: matrix.host(link.to).to_owned(),
        streams: link.streams,
        both_ways: link.both_ways,
        bytes_per_s: link.throughput.map(|rate| rate.mean),
        round_trip_ns: link.tcp.least_round_trip_ns,
    };
    matrix.links.iter().map(of).collect()
}

/// A baseline with its figures.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct BaselineDetail {
    #[serde(flatten)]
    baseline: BaselineView,
    /// The cells of a run.
    cells: Vec<BaselineCellView>,
    /// The links of a network.
    links: Vec<LinkView>,
}

impl From<&Baseline> for BaselineDetail {
    fn from(baseline: &Baseline) -> Self {
        let (cells, links) = match &baseline.content {
            BaselineContent::Run { cells, .. } => {
                (cells.iter().map(BaselineCellView::from).collect(), Vec::new())
            }
            BaselineContent::Network(matrix) => (Vec::new(), links(matrix)),
        };
        Self { baseline: BaselineView::from(baseline), cells, links }
    }
}

/// Which run becomes a baseline.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = NewBaseline)]
pub(crate) struct BaselineForm {
    /// The id of a finished run
    #[schema(pattern = "^[a-z2-7]{8}$")]
    run: String,
}

/// The parameters of the list.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct BaselinesQuery {
    /// The name of the last baseline of the page before
    after: Option<String>,
    /// The size of a page
    #[param(minimum = 1, maximum = 500, default = 100)]
    limit: Option<u32>,
}

/// A page of baselines.
#[derive(Serialize, ToSchema)]
pub(crate) struct BaselinePage {
    baselines: Vec<BaselineView>,
    /// The path of the next page; absent on the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

fn opened(queue: &RunQueue) -> Result<Option<Store>, Problem> {
    queue.results().open().map_err(failed)
}

/// The baseline with this name.
pub(super) fn named(store: Option<&Store>, name: &str) -> Result<Baseline, Problem> {
    let absent = || {
        let detail = format!("there is no baseline {name:?}; next: GET /api/v3/baselines lists all");
        Problem::new(StatusCode::NOT_FOUND, "no-such-baseline", detail)
    };
    match store.ok_or_else(absent)?.baseline(name) {
        Err(StoreError::NoBaseline { .. }) => Err(absent()),
        found => found.map_err(failed),
    }
}

fn name_of(name: Result<Path<String>, PathRejection>) -> Result<String, Problem> {
    name.map(|Path(name)| name).map_err(|error| Problem::bad_request("path", error.body_text()))
}

/// The baselines by name
#[utoipa::path(
    get, path = "/api/v3/baselines", operation_id = "listBaselines", tag = "baselines",
    params(BaselinesQuery),
    responses((status = 200, description = "A page of baselines", body = BaselinePage))
)]
pub(crate) async fn list(
    State(state): State<ApiState>,
    query: Result<Query<BaselinesQuery>, QueryRejection>,
) -> Result<Json<BaselinePage>, Problem> {
    let BaselinesQuery { after, limit } = parameters(query)?;
    let limit = page_size(limit, 100, 500)?;
    blocking(move || {
        let all = opened(&state.queue)?.map_or_else(|| Ok(Vec::new()), |store| store.baselines());
        let mut all = all.map_err(failed)?;
        all.sort_by(|one, other| one.name.cmp(&other.name));
        let start = PageStart { path: "/api/v3/baselines", after: after.as_deref(), limit };
        let view = |baseline| Ok(BaselineView::from(baseline));
        let (baselines, next) = page(&all, |one: &Baseline| &one.name, &start, view)?;
        Ok(Json(BaselinePage { baselines, next }))
    })
    .await
}

/// One baseline with its figures
#[utoipa::path(
    get, path = "/api/v3/baselines/{name}", operation_id = "showBaseline", tag = "baselines",
    params(("name" = String, Path, description = "Its name")),
    responses(
        (status = 200, description = "The baseline", body = BaselineDetail),
        (status = 404, description = "There is no such baseline")
    )
)]
pub(crate) async fn show(
    State(state): State<ApiState>,
    name: Result<Path<String>, PathRejection>,
) -> Result<Json<BaselineDetail>, Problem> {
    let name = name_of(name)?;
    blocking(move || {
        let found = named(opened(&state.queue)?.as_ref(), &name)?;
        Ok(Json(BaselineDetail::from(&found)))
    })
    .await
}

/// Keeps a finished run as a baseline, which replaces an earlier one of this name
///
/// Of a network test, the baseline has the links between its hosts: verdicts of later runs on these hosts compare their network with
/// it. Of any other run, it has all cells, for comparisons (`/api/v3/runs/{id}/compare?baseline=NAME`). It stays when the run is
/// removed.
#[utoipa::path(
    put, path = "/api/v3/baselines/{name}", operation_id = "saveBaseline", tag = "baselines",
    params(("name" = String, Path, description = "Its name: at most 100 bytes", max_length = 100)),
    request_body(content = BaselineForm, example = json!({ "run": "abcdefgh" })),
    responses(
        (status = 200, description = "The baseline", body = BaselineDetail),
        (status = 404, description = "There is no such run"),
        (status = 408, description = "The body arrived too slowly"),
        (status = 409, description = "The run has not finished (`unfinished`) or measured nothing (`no-results`), or there are too many \
                                      baselines (`too-many`)"),
        (status = 413, description = "The body is too large"),
        (status = 415, description = "The body is not JSON"),
        (status = 422, description = "The name cannot be used, or a field is wrong (`field` names it)"),
        (status = 503, description = "Too many large bodies are under way")
    )
)]
pub(crate) async fn save(
    State(state): State<ApiState>,
    name: Result<Path<String>, PathRejection>,
    headers: HeaderMap,
    body: Body,
) -> Result<Json<BaselineDetail>, Problem> {
    let name = name_of(name)?;
    let (bytes, _held) = body::json(&headers, body, &state.bodies).await?;
    blocking(move || {
        Baseline::check_name(&name).map_err(|error| Problem::field("name".to_owned(), error.to_string()))?;
        let BaselineForm { run } = read(&Value::Object(object(&bytes, EXAMPLE)?))?;
        let run: RunId = run.parse().map_err(|error| FieldFault::of("run", error))?;
        let (store, baseline) = of_run(&state.queue, &run.to_string(), &name)?;
        let there = store.baselines().map_err(failed)?;
        if there.len() >= MOST && !there.iter().any(|one| one.name == name) {
            let detail = format!("there are {MOST} baselines; next: DELETE /api/v3/baselines/NAME");
            return Err(Problem::new(StatusCode::CONFLICT, "too-many", detail));
        }
        store.save_baseline(&baseline).map_err(failed)?;
        Ok(Json(BaselineDetail::from(&baseline)))
    })
    .await
}

/// A finished run as a baseline, and the results to put it into.
fn of_run(queue: &RunQueue, id: &str, name: &str) -> Result<(Store, Baseline), Problem> {
    let run = queue.run(id)?;
    if run.state != AskedState::Finished {
        let detail = format!("run {id} is {}; next: keep one that is finished", run.state.name());
        return Err(Problem::new(StatusCode::CONFLICT, "unfinished", detail));
    }
    let (store, record) = measured(queue, id)?;
    let baseline = match run.kind {
        RunKind::NetworkTest => network(queue.result(&run)?.as_deref(), name),
        _ => Baseline::of_run(name, now(), &record, &store.cells(id).map_err(failed)?),
    };
    Ok((store, baseline.ok_or_else(|| no_results(id))?))
}

/// What a network test found, as a baseline.
fn network(result: Option<&str>, name: &str) -> Option<Baseline> {
    #[derive(Deserialize)]
    struct Found {
        taken: Timestamp,
        #[serde(flatten)]
        matrix: NetworkMatrix,
    }
    let Found { taken, matrix } = serde_json::from_str(result?).ok()?;
    Some(Baseline { name: name.to_owned(), kept: taken, content: BaselineContent::Network(matrix) })
}

/// Removes a baseline
#[utoipa::path(
    delete, path = "/api/v3/baselines/{name}", operation_id = "removeBaseline", tag = "baselines",
    params(("name" = String, Path, description = "Its name")),
    responses(
        (status = 204, description = "It is removed"),
        (status = 404, description = "There is no such baseline")
    )
)]
pub(crate) async fn remove(
    State(state): State<ApiState>,
    name: Result<Path<String>, PathRejection>,
) -> Result<Response, Problem> {
    let name = name_of(name)?;
    blocking(move || {
        let store = opened(&state.queue)?;
        named(store.as_ref(), &name)?;
        if let Some(store) = store {
            match store.forget_baseline(&name) {
                // Another request removed it in the meantime.
                Ok(()) | Err(StoreError::NoBaseline { .. }) => {}
                Err(error) => return Err(failed(error)),
            }
        }
        Ok(StatusCode::NO_CONTENT.into_response())
    })
    .await
}
