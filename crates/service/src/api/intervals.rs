//! `/api/v3/runs/ID/intervals`: the stored intervals of a run, combined and of single hosts.

use std::collections::BTreeMap;
use std::ops::Range;

use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use metrics::SeriesPoint;
use serde::{Deserialize, Serialize};
use store::{RunRecord, Store};
use utoipa::{IntoParams, ToSchema};

use super::page::in_query;
use super::results::{failed, stored};
use super::{ApiState, RunPath, blocking, page_size, parameters};
use crate::event::PointView;
use crate::host_points::{HostPoints, MAX_HOSTS};
use crate::problem::Problem;

/// Maximum size of a page.
const MAX_PAGE: u32 = 10_000;
/// The same if intervals have the parts of single hosts.
const MAX_PAGE_WITH_HOSTS: u32 = 1000;

/// Which intervals.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct IntervalsQuery {
    /// The index of the cell
    #[serde(default)]
    #[param(maximum = 4_294_967_295_u32)]
    cell: u32,
    /// `prepare`, `warm-up`, `measure`, `verify`, …
    #[param(pattern = "^[a-z-]*$", default = "measure")]
    stage: Option<String>,
    /// The number of the measurement in a study
    #[serde(default)]
    #[param(maximum = 4_294_967_295_u32)]
    trial: u32,
    /// The number of the first interval
    #[serde(default)]
    #[param(maximum = 4_294_967_295_u32)]
    from: u32,
    /// The size of a page
    #[param(minimum = 1, maximum = 10_000, default = 1000)]
    limit: Option<u32>,
    /// The name of an agent: its intervals, instead of the combined ones
    host: Option<String>,
    /// Whether intervals have the parts of single hosts, of up to 16; `limit` is at most 1000 then
    #[serde(default)]
    hosts: bool,
}

/// An interval with one point per operation.
#[derive(Serialize, ToSchema)]
struct StoredInterval {
    /// Its number in the stage, from 0.
    interval: u32,
    /// Its start, in seconds since the stage began.
    start_s: f64,
    /// Its length, in seconds.
    length_s: f64,
    ops: Vec<PointView>,
    /// The parts of single hosts, up to 16 in the order of the fleet; absent unless they were asked for and there are some.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    hosts: Vec<HostPoints>,
}

/// A page of intervals.
#[derive(Serialize, ToSchema)]
pub(crate) struct IntervalPage {
    cell: u32,
    stage: String,
    trial: u32,
    intervals: Vec<StoredInterval>,
    /// The path of the next page; absent if there is no further interval yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

/// A stage of a cell, and some of its intervals.
struct Stage<'a> {
    store: &'a Store,
    run: &'a str,
    cell: u32,
    stage: &'a str,
    trial: u32,
    range: Range<u32>,
}

impl Stage<'_> {
    /// The points of a host, or of all hosts together, go to `each` in order.
    fn read(&self, host: Option<&str>, mut each: impl FnMut(&SeriesPoint)) -> Result<(), Problem> {
        let Self { store, run, cell, stage, trial, ref range } = *self;
        let series = match host {
            None => store.series(run, cell, stage, trial, range.clone()),
            Some(host) => store.host_series_of(run, cell, (stage, trial, host), range.clone()),
        };
        series.map_err(failed)?.try_for_each(|point| point.map(|point| each(&point)).map_err(failed))
    }

    /// The intervals of a host, or of all hosts together, by number.
    fn intervals(&self, host: Option<&str>) -> Result<BTreeMap<u32, StoredInterval>, Problem> {
        let mut found = BTreeMap::new();
        self.read(host, |point| {
            let interval = found.entry(point.interval).or_insert_with(|| StoredInterval {
                interval: point.interval,
                start_s: point.start_s(),
                length_s: point.length_s(),
                ops: Vec::new(),
                hosts: Vec::new(),
            });
            interval.ops.extend(PointView::of_op(point));
        })?;
        Ok(found)
    }

    /// Adds the parts of the first hosts of the fleet.
    fn add_hosts(
        &self,
        record: &RunRecord,
        intervals: &mut BTreeMap<u32, StoredInterval>,
    ) -> Result<(), Problem> {
        for host in record.hosts.iter().take(MAX_HOSTS) {
            self.read(Some(&host.name), |point| {
                let Some(interval) = intervals.get_mut(&point.interval) else { return };
                match interval.hosts.last_mut() {
                    Some(last) if last.host == host.name => last.ops.extend(PointView::of_op(point)),
                    _ => {
                        let ops = PointView::of_op(point).into_iter().collect();
                        interval.hosts.push(HostPoints { host: host.name.clone(), ops });
                    }
                }
            })?;
        }
        Ok(())
    }
}

