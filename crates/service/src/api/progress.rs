//! `/api/v3/runs/ID/progress`: how far a run is, as the terminal's live view shows it.

use axum::Json;
use axum::extract::State;
use reactor::clock;
use runner::progress::{Limit, RunProgress, Stage, Steady};
use serde::Serialize;
use stats::Criterion;
use utoipa::ToSchema;

use super::{ApiState, RunPath, blocking};
use crate::problem::Problem;

/// The state of a run under way; almost everything is absent before it begins and after its end.
#[derive(Debug, Default, Serialize, ToSchema)]
#[schema(as = Progress)]
pub(crate) struct ProgressView {
    cell_count: usize,
    /// Number of cells that have ended.
    ended: usize,
    /// The cell under way; with several at the same time, the first.
    #[schema(required = true)]
    cell: Option<CellView>,
    /// Its stage.
    #[schema(required = true)]
    stage: Option<StageView>,
    /// Estimated time left, in seconds; absent while no estimate is possible.
    #[schema(required = true)]
    eta_s: Option<EtaView>,
    /// The measurement in terms of its steady-state rule.
    #[schema(required = true)]
    steady: Option<SteadyView>,
    /// What may limit the result now, busiest first.
    limits: Vec<LimitView>,
    /// Operations that failed in the cell.
    failed: u64,
}

#[derive(Debug, Serialize, ToSchema)]
struct CellView {
    index: usize,
    name: String,
    target: String,
}

#[derive(Debug, Serialize, ToSchema)]
struct StageView {
    name: String,
    elapsed_s: f64,
    #[schema(required = true)]
    at_most_s: Option<f64>,
    /// Seconds are those of the target's simulation.
    simulated: bool,
    bytes: u64,
    #[schema(required = true)]
    bytes_expected: Option<u64>,
}

#[derive(Debug, Serialize, ToSchema)]
struct EtaView {
    cell: f64,
    run: f64,
}

#[derive(Debug, Serialize, ToSchema)]
struct SteadyView {
    rule: String,
    /// Time of its next decision, in seconds since the measurement began.
    next_look_s: f64,
    #[schema(value_type = Vec<Object>)]
    criteria: Vec<Criterion>,
}

#[derive(Debug, Serialize, ToSchema)]
struct LimitView {
    name: String,
    /// Utilisation; above 1 it is overloaded.
    share: f64,
    text: String,
}

/// How far a run is
#[utoipa::path(
    get, path = "/api/v3/runs/{id}/progress", operation_id = "runProgress", tag = "runs",
    params(RunPath),
    responses(
        (status = 200, description = "Its state; of a run that is not under way, almost nothing", body = ProgressView),
        (status = 404, description = "There is no such run")
    )
)]
pub(crate) async fn progress(
    State(state): State<ApiState>,
    RunPath { id }: RunPath,
) -> Result<Json<ProgressView>, Problem> {
    blocking(move || {
        state.queue.run(&id)?;
        let view = state.queue.progress(&id).map(|progress| view(&progress.lock(), clock::now_ns()));
        Ok(Json(view.unwrap_or_default()))
    })
    .await
}

fn view(model: &RunProgress, now_ns: u64) -> ProgressView {
    let leading = (!model.running.is_empty()).then(|| model.cells.get(model.current)).flatten();
    ProgressView {
        cell_count: model.cells.len(),
        ended: model.ended(),
        cell: leading.map(|cell| CellView {
            index: model.current,
            name: cell.name.clone(),
            target: model.target.clone(),
        }),
        stage: (!model.stage.name.is_empty()).then(|| stage(&model.stage, model.stage_elapsed_s(now_ns))),
        eta_s: model.eta_s(now_ns).map(|(cell, run)| EtaView { cell, run }),
        steady: model.steady.as_ref().map(steady),
        limits: model.limits.iter().map(limit).collect(),
        failed: model.failed,
    }
}

fn stage(stage: &Stage, elapsed_s: f64) -> StageView {
    StageView {
        name: stage.name.clone(),
        elapsed_s,
        at_most_s: stage.at_most_s,
        simulated: stage.simulated,
        bytes: stage.bytes,
        bytes_expected: stage.bytes_expected,
    }
}

fn steady(steady: &Steady) -> SteadyView {
    SteadyView {
        rule: steady.rule.clone(),
        next_look_s: steady.next_look_s,
        criteria: steady.criteria.clone(),
    }
}

fn limit(limit: &Limit) -> LimitView {
    LimitView { name: limit.name.clone(), share: limit.share, text: limit.text.clone() }
}
