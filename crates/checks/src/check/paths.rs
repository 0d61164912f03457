//! Problems of single paths: which do not work, which are slower than the others, which work but look wrong.

use std::net::IpAddr;

use drivers::ReconnectReason;
use stats::limit::{Bound, LOSSY};
use units::ByteRate;

use super::row::{CheckRow, PhaseFigures, RowOutcome};

/// A path below this share of the other paths' median is slow.
const SLOW: f64 = 0.5;
/// IP and TCP headers with time stamps, in bytes; IPv6 adds 20.
const HEADERS_V4: u32 = 52;
const HEADERS_V6: u32 = 72;

/// Maximum paths named in a sentence; beyond that it gives their number.
const NAMED_MAX: usize = 5;

/// Whether a path does not work.
fn is_broken(row: &CheckRow) -> bool {
    !matches!(row.outcome, RowOutcome::Success | RowOutcome::Interrupted | RowOutcome::NotMeasured)
}

/// The first sentence: which paths work and which do not. Paths that were not measured, or not checked to the end,
/// count as neither.
pub fn working(rows: &[CheckRow]) -> String {
    let not_measured = rows.iter().filter(|row| row.outcome == RowOutcome::NotMeasured).count();
    let too_short = match not_measured {
        0 => String::new(),
        1 => " 1 path was not measured: too little time for this path or this host.".to_owned(),
        some => format!(" {some} paths were not measured: too little time for these paths or this host."),
    };
    if not_measured == rows.len() && not_measured > 0 {
        return too_short.trim_start().to_owned();
    }
    let rows: Vec<&CheckRow> = rows.iter().filter(|row| row.outcome != RowOutcome::NotMeasured).collect();
    format!("{}{too_short}", judged(&rows))
}

fn judged(rows: &[&CheckRow]) -> String {
    let broken: Vec<&CheckRow> = rows.iter().copied().filter(|row| is_broken(row)).collect();
    let named = name_some(&broken);
    let unfinished = rows.iter().filter(|row| row.outcome == RowOutcome::Interrupted).count();
    let judged = match (rows.len() - unfinished, broken.len()) {
        (0, _) => String::new(),
        (1, 0) => "The path works.".into(),
        (1, _) => format!("The path is broken: {named}."),
        (all, count) if all == count => format!("No path works: {named}."),
        (all, 0) => format!("All {all} paths work."),
        (all, count) => format!(
            "{} of {all} paths {}: {named}.",
            count,
            if count == 1 { "is broken" } else { "are broken" },
        ),
    };
    match (judged.is_empty(), unfinished) {
        (true, 0) => "Nothing was checked.".into(),
        (false, 0) => judged,
        (true, _) => "No path was checked to its end.".into(),
        (false, some) => format!("{judged} {some} more were only partly checked."),
    }
}

/// Names the first broken paths, and counts the others by outcome.
fn name_some(broken: &[&CheckRow]) -> String {
    let (first, others) = broken.split_at(broken.len().min(NAMED_MAX));
    let mut parts: Vec<String> = first
        .iter()
        .map(|row| format!("{} {} ({})", row.protocol, row.path.address, row.outcome.words()))
        .collect();
    let mut counts: Vec<(String, usize)> = Vec::new();
    for row in others {
        let what = format!("{} {}", row.protocol, row.outcome.words());
        match counts.iter_mut().find(|(known, _)| *known == what) {
            Some((_, count)) => *count += 1,
            None => counts.push((what, 1)),
        }
    }
    if !others.is_empty() {
        let counts: Vec<String> = counts.iter().map(|(what, count)| format!("{count} {what}")).collect();
        parts.push(format!("and {} more ({})", others.len(), counts.join(", ")));
    }
    parts.join(", ")
}

/// A phase that moved far less on one path than on the others.
#[derive(Clone, Debug, PartialEq)]
pub struct SlowPath {
    /// The path's address.
    pub address: IpAddr,
    /// The scheme of its protocol.
    pub protocol: &'static str,
    /// `write` or `read`.
    pub phase: &'static str,
    /// Its throughput.
    pub rate: ByteRate,
    /// The median throughput of the other paths.
    pub others: ByteRate,
    /// What limited it.
    pub because: Option<String>,
}

/// A sentence for each address with slow phases, with what limited the slowest phase.
pub fn slow_sentences(slow: &[SlowPath]) -> Vec<String> {
    let mut addresses: Vec<IpAddr> = slow.iter().map(|path| path.address).collect();
    addresses.dedup();
    let more = addresses.len().saturating_sub(NAMED_MAX);
    let named = addresses.iter().take(NAMED_MAX).map(|address| slow_sentence(*address, slow));
    let rest = match more {
        0 => None,
        1 => Some("One more path is slower than the others; the table shows it.".to_owned()),
        _ => Some(format!("{more} more paths are slower than the others; the table shows them.")),
    };
    named.chain(rest).collect()
}

