//! `/api/v3/runs/ID/summary`: the verdict of a run and its best figures.

use axum::Json;
use axum::extract::State;
use report::{BestCell, Headline};
use serde::Serialize;
use store::{CellResult, State as CellState, Validity};
use utoipa::ToSchema;

use super::results::{failed, stored};
use super::{ApiState, RunPath, blocking, stored as records};
use crate::problem::Problem;

/// A run at a glance.
#[derive(Debug, Default, Serialize, ToSchema)]
#[schema(as = RunSummary)]
pub(crate) struct SummaryView {
    cells: CellCounts,
    /// The worst verdict among the cells; absent if none has a result.
    #[schema(value_type = Option<records::Validity>, required = true)]
    verdict: Option<Validity>,
    /// The highest throughput, in bytes per second.
    #[schema(required = true)]
    bytes_per_s: Option<BestView>,
    /// The highest rate of operations.
    #[schema(required = true)]
    ops_per_s: Option<BestView>,
    /// The lowest 99th percentile of the response time, in nanoseconds.
    #[schema(required = true)]
    p99_ns: Option<BestView>,
    /// Each reason for WARN and INVALID once, worst first.
    doubts: Vec<DoubtView>,
}

#[derive(Debug, Default, Serialize, ToSchema)]
struct CellCounts {
    all: usize,
    ended: usize,
    valid: usize,
    warn: usize,
    invalid: usize,
}

/// The best figure, and its cell.
#[derive(Debug, Serialize, ToSchema)]
struct BestView {
    value: f64,
    cell: usize,
    name: String,
    /// What limited it, in one line.
    #[schema(required = true)]
    limit: Option<String>,
}

#[derive(Debug, Serialize, ToSchema)]
struct DoubtView {
    #[schema(value_type = records::Validity)]
    validity: Validity,
    reason: String,
    /// Numbers of the cells, from 1.
    cells: Vec<u32>,
}

/// The verdict of a run and its best figures
///
/// They are those of the cells that have ended so far.
#[utoipa::path(
    get, path = "/api/v3/runs/{id}/summary", operation_id = "runSummary", tag = "results",
    params(RunPath),
    responses(
        (status = 200, description = "The run at a glance", body = SummaryView),
        (status = 404, description = "There is no such run")
    )
)]
pub(crate) async fn summary(
    State(state): State<ApiState>,
    RunPath { id }: RunPath,
) -> Result<Json<SummaryView>, Problem> {
    blocking(move || {
        let Some((store, run)) = stored(&state.queue, &id)? else { return Ok(Json(SummaryView::default())) };
        let cells = store.cells(&run.id).map_err(failed)?;
        let verdicts = || cells.iter().filter_map(|cell| Some(cell.result.as_ref()?.verdict.validity));
        let count = |validity| verdicts().filter(|own| *own == validity).count();
        let ended = |state: CellState| !matches!(state, CellState::Pending | CellState::Running);
        let headline = Headline::of(&run, &cells);
        let best = |best: &Option<BestCell<'_>>, value: fn(&CellResult) -> f64| {
            best.as_ref().map(|best| BestView {
                value: value(best.result),
                cell: best.position,
                name: best.planned.map_or_else(String::new, |cell| cell.name.clone()),
                limit: best.result.limit.as_ref().map(|limit| limit.sentence.clone()),
            })
        };
        let doubts = headline.doubts.iter().map(|doubt| DoubtView {
            validity: doubt.validity,
            reason: doubt.reason.clone(),
            cells: doubt.cells.clone(),
        });
        Ok(Json(SummaryView {
            cells: CellCounts {
                all: run.plan.cells.len(),
                ended: cells.iter().filter(|cell| ended(cell.state)).count(),
                valid: count(Validity::Valid),
                warn: count(Validity::Warn),
                invalid: count(Validity::Invalid),
            },
            verdict: verdicts().max(),
            bytes_per_s: best(&headline.throughput, |result| result.total.bytes_per_s.mean),
            ops_per_s: best(&headline.iops, |result| result.total.ops_per_s.mean),
            p99_ns: best(&headline.p99, |result| result.total.response.p99_ns as f64),
            doubts: doubts.collect(),
        }))
    })
    .await
}
