//! The hosts of a fleet, their paths, and what limited a cell, as text.

use std::fmt::Write;

use metrics::PathFacts;
use stats::Measure;
use store::{CellResult, HostResult, HostSpread};
use units::{Size, latency};

use crate::results::words;
use runner::START_CORE_WAIT;

/// Waiting time for a core that is worth mentioning, in nanoseconds.
const NOTED_NS: f64 = 100_000.0;

/// What limited it and what to try next; `all` adds the evidence.
pub fn limit(result: &CellResult, all: bool, width: usize) -> String {
    let Some(limit) = &result.limit else { return String::new() };
    let mut out = words::wrapped(&words::plain(&limit.sentence), width);
    if !limit.next.is_empty() {
        out.push_str(&words::wrapped(&format!("next: {}", words::plain(&limit.next)), width));
    }
    if all && !limit.evidence.is_empty() {
        let row = |row: &stats::limit::EvidenceRow| {
            [&row.name, &row.value, &row.limit, &row.says].map(|text| words::plain(text)).into()
        };
        let rows = limit.evidence.iter().map(row).collect();
        let titles = [("looked at", 0), ("seen", 0), ("limit from", 1), ("says", 0)];
        out.push_str(&words::table(&titles, 4, rows, (width, "  ")));
    }
    out
}

/// How evenly the hosts of a fleet performed, in one line.
pub fn evenness(result: &CellResult) -> Option<String> {
    if result.hosts.is_empty() {
        return None;
    }
    let mut out = format!("{} hosts", result.hosts.len());
    if let Some(fleet) = &result.fleet {
        let (skew, uncertainty) = (latency(fleet.start_skew_ns), latency(fleet.skew_uncertainty_ns));
        let _ = write!(out, " started within {skew} (± {uncertainty}{})", core_wait(result));
        for spread in &fleet.spread {
            let _ = write!(out, "; {}", in_words(spread));
        }
    }
    Some(words::plain(&out))
}

/// Why the start was uneven, if the hosts' own cores caused it.
fn core_wait(result: &CellResult) -> String {
    let waited_ns = result.client.get(START_CORE_WAIT).copied().unwrap_or(0.0);
    if waited_ns < NOTED_NS {
        return String::new();
    }
    format!("; a worker waited {} for a core", latency(waited_ns as u64))
}

/// How evenly the hosts performed, and each host's figures.
pub fn hosts(result: &CellResult, width: usize) -> String {
    let Some(evenness) = evenness(result) else { return String::new() };
    let mut out = words::wrapped(&evenness, width);
    for host in &result.hosts {
        if let Some(lost) = &host.lost {
            let text = format!("{} was lost at {:.1} s: {}", host.name, lost.at_s, lost.why);
            out.push_str(&words::wrapped(&words::plain(&text), width));
        }
    }
    let slowest = result.fleet.as_ref().and_then(|fleet| fleet.spread.first());
    let slowest =
        slowest.filter(|spread| spread.greatest > spread.least).map(|spread| spread.slowest.as_str());
    let titles = [
        ("host", 0),
        ("", 0),
        ("throughput", 0),
        ("±", 1),
        ("IOPS", 0),
        ("±", 5),
        ("p50", 4),
        ("p99", 0),
        ("p99.9", 6),
        ("errors", 2),
        ("started", 3),
    ];
    let rows = result.hosts.iter().map(|host| row(host, slowest)).collect();
    out.push_str(&words::table(&titles, 2, rows, (width, "  ")));
    out
}

fn in_words(spread: &HostSpread) -> String {
    let (what, text, worst): (_, fn(f64) -> String, _) = match spread.measure {
        Measure::BytesPerS => ("throughput", words::bytes, "slowest"),
        Measure::OpsPerS => ("ops", words::ops, "slowest"),
        Measure::P50Ns | Measure::P99Ns | Measure::MeanNs => {
            ("p99", |nanos| latency(nanos.max(0.0) as u64), "longest")
        }
    };
    format!(
        "{what} {} to {} (varies by {:.1} %, {worst} {})",
        text(spread.least),
        text(spread.greatest),
        spread.variation * 100.0,
        spread.slowest
    )
}

fn row(host: &HostResult, slowest: Option<&str>) -> Vec<String> {
    let total = &host.total;
    let time = |nanos| words::time(nanos, total.response.count);
    let note = match (&host.lost, slowest == Some(host.name.as_str())) {
        (Some(_), _) => "lost",
        (None, true) => "slowest",
        (None, false) => "",
    };
    let started = host.started_ns.map_or_else(
        || "-".to_owned(),
        |ns| format!("{}{}", if ns < 0 { "-" } else { "+" }, latency(ns.unsigned_abs())),
    );
    vec![
        words::plain(&host.name),
        note.to_owned(),
        words::bytes(total.bytes_per_s.mean),
        if total.bytes > 0 { words::half_width(&total.bytes_per_s) } else { "-".into() },
        words::ops(total.ops_per_s.mean),
        words::half_width(&total.ops_per_s),
        time(total.response.p50_ns),
        time(total.response.p99_ns),
        time(total.response.p999_ns),
        total.failed.to_string(),
        started,
    ]
}

/// What each path to a server carried.
pub fn paths(result: &CellResult, width: usize) -> String {
    let own = result.paths.iter().map(|path| ("", path));
    let of_hosts: Vec<(&str, &PathFacts)> = result
        .hosts
        .iter()
        .flat_map(|host| host.paths.iter().map(|path| (host.name.as_str(), path)))
        .collect();
    let all: Vec<(&str, &PathFacts)> = if of_hosts.is_empty() { own.collect() } else { of_hosts };
    if all.is_empty() {
        return String::new();
    }
    let rows = all
        .iter()
        .map(|(host, path)| {
            vec![
                words::plain(host),
                words::plain(path.interface.as_deref().unwrap_or("")),
                format!("{} -> {}", path.local, path.remote),
                path.connections.to_string(),
                Size(path.bytes_sent).rounded(),
                Size(path.bytes_received).rounded(),
                path.retransmits.to_string(),
                latency(u64::from(path.rtt_us) * 1000),
            ]
        })
        .collect();
    let titles = [
        ("host", 0),
        ("card", 0),
        ("path", 0),
        ("connections", 3),
        ("sent", 0),
        ("received", 0),
        ("retransmits", 1),
        ("round trip", 2),
    ];
    words::table(&titles, 3, rows, (width, "  "))
}
