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
    let unanswered: u64 = row.phases().map(|(_, phase)| phase.unanswered).sum();
    if unanswered > 0 && row.outcome != Outcome::Interrupted {
        warnings
            .push(format!("{unanswered} operations had no answer long after their phase: something stalls"));
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

/// The first sentence: which paths work and which do not. One that was not checked to its end is neither.
fn paths(rows: &[Row]) -> String {
    let broken: Vec<String> = rows
        .iter()
        .filter(|row| !matches!(row.outcome, Outcome::Success | Outcome::Interrupted))
        .map(|row| format!("{} {} ({})", row.protocol.name(), row.path.address, row.outcome.words()))
        .collect();
    let unfinished = rows.iter().filter(|row| row.outcome == Outcome::Interrupted).count();
    let judged = match (rows.len() - unfinished, broken.len()) {
        (0, _) => String::new(),
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
    };
    match (judged.is_empty(), unfinished) {
        (true, 0) => "Nothing was checked.".into(),
        (false, 0) => judged,
        (true, _) => "No path was checked to its end.".into(),
        (false, some) => format!("{judged} {some} more were not checked to their end."),
    }
}

fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

#[cfg(test)]
mod tests {
    use metrics::OpKind;

    use super::*;
    use crate::check::report::tests::{path, phase};
    use crate::check::row::{Phase, Protocol};

    fn row(change: impl Fn(&mut Phase)) -> Row {
        let mut row = Row::new(path(11), Protocol::Nfs);
        let mut write = phase(OpKind::Write, 31_000_000_000);
        change(&mut write);
        row.write = Some(write);
        row.outcome = Outcome::Success;
        row
    }

    fn limit(change: impl Fn(&mut Phase)) -> (Limit, String) {
        let verdict = verdict(&[row(change)]);
        (verdict.limit, verdict.sentences.join(" "))
    }

    #[test]
    fn an_idle_client_and_card_leave_the_target() {
        let (limit, text) = limit(|_| {});
        assert_eq!(limit, Limit::TargetBound);
        assert!(text.starts_with("The path works."), "{text}");
        assert!(text.contains("eth0 (100 Gbit/s) was 25 % used"), "{text}");
        assert!(text.contains("was 50 % busy"), "{text}");
    }

    #[test]
    fn a_full_core_is_the_client() {
        let (limit, text) = limit(|phase| phase.client.cores[0].busy = 0.97);
        assert_eq!(limit, Limit::ClientBound);
        assert!(
            text.contains("client, 0, was 97 % busy (in the nfs write through 192.168.170.11)"),
            "{text}"
        );
    }

    #[test]
    fn a_full_card_is_the_network_even_when_a_core_is_full() {
        let (limit, text) = limit(|phase| {
            phase.client.cores[0].busy = 0.97;
            phase.client.nic.as_mut().unwrap().speed_mbit = Some(25_000);
        });
        assert_eq!(limit, Limit::NetworkBound);
        assert!(text.contains("99 % used: network-bound"), "{text}");
    }

    #[test]
    fn stolen_time_is_told() {
        let (_, text) = limit(|phase| phase.client.cores[1].steal = 0.07);
        assert!(text.contains("took up to 7 %"), "{text}");
    }

    #[test]
    fn without_a_measurement_there_is_no_limit() {
        let failed = Row::new(path(12), Protocol::S3).failed(Outcome::FailedToConnect, "no answer");
        let verdict = verdict(&[failed]);
        assert_eq!(verdict.limit, Limit::Unknown);
        assert_eq!(verdict.sentences, ["The path is broken: s3 192.168.170.12 (FAILED TO CONNECT)."]);
    }

    #[test]
    fn what_was_interrupted_is_not_called_broken() {
        let cut = || Row::new(path(12), Protocol::Nfs);
        assert_eq!(verdict(&[cut()]).sentences[0], "No path was checked to its end.");
        let text = &verdict(&[row(|_| {}), cut(), cut()]).sentences[0];
        assert_eq!(text, "The path works. 2 more were not checked to their end.");
    }

    #[test]
    fn a_path_of_1500_bytes_to_an_interface_of_9000_is_warned_of() {
        let warnings = |mss| path_warnings(&row(|phase| phase.mss_bytes = mss));
        assert!(warnings(8948).is_empty());
        let small = warnings(1448);
        assert_eq!(small.len(), 1);
        assert!(small[0].contains("packets of 9000 bytes") && small[0].contains("carries 1500"), "{small:?}");
        let mut unknown = row(|phase| phase.mss_bytes = 1448);
        unknown.path.array_mtu = None;
        assert!(path_warnings(&unknown).is_empty());
    }

    #[test]
    fn lost_segments_answers_and_connections_are_warned_of() {
        let lossy = path_warnings(&row(|phase| phase.retransmits = 5000));
        assert!(lossy[0].starts_with("5000 TCP segments were sent again"), "{lossy:?}");
        assert!(path_warnings(&row(|phase| phase.retransmits = 1)).is_empty(), "one in millions is no loss");
        let stalled = path_warnings(&row(|phase| phase.unanswered = 3));
        assert!(stalled[0].starts_with("3 operations had no answer"), "{stalled:?}");
        let broken = path_warnings(&row(|phase| phase.reconnects = 2));
        assert!(broken[0].contains("2 connections were lost"), "{broken:?}");
    }
}
