//! Facts kept beside a cell's figures: about the client during the measurement, and about the target.

use std::collections::BTreeMap;

use engine::StageResult;
use metrics::PathFacts;

use super::context::Context;
use super::measure::Measured;
use super::site::{FactsByHost, target_facts};

/// The client during the measurement; for a fleet, all hosts together.
pub fn client(measured: &Measured) -> BTreeMap<String, f64> {
    let result = &measured.result;
    let mut client = of_result(result);
    let mut keep = |name: &str, value: f64| client.insert(name.to_owned(), value);
    if let Some(busiest) = measured.cores.iter().map(|core| core.busy).reduce(f64::max) {
        keep("cpu.busiest", busiest);
        let mean = measured.cores.iter().map(|core| core.busy).sum::<f64>() / measured.cores.len() as f64;
        keep("cpu.mean", mean);
        keep("cpu.steal", measured.cores.iter().map(|core| core.steal).fold(0.0, f64::max));
    }
    if !measured.hosts.is_empty() {
        keep("hosts", measured.hosts.len() as f64);
        keep("longest-pause.ns", result.longest_pause_ns as f64);
        keep("start-skew.ns", result.start_skew_ns.max(measured.skew.ns) as f64);
        keep("start-skew.uncertainty.ns", measured.skew.uncertainty_ns as f64);
    }
    client
}

/// Maximum delay of a worker's start while it waited for a core, in nanoseconds.
pub const START_CORE_WAIT: &str = "start-skew.core-wait.ns";

/// Facts known to the stage's own process.
pub fn of_result(result: &StageResult) -> BTreeMap<String, f64> {
    let mut client = BTreeMap::new();
    let mut keep = |name: &str, value: f64| client.insert(name.to_owned(), value);
    if result.backend != reactor::Backend::Simulated {
        let window = result.window_ns.max(1) as f64;
        let most = result.worker_cpu_ns.iter().max().copied().unwrap_or(0);
        keep("cpu.workers", most as f64 / window);
        keep("cpu.workers.total", result.cpu_ns() as f64 / window);
    }
    keep("in-flight-at-end", result.in_flight_at_end as f64);
    keep("abandoned", result.abandoned as f64);
    keep("unseen-intervals", result.unseen_intervals as f64);
    keep("start-skew.ns", result.start_skew_ns as f64);
    keep(START_CORE_WAIT, result.start_core_wait_ns as f64);
    if !result.facts.connections.is_empty() {
        let resent: u64 = result.facts.connections.iter().map(|connection| connection.retransmits).sum();
        keep("net.connections", result.facts.connections.len() as f64);
        keep("net.retransmits", (resent + result.facts.closed_retransmits) as f64);
        keep("net.reconnects", result.facts.reconnects as f64);
        keep("net.late-replies", result.facts.late_replies as f64);
        keep("net.short-answers", result.facts.short_answers as f64);
    }
    let seconds = result.window_ns.max(1) as f64 / 1e9;
    for (number, path) in (1..=MAX_PATHS).zip(&result.paths) {
        let mut keep = |name: &str, value: f64| keep(&format!("path.{number}.{name}"), value);
        keep("connections", path.connections.into());
        keep("sent.bytes-per-s", path.bytes_sent as f64 / seconds);
        keep("received.bytes-per-s", path.bytes_received as f64 / seconds);
        keep("retransmits", path.retransmits as f64);
        keep("rtt.us", path.rtt_us.into());
        keep("rtt-max.us", path.rtt_max_us.into());
    }
    client
}

/// Maximum paths whose figures are kept by name; the result has all of them.
const MAX_PATHS: usize = 64;

/// Source and destination of those paths, with the same numbering.
fn paths(result: &StageResult) -> impl Iterator<Item = (String, String)> {
    let named = |(number, path): (usize, &PathFacts)| {
        let interface = path.interface.as_deref().unwrap_or("an unknown interface");
        (format!("path.{number}"), format!("{} ({interface}) to {}", path.local, path.remote))
    };
    (1..=MAX_PATHS).zip(&result.paths).map(named)
}

/// The target, as its driver describes it.
pub fn target(context: &Context, by_host: &FactsByHost, measured: &Measured) -> BTreeMap<String, String> {
    let mut facts = target_facts(context, by_host);
    let backend = match measured.result.backend {
        reactor::Backend::Uring => "io_uring",
        reactor::Backend::Epoll => "epoll",
        reactor::Backend::Simulated => "simulated",
    };
    facts.insert("reactor".into(), backend.into());
    if let Some(refusal) = &measured.result.refusal {
        facts.insert("reactor.refusal".into(), refusal.clone());
    }
    facts.extend(paths(&measured.result));
    // Other hosts' NICs are not visible from here.
    if context.host_group.sees_the_load()
        && let Some(connection) = measured.result.facts.connections.first()
        && let Some(nic) = fleet::probe::card_of(connection.local.ip())
    {
        facts.insert("nic".into(), nic.name);
        if let Some(speed) = nic.speed_mbit {
            facts.insert("nic.speed".into(), format!("{speed} Mbit/s"));
        }
        if let Some(mtu) = nic.mtu {
            facts.insert("nic.mtu".into(), mtu.to_string());
        }
    }
    facts
}