/// The stored intervals of a stage of a cell
#[utoipa::path(
    get, path = "/api/v3/runs/{id}/intervals", operation_id = "runIntervals", tag = "results",
    params(RunPath, IntervalsQuery),
    responses(
        (status = 200, description = "A page of intervals; empty until the run measures", body = IntervalPage),
        (status = 404, description = "There is no such run or cell (`no-such-cell`), or the run has no such agent (`no-such-agent`)")
    )
)]
pub(crate) async fn intervals(
    State(state): State<ApiState>,
    RunPath { id }: RunPath,
    query: Result<Query<IntervalsQuery>, QueryRejection>,
) -> Result<Json<IntervalPage>, Problem> {
    let query = parameters(query)?;
    let most = if query.hosts { MAX_PAGE_WITH_HOSTS } else { MAX_PAGE };
    let limit = page_size(query.limit, 1000, most)?;
    let stage = query.stage.as_deref().unwrap_or(runner::MEASURE);
    if !stage.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-') {
        let detail = "stage: write prepare, warm-up, measure or verify";
        return Err(Problem::bad_request("query", detail));
    }
    if query.hosts && query.host.is_some() {
        return Err(Problem::bad_request("query", "host and hosts exclude each other; next: omit one"));
    }
    blocking(move || Ok(Json(interval_page(&state, &id, &query, limit)?))).await
}

fn interval_page(
    state: &ApiState,
    id: &str,
    query: &IntervalsQuery,
    limit: u32,
) -> Result<IntervalPage, Problem> {
    let IntervalsQuery { cell, trial, from, hosts, .. } = *query;
    let host = query.host.as_deref();
    let stage = query.stage.as_deref().unwrap_or(runner::MEASURE);
    let mut found = BTreeMap::new();
    if let Some((store, record)) = stored(&state.queue, id)? {
        if record.planned(cell).is_none() {
            let detail = format!("run {id} has no cell {cell}");
            return Err(Problem::new(StatusCode::NOT_FOUND, "no-such-cell", detail));
        }
        if let Some(host) = host.filter(|host| !record.hosts.iter().any(|one| one.name == *host)) {
            let detail =
                format!("run {id} has no agent {host:?}; next: GET /api/v3/runs/{id}/agents lists all");
            return Err(Problem::new(StatusCode::NOT_FOUND, "no-such-agent", detail));
        }
        let range = from..from.saturating_add(limit).saturating_add(1);
        let stage = Stage { store: &store, run: &record.id, cell, stage, trial, range };
        found = stage.intervals(host)?;
        if hosts {
            stage.add_hosts(&record, &mut found)?;
        }
    }
    let mut intervals: Vec<StoredInterval> = found.into_values().collect();
    let next = intervals.get(limit as usize).map(|interval| {
        let from = interval.interval;
        let host = host.map(|host| format!("&host={}", in_query(host))).unwrap_or_default();
        let hosts = if hosts { "&hosts=true" } else { "" };
        format!(
            "/api/v3/runs/{id}/intervals?cell={cell}&stage={stage}&trial={trial}&from={from}&limit={limit}{host}{hosts}"
        )
    });
    intervals.truncate(limit as usize);
    Ok(IntervalPage { cell, stage: stage.to_owned(), trial, intervals, next })
}
