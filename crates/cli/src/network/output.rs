//! The results of a network measurement as text for people.

use checks::link_way;
use stats::{NetworkJudgement, NetworkLink, NetworkMatrix};
use units::{ByteRate, latency};

use report::{FittedTable, TableColumn};

use crate::results::words;

/// Maximum number of hosts whose matrix fits into a terminal.
const MAX_COLUMNS: usize = 12;

/// The whole text.
pub fn text(matrix: &NetworkMatrix, judgement: &NetworkJudgement, width: usize) -> String {
    let mut out = String::new();
    for kind in matrix.kinds() {
        out.push_str(&format!("\n{}, throughput from row to column\n", link_way(kind)));
        if matrix.hosts.len() <= MAX_COLUMNS {
            out.push_str(&grid(matrix, kind, width));
        }
        out.push_str(&links(matrix, kind, width));
    }
    out.push('\n');
    for line in verdict(matrix, judgement) {
        out.push_str(&format!("{line}\n"));
    }
    out
}

/// Every fault, or the statement that there is none; a line each.
pub fn verdict(matrix: &NetworkMatrix, judgement: &NetworkJudgement) -> Vec<String> {
    checks::network_verdict(matrix, judgement).iter().map(|line| words::plain(line)).collect()
}

fn grid(matrix: &NetworkMatrix, kind: (u32, bool), width: usize) -> String {
    let count = u32::try_from(matrix.hosts.len()).unwrap_or(u32::MAX);
    let mut columns = vec![TableColumn::left("")];
    columns.extend(matrix.hosts.iter().map(TableColumn::right));
    let cell = |from: u32, to: u32| {
        let link = matrix.of_kind(kind).find(|link| (link.from, link.to) == (from, to));
        match link.map(|link| link.throughput) {
            Some(Some(estimate)) => ByteRate(estimate.mean).to_string(),
            Some(None) => "failed".into(),
            None => "·".into(),
        }
    };
    let rows = (0..count).filter(|from| matrix.of_kind(kind).any(|link| link.from == *from)).map(|from| {
        let mut row = vec![matrix.host(from).to_owned()];
        row.extend((0..count).map(|to| cell(from, to)));
        row
    });
    FittedTable::of(columns, rows.collect()).text(width, "  ")
}

fn links(matrix: &NetworkMatrix, kind: (u32, bool), width: usize) -> String {
    let titles = [
        ("link", 0),
        ("throughput", 0),
        ("", 6),
        ("± 95 %", 0),
        ("retrans", 0),
        ("round trip", 3),
        ("min", 4),
        ("window", 5),
        ("MSS", 7),
        ("path MTU", 2),
        ("held back by", 1),
    ];
    let rows = matrix.of_kind(kind).map(|link| row(matrix, link)).collect();
    words::table(&titles, 1, rows, (width, "  "))
}

fn row(matrix: &NetworkMatrix, link: &NetworkLink) -> Vec<String> {
    let tcp = &link.tcp;
    let none = || "-".to_owned();
    let time = |nanos: Option<u64>| nanos.map_or_else(none, latency);
    vec![
        matrix.name(link.from, link.to),
        link.throughput.map_or_else(|| "failed".to_owned(), |estimate| ByteRate(estimate.mean).to_string()),
        link.throughput.map_or_else(String::new, |estimate| ByteRate(estimate.mean).as_bits()),
        link.throughput.as_ref().map_or_else(none, words::half_width),
        tcp.retransmits.to_string(),
        time(tcp.round_trip_ns),
        time(tcp.least_round_trip_ns),
        tcp.congestion_window_bytes.map_or_else(none, |bytes| units::Size(bytes).rounded()),
        tcp.mss_bytes.map_or_else(none, |bytes| bytes.to_string()),
        path_mtu(matrix, link),
        tcp.limits.map_or_else(none, |limits| limits.most().to_owned()),
    ]
}

/// The probed path MTU, else the one known to TCP.
fn path_mtu(matrix: &NetworkMatrix, link: &NetworkLink) -> String {
    let probed = matrix.path_mtu(link.from, link.to);
    let bytes = probed.and_then(|path| path.bytes).or(link.tcp.path_mtu_bytes);
    let mark = if probed.is_some_and(|path| path.black_hole().is_some()) { ", black hole" } else { "" };
    bytes.map_or_else(|| "-".to_owned(), |bytes| format!("{bytes}{mark}"))
}

