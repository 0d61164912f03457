//! `/api/v3/experiments`: validation.

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::HeaderMap;
use experiment::Plan;
use serde::Serialize;
use utoipa::ToSchema;

use super::{ApiState, blocking};
use crate::body::{self, EXAMPLE, JsonForm};
use crate::policy;
use crate::problem::Problem;

/// Maximum number of cells listed.
const LISTED: usize = 200;

/// A valid experiment in short.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = PlanSummary)]
pub(crate) struct PlanView {
    name: String,
    #[schema(required = true)]
    description: Option<String>,
    /// The hosts whose queue it would join.
    hosts: Vec<String>,
    /// Duration of all warm-ups and measurements.
    expected_seconds: ExpectedSeconds,
    cell_count: usize,
    /// At most 200.
    cells: Vec<PlannedCell>,
    /// What is allowed but seldom intended.
    remarks: Vec<String>,
}

#[derive(Debug, Serialize, ToSchema)]
struct ExpectedSeconds {
    min: f64,
    max: f64,
}

#[derive(Debug, Serialize, ToSchema)]
struct PlannedCell {
    index: u32,
    name: String,
    target: String,
}

/// Validates an experiment without running it
#[utoipa::path(
    post, path = "/api/v3/experiments/validate", operation_id = "validateExperiment", tag = "experiments",
    request_body(content(
        (Object = "application/yaml", example = json!(EXAMPLE)),
        (JsonForm = "application/json", example = json!({ "experiment": EXAMPLE }))
    ), description = "An experiment file (schemas/experiment.schema.json)"),
    responses(
        (status = 200, description = "The plan in short", body = PlanView),
        (status = 408, description = "The body arrived too slowly"),
        (status = 413, description = "The body is too large"),
        (status = 415, description = "The body is neither YAML nor JSON"),
        (status = 422, description = "The experiment has faults, or uses what this service does not allow")
    )
)]
pub(crate) async fn validate(
    State(state): State<ApiState>,
    headers: HeaderMap,
    body: Body,
) -> Result<Json<PlanView>, Problem> {
    let (given, _held) = body::read(&headers, body, &state.bodies).await?;
    blocking(move || {
        let plan = policy::plan(&given.text, state.queue.policy()).map_err(Problem::faults)?;
        Ok(Json(view(plan)))
    })
    .await
}

fn view(plan: Plan) -> PlanView {
    let (min, max) = plan.expected_seconds();
    let (hosts, remarks, cell_count) = (policy::hosts(&plan), plan.remarks(), plan.cells.len());
    let cells = plan.cells.into_iter().take(LISTED).map(|cell| PlannedCell {
        index: cell.index,
        name: cell.name,
        target: cell.target.url,
    });
    PlanView {
        hosts,
        expected_seconds: ExpectedSeconds { min, max },
        cell_count,
        cells: cells.collect(),
        remarks,
        name: plan.name,
        description: plan.description,
    }
}