fn slow_sentence(address: IpAddr, slow: &[SlowPath]) -> String {
    let own = || slow.iter().filter(|path| path.address == address);
    let name = |path: &SlowPath| format!("{} {}", path.protocol, path.phase);
    let figures: Vec<String> =
        own().map(|path| format!("{} {} (the others {})", name(path), path.rate, path.others)).collect();
    let share = |path: &SlowPath| path.rate.0 / path.others.0;
    let slowest = own().min_by(|a, b| share(a).total_cmp(&share(b)));
    let because = slowest.and_then(|path| Some(format!(" Its {}: {}.", name(path), path.because.as_ref()?)));
    format!(
        "The path to {address} is slower than the others: {}.{}",
        figures.join(", "),
        because.unwrap_or_default()
    )
}

/// What a phase's rate says about its path, compared with the same phase on the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PathRate {
    /// Nothing unusual.
    Usual,
    /// The path is slower.
    Slow,
    /// It looks slower, but the phase was too short to be sure.
    TooShort,
    /// It looks slower, but this host was too busy to tell.
    HostFull,
}

/// Compares phases. Where this client was the limit, a rate says nothing about the path.
fn compared(phase: &PhaseFigures, others: f64) -> PathRate {
    let client = phase.limit.as_ref().is_some_and(|limit| limit.bound == Bound::Client);
    match phase.highest_rate() {
        _ if client || phase.rate().0 >= SLOW * others => PathRate::Usual,
        _ if phase.client.is_full() => PathRate::HostFull,
        Some(highest) if highest < SLOW * others => PathRate::Slow,
        _ => PathRate::TooShort,
    }
}

/// The phases of working paths, each with the median throughput of the others.
fn beside_others(rows: &[CheckRow]) -> impl Iterator<Item = (&CheckRow, &'static str, &PhaseFigures, f64)> {
    rows.iter().filter(|row| row.outcome == RowOutcome::Success).flat_map(move |row| {
        row.phases()
            .filter_map(move |(name, phase)| Some((row, name, phase, middle_of_others(rows, row, name)?)))
    })
}

/// Paths that work but carry less than half of what the others do.
pub fn slow(rows: &[CheckRow]) -> Vec<SlowPath> {
    beside_others(rows)
        .filter(|(_, _, phase, others)| compared(phase, *others) == PathRate::Slow)
        .map(|(row, name, phase, others)| SlowPath {
            address: row.path.address,
            protocol: row.protocol,
            phase: name,
            rate: phase.rate(),
            others: ByteRate(others),
            // An unknown cause need not be repeated for each path.
            because: phase
                .limit
                .as_ref()
                .filter(|limit| limit.bound != Bound::Unclear)
                .map(|limit| limit.sentence.clone()),
        })
        .collect()
}

/// Why paths that look slower than the others are not called slow.
pub fn not_compared(rows: &[CheckRow]) -> Option<String> {
    let found: Vec<PathRate> =
        beside_others(rows).map(|(_, _, phase, others)| compared(phase, others)).collect();
    if found.contains(&PathRate::HostFull) {
        return Some("Paths were not compared with each other: all cores of this host were full.".to_owned());
    }
    found.contains(&PathRate::TooShort).then(|| {
        "Paths differ, but the phases were too short to call one slow: measure longer with --duration."
            .to_owned()
    })
}

/// Median throughput of the same phase on the other paths.
fn middle_of_others(rows: &[CheckRow], one: &CheckRow, phase: &str) -> Option<f64> {
    let others = rows.iter().filter(|row| {
        let same = row.protocol == one.protocol && row.path.address != one.path.address;
        same && row.outcome == RowOutcome::Success
    });
    let phases = others.filter_map(|row| row.phases().find(|(name, _)| *name == phase));
    let mut rates: Vec<f64> = phases.map(|(_, phase)| phase.rate().0).collect();
    rates.sort_by(f64::total_cmp);
    rates.get(rates.len() / 2).copied()
}

