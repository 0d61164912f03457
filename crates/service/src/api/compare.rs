//! `/api/v3/runs/ID/compare`: what changed between two runs.

use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use provision::RunId;
use report::{CompareOptions, Document, Metric, RunComparison};
use serde::Deserialize;
use store::{BaselineContent, RunRecord, Store};
use utoipa::IntoParams;

use super::baselines::named;
use super::results::{failed, measured, page};
use super::{ApiState, RunPath, blocking, parameters, stored as records};
use crate::problem::Problem;
use crate::queue::RunQueue;

/// What to compare with.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct CompareQuery {
    /// The id of the reference run
    #[param(pattern = "^[a-z2-7]{8}$")]
    with: Option<String>,
    /// Instead of `with`: the name of the baseline that is the reference
    baseline: Option<String>,
    /// The metric: `bandwidth`, `rate`, `entries`, `p50`, `p99` or `mean`, of one operation if named (`read.p99`); by default, each cell's main
    /// metric
    metric: Option<String>,
    /// What is worse by more than this share is a regression
    #[param(minimum = 0, maximum = 1, default = 0)]
    threshold: Option<f64>,
}

/// What a run is compared with.
enum Reference {
    /// The run with this id.
    Run(String),
    /// The baseline with this name.
    Baseline(String),
}

/// The run behind a baseline.
fn baseline_run(queue: &RunQueue, name: &str) -> Result<Document, Problem> {
    let kept = named(queue.results().open().map_err(failed)?.as_ref(), name)?;
    Document::of_baseline(&kept).ok_or_else(|| {
        let (code, why) = match &kept.content {
            BaselineContent::Network(_) => {
                ("network-baseline", "is that of a network; next: compare with that of a run")
            }
            BaselineContent::Run { .. } => (
                "old-baseline",
                "was kept by an earlier version, without what a comparison needs; next: keep its run again",
            ),
        };
        Problem::new(StatusCode::CONFLICT, code, format!("baseline {name:?} {why}"))
    })
}

/// Compares a run with a reference run, or with a baseline
///
/// The comparison of `manometer compare REFERENCE RUN`, as JSON; as a page with the charts of both runs if `Accept` prefers
/// `text/html`.
#[utoipa::path(
    get, path = "/api/v3/runs/{id}/compare", operation_id = "compareRuns", tag = "results",
    params(RunPath, CompareQuery),
    responses(
        (status = 200, description = "The comparison; `a` is the reference", content(
            (records::RunComparison = "application/json"),
            (String = "text/html")
        )),
        (status = 404, description = "There is no such run or baseline"),
        (status = 409, description = "One of the runs has no results yet, or the baseline is that of a network (`network-baseline`) or \
                                      of an earlier version (`old-baseline`)")
    )
)]
pub(crate) async fn compare(
    State(state): State<ApiState>,
    RunPath { id }: RunPath,
    headers: HeaderMap,
    query: Result<Query<CompareQuery>, QueryRejection>,
) -> Result<Response, Problem> {
    let CompareQuery { with, baseline, metric, threshold } = parameters(query)?;
    let options = options(metric.as_deref(), threshold)?;
    let reference = match (with, baseline) {
        (Some(id), None) => Reference::Run(id),
        (None, Some(name)) => Reference::Baseline(name),
        _ => {
            let detail = "write with=RUN or baseline=NAME, and not both";
            return Err(Problem::bad_request("query", detail));
        }
    };
    let as_page = prefers_page(&headers);
    blocking(move || {
        let load = |(store, record): (Store, RunRecord)| {
            match as_page {
                true => Document::load(&store, record),
                false => Document::load_records(&store, record),
            }
            .map_err(failed)
        };
        let a = match &reference {
            Reference::Run(id) => {
                let id: RunId = id.parse().map_err(|_| Problem::no_run(id))?;
                load(measured(&state.queue, &id.to_string())?)?
            }
            Reference::Baseline(name) => {
                let kept = baseline_run(&state.queue, name)?;
                // As long as the run itself is stored, its curves are available, too.
                match state.queue.results().run(&kept.run.id).map_err(failed)? {
                    Some(stored) if as_page => load(stored)?,
                    _ => kept,
                }
            }
        };
        let b = load(measured(&state.queue, &id)?)?;
        let mut found = RunComparison::of(&a, &b, &options);
        if let Reference::Baseline(name) = &reference {
            found = found.with_baseline(name);
        }
        let mut response = match as_page {
            true => page(found.html(&a, &b)).into_response(),
            false => Json(found.json()).into_response(),
        };
        response.headers_mut().insert(header::VARY, HeaderValue::from_static("accept"));
        Ok(response)
    })
    .await
}

fn options(metric: Option<&str>, threshold: Option<f64>) -> Result<CompareOptions, Problem> {
    let metrics: Result<Vec<Metric>, _> = metric.into_iter().map(str::parse).collect();
    let metrics = metrics.map_err(|error: report::MetricError| {
        Problem::new(StatusCode::BAD_REQUEST, "query", format!("metric: {error}"))
    })?;
    match threshold.unwrap_or(0.0) {
        threshold if (0.0..=1.0).contains(&threshold) => Ok(CompareOptions { metrics, threshold }),
        other => {
            let detail = format!("threshold={other}: write a share from 0 to 1, such as 0.05");
            Err(Problem::bad_request("query", detail))
        }
    }
}

/// Whether `text/html` comes before JSON and everything else in `Accept`, as browsers send it.
fn prefers_page(headers: &HeaderMap) -> bool {
    let accepted = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let first = accepted.split([',', ';']).next().unwrap_or_default();
    first.trim().eq_ignore_ascii_case("text/html")
}
