//! Per-host comparison of a fleet: which host changed when the others did not.
//!
//! Each host is tested twice: against itself in the other run, with the same test as the combined result, and against
//! the change expected from the median of the other hosts. It stands out when both tests show a difference: its p-value
//! is the larger of the two (Berger 1982, the intersection-union test), and Holm's procedure covers all hosts of all
//! cells.

use serde::Serialize;
use stats::{Call, ComparedSide, Difference, Estimate};
use store::{CellResult, HostResult};

use super::matching::RepeatedPoint;
use super::{CellComparison, Metric, text};

/// Maximum hosts named in a line.
const NAMED: usize = 4;

/// One host in both runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HostComparison {
    /// Its name.
    pub host: String,
    /// Its figures in the first run, one per repetition.
    pub a: Vec<Estimate>,
    /// Its figures in the second run.
    pub b: Vec<Estimate>,
    /// The difference, tested alone.
    pub difference: Difference,
    /// Median change of the other hosts: `b / a - 1`.
    pub others: f64,
    /// p-value of having changed, and differently from the others; adjusted for the number of hosts compared (Holm
    /// 1979).
    pub adjusted_p_value: f64,
    /// It changed, and differently from the others.
    pub stands_out: bool,
}

/// The hosts of a point, if both runs have the same hosts and more than one. Lost hosts are skipped.
pub fn of(
    metric: Metric,
    a: &RepeatedPoint<'_>,
    b: &RepeatedPoint<'_>,
    threshold: f64,
) -> Vec<HostComparison> {
    let Some(names) = names(a).filter(|names| Some(names) == self::names(b).as_ref()) else {
        return Vec::new();
    };
    let each: Option<Vec<_>> = names
        .into_iter()
        .filter(|name| [a, b].iter().all(|group| group.results.iter().all(|of| !is_lost(of, name))))
        .map(|name| {
            let (of_a, of_b) = (estimates(metric, a, &name)?, estimates(metric, b, &name)?);
            Some((name, of_a, of_b))
        })
        .collect();
    let Some(each) = each.filter(|each| each.len() > 1) else { return Vec::new() };
    let changes: Vec<f64> = each.iter().map(|(_, a, b)| super::mean(b) / super::mean(a)).collect();
    let level = (a.level_held(), b.level_held());
    let compare = |a: &[Estimate], b: &[Estimate]| {
        stats::compare(
            &ComparedSide { repetitions: a, level: level.0 },
            &ComparedSide { repetitions: b, level: level.1 },
            metric.better(),
            threshold,
        )
    };
    let of_host = |(n, (name, a, b)): (usize, (String, Vec<Estimate>, Vec<Estimate>))| {
        let others = middle(changes.iter().enumerate().filter(|(m, _)| *m != n).map(|(_, change)| *change));
        let expected: Vec<Estimate> = a.iter().map(|estimate| estimate.scaled(others)).collect();
        let difference = compare(&a, &b);
        let adjusted_p_value = difference.p_value.max(compare(&expected, &b).p_value);
        HostComparison {
            host: name,
            a,
            b,
            difference,
            others: others - 1.0,
            adjusted_p_value,
            stands_out: false,
        }
    };
    each.into_iter().enumerate().map(of_host).collect()
}

/// Adjusts the p-values of all hosts of all cells, and marks the hosts that stand out.
pub fn adjust(cells: &mut [CellComparison]) {
    let mut hosts: Vec<&mut HostComparison> = cells.iter_mut().flat_map(|cell| &mut cell.hosts).collect();
    let plain: Vec<f64> = hosts.iter().map(|host| host.adjusted_p_value).collect();
    for (host, adjusted) in hosts.iter_mut().zip(stats::holm(&plain)) {
        host.adjusted_p_value = adjusted;
        host.stands_out = adjusted < stats::SIGNIFICANCE;
    }
}

/// Which hosts changed when the others did not, in one line; `None` if none stands out.
pub fn line(hosts: &[HostComparison]) -> Option<String> {
    let (apart, rest): (Vec<_>, Vec<_>) = hosts.iter().partition(|host| host.stands_out);
    let said = |is: fn(Call) -> bool, word: &str| {
        let of: Vec<_> = apart.iter().copied().filter(|host| is(host.difference.call)).collect();
        named(&of, word)
    };
    let mut parts: Vec<String> =
        [said(Call::is_worse, "slower"), said(Call::is_better, "faster")].into_iter().flatten().collect();
    let both = parts.len() > 1;
    let (subject, verb) = if rest.len() == 1 { ("the other", "is") } else { ("the others", "are") };
    if parts.is_empty() {
        return None;
    }
    if rest.iter().any(|host| host.difference.call != Call::NoDifference) {
        let changes: Vec<f64> = rest.iter().map(|host| host.difference.relative).collect();
        parts.push(format!("{subject} changed by {}", range(&changes, text::percent)));
    } else if !rest.is_empty() {
        parts.push(format!("{subject} {verb} {}", if both { "neither" } else { "not" }));
    }
    Some(parts.join(", "))
}

/// `host2 is 31 % slower`; a range for several hosts.
fn named(hosts: &[&HostComparison], word: &str) -> Option<String> {
    let plain = |share: f64| text::percent(share.abs()).trim_start_matches(['+', '±']).to_owned();
    let changes: Vec<f64> = hosts.iter().map(|host| host.difference.relative.abs()).collect();
    let amount = range(&changes, plain);
    let names: Vec<&str> = hosts.iter().take(NAMED).map(|host| host.host.as_str()).collect();
    let more = hosts.len().saturating_sub(NAMED);
    match names.as_slice() {
        [] => None,
        [one] => Some(format!("{one} is {amount} {word}")),
        _ if more > 0 => Some(format!("{} and {more} more are {amount} {word}", names.join(", "))),
        [first @ .., last] => Some(format!("{} and {last} are {amount} {word}", first.join(", "))),
    }
}

/// One value, or the range from min to max.
fn range(values: &[f64], text: impl Fn(f64) -> String) -> String {
    let least = text(values.iter().copied().fold(f64::INFINITY, f64::min));
    let greatest = text(values.iter().copied().fold(f64::NEG_INFINITY, f64::max));
    if least == greatest { least } else { format!("{least} to {greatest}") }
}

/// The hosts of a point's results; `None` unless all results have the same hosts.
fn names(group: &RepeatedPoint<'_>) -> Option<Vec<String>> {
    let of = |result: &&CellResult| -> Vec<String> {
        let mut names: Vec<String> = result.hosts.iter().map(|host| host.name.clone()).collect();
        names.sort();
        names
    };
    let first = of(group.results.first()?);
    (!first.is_empty() && group.results.iter().all(|result| of(result) == first)).then_some(first)
}

fn host<'a>(result: &'a CellResult, name: &str) -> Option<&'a HostResult> {
    result.hosts.iter().find(|host| host.name == name)
}

fn is_lost(result: &CellResult, name: &str) -> bool {
    host(result, name).is_none_or(|host| host.lost.is_some())
}

fn estimates(metric: Metric, group: &RepeatedPoint<'_>, name: &str) -> Option<Vec<Estimate>> {
    let of = |result: &&CellResult| host(result, name).and_then(|host| metric.of(&host.total, &host.ops));
    group.results.iter().map(of).collect()
}

/// The median.
fn middle(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.filter(|value| value.is_finite()).collect();
    values.sort_by(f64::total_cmp);
    match values.len() {
        0 => 1.0,
        n if n % 2 == 1 => values[n / 2],
        n => (values[n / 2 - 1] + values[n / 2]) / 2.0,
    }
}
