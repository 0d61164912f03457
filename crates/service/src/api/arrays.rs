//! `/api/v3/arrays`: the arrays on which the service's checks created something.

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use provision::JournalListing;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};

use super::clean_ups::{ItemView, leftovers};
use super::hosts::{EndedRuns, HostRunView};
use super::page::{PageStart, page};
use super::{ApiState, blocking, page_size, parameters};
use crate::database::AskedRun;
use crate::problem::Problem;
use crate::queue::RunQueue;
use crate::work::RunKind;

/// Number of checks, the newest, whose arrays are known.
const LOOKED_AT: u32 = 2000;
/// Number of runs of an array that are shown.
const RUNS_SHOWN: usize = 20;

/// An array, by its management address.
struct KnownArray {
    address: String,
    /// The checks that used it, newest first.
    runs: Vec<AskedRun>,
    /// The journals of runs that are not under way.
    left: Vec<JournalListing>,
}

impl KnownArray {
    fn new(address: &str) -> Self {
        Self { address: address.to_owned(), runs: Vec::new(), left: Vec::new() }
    }
}

/// The arrays of the newest checks, and those on which a run left something.
fn known(queue: &RunQueue) -> Result<BTreeMap<String, KnownArray>, Problem> {
    let mut arrays: BTreeMap<String, KnownArray> = BTreeMap::new();
    let mut of = |address: &str, add: &mut dyn FnMut(&mut KnownArray)| {
        add(arrays.entry(address.to_owned()).or_insert_with(|| KnownArray::new(address)));
    };
    for (run, request) in queue.of_kind(RunKind::Check, LOOKED_AT)? {
        let request: Value = serde_json::from_str(&request).unwrap_or_default();
        if let Some(address) = request.pointer("/array/management").and_then(Value::as_str) {
            of(address, &mut |array| array.runs.push(run.clone()));
        }
    }
    for listing in leftovers(queue)? {
        if let Some(address) = &listing.array {
            of(address, &mut |array| array.left.push(listing.clone()));
        }
    }
    Ok(arrays)
}

/// An array on which runs created something.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Array)]
pub(crate) struct ArrayView {
    /// Its management address, as it was written.
    address: String,
    /// Its newest run; null if only something that a run left is known.
    #[schema(required = true)]
    last_run: Option<HostRunView>,
    /// How the last runs on it ended, of up to 20.
    ended: EndedRuns,
    /// Number of things that runs created on it, or on targets of it, and did not remove.
    left_count: usize,
}

impl From<&KnownArray> for ArrayView {
    fn from(array: &KnownArray) -> Self {
        Self {
            address: array.address.clone(),
            last_run: array.runs.first().map(HostRunView::from),
            ended: EndedRuns::of(array.runs.iter().take(RUNS_SHOWN)),
            left_count: array.left.iter().map(|listing| listing.left().count()).sum(),
        }
    }
}

/// A run on an array.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ArrayRun)]
struct ArrayRunView {
    #[serde(flatten)]
    run: HostRunView,
    /// What it created on the array, in words; empty if it did not come to its end.
    created: Vec<String>,
}

/// What a run left on an array.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ArrayLeftover)]
struct ArrayLeftView {
    /// The run.
    #[schema(pattern = "^[a-z2-7]{8}$")]
    run: String,
    /// What may still exist, in order of creation.
    items: Vec<ItemView>,
}

/// An array with the last runs on it and what they left.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ArrayDetail {
    #[serde(flatten)]
    array: ArrayView,
    /// Version of its management API, as the newest of these runs with a result found it; null if none has one.
    #[schema(required = true)]
    api_version: Option<String>,
    /// The last runs on it, newest first, up to 20.
    runs: Vec<ArrayRunView>,
    /// What runs created and did not remove; `POST /api/v3/clean-ups` removes it.
    left: Vec<ArrayLeftView>,
}

/// What a check reports about its array.
#[derive(Default, Deserialize)]
struct Checked {
    api_version: String,
    #[serde(default)]
    created: Vec<String>,
}

fn checked(queue: &RunQueue, run: &AskedRun) -> Result<Option<Checked>, Problem> {
    #[derive(Deserialize)]
    struct Report {
        array: Option<Checked>,
    }
    let report = queue.result(run)?.and_then(|text| serde_json::from_str::<Report>(&text).ok());
    Ok(report.and_then(|report| report.array))
}

fn detail(queue: &RunQueue, array: &KnownArray) -> Result<ArrayDetail, Problem> {
    let (mut api_version, mut runs) = (None, Vec::new());
    for run in array.runs.iter().take(RUNS_SHOWN) {
        let found = checked(queue, run)?;
        let created = found.map_or_else(Vec::new, |found| {
            api_version.get_or_insert(found.api_version);
            found.created
        });
        runs.push(ArrayRunView { run: HostRunView::from(run), created });
    }
    let left = array.left.iter().map(|listing| ArrayLeftView {
        run: listing.run.to_string(),
        items: listing.left().map(ItemView::from).collect(),
    });
    Ok(ArrayDetail { array: ArrayView::from(array), api_version, runs, left: left.collect() })
}

/// The parameters of the list.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct ArraysQuery {
    /// The address of the last array of the page before
    after: Option<String>,
    /// The size of a page
    #[param(minimum = 1, maximum = 500, default = 100)]
    limit: Option<u32>,
}

/// A page of arrays.
#[derive(Serialize, ToSchema)]
pub(crate) struct ArrayPage {
    arrays: Vec<ArrayView>,
    /// The path of the next page; absent on the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

/// The arrays of the last 2,000 checks by address, and those on which a run left something
#[utoipa::path(
    get, path = "/api/v3/arrays", operation_id = "listArrays", tag = "arrays",
    params(ArraysQuery),
    responses((status = 200, description = "A page of arrays", body = ArrayPage))
)]
pub(crate) async fn list(
    State(state): State<ApiState>,
    query: Result<Query<ArraysQuery>, QueryRejection>,
) -> Result<Json<ArrayPage>, Problem> {
    let ArraysQuery { after, limit } = parameters(query)?;
    let limit = page_size(limit, 100, 500)?;
    blocking(move || {
        let known = known(&state.queue)?;
        let start = PageStart { path: "/api/v3/arrays", after: after.as_deref(), limit };
        let view = |array| Ok(ArrayView::from(array));
        let (arrays, next) = page(known.values(), |array: &KnownArray| &array.address, &start, view)?;
        Ok(Json(ArrayPage { arrays, next }))
    })
    .await
}

/// One array: the last runs on it, what they created, and what is left
#[utoipa::path(
    get, path = "/api/v3/arrays/{address}", operation_id = "showArray", tag = "arrays",
    params(("address" = String, Path, description = "Its management address, as it was written")),
    responses(
        (status = 200, description = "The array", body = ArrayDetail),
        (status = 404, description = "No recent run used such an array")
    )
)]
pub(crate) async fn show(
    State(state): State<ApiState>,
    address: Result<Path<String>, PathRejection>,
) -> Result<Json<ArrayDetail>, Problem> {
    let Path(address) = address.map_err(|error| Problem::bad_request("path", error.body_text()))?;
    blocking(move || {
        let found = known(&state.queue)?.remove(&address).ok_or_else(|| {
            let detail = format!("there is no array {address:?}; next: GET /api/v3/arrays lists all");
            Problem::new(StatusCode::NOT_FOUND, "no-such-array", detail)
        })?;
        Ok(Json(detail(&state.queue, &found)?))
    })
    .await
}
