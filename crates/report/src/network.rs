//! The network between hosts as a picture: a row per sender, a column per receiver, coloured by throughput.

use std::fmt::Write;

use stats::{Degraded, NetworkLink, NetworkMatrix, judge_network};
use units::ByteRate;

use crate::html::escape;

/// Space for the hosts' names, and the size of a field.
const LEFT: usize = 150;
const TOP: usize = 120;
const FIELD: (usize, usize) = (112, 48);
/// Maximum letters shown of a name.
const LETTERS: usize = 18;

/// An SVG document of the links measured in one way: number of streams, and whether both directions at once. Colours
/// show the share of the median, from dark blue (as good as the others) to yellow (much worse); a degraded link also
/// has a thick frame and a mark, so that nothing relies on colour alone.
pub fn network_picture(matrix: &NetworkMatrix, kind: (u32, bool)) -> String {
    let count = matrix.hosts.len();
    let (width, height) = (LEFT + count * FIELD.0 + 20, TOP + count * FIELD.1 + 20);
    let (streams, both_ways) = kind;
    let title = match (streams, both_ways) {
        (1, false) => "1 stream".to_owned(),
        (1, true) => "1 stream, both ways at once".to_owned(),
        (several, false) => format!("{several} streams"),
        (several, true) => format!("{several} streams, both ways at once"),
    };
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" \
         role=\"img\" font-family=\"system-ui, sans-serif\" font-size=\"13\">\
         <title>Throughput between hosts, {title}</title>\
         <rect width=\"{width}\" height=\"{height}\" fill=\"#ffffff\"/>\
         <text x=\"12\" y=\"26\" font-size=\"16\" fill=\"#111111\">Throughput from row to column, {title}</text>"
    );
    names(&mut out, matrix);
    let median = median(matrix, kind);
    let degraded = degraded(matrix, kind);
    for link in matrix.of_kind(kind) {
        field(&mut out, matrix, link, median, degraded.contains(&(link.from, link.to)));
    }
    out.push_str("</svg>\n");
    out
}

fn names(out: &mut String, matrix: &NetworkMatrix) {
    for (at, host) in matrix.hosts.iter().enumerate() {
        let shown: String = host.chars().take(LETTERS).collect();
        let shown = escape(&shown);
        let (x, y) = (LEFT + at * FIELD.0 + FIELD.0 / 2, TOP + at * FIELD.1 + FIELD.1 / 2 + 4);
        // Writing to a String cannot fail.
        let _ = write!(
            out,
            "<text x=\"{}\" y=\"{y}\" text-anchor=\"end\" fill=\"#111111\">{shown}</text>\
             <text x=\"{x}\" y=\"{}\" text-anchor=\"middle\" fill=\"#111111\">{shown}</text>",
            LEFT - 8,
            TOP - 10,
        );
    }
}

fn field(out: &mut String, matrix: &NetworkMatrix, link: &NetworkLink, median: f64, bad: bool) {
    let (x, y) = (LEFT + link.to as usize * FIELD.0, TOP + link.from as usize * FIELD.1);
    let rate = link.throughput.map(|estimate| estimate.mean);
    let (colour, ink) = match rate {
        Some(rate) if median > 0.0 => colour(rate / median),
        _ => ("#ffffff", "#111111"),
    };
    let words = rate.map_or_else(|| "failed".to_owned(), |rate| ByteRate(rate).to_string());
    let mark = if bad { "▼ " } else { "" };
    let frame = if bad || rate.is_none() { ("#b00020", 4) } else { ("#ffffff", 1) };
    let name = escape(&matrix.name(link.from, link.to));
    let resent = link.tcp.retransmits;
    let _ = write!(
        out,
        "<g><title>{name}: {words}, {resent} segments sent again</title>\
         <rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{colour}\" stroke=\"{}\" stroke-width=\"{}\"/>\
         <text x=\"{}\" y=\"{}\" text-anchor=\"middle\" fill=\"{ink}\">{mark}{words}</text></g>",
        x + 2,
        y + 2,
        FIELD.0 - 4,
        FIELD.1 - 4,
        frame.0,
        frame.1,
        x + FIELD.0 / 2,
        y + FIELD.1 / 2 + 4,
    );
}

/// Colours for a share of the median: the field, and the text on it.
fn colour(share: f64) -> (&'static str, &'static str) {
    match share {
        share if share >= 0.95 => ("#1f3b73", "#ffffff"),
        share if share >= 0.9 => ("#35618f", "#ffffff"),
        share if share >= 0.75 => ("#7fa6c9", "#111111"),
        share if share >= 0.5 => ("#f2d16b", "#111111"),
        _ => ("#ffe033", "#111111"),
    }
}

fn median(matrix: &NetworkMatrix, kind: (u32, bool)) -> f64 {
    let mut rates: Vec<f64> =
        matrix.of_kind(kind).filter_map(|link| link.throughput.map(|estimate| estimate.mean)).collect();
    rates.sort_by(f64::total_cmp);
    rates.get(rates.len() / 2).copied().unwrap_or(0.0)
}

/// Degraded links, including all links of a degraded host.
fn degraded(matrix: &NetworkMatrix, kind: (u32, bool)) -> Vec<(u32, u32)> {
    let findings = judge_network(matrix).findings;
    let of = |link: &NetworkLink| {
        findings.iter().filter(|finding| (finding.streams, finding.both_ways) == kind).any(|finding| {
            match finding.of {
                Degraded::Host(host) => link.from == host || link.to == host,
                Degraded::Link(from, to) => (link.from, link.to) == (from, to),
            }
        })
    };
    matrix.of_kind(kind).filter(|link| of(link)).map(|link| (link.from, link.to)).collect()
}

#[cfg(test)]
mod tests {
    use stats::{LinkFacts, estimate};

    use super::*;

    #[test]
    fn every_link_is_drawn_and_the_degraded_one_marked() {
        let mut links = Vec::new();
        for (from, to) in [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)] {
            let rate = if (from, to) == (1, 3) { 4e8 } else { 1e9 + f64::from(to) * 1e6 };
            links.push(NetworkLink {
                from,
                to,
                streams: 8,
                both_ways: false,
                throughput: (to != 1).then(|| estimate(&[rate, rate * 1.001])),
                failure: None,
                from_address: None,
                to_address: None,
                tcp: LinkFacts::default(),
            });
        }
        let hosts = ["a<b", "b", "c", "a-host-with-a-very-long-name"].map(String::from).to_vec();
        let picture = network_picture(&NetworkMatrix { hosts, links, path_mtus: Vec::new() }, (8, false));
        assert!(picture.starts_with("<svg ") && picture.ends_with("</svg>\n"));
        assert_eq!(picture.matches("<g>").count(), 6);
        assert_eq!(picture.matches('▼').count(), 1);
        for expected in
            ["▼ 400.2 MB/s", "failed", "8 streams", "a&lt;b", "b → a-host-with-a-very-long-name: 400.2 MB/s"]
        {
            assert!(picture.contains(expected), "{expected:?} is missing in {picture}");
        }
        assert!(!picture.contains("a<b"));
    }
}
