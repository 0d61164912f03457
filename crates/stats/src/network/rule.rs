//! Which link, or which host, is worse than the others: based on medians and on how much equal links differ at random.
//!
//! Links are compared with those measured in the same mode. Let `m` be their median throughput and `s` their spread:
//! 1.4826 times the median distance from `m`, which is the standard deviation of normal noise and robust against a few
//! bad links. A link is degraded when it lies at least a tenth below `m` **and** `(m − x) / s` is larger than in all
//! but one of 200 matrices of as many equal links with normal noise, whatever the noise's size: that number is found by
//! drawing such matrices. A host is degraded when each of its links lies a tenth below the median of the links without
//! it, and the distance of the two medians, in spreads about their own medians, is again beyond all but one of 200
//! matrices. Hosts are checked first, and the links of a degraded host are then left out. Equal links therefore cause a
//! false alarm in at most one of 100 matrices per mode.

use fastrand::Rng;
use serde::{Deserialize, Serialize};

use super::NetworkMatrix;

/// How far below the median a link must lie to be called degraded, as a share of the median: less is of no consequence.
pub const MIN_SHORTFALL: f64 = 0.1;
/// Minimum spread of equal links, as a share of their median.
const MIN_SPREAD: f64 = 0.005;
/// Minimum number of links needed to know what is usual.
const MIN_LINKS: usize = 3;
/// Share of matrices of equal links in which each of the two searches finds nothing.
const CONFIDENCE: f64 = 0.995;
/// Total random numbers drawn, which determines the number of matrices within the bounds below.
const NUMBERS: usize = 20_000_000;
const DRAWS: (usize, usize) = (1000, 20_000);

/// What is degraded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Degraded {
    /// All links of a host.
    Host(u32),
    /// One link, from one host to another.
    Link(u32, u32),
}

/// A link or host that is worse than the others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NetworkFinding {
    /// What.
    pub of: Degraded,
    /// TCP connections of the links that were compared.
    pub streams: u32,
    /// Whether they were loaded both ways at once.
    pub both_ways: bool,
    /// Its throughput in bytes per second; for a host, the median of its links.
    pub bytes_per_s: f64,
    /// Median throughput of the links it was compared with.
    pub usual_bytes_per_s: f64,
    /// Their spread in bytes per second: a standard deviation, estimated robustly.
    pub spread_bytes_per_s: f64,
    /// Number of those links.
    pub compared: u32,
}

/// The judgement on a matrix.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NetworkJudgement {
    /// What is degraded, worst first.
    pub findings: Vec<NetworkFinding>,
    /// Links that could not be measured, from one host to another.
    pub failed: Vec<(u32, u32)>,
    /// Modes with too few links to tell what is usual: streams, and whether both ways at once.
    pub not_judged: Vec<(u32, bool)>,
}

/// A link of one mode: its hosts and its throughput.
type Point = (u32, u32, f64);

/// Judges each mode separately. The same matrix gets the same judgement.
pub fn judge_network(matrix: &NetworkMatrix) -> NetworkJudgement {
    let mut judgement = NetworkJudgement::default();
    for kind in matrix.kinds() {
        let failed = matrix.of_kind(kind).filter(|link| link.throughput.is_none());
        judgement.failed.extend(failed.map(|link| (link.from, link.to)));
        let measured = matrix.of_kind(kind).filter_map(|link| {
            let rate = link.throughput.map(|estimate| estimate.mean).filter(|rate| rate.is_finite())?;
            Some((link.from, link.to, rate))
        });
        let points: Vec<Point> = measured.collect();
        if points.len() < MIN_LINKS {
            judgement.not_judged.push(kind);
            continue;
        }
        let found = judge(&points, &Bounds::of(&points));
        judgement.findings.extend(found.into_iter().map(|mut finding| {
            (finding.streams, finding.both_ways) = kind;
            finding
        }));
    }
    judgement.failed.sort_unstable();
    judgement.failed.dedup();
    let share =
        |finding: &NetworkFinding| finding.bytes_per_s / finding.usual_bytes_per_s.max(f64::MIN_POSITIVE);
    judgement.findings.sort_by(|a, b| share(a).total_cmp(&share(b)));
    judgement
}

/// What equal links do not exceed, in spreads: for the worst link and for the worst host.
#[derive(Clone, Copy, Debug)]
struct Bounds {
    link: f64,
    host: f64,
}

impl Bounds {
    /// Draws matrices of equal links between the same hosts.
    fn of(points: &[Point]) -> Bounds {
        let hosts = hosts(points);
        let draws = (NUMBERS / (points.len() * (hosts.len() + 1))).clamp(DRAWS.0, DRAWS.1);
        let mut rng = Rng::with_seed(0x006d_616e_6f6d_6574);
        let mut drawn = points.to_vec();
        let (mut links, mut of_hosts) = (Vec::with_capacity(draws), Vec::with_capacity(draws));
        for _ in 0..draws {
            drawn.iter_mut().for_each(|point| point.2 = normal(&mut rng));
            let (median, spread) = centre(&values(&drawn));
            let least = drawn.iter().map(|point| point.2).fold(f64::MAX, f64::min);
            links.push((median - least) / spread);
            let worst =
                hosts.iter().filter_map(|host| Apart::of(&drawn, *host)).map(|apart| apart.distance(0.0));
            of_hosts.push(worst.fold(0.0, f64::max));
        }
        Bounds { link: quantile(links), host: quantile(of_hosts) }
    }
}

