//! What held a result back: client, network, target, the load itself, or nothing.
//!
//! Pure: [`judge`] takes means over the measured window and returns one [`Bottleneck`]. There are few rules, checked in
//! a fixed order, and the first that applies wins; `docs/verdict.md` explains them. "Unclear" is a valid answer.

mod baseline;
mod client;
mod evidence;
mod finding;
mod foreign;
mod loss;
mod machine;
mod network;
mod probe;
mod server;
mod server_table;
mod table;
mod target;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_causes;
#[cfg(test)]
mod tests_foreign;
#[cfg(test)]
mod tests_probe;
#[cfg(test)]
mod tests_server;
mod words;

pub use evidence::{
    AgentsBeside, Card, Core, Disk, DiskBaseline, DiskPlace, DiskQuota, Evidence, Host, NetworkBaseline,
    ObservedLoad, Path, TargetMedium,
};
pub use finding::{
    Bottleneck, Bound, Cause, Confidence, EvidenceRow, HostFinding, ServerFinding, ServerPart,
};

pub use client::ALL_FULL;
pub use network::LOSSY;
pub use probe::{Probe, ProbeFinding, ProbePoint, decide, is_undecided};

use finding::Found;

/// Fewer samples than this lower the confidence.
const ENOUGH_SAMPLES: u32 = 3;

/// Determines what held a measurement back.
pub fn judge(evidence: &Evidence) -> Bottleneck {
    let hosts = machine::together(&evidence.hosts);
    let each: Vec<(&Host, Found)> = hosts.iter().map(|host| (host, of_host(host))).collect();
    let whole = target::first(&evidence.load);
    let Some((host, most)) = commonest(&each) else {
        let nothing = || {
            let why = "nothing was seen of the hosts meanwhile".to_owned();
            Found::new(
                Bound::Unclear,
                Cause::Nothing,
                Confidence::Low,
                why,
                "measure for some seconds at least",
            )
        };
        return finding(&whole.unwrap_or_else(nothing), Vec::new());
    };
    let explained = if whole.is_none() { server::explains(evidence, most) } else { None };
    let mut finding = finding(explained.as_ref().or(whole.as_ref()).unwrap_or(most), table::rows(host));
    finding.evidence.extend(server_table::rows(evidence));
    finding.servers = server_table::findings(evidence);
    if each.len() > 1 {
        name_hosts(&mut finding, &each, most);
    }
    finding.doubts = doubts(&hosts);
    finding
}

/// Load from others on the resources of the load: each disk and NIC of a machine once.
fn doubts(hosts: &[Host]) -> Vec<String> {
    let mut seen: Vec<(&str, String)> = Vec::new();
    let mut lines = Vec::new();
    for host in hosts {
        for foreign in foreign::all(host) {
            let here = (host.machine.as_str(), foreign.place.clone());
            if !host.machine.is_empty() && seen.contains(&here) {
                continue;
            }
            seen.push(here);
            lines.push(match hosts.len() {
                1 => foreign.words,
                _ => format!("{}: {}", host.name, foreign.words),
            });
        }
    }
    lines
}

/// The rules in their order.
fn of_host(host: &Host) -> Found {
    if let Some(found) = target::first(&host.load) {
        return found;
    }
    if host.samples == 0 {
        let why = "nothing was seen of the host meanwhile".to_owned();
        return Found::new(
            Bound::Unclear,
            Cause::Nothing,
            Confidence::Low,
            why,
            "measure for some seconds at least",
        );
    }
    let network = host.load.kind == TargetMedium::Network;
    let found = (if network { network::card(host) } else { None })
        .or_else(|| if network { network::small_packets(host) } else { None })
        .or_else(|| if network { network::closed_window(host) } else { None })
        .or_else(|| client::limit(host))
        .or_else(|| if network { network::limit(host) } else { None })
        .unwrap_or_else(|| target::limit(host));
    // Load from others on the same disks and NICs affects the figures, whatever the cause.
    let shared = matches!(found.bound, Bound::Target | Bound::Network) && !foreign::all(host).is_empty();
    match (host.samples < ENOUGH_SAMPLES || shared) && found.confidence == Confidence::High {
        true => Found { confidence: Confidence::Medium, ..found },
        false => found,
    }
}

/// The finding of most hosts; on a tie, the first host's.
fn commonest<'a>(each: &'a [(&'a Host, Found)]) -> Option<(&'a Host, &'a Found)> {
    let alike = |found: &Found| {
        each.iter().filter(|(_, other)| (other.bound, other.cause) == (found.bound, found.cause)).count()
    };
    let most = each.iter().map(|(_, found)| alike(found)).max()?;
    each.iter().find(|(_, found)| alike(found) == most).map(|(host, found)| (*host, found))
}

fn finding(found: &Found, evidence: Vec<EvidenceRow>) -> Bottleneck {
    let sure = found.confidence.words();
    Bottleneck {
        bound: found.bound,
        cause: found.cause,
        confidence: found.confidence,
        place: found.place.clone(),
        share: found.share,
        sentence: format!("{}{sure}: {}", found.bound.words(), found.why),
        next: found.next.clone(),
        evidence,
        hosts: Vec::new(),
        servers: Vec::new(),
        doubts: Vec::new(),
        probe: None,
    }
}

/// With several hosts: names them if they differ, and says which.
fn name_hosts(finding: &mut Bottleneck, each: &[(&Host, Found)], most: &Found) {
    let differ: Vec<&(&Host, Found)> =
        each.iter().filter(|(_, found)| (found.bound, found.cause) != (most.bound, most.cause)).collect();
    match differ.as_slice() {
        [] => finding.sentence = format!("all {} hosts {}", each.len(), finding.sentence),
        [(host, found)] => {
            let own = format!("{} is {}: {}", host.name, found.bound.words(), found.why);
            finding.sentence = format!("{}; all hosts but one, {own}", finding.sentence);
        }
        some => {
            let names: Vec<&str> = some.iter().take(8).map(|(host, _)| host.name.as_str()).collect();
            let many = each.len() - some.len();
            finding.sentence =
                format!("{}; {many} of {} hosts, not {}", finding.sentence, each.len(), names.join(", "));
        }
    }
    finding.hosts = each
        .iter()
        .map(|(host, found)| HostFinding {
            host: host.name.clone(),
            bound: found.bound,
            cause: found.cause,
            sentence: format!("{}: {}", found.bound.words(), found.why),
        })
        .collect();
}
