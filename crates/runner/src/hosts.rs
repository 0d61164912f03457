//! Per-host results of a fleet, beside the combined result.

use fleet::{ClockFacts, PartResult};
use stats::Window;
use store::{Environment, FleetFigures, HostClock, HostRecord, HostResult, LostHost};

use super::context::{CellFailure, Context};
use super::facts;
use super::measure::Skew;

/// Stores the fleet's hosts in the results, before anything is measured.
pub fn keep(context: &Context) {
    if !context.host_group.tells_hosts_apart() {
        return;
    }
    let record = |(member, name): (usize, &String)| HostRecord {
        name: name.clone(),
        environment: Environment { facts: context.host_group.host_facts(member) },
    };
    let hosts: Vec<HostRecord> = context.hosts.iter().enumerate().map(record).collect();
    context.recorder().hosts(&hosts);
}

/// The figures of each host over the reported window; empty for a run on this host alone.
///
/// # Errors
/// The results file cannot be read.
pub fn figures(
    context: &Context,
    (cell, trial): (u32, u32),
    window: Window,
    parts: &[PartResult],
) -> Result<Vec<HostResult>, CellFailure> {
    if !context.host_group.tells_hosts_apart() {
        return Ok(Vec::new());
    }
    let first = parts.iter().filter_map(|part| part.started_ns).min().unwrap_or(0);
    let clocks = context.host_group.clocks();
    let of_host = |part: &PartResult| {
        let figures = context.recorder().host_figures(cell, trial, &part.name, window, &part.result.total)?;
        Ok(HostResult {
            name: part.name.clone(),
            index: part.member as u32,
            total: figures.total.summary.clone(),
            ops: figures.ops.iter().map(|figure| figure.summary.clone()).collect(),
            started_ns: part.started_ns.map(|at| i64::try_from(at - first).unwrap_or(i64::MAX)),
            clock: clocks.get(part.member).copied().flatten().map(clock),
            lost: part
                .lost
                .as_ref()
                .map(|why| LostHost { at_s: part.result.window_ns as f64 / 1e9, why: why.clone() }),
            client: facts::of_result(&part.result),
            paths: part.result.paths.clone(),
        })
    };
    parts.iter().map(of_host).collect()
}

/// How evenly the hosts performed; `None` for a run on this host alone.
pub fn evenness(hosts: &[HostResult], skew: Skew) -> Option<FleetFigures> {
    (!hosts.is_empty()).then(|| FleetFigures::of(hosts, skew.ns, skew.uncertainty_ns))
}

fn clock(facts: ClockFacts) -> HostClock {
    HostClock {
        offset_ns: facts.offset_ns,
        uncertainty_ns: facts.uncertainty_ns,
        drift_ppm: facts.drift_ppm,
        round_trip_ns: facts.round_trip_ns,
    }
}
