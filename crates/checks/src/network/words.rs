//! The results of a network measurement, in words.

use stats::{
    Degraded, LinkFacts, NetworkFinding, NetworkJudgement, NetworkLink, NetworkMatrix, NetworkPathMtu,
};
use units::ByteRate;

use super::plan::way;

/// Every fault, or the statement that there is none; a line each.
pub fn verdict(matrix: &NetworkMatrix, judgement: &NetworkJudgement) -> Vec<String> {
    let mut lines: Vec<String> = judgement.findings.iter().map(|finding| sentence(matrix, finding)).collect();
    for (from, to) in &judgement.failed {
        let failures = matrix.links.iter().filter(|link| (link.from, link.to) == (*from, *to));
        let why = failures.filter_map(|link| link.failure.as_deref()).next().unwrap_or("unknown");
        lines.push(format!("{} could not be measured: {}", matrix.name(*from, *to), why));
    }
    let degraded = !lines.is_empty();
    lines.extend(matrix.path_mtus.iter().filter_map(|path| black_hole(matrix, path)));
    let judged = matrix.kinds().len() > judgement.not_judged.len();
    if !degraded && judged {
        lines.push("No link is degraded: all links agree within normal variation.".into());
    }
    lines.extend(not_probed(matrix));
    for kind in &judgement.not_judged {
        lines.push(format!("{}: too few links to compare; at least 3 are needed", way(*kind)));
    }
    lines
}

/// A path on which large packets vanish.
pub fn black_hole(matrix: &NetworkMatrix, path: &NetworkPathMtu) -> Option<String> {
    let (arrives, sent) = path.black_hole()?;
    Some(format!(
        "{} is a black hole for packets larger than {arrives} bytes: up to {sent} are sent, none arrives and \
         nobody says so; next: let ICMP \"fragmentation needed\" (\"packet too big\") through, or set the MTU \
         of the hosts to {arrives}",
        matrix.name(path.from, path.to)
    ))
}

/// How many links were not probed, and why the first was not.
fn not_probed(matrix: &NetworkMatrix) -> Option<String> {
    let measured = |path: &&NetworkPathMtu| {
        let own = |link: &&NetworkLink| (link.from, link.to) == (path.from, path.to);
        matrix.links.iter().filter(own).any(|link| link.throughput.is_some())
    };
    let failed = || matrix.path_mtus.iter().filter(measured).filter(|path| path.failure.is_some());
    let first = failed().next()?;
    let why = first.failure.as_deref().unwrap_or("unknown");
    Some(format!(
        "The path MTU of {} of {} links was not probed ({}: {}): shown is what TCP knows; next: let UDP through \
         on the links' ports",
        failed().count(),
        matrix.path_mtus.len(),
        matrix.name(first.from, first.to),
        why
    ))
}

/// What is degraded, by how much, and why that is not chance.
pub fn sentence(matrix: &NetworkMatrix, finding: &NetworkFinding) -> String {
    let (what, facts) = match finding.of {
        Degraded::Host(host) => (format!("Degraded: every link of {}", matrix.host(host)), String::new()),
        Degraded::Link(from, to) => {
            let kind = (finding.streams, finding.both_ways);
            let link = matrix.of_kind(kind).find(|link| (link.from, link.to) == (from, to));
            (
                format!("Degraded: {}", matrix.name(from, to)),
                link.map_or_else(String::new, |link| why(&link.tcp)),
            )
        }
    };
    let below = (1.0 - finding.bytes_per_s / finding.usual_bytes_per_s) * 100.0;
    let spread = finding.spread_bytes_per_s / finding.usual_bytes_per_s * 100.0;
    format!(
        "{what}: {}, {below:.0} % below the median {} of {} comparable links ({}), which differ by {spread:.1} % among \
         themselves{facts}",
        rate(finding.bytes_per_s),
        rate(finding.usual_bytes_per_s),
        finding.compared,
        way((finding.streams, finding.both_ways)),
    )
}

/// What the kernel reports about a degraded link.
fn why(tcp: &LinkFacts) -> String {
    let mut parts = Vec::new();
    if tcp.retransmits > 0 {
        parts.push(format!("{} segments sent again", tcp.retransmits));
    }
    if let Some(limits) = &tcp.limits {
        parts.push(format!("held back by the {}", limits.most()));
    }
    if parts.is_empty() { String::new() } else { format!("; {}", parts.join(", ")) }
}

fn rate(bytes_per_s: f64) -> String {
    let rate = ByteRate(bytes_per_s);
    format!("{rate} ({})", rate.as_bits())
}
