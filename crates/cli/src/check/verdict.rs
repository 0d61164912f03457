//! The first verdict: did this client, its network or the array set the limit, and on what evidence.

use units::ByteRate;

use super::row::{Outcome, Row};
use crate::client::Nic;

/// A core with less than this share of its time left is full.
const CORE_FULL: f64 = 0.90;
/// A card that carries this share of its speed as payload is full: headers take the rest.
const CARD_FULL: f64 = 0.85;
/// More stolen time than this makes a measurement doubtful.
const STEAL_HIGH: f64 = 0.05;
/// A header of IP and TCP with time stamps; IPv6's is 20 bytes longer.
const HEADERS_V4: u32 = 52;
const HEADERS_V6: u32 = 72;

/// What held the fastest phases back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Limit {
    /// A core of this client was full.
    ClientBound,
    /// The network card was full.
    NetworkBound,
    /// Neither was: the array or the network behind the card.
    TargetBound,
    /// Nothing was measured.
    Unknown,
}

/// The judgement, with its evidence in sentences.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// What held the result back.
    pub limit: Limit,
    /// Whether every path works, which does not, what limited the others; in this order.
    pub sentences: Vec<String>,
    /// Share of time of the busiest core over all phases, from 0 to 1.
    pub busiest_core: Option<f64>,
    /// Largest stolen share of a core over all phases, from 0 to 1.
    pub steal: f64,
}

/// What looks wrong on a path that works: jumbo frames that do not get through, retransmissions.
pub fn path_warnings(row: &Row) -> Vec<String> {
    let mut warnings = Vec::new();
    let mss = row.phases().map(|(_, phase)| phase.mss_bytes).filter(|mss| *mss > 0).min();
    if let (Some(array_mtu), Some(mss)) = (row.path.array_mtu, mss) {
        let headers = if row.path.address.is_ipv4() { HEADERS_V4 } else { HEADERS_V6 };
        if array_mtu > 1500 && mss + headers < array_mtu {
            warnings.push(format!(
                "the array's interface is configured for packets of {array_mtu} bytes, but the path \
                 carries {} (TCP segments of {mss}): look for a switch port or an interface of this \
                 client with a smaller MTU",
                mss + headers
            ));
        }
    }
    let retransmits: u64 = row.phases().map(|(_, phase)| phase.retransmits).sum();
    // On loopback nothing is lost on the way: there it means that the other end was too slow to take it.
    let loopback = row.phases().any(|(_, phase)| phase.client.nic.as_ref().is_some_and(|nic| nic.loopback));
    if retransmits > 0 && !loopback {
        let bytes: u64 = row.phases().map(|(_, phase)| phase.total.bytes()).sum();
        let segments = bytes / u64::from(mss.unwrap_or(1448)).max(1);
        // One in ten thousand is what a healthy data-centre network stays well below.
        if retransmits * 10_000 > segments {
            warnings.push(format!("{retransmits} TCP segments were sent again: the network loses packets"));
        }
    }
    let reconnects: u64 = row.phases().map(|(_, phase)| phase.reconnects).sum();
    if reconnects > 0 {
        warnings.push(format!("{reconnects} connections were lost and made again"));
    }
    warnings
}

/// Judges a whole report.
pub fn verdict(rows: &[Row]) -> Verdict {
    let mut sentences = vec![paths(rows)];
    let phases: Vec<_> = rows
        .iter()
        .flat_map(|row| row.phases().map(move |(name, phase)| (row, name, phase)))
        .filter(|(_, _, phase)| phase.total.bytes() > 0)
        .collect();
    let busiest = phases
        .iter()
        .filter_map(|(row, name, phase)| phase.client.busiest().map(|core| (row, name, core)))
        .max_by(|a, b| a.2.busy.total_cmp(&b.2.busy));
    let fullest = phases
        .iter()
        .filter_map(|(_, _, phase)| {
            let nic = phase.client.nic.as_ref()?;
            let speed = nic.speed_mbit? as f64 * 1e6 / 8.0;
            Some((nic, speed, phase.rate().0 / speed))
        })
        .max_by(|a, b| a.2.total_cmp(&b.2));
    let steal = phases.iter().map(|(_, _, phase)| phase.client.steal()).fold(0.0, f64::max);

    let card_full = fullest.as_ref().is_some_and(|(_, _, used)| *used >= CARD_FULL);
    let core_full = busiest.as_ref().is_some_and(|(_, _, core)| core.busy >= CORE_FULL);
    let limit = match (phases.is_empty(), card_full, core_full) {
        (true, _, _) => Limit::Unknown,
        (_, true, _) => Limit::NetworkBound,
        (_, _, true) => Limit::ClientBound,
        _ => Limit::TargetBound,
    };
    if let Some((nic, speed, used)) = &fullest {
        sentences.push(format!(
            "The network card {} ({}) was {} used{}",
            nic.name,
            ByteRate(*speed).as_bits(),
            percent(*used),
            if card_full { ": network-bound, the card sets the limit." } else { "." }
        ));
    }
    if let Some((row, phase, core)) = &busiest {
        let (protocol, address) = (row.protocol.name(), row.path.address);
        sentences.push(format!(
            "The busiest core of this client, {}, was {} busy (in the {protocol} {phase} through {address}){}",
            core.core,
            percent(core.busy),
            match (core_full, card_full) {
                (true, false) => ": client-bound, a faster client may see more.",
                (true, true) => ".",
                (false, true) => ".",
                (false, false) => ": target-bound, the array or the network behind this client sets the limit.",
            }
        ));
    }
    if steal >= STEAL_HIGH {
        sentences.push(format!(
            "The hypervisor took up to {} of a core's time: the figures may be too low.",
            percent(steal)
        ));
    }
    let loopback = |nic: &Nic| nic.loopback;
    if phases.iter().any(|(_, _, phase)| phase.client.nic.as_ref().is_some_and(loopback)) {
        sentences.push(
            "The target is on this machine: it and the client share the cores, so the figures say \
             nothing of a real array."
                .into(),
        );
    }
    Verdict { limit, sentences, busiest_core: busiest.map(|(_, _, core)| core.busy), steal }
}

/// The first sentence: which paths work and which do not.
fn paths(rows: &[Row]) -> String {
    let broken: Vec<String> = rows
        .iter()
        .filter(|row| row.outcome != Outcome::Success)
        .map(|row| format!("{} {} ({})", row.protocol.name(), row.path.address, row.outcome.words()))
        .collect();
    match (rows.len(), broken.len()) {
        (0, _) => "Nothing was checked.".into(),
        (1, 0) => "The path works.".into(),
        (1, _) => format!("The path is broken: {}.", broken.join(", ")),
        (all, count) if all == count => format!("No path works: {}.", broken.join(", ")),
        (all, 0) => format!("All {all} paths work."),
        (all, count) => format!(
            "{} of {all} paths {}: {}.",
            count,
            if count == 1 { "is broken" } else { "are broken" },
            broken.join(", ")
        ),
    }
}

fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}