/// A host's links compared with the others.
struct Apart {
    own: f64,
    others: f64,
    /// Spread of both groups around their own medians.
    spread: f64,
    /// The best of the host's own links.
    best: f64,
    compared: usize,
}

impl Apart {
    /// `None` if there are too few to compare.
    fn of(points: &[Point], host: u32) -> Option<Apart> {
        let touches = |point: &&Point| point.0 == host || point.1 == host;
        let own: Vec<f64> = points.iter().filter(touches).map(|point| point.2).collect();
        let others: Vec<f64> = points.iter().filter(|point| !touches(point)).map(|point| point.2).collect();
        if own.len() < 2 || others.len() < MIN_LINKS {
            return None;
        }
        let (mine, theirs) = (median(&own), median(&others));
        let mut apart: Vec<f64> = own.iter().map(|value| (value - mine).abs()).collect();
        apart.extend(others.iter().map(|value| (value - theirs).abs()));
        Some(Apart {
            own: mine,
            others: theirs,
            spread: 1.4826 * median(&apart),
            best: own.iter().copied().fold(f64::MIN, f64::max),
            compared: others.len(),
        })
    }

    /// How far the host lies below the others, in spreads.
    fn distance(&self, least_spread: f64) -> f64 {
        (self.others - self.own) / self.spread.max(least_spread).max(f64::MIN_POSITIVE)
    }
}

fn judge(points: &[Point], bounds: &Bounds) -> Vec<NetworkFinding> {
    let mut findings = Vec::new();
    let mut left = points.to_vec();
    // Each round removes a host's links, so the loop ends.
    while let Some((host, apart)) = worst_host(&left, bounds) {
        findings.push(NetworkFinding {
            of: Degraded::Host(host),
            streams: 0,
            both_ways: false,
            bytes_per_s: apart.own,
            usual_bytes_per_s: apart.others,
            spread_bytes_per_s: apart.spread.max(MIN_SPREAD * apart.others),
            compared: u32::try_from(apart.compared).unwrap_or(u32::MAX),
        });
        left.retain(|point| point.0 != host && point.1 != host);
    }
    if left.len() < MIN_LINKS {
        return findings;
    }
    let (median, spread) = centre(&values(&left));
    let spread = spread.max(MIN_SPREAD * median);
    let low = left.iter().filter(|point| {
        point.2 < median * (1.0 - MIN_SHORTFALL) && (median - point.2) / spread > bounds.link
    });
    findings.extend(low.map(|point| NetworkFinding {
        of: Degraded::Link(point.0, point.1),
        streams: 0,
        both_ways: false,
        bytes_per_s: point.2,
        usual_bytes_per_s: median,
        spread_bytes_per_s: spread,
        compared: u32::try_from(left.len() - 1).unwrap_or(u32::MAX),
    }));
    findings
}

fn worst_host(points: &[Point], bounds: &Bounds) -> Option<(u32, Apart)> {
    let degraded = hosts(points).into_iter().filter_map(|host| {
        let apart = Apart::of(points, host)?;
        let distance = apart.distance(MIN_SPREAD * apart.others);
        let low = apart.best < apart.others * (1.0 - MIN_SHORTFALL) && distance > bounds.host;
        low.then_some((host, apart, distance))
    });
    degraded.max_by(|a, b| a.2.total_cmp(&b.2)).map(|(host, apart, _)| (host, apart))
}

fn hosts(points: &[Point]) -> Vec<u32> {
    let mut hosts: Vec<u32> = points.iter().flat_map(|point| [point.0, point.1]).collect();
    hosts.sort_unstable();
    hosts.dedup();
    hosts
}

fn values(points: &[Point]) -> Vec<f64> {
    points.iter().map(|point| point.2).collect()
}

/// The median and the spread around it.
fn centre(values: &[f64]) -> (f64, f64) {
    let middle = median(values);
    let apart: Vec<f64> = values.iter().map(|value| (value - middle).abs()).collect();
    (middle, 1.4826 * median(&apart))
}

fn median(values: &[f64]) -> f64 {
    let mut values = values.to_vec();
    let at = values.len() / 2;
    let even = values.len().is_multiple_of(2);
    let (below, middle, _) = values.select_nth_unstable_by(at, f64::total_cmp);
    let middle = *middle;
    if even { below.iter().copied().fold(f64::MIN, f64::max).midpoint(middle) } else { middle }
}

fn quantile(mut values: Vec<f64>) -> f64 {
    let at = ((values.len() as f64 * CONFIDENCE) as usize).min(values.len() - 1);
    *values.select_nth_unstable_by(at, f64::total_cmp).1
}

/// A normally distributed value (Box and Muller).
fn normal(rng: &mut Rng) -> f64 {
    let (a, b) = (1.0 - rng.f64(), rng.f64());
    (-2.0 * a.ln()).sqrt() * (std::f64::consts::TAU * b).cos()
}

#[cfg(test)]
mod tests;