#[cfg(test)]
mod tests {
    use stats::{LinkFacts, LinkLimits, NetworkPathMtu, estimate, judge_network};

    use super::*;

    fn link(from: u32, to: u32, megabytes: f64) -> NetworkLink {
        let rates = [megabytes * 1e6, megabytes * 1.002e6, megabytes * 0.998e6];
        NetworkLink {
            from,
            to,
            streams: 1,
            both_ways: false,
            throughput: Some(estimate(&rates)),
            failure: None,
            from_address: None,
            to_address: None,
            tcp: LinkFacts {
                retransmits: if megabytes < 30.0 { 812 } else { 0 },
                limits: Some(LinkLimits { network: 0.9, sender: 0.1, ..LinkLimits::default() }),
                ..LinkFacts::default()
            },
        }
    }

    fn matrix(rates: [f64; 6]) -> NetworkMatrix {
        let pairs = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)];
        NetworkMatrix {
            hosts: ["alpha", "beta", "gamma", "delta"].map(String::from).to_vec(),
            links: pairs.iter().zip(rates).map(|((from, to), rate)| link(*from, *to, rate)).collect(),
            path_mtus: Vec::new(),
        }
    }

    #[test]
    fn the_degraded_link_is_named_with_its_reason() {
        let matrix = matrix([40.0, 40.3, 39.9, 40.1, 20.0, 40.2]);
        let text = text(&matrix, &judge_network(&matrix), 120);
        for expected in [
            "1 stream, throughput from row to column",
            "Degraded: beta → delta: 20.0 MB/s (160 Mbit/s), 50 % below the median 40.0 MB/s (320.4 Mbit/s) of 5 comparable links",
            "812 segments sent again, held back by the network",
        ] {
            assert!(text.contains(expected), "{expected:?} is missing in\n{text}");
        }
        assert_eq!(text.matches("Degraded").count(), 1, "{text}");
    }

    #[test]
    fn equal_links_are_said_to_be_equal() {
        let matrix = matrix([40.0, 40.3, 39.9, 40.1, 40.0, 40.2]);
        let lines = verdict(&matrix, &judge_network(&matrix));
        assert_eq!(lines.len(), 1);
        assert!(lines[0].starts_with("No link is degraded"), "{lines:?}");
    }

    #[test]
    fn a_black_hole_is_named_and_what_was_not_probed_is_told() {
        let mut matrix = matrix([40.0, 40.3, 39.9, 40.1, 40.0, 40.2]);
        let path = |to, bytes, believed_bytes, failure: Option<&str>| NetworkPathMtu {
            from: 0,
            to,
            bytes,
            believed_bytes,
            failure: failure.map(str::to_owned),
        };
        matrix.path_mtus = vec![
            path(1, Some(1400), Some(1500), None),
            path(2, Some(1400), Some(1400), None),
            path(3, None, None, Some("no probe was answered")),
        ];
        matrix.links[2].tcp.path_mtu_bytes = Some(9000);
        let text = text(&matrix, &judge_network(&matrix), 120);
        for (link, expected) in [("beta", "1400, black hole"), ("gamma", "1400 "), ("delta", "9000 ")] {
            let line = text.lines().find(|line| line.contains(&format!("alpha → {link}  ")));
            assert!(line.is_some_and(|line| line.contains(expected)), "{expected:?} is missing in\n{text}");
        }
        assert_eq!(text.matches("black hole for packets larger than 1400 bytes").count(), 1, "{text}");
        assert!(
            text.contains("The path MTU of 1 of 3 links was not probed (alpha → delta: no probe"),
            "{text}"
        );
        assert!(text.contains("No link is degraded"), "{text}");
    }

    #[test]
    fn two_links_are_not_judged_and_failures_are_said() {
        let mut matrix = matrix([40.0; 6]);
        matrix.links.truncate(2);
        matrix.links[1].throughput = None;
        matrix.links[1].failure = Some("nobody\nlistened".into());
        let lines = verdict(&matrix, &judge_network(&matrix));
        assert_eq!(lines[0], "alpha → gamma could not be measured: nobody listened");
        assert!(lines[1].contains("too few links"), "{lines:?}");
    }
}
