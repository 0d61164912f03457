//! What held a cell back: the evidence of its hosts, and what is made of it.

use engine::StageResult;
use experiment::{Arrivals, Cell};
use fleet::probe;
use stats::limit::{Evidence, Finding, Kind, Load, judge};

use super::context::Context;
use super::figures::together;
use super::measure::Measured;
use super::site::Site;

/// The finding; `None` where no time passed, as on a virtual clock.
pub fn find(
    context: &Context,
    cell: &Cell,
    site: &Site,
    measured: &Measured,
    arrivals: &Arrivals,
) -> Option<Finding> {
    if site.virtual_clock() || measured.result.window_ns == 0 {
        return None;
    }
    let open = *arrivals != Arrivals::Closed;
    let part = |result: &StageResult| load(cell, result, open);
    let hosts: Vec<_> = measured
        .parts
        .iter()
        .map(|one| {
            let samples = measured.witness.of(one.member);
            let name = context.hosts.get(one.member).map_or("", String::as_str);
            probe::host(name, &samples, part(&one.result))
        })
        .collect();
    let mut whole = part(&measured.result);
    whole.lanes *= hosts.len().max(1) as f64;
    Some(judge(&Evidence { load: whole, hosts }))
}

/// What a load did, as one host or all together measured it; lanes are those of one host.
fn load(cell: &Cell, result: &StageResult, open: bool) -> Load {
    let seconds = result.window_ns as f64 / 1e9;
    let per_second = |count: u64| if seconds > 0.0 { count as f64 / seconds } else { 0.0 };
    let all = together(&result.total).unwrap_or_default();
    let ended = (all.ok + all.failed()).max(1) as f64;
    let time = |nanos: u64| nanos as f64 / 1e9;
    let missed = (result.shed + result.missed_starts) as f64;
    Load {
        kind: kind(&cell.target.url),
        seconds,
        lanes: f64::from(cell.workload.jobs) * f64::from(cell.workload.queue_depth),
        ops_per_s: per_second(all.ok),
        bytes_per_s: per_second(result.total.bytes()),
        latency_s: all.service.mean_ns() / 1e9,
        median_s: time(all.service.quantile_ns(0.5)),
        p99_s: time(all.service.quantile_ns(0.99)),
        failed: all.failed() as f64 / ended,
        unanswered: result.abandoned,
        offered_ops_per_s: open.then(|| per_second(result.offered)),
        not_started: if open { missed / (result.offered.max(1) as f64) } else { 0.0 },
        // A job may have rates, pauses and batches of its own, and ends each file with calls that are no lanes' work.
        paced: cell.workload.job.is_some(),
    }
}

/// What stands behind a URL.
pub fn kind(url: &str) -> Kind {
    match url.split_once(':').map_or(url, |(scheme, _)| scheme) {
        "null" | "sim" => Kind::Nothing,
        "file" | "block" => Kind::Local,
        _ => Kind::Network,
    }
}