/// What looks wrong on a working path: jumbo frames that do not pass, retransmits.
pub fn warnings(row: &CheckRow) -> Vec<String> {
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
    let sum = |value: fn(&PhaseFigures) -> u64| row.phases().map(|(_, phase)| value(phase)).sum::<u64>();
    let retransmits = sum(|phase| phase.retransmits);
    // On loopback nothing is lost in transit: retransmits mean that the other end was too slow to receive.
    let loopback = row.phases().any(|(_, phase)| phase.client.nic.as_ref().is_some_and(|nic| nic.loopback));
    if retransmits > 0 && !loopback {
        let segments = sum(|phase| phase.total.bytes()) / u64::from(mss.unwrap_or(1448)).max(1);
        // The verdict uses the same share as its threshold for loss.
        let share = retransmits as f64 / segments.max(1) as f64;
        if share >= LOSSY {
            warnings.push(format!(
                "{retransmits} TCP segments ({:.1} %) were retransmitted: the network loses packets",
                share * 100.0
            ));
        }
    }
    let unanswered = sum(|phase| phase.unanswered);
    if unanswered > 0 && row.outcome != RowOutcome::Interrupted {
        warnings.push(format!(
            "{unanswered} operations had no answer long after their phase: something is stalled"
        ));
    }
    let reconnects = sum(|phase| phase.reconnects);
    if reconnects > 0 {
        let mut reasons = Vec::new();
        for reason in row.phases().flat_map(|(_, phase)| &phase.reconnect_reasons) {
            ReconnectReason::count(&mut reasons, &reason.text, reason.count);
        }
        let why = ReconnectReason::summary(&reasons).map(|why| format!(": {why}")).unwrap_or_default();
        warnings.push(format!("{reconnects} connections were lost and made again{why}"));
    }
    warnings
}

#[cfg(test)]
mod tests {
    use metrics::OpKind;

    use super::*;
    use crate::test_support::{finding, path, phase};

    fn row(last: u8, bytes: u64, change: impl Fn(&mut PhaseFigures)) -> CheckRow {
        let mut row = CheckRow::new(path(last), "nfs");
        let mut write = phase(OpKind::Write, bytes);
        change(&mut write);
        row.write = Some(write);
        row.outcome = RowOutcome::Success;
        row
    }

    #[test]
    fn what_was_interrupted_is_not_called_broken() {
        let cut = || CheckRow::new(path(12), "nfs");
        assert_eq!(working(&[cut()]), "No path was checked to its end.");
        let text = working(&[row(11, 1, |_| {}), cut(), cut()]);
        assert_eq!(text, "The path works. 2 more were only partly checked.");
    }

    #[test]
    fn what_was_not_measured_is_not_called_broken() {
        let short = || CheckRow { outcome: RowOutcome::NotMeasured, ..CheckRow::new(path(12), "nfs") };
        assert_eq!(
            working(&[short()]),
            "1 path was not measured: too little time for this path or this host."
        );
        let text = working(&[row(11, 1, |_| {}), short(), short()]);
        assert_eq!(
            text,
            "The path works. 2 paths were not measured: too little time for these paths or this host."
        );
    }

    /// A path is called slow only where the measurement can tell.
    #[test]
    fn a_busy_host_and_a_short_phase_blame_no_path() {
        let rows = |change: fn(&mut PhaseFigures)| {
            [row(1, 31_000_000_000, |_| {}), row(2, 3_000_000_000, change), row(3, 30_000_000_000, |_| {})]
        };
        let of = |change| {
            let rows = rows(change);
            (slow(&rows).len(), not_compared(&rows))
        };
        assert_eq!(of(|_| {}), (1, None));
        let (slow_paths, said) = of(|phase| phase.client.cores.iter_mut().for_each(|core| core.busy = 0.99));
        assert!(slow_paths == 0 && said.is_some_and(|said| said.contains("cores of this host were full")));
        let (slow_paths, said) = of(|phase| {
            phase.window_ns = 1_000_000_000;
            phase.total.op_mut(OpKind::Write).bytes /= 10;
        });
        assert!(slow_paths == 0 && said.is_some_and(|said| said.contains("too short")));
        // Seconds that vary this much are just as inconclusive.
        let (slow_paths, said) = of(|phase| {
            let second = |bytes| metrics::SeriesPoint {
                length_ns: 1_000_000_000,
                bytes,
                ..metrics::SeriesPoint::default()
            };
            phase.seconds = vec![second(0), second(2_400_000_000), second(0), second(0)];
        });
        assert!(slow_paths == 0 && said.is_some_and(|said| said.contains("too short")));
    }

