//! `/api/v3/leftovers` and `/api/v3/clean-ups`: what runs created and did not remove, and its removal as a run.

use axum::Json;
use axum::body::Body;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use jiff::Timestamp;
use provision::{JournalListing, ListedItem, ListedState, RunId};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::idempotency::idempotency_key;
use super::page::{PageStart, page};
use super::post_answers::{IdempotencyKey, PostAnswers};
use super::runs::{RunView, post};
use super::{ApiState, RunPath, blocking, page_size, parameters};
use crate::body;
use crate::database::AskedState;
use crate::new_work::NewWork;
use crate::problem::Problem;
use crate::queue::RunQueue;
use crate::work::{CleanUp, CleanUpForm, FieldFault, object};

/// A clean-up, for the documents.
const EXAMPLE: &str = r#"{"run": "abcdefgh", "token": "T-0123"}"#;

/// How far something that a run creates got.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
enum ItemState {
    /// About to be created: it may or may not exist.
    Intended,
    /// Created.
    Created,
    /// Removed, or never the run's.
    Removed,
    /// It does not bear the run's name, and is never touched.
    Foreign,
}

/// Something that a run created.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = CreatedItem)]
pub(super) struct ItemView {
    /// What it is, in words.
    what: String,
    /// `file-system`, `account`, `user`, `access-key`, `bucket`, `place`.
    kind: &'static str,
    /// The array created it; otherwise it is a place on a target.
    on_array: bool,
    state: ItemState,
    /// When it was about to be created.
    #[schema(value_type = Option<String>, format = DateTime, required = true)]
    since: Option<Timestamp>,
}

impl From<&ListedItem> for ItemView {
    fn from(item: &ListedItem) -> Self {
        let state = match item.state {
            ListedState::Intended => ItemState::Intended,
            ListedState::Created => ItemState::Created,
            ListedState::Settled => ItemState::Removed,
            ListedState::Foreign => ItemState::Foreign,
        };
        Self { what: item.what.clone(), kind: item.kind, on_array: item.on_array, state, since: item.since }
    }
}

/// What a run created and did not remove.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Leftover)]
pub(crate) struct LeftoverView {
    /// The run: one of the service's, or an agent of one.
    #[schema(pattern = "^[a-z2-7]{8}$")]
    run: String,
    /// Its name; null if the service does not know it.
    #[schema(required = true)]
    name: Option<String>,
    /// How far it got; null if the service does not know it. An interrupted run can be resumed, and continues with what it left.
    #[schema(required = true)]
    state: Option<AskedState>,
    /// The host of the process that created it.
    host: String,
    /// Management address of the array that it used; null if none.
    #[schema(required = true)]
    array: Option<String>,
    /// What may still exist, in order of creation.
    items: Vec<ItemView>,
    /// Why its journal cannot be read; null if it can.
    #[schema(required = true)]
    unreadable: Option<String>,
}

/// The journals of runs that are not under way and left something, by the ids of their runs.
pub(super) fn leftovers(queue: &RunQueue) -> Result<Vec<JournalListing>, Problem> {
    let mut all = queue.journal().listings().map_err(Problem::internal)?;
    all.retain(|one| !queue.is_under_way(&one.run));
    all.retain(|one| one.unreadable.is_some() || one.left().next().is_some());
    Ok(all)
}

fn view(queue: &RunQueue, listing: &JournalListing) -> Result<LeftoverView, Problem> {
    let run = queue.find(listing.run.as_str())?;
    Ok(LeftoverView {
        run: listing.run.to_string(),
        name: run.as_ref().map(|run| run.name.clone()),
        state: run.map(|run| run.state),
        host: listing.host.clone(),
        array: listing.array.clone(),
        items: listing.left().map(ItemView::from).collect(),
        unreadable: listing.unreadable.clone(),
    })
}

/// The parameters of the list.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct LeftoversQuery {
    /// The id of the last run of the page before
    after: Option<String>,
    /// The size of a page
    #[param(minimum = 1, maximum = 500, default = 100)]
    limit: Option<u32>,
}

/// A page of leftovers.
#[derive(Serialize, ToSchema)]
pub(crate) struct LeftoverPage {
    leftovers: Vec<LeftoverView>,
    /// The path of the next page; absent on the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

/// What runs of this service created and did not remove, by their ids
///
/// As the journals in the service's directory list it. Agents on other hosts have journals there.
#[utoipa::path(
    get, path = "/api/v3/leftovers", operation_id = "listLeftovers", tag = "arrays",
    params(LeftoversQuery),
    responses((status = 200, description = "A page of leftovers", body = LeftoverPage))
)]
pub(crate) async fn list(
    State(state): State<ApiState>,
    query: Result<Query<LeftoversQuery>, QueryRejection>,
) -> Result<Json<LeftoverPage>, Problem> {
    let LeftoversQuery { after, limit } = parameters(query)?;
    let limit = page_size(limit, 100, 500)?;
    blocking(move || {
        let all = leftovers(&state.queue)?;
        let start = PageStart { path: "/api/v3/leftovers", after: after.as_deref(), limit };
        let view = |listing| view(&state.queue, listing);
        let (leftovers, next) = page(&all, |one: &JournalListing| one.run.as_str(), &start, view)?;
        Ok(Json(LeftoverPage { leftovers, next }))
    })
    .await
}

