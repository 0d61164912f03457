//! Keeps results representable in JSON: one bad quotient must not make a result unreadable.

use metrics::LatencySummary;
use stats::{Estimate, OpSummary};

use crate::record::CellResult;

/// The result with every number finite: NaN becomes 0, infinity the largest number.
pub(crate) fn finite(result: &CellResult) -> CellResult {
    let mut result = result.clone();
    number(&mut result.measured_s);
    number(&mut result.window_start_s);
    number(&mut result.window_end_s);
    let steady = &mut result.steady;
    for criterion in &mut steady.criteria {
        number(&mut criterion.value);
        number(&mut criterion.limit);
    }
    for series in &mut steady.series {
        estimate(&mut series.estimate);
        number(&mut series.drift);
        number(&mut series.drift_bound);
    }
    steady.regimes.iter_mut().for_each(|regime| estimate(&mut regime.estimate));
    for pts in &mut steady.pts {
        number(&mut pts.average);
        number(&mut pts.allowed_data_excursion);
        number(&mut pts.measured_data_excursion);
        number(&mut pts.allowed_slope_excursion);
        number(&mut pts.measured_slope_excursion);
        number(&mut pts.slope);
        number(&mut pts.intercept);
    }
    if let Some(lost) = &mut steady.lost {
        number(&mut lost.before);
        number(&mut lost.after);
    }
    if let Some(stalls) = &mut steady.stalls {
        for value in [
            &mut stalls.seconds,
            &mut stalls.longest_s,
            &mut stalls.expected_in_window,
            &mut stalls.cost,
            &mut stalls.window_cost,
        ] {
            number(value);
        }
    }
    if let Some(trend) = &mut steady.trend {
        number(&mut trend.mean);
        number(&mut trend.per_minute);
        number(&mut trend.per_minute_bound);
    }
    op(&mut result.total);
    result.ops.iter_mut().for_each(op);
    if let Some(open_loop) = &mut result.open_loop {
        number(&mut open_loop.offered_ops_per_s);
    }
    result.stages.iter_mut().for_each(|stage| number(&mut stage.seconds));
    for gate in &mut result.gates {
        number(&mut gate.measured);
        number(&mut gate.limit);
    }
    result.client.values_mut().for_each(number);
    for point in &mut result.points {
        number(&mut point.offered_ops_per_s);
        number(&mut point.ops_per_s);
        number(&mut point.bytes_per_s);
        latency(&mut point.response);
    }
    result.found_ops_per_s.iter_mut().for_each(number);
    if let Some(limit) = &mut result.limit {
        limit.share.iter_mut().for_each(number);
    }
    for calls in result.server_calls.iter_mut().flat_map(|counted| &mut counted.procedures) {
        for figures in calls.servers.iter_mut().map(|server| &mut server.figures).chain([&mut calls.all]) {
            number(&mut figures.calls_per_op);
            figures.mean_ns.iter_mut().for_each(number);
        }
    }
    for host in &mut result.hosts {
        op(&mut host.total);
        host.ops.iter_mut().for_each(op);
        host.client.values_mut().for_each(number);
        if let Some(clock) = &mut host.clock {
            number(&mut clock.drift_ppm);
        }
        if let Some(lost) = &mut host.lost {
            number(&mut lost.at_s);
        }
    }
    for spread in result.fleet.iter_mut().flat_map(|fleet| &mut fleet.spread) {
        number(&mut spread.least);
        number(&mut spread.greatest);
        number(&mut spread.mean);
        number(&mut spread.variation);
    }
    result
}

fn op(op: &mut OpSummary) {
    estimate(&mut op.bytes_per_s);
    estimate(&mut op.ops_per_s);
    estimate(&mut op.p99_ns);
    latency(&mut op.service);
    latency(&mut op.response);
}

fn latency(latency: &mut LatencySummary) {
    number(&mut latency.mean_ns);
}

fn estimate(estimate: &mut Estimate) {
    number(&mut estimate.mean);
    number(&mut estimate.low);
    number(&mut estimate.high);
    number(&mut estimate.deviation);
    number(&mut estimate.effective_samples);
    number(&mut estimate.autocorrelation);
}

fn number(value: &mut f64) {
    *value = if value.is_nan() { 0.0 } else { value.clamp(-f64::MAX, f64::MAX) };
}
