//! `/api/v3/history`: an experiment's figures over its runs.

use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use report::{CompareOptions, Document, RunSeries};
use serde::Deserialize;
use serde_json::Value;
use utoipa::IntoParams;

use super::results::{failed, stored};
use super::{ApiState, blocking, page_size, parameters};
use crate::problem::Problem;

/// Whose history.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct HistoryQuery {
    /// The experiment's name
    name: String,
    /// Number of runs, the newest
    #[param(minimum = 1, maximum = 100, default = 20)]
    limit: Option<u32>,
}

/// The newest runs of an experiment side by side
///
/// Oldest first, each figure compared with the previous run: the JSON of `manometer compare --last`.
#[utoipa::path(
    get, path = "/api/v3/history", operation_id = "history", tag = "results",
    params(HistoryQuery),
    responses((status = 200, description = "The runs and their figures", body = Object))
)]
pub(crate) async fn history(
    State(state): State<ApiState>,
    query: Result<Query<HistoryQuery>, QueryRejection>,
) -> Result<Json<Value>, Problem> {
    let HistoryQuery { name, limit } = parameters(query)?;
    let limit = page_size(limit, 20, 100)?;
    blocking(move || {
        let mut runs = Vec::new();
        for run in state.queue.ended_runs_of(&name, limit)?.into_iter().rev() {
            // Stopped before it measured anything, or removed from the results file.
            let Some((store, record)) = stored(&state.queue, &run.id)? else { continue };
            runs.push(Document::load_records(&store, record).map_err(failed)?);
        }
        let runs: Vec<&Document> = runs.iter().collect();
        Ok(Json(RunSeries::of(&runs, &CompareOptions::default()).json()))
    })
    .await
}