    /// 200 subnets, most of them broken: the verdict names a few and counts the others.
    #[test]
    fn of_many_paths_a_few_are_named_and_the_others_are_counted() {
        let broken =
            |protocol, outcome: RowOutcome, last| CheckRow { outcome, ..CheckRow::new(path(last), protocol) };
        let mut rows = vec![row(1, 31_000_000_000, |_| {})];
        rows.extend((2..100).map(|last| broken("nfs", RowOutcome::Unreachable("MOUNT FAILED"), last)));
        rows.extend((100..150).map(|last| broken("s3", RowOutcome::Unreachable("FAILED TO CONNECT"), last)));
        let text = working(&rows);
        assert!(
            text.starts_with("148 of 149 paths are broken: nfs 192.168.170.2 (MOUNT FAILED), ")
                && text.ends_with(" and 143 more (93 nfs MOUNT FAILED, 50 s3 FAILED TO CONNECT)."),
            "{text}"
        );
        assert!(text.len() < 400, "{text}");
        let unclear =
            |phase: &mut PhaseFigures| phase.limit = Some(finding(Bound::Unclear, "unclear (a guess)"));
        let mut rows: Vec<CheckRow> = (1..=60).map(|last| row(last, 31_000_000_000, |_| {})).collect();
        rows.extend((100..140).map(|last| row(last, 3_000_000_000, unclear)));
        let sentences = slow_sentences(&slow(&rows));
        assert_eq!(sentences.len(), 6, "{sentences:#?}");
        assert!(sentences[5].starts_with("35 more paths are slower"), "{sentences:#?}");
        assert!(!sentences.concat().contains("unclear"), "{sentences:#?}");
    }

    #[test]
    fn the_path_with_less_than_half_of_the_others_is_named() {
        let rows = |slowest: u64, bound| {
            let limited = |phase: &mut PhaseFigures| phase.limit = Some(finding(bound, "held back by it"));
            [row(1, 31_000_000_000, |_| {}), row(2, slowest, limited), row(3, 30_000_000_000, |_| {})]
        };
        let slow_of = |slowest, bound| slow(&rows(slowest, bound));
        assert_eq!(slow_of(16_000_000_000, Bound::Network), []);
        let found = slow_of(3_000_000_000, Bound::Network);
        assert_eq!(found.len(), 1);
        let mut both =
            [found[0].clone(), SlowPath { phase: "read", rate: ByteRate(2e8), ..found[0].clone() }];
        both[1].because = Some("network-bound: by it".into());
        assert_eq!(
            slow_sentences(&both),
            [
                "The path to 192.168.170.2 is slower than the others: nfs write 300.0 MB/s (the others 3.1 GB/s), \
             nfs read 200.0 MB/s (the others 3.1 GB/s). Its nfs read: network-bound: by it."
            ]
        );
        assert_eq!(slow_of(3_000_000_000, Bound::Client), [], "then it says nothing of the path");
        let mut broken = rows(3_000_000_000, Bound::Network);
        broken[1].outcome = RowOutcome::WriteFailed;
        assert_eq!(slow(&broken), [], "it is named as broken");
        assert_eq!(slow(&broken[..1]), [], "there is no other");
    }

    #[test]
    fn a_path_of_1500_bytes_to_an_interface_of_9000_is_warned_of() {
        let warnings = |mss| warnings(&row(11, 31_000_000_000, |phase| phase.mss_bytes = mss));
        assert!(warnings(8948).is_empty());
        let small = warnings(1448);
        assert_eq!(small.len(), 1);
        assert!(small[0].contains("packets of 9000 bytes") && small[0].contains("carries 1500"), "{small:?}");
        let mut unknown = row(11, 31_000_000_000, |phase| phase.mss_bytes = 1448);
        unknown.path.array_mtu = None;
        assert!(super::warnings(&unknown).is_empty());
    }

    #[test]
    fn lost_segments_answers_and_connections_are_warned_of() {
        let of = |change: fn(&mut PhaseFigures)| warnings(&row(11, 31_000_000_000, change));
        let lossy = of(|phase| phase.retransmits = 50_000);
        assert!(lossy[0].starts_with("50000 TCP segments (1."), "{lossy:?}");
        // What the verdict does not count as loss causes no warning either.
        assert!(of(|phase| phase.retransmits = 5000).is_empty(), "1.4 in a thousand");
        assert!(of(|phase| phase.retransmits = 1).is_empty(), "one in millions is no loss");
        let stalled = of(|phase| phase.unanswered = 3);
        assert!(stalled[0].starts_with("3 operations had no answer"), "{stalled:?}");
        let broken = of(|phase| phase.reconnects = 2);
        assert!(broken[0].contains("2 connections were lost"), "{broken:?}");
        let why = of(|phase| {
            phase.reconnects = 2;
            ReconnectReason::count(&mut phase.reconnect_reasons, "the server closed the connection", 2);
        });
        let expected = "2 connections were lost and made again: the server closed the connection";
        assert_eq!(why, [expected]);
    }
}