/// What was forgotten.
#[derive(Serialize, ToSchema)]
pub(crate) struct Forgotten {
    /// What may still exist, in words; of a journal that cannot be read, its lines.
    not_removed: Vec<String>,
}

/// Forgets what a run left: removes nothing but the journal
///
/// For what is gone already, with its array or server. As `manometer cleanup --forget`.
#[utoipa::path(
    delete, path = "/api/v3/leftovers/{id}", operation_id = "forgetLeftover", tag = "arrays",
    params(RunPath),
    responses(
        (status = 200, description = "What the journal listed", body = Forgotten),
        (status = 404, description = "Nothing is left of such a run"),
        (status = 409, description = "The run is under way, or waits to be resumed")
    )
)]
pub(crate) async fn forget(
    State(state): State<ApiState>,
    RunPath { id }: RunPath,
) -> Result<Json<Forgotten>, Problem> {
    blocking(move || {
        let run: RunId = id.parse().map_err(|_| Problem::no_run(&id))?;
        must_have_left(&state.queue, &run)?;
        let forgotten = provision::forget(state.queue.journal(), &run).map_err(Problem::internal)?;
        Ok(Json(Forgotten { not_removed: forgotten.not_removed }))
    })
    .await
}

/// The journal of a run that is over and left something.
fn must_have_left(queue: &RunQueue, run: &RunId) -> Result<JournalListing, Problem> {
    let state = queue.find(run.as_str())?.map(|known| known.state);
    let state = state.or_else(|| queue.is_under_way(run).then_some(AskedState::Running));
    if let Some(state) = state.filter(|state| matches!(state, AskedState::Queued | AskedState::Running)) {
        let detail = format!("run {run} is {}; next: wait for its end, or stop it", state.name());
        return Err(Problem::new(StatusCode::CONFLICT, "under-way", detail));
    }
    queue.journal().listing(run).ok_or_else(|| {
        let detail = format!("nothing is left of run {run}; next: GET /api/v3/leftovers lists all that is");
        Problem::new(StatusCode::NOT_FOUND, "no-leftovers", detail)
    })
}

/// Checks that a clean-up has something to do, and the secrets for it.
fn check(queue: &RunQueue, given: &NewWork) -> Result<(), Problem> {
    let listing = must_have_left(queue, &CleanUp::read(&given.text)?.run)?;
    if listing.left().any(|item| item.on_array) && given.secrets.array_token.is_none() {
        let array = listing.array.as_deref().unwrap_or("its array");
        let why = format!("it is absent, and the run left something on {array}; next: give its API token");
        return Err(FieldFault::of("token", why).into());
    }
    Ok(())
}

/// Removes what a run left
///
/// It becomes a run, whose `kind` is `clean-up`, on the service's own host; what it removed, and why something stays, is at
/// `/api/v3/runs/{id}/result`. Only what bears the run's own name is removed. As `manometer cleanup`; it may be repeated.
#[utoipa::path(
    post, path = "/api/v3/clean-ups", operation_id = "createCleanUp", tag = "arrays",
    params(IdempotencyKey),
    request_body(content = CleanUpForm, example = json!({ "run": "abcdefgh", "token": "T-0123" })),
    responses(
        PostAnswers,
        (status = 202, description = "The run, in the queue", body = RunView, headers(("Location" = String, description = "Its path")),
         links(
            ("stop" = (operation_id = "stopRun", parameters(("id" = "$response.body#/id")))),
            ("result" = (operation_id = "runResult", parameters(("id" = "$response.body#/id"))))
         )),
        (status = 404, description = "Nothing is left of such a run"),
        (status = 409, description = "The run is under way, or waits to be resumed"),
        (status = 422, description = "A field is wrong (`field` names it), or the Idempotency-Key came with another body")
    )
)]
pub(crate) async fn create(
    State(state): State<ApiState>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    let key = idempotency_key(&headers)?;
    let (bytes, _held) = body::json(&headers, body, &state.bodies).await?;
    blocking(move || {
        let given = NewWork::clean_up(object(&bytes, EXAMPLE)?)?;
        // A repeated request finds nothing left, and still gets its run.
        if !key.as_deref().is_some_and(|key| state.queue.knows_key(key)) {
            check(&state.queue, &given)?;
        }
        post(&state, given, key.as_deref())
    })
    .await
}
