//! The hosts of a fleet side by side: their evenness, each over time, each in figures, and their paths.

use std::collections::BTreeMap;
use std::fmt::Write;

use metrics::PathFacts;
use stats::Measure;
use store::{CellResult, HostResult};

use super::charts::{self, Picture};
use super::details::{table, text};
use super::escape;
use super::figure::Figures;
use crate::document::{CellView, HostLine, TimelinePoint};
use crate::figures::FigureUnit;
use crate::svg::{Axis, Chart, ChartData};

/// Above this number of hosts, lines cannot be told apart: min, median and max are drawn instead.
pub const LINES: usize = 16;
/// Maximum rows of paths shown per cell.
const PATHS: usize = 64;

/// A cell's section on its hosts; empty with a single host.
pub fn hosts(
    position: usize,
    name: &str,
    view: &CellView,
    result: &CellResult,
    figures: &Figures<'_>,
) -> String {
    if result.hosts.is_empty() {
        return String::new();
    }
    let path = format!("/cells/{position}/result");
    let number = position + 1;
    let mut out = format!(
        "<section class=\"hosts\" aria-labelledby=\"hosts-title-{number}\"><h4 id=\"hosts-title-{number}\">Hosts</h4>"
    );
    out.push_str(&evenness(&path, result, figures));
    if let Some(picture) = over_time(position, name, view, result) {
        out.push_str(&super::cell::figure(picture));
    }
    out.push_str(&side_by_side(&path, result, figures));
    out.push_str("</section>");
    out
}

fn evenness(path: &str, result: &CellResult, figures: &Figures<'_>) -> String {
    let lost: Vec<&HostResult> = result.hosts.iter().filter(|host| host.lost.is_some()).collect();
    let class = if lost.is_empty() { "reasons" } else { "reasons warn" };
    let mut out = format!("<ul class=\"{class}\"><li>{}", super::words::count(result.hosts.len(), "host"));
    if let Some(fleet) = &result.fleet {
        let _ = write!(
            out,
            " started within {} (± {})",
            figures.get(&format!("{path}/fleet/start_skew_ns"), FigureUnit::Ns),
            figures.get(&format!("{path}/fleet/skew_uncertainty_ns"), FigureUnit::Ns)
        );
        out.push_str("</li>");
        for (n, spread) in fleet.spread.iter().enumerate() {
            let (what, unit, worst) = match spread.measure {
                Measure::BytesPerS => ("Throughput", FigureUnit::BytesPerS, "slowest"),
                Measure::OpsPerS => ("IOPS", FigureUnit::OpsPerS, "slowest"),
                Measure::P50Ns | Measure::P99Ns | Measure::MeanNs => ("p99", FigureUnit::Ns, "longest"),
            };
            let at = |field: &str, unit| figures.get(&format!("{path}/fleet/spread/{n}/{field}"), unit);
            let _ = write!(
                out,
                "<li>{what} of a host from {} to {}, varies by {}; {worst}: <strong>{}</strong></li>",
                at("least", unit),
                at("greatest", unit),
                at("variation", FigureUnit::Percent),
                escape(&spread.slowest)
            );
        }
    } else {
        out.push_str("</li>");
    }
    for host in lost {
        if let Some(loss) = &host.lost {
            let _ = write!(
                out,
                "<li><strong>✕ {} was lost</strong> at {} of the measurement: {}. Its figures end there; it is no part of the spread.</li>",
                escape(&host.name),
                figures.get(&format!("{path}/hosts/{}/lost/at_s", place(result, host)), FigureUnit::Seconds),
                escape(loss.why.trim_end_matches('.'))
            );
        }
    }
    out.push_str("</ul>");
    out
}

fn place(result: &CellResult, host: &HostResult) -> usize {
    result.hosts.iter().position(|known| std::ptr::eq(known, host)).unwrap_or(0)
}

/// Moments in seconds, each with an event.
pub type Moments = Vec<(f64, String)>;

/// The lost hosts as marks on a time axis, with their legend entry.
pub fn lost(result: &CellResult) -> Option<((String, String), Moments)> {
    let marks: Moments = result
        .hosts
        .iter()
        .filter_map(|host| {
            let lost = host.lost.as_ref()?;
            Some((lost.at_s, format!("{} was lost at {:.1} s: {}", host.name, lost.at_s, lost.why)))
        })
        .collect();
    let key = match marks.as_slice() {
        [] => return None,
        [_] => {
            let name = result.hosts.iter().find(|host| host.lost.is_some()).map_or("", |host| &host.name);
            format!("{name} was lost")
        }
        several => format!("{} hosts were lost", several.len()),
    };
    Some((("mark lost".into(), key), marks))
}

/// The slowest host that finished, by throughput or by IOPS.
fn slowest(result: &CellResult, ops: bool) -> Option<&str> {
    let wanted = if ops { Measure::OpsPerS } else { Measure::BytesPerS };
    let spread = result.fleet.as_ref()?.spread.iter().find(|spread| spread.measure == wanted)?;
    // Equal hosts have no slowest one.
    (spread.greatest > spread.least).then_some(spread.slowest.as_str())
}

fn over_time(position: usize, name: &str, view: &CellView, result: &CellResult) -> Option<Picture> {
    let longest = view.hosts.iter().max_by_key(|host| host.points.len())?;
    let ops = charts::counts_operations(view);
    let of = |point: &crate::TimelinePoint| if ops { point.ops_per_s } else { point.bytes_per_s };
    let unit = if ops { FigureUnit::OpsPerS } else { FigureUnit::BytesPerS };
    let points = || view.hosts.iter().flat_map(|host| &host.points);
    let most = points().map(|point| of(point).mean).fold(0.0, f64::max);
    let (first, last) = (longest.points.first()?.start_s, longest.points.last()?.end_s);
    let what = if ops { "IOPS" } else { "Throughput" };
    let slow = slowest(result, ops);
    let mut chart = Chart::new(
        charts::OVER_TIME,
        Axis::time(first.min(0.0), last, "time since the measurement began"),
        Axis::from_zero(most, unit, ""),
        &format!("{what} of each host over time, {name}"),
        &format!(
            "{} hosts, {} at most.{}",
            view.hosts.len(),
            unit.text(most),
            slow.map(|slow| format!(" The slowest is {slow}.")).unwrap_or_default()
        ),
    );
    chart.attribute("data-zoom", "time");
    chart.data(&format!("hosts-{position}"), &data(view, ops));
    charts::reported(&mut chart, result);
    let mut legend = Vec::new();
    let draw = |chart: &mut Chart, class: &str, host: &HostLine| {
        chart.line(class, host.points.iter().map(|point| (point.middle_s(), Some(of(point).mean))));
    };
    if view.hosts.len() <= LINES {
        for (index, host) in view.hosts.iter().enumerate() {
            draw(&mut chart, &class(index, slow == Some(host.name.as_str())), host);
        }
        for (index, host) in view.hosts.iter().enumerate() {
            let is_slow = slow == Some(host.name.as_str());
            let lost = result.hosts.iter().any(|known| known.name == host.name && known.lost.is_some());
            let note = match (is_slow, lost) {
                (_, true) => " (lost)",
                (true, _) => " (slowest)",
                _ => "",
            };
            legend.push((class(index, is_slow), format!("{}{note}", host.name)));
        }
    } else {
        let (band, middles) = spread(view, of);
        chart.band("c0", &band);
        chart.line("c0", middles);
        legend.push(("c0".into(), "median of the hosts".into()));
        legend.push(("band c0".into(), format!("min to max of {} hosts", view.hosts.len())));
        if let Some(host) = view.hosts.iter().find(|host| slow == Some(host.name.as_str())) {
            draw(&mut chart, "c1 slowest", host);
            legend.push(("c1".into(), format!("{} (slowest)", host.name)));
        }
    }
    if let Some((key, marks)) = lost(result) {
        legend.push(key);
        chart.moments("lost", marks);
    }
    Some(Picture { svg: chart.finish(), title: format!("{what} of each host"), legend })
}

/// Each host, or for many hosts the lines drawn for them.
fn data(view: &CellView, ops: bool) -> ChartData {
    let of = |point: &crate::TimelinePoint| if ops { point.ops_per_s } else { point.bytes_per_s };
    let unit = if ops { FigureUnit::OpsPerS } else { FigureUnit::BytesPerS };
    if view.hosts.len() > LINES {
        let (band, middles) = spread(view, of);
        let mut data = ChartData::over_time(middles.iter().map(|(at, _)| *at));
        data.row("median", unit, middles.iter().map(|(_, value)| value.unwrap_or(f64::NAN)));
        data.row("min", unit, band.iter().map(|(_, low, _)| *low));
        data.row("max", unit, band.iter().map(|(.., high)| *high));
        return data;
    }
    let longest = view.hosts.iter().max_by_key(|host| host.points.len());
    let mut data =
        ChartData::over_time(longest.into_iter().flat_map(|host| &host.points).map(TimelinePoint::middle_s));
    for host in &view.hosts {
        data.row(&host.name, unit, host.points.iter().map(|point| of(point).mean));
    }
    data
}

fn class(index: usize, slowest: bool) -> String {
    format!("{}{}", charts::line_class(index), if slowest { " slowest" } else { "" })
}

/// Min, max and median over the hosts at each moment.
#[allow(clippy::type_complexity, reason = "two lists of points")]
fn spread(
    view: &CellView,
    of: impl Fn(&crate::TimelinePoint) -> crate::ValueSpread,
) -> (Vec<(f64, f64, f64)>, Vec<(f64, Option<f64>)>) {
    let mut moments: BTreeMap<u64, (f64, Vec<f64>)> = BTreeMap::new();
    for point in view.hosts.iter().flat_map(|host| &host.points) {
        let at = moments.entry((point.start_s * 1e3) as u64).or_insert((point.middle_s(), Vec::new()));
        at.1.push(of(point).mean);
    }
    moments
        .into_values()
        .map(|(at, mut values)| {
            values.sort_by(f64::total_cmp);
            let (least, most) = (values[0], values[values.len() - 1]);
            ((at, least, most), (at, Some(values[values.len() / 2])))
        })
        .unzip()
}

fn side_by_side(path: &str, result: &CellResult, figures: &Figures<'_>) -> String {
    let moved = result.hosts.iter().any(|host| host.total.bytes > 0);
    let slow = slowest(result, !moved);
    let clocks = result.hosts.iter().any(|host| host.clock.is_some());
    let findings = result.limit.iter().flat_map(|limit| &limit.hosts);
    let finding: BTreeMap<&str, &str> =
        findings.map(|finding| (finding.host.as_str(), finding.sentence.as_str())).collect();
    let mut heads = vec!["host"];
    if moved {
        heads.push("throughput");
    }
    heads.extend(["IOPS", "p50", "p99", "p99.9", "failed", "started"]);
    if clocks {
        heads.extend(["clock", "drift, ppm"]);
    }
    if !finding.is_empty() {
        heads.push("held back by");
    }
    let rows: Vec<Vec<String>> = result
        .hosts
        .iter()
        .enumerate()
        .map(|(n, host)| {
            let at = format!("{path}/hosts/{n}");
            let note = match (&host.lost, slow == Some(host.name.as_str())) {
                (Some(_), _) => " <span class=\"badge bad\">✕ LOST</span>",
                (None, true) => " <span class=\"badge warn\">▾ slowest</span>",
                (None, false) => "",
            };
            let mut row = vec![format!("<span class=\"text\">{}</span>{note}", escape(&host.name))];
            let total = format!("{at}/total");
            if moved {
                row.push(figures.estimate(&format!("{total}/bytes_per_s"), FigureUnit::BytesPerS));
            }
            row.push(figures.estimate(&format!("{total}/ops_per_s"), FigureUnit::OpsPerS));
            let response = format!("{total}/response");
            row.extend(["p50_ns", "p99_ns", "p999_ns"].map(|field| figures.latency(&response, field)));
            row.push(figures.get(&format!("{total}/failed"), FigureUnit::Count));
            row.push(figures.get(&format!("{at}/started_ns"), FigureUnit::Ns));
            if clocks {
                row.push(match host.clock {
                    None => "leads".into(),
                    Some(_) => {
                        format!("± {}", figures.get(&format!("{at}/clock/uncertainty_ns"), FigureUnit::Ns))
                    }
                });
                row.push(figures.get(&format!("{at}/clock/drift_ppm"), FigureUnit::Plain));
            }
            if !finding.is_empty() {
                row.push(text(finding.get(host.name.as_str()).copied().unwrap_or("")));
            }
            row
        })
        .collect();
    table("Each host over the reported window; started: after the common start", &heads, &rows)
}

/// What each path to a server carried.
pub fn paths(path: &str, result: &CellResult, figures: &Figures<'_>) -> String {
    let own = result.paths.iter().enumerate().map(|(n, facts)| ("", format!("{path}/paths/{n}"), facts));
    let of_hosts = result.hosts.iter().enumerate().flat_map(|(h, host)| {
        let name = host.name.as_str();
        host.paths
            .iter()
            .enumerate()
            .map(move |(n, facts)| (name, format!("{path}/hosts/{h}/paths/{n}"), facts))
    });
    // The total over a fleet's paths says less than each path.
    let of_hosts: Vec<(&str, String, &PathFacts)> = of_hosts.collect();
    let all: Vec<_> = if of_hosts.is_empty() { own.collect() } else { of_hosts };
    let whole: u64 = all.iter().map(|(_, _, facts)| facts.bytes()).sum();
    let rows: Vec<Vec<String>> = all
        .iter()
        .take(PATHS)
        .map(|(host, at, facts)| {
            let get = |field: &str, unit| figures.get(&format!("{at}/{field}"), unit);
            let interface = facts.interface.as_deref().map(|name| format!("{name} ")).unwrap_or_default();
            let host = if host.is_empty() { String::new() } else { format!("{host}: ") };
            let share = facts.bytes() as f64 / whole.max(1) as f64;
            vec![
                text(&format!("{host}{interface}{} → {}", facts.local, facts.remote)),
                get("connections", FigureUnit::Count),
                get("bytes_sent", FigureUnit::Bytes),
                get("bytes_received", FigureUnit::Bytes),
                FigureUnit::Percent.text(share),
                get("retransmits", FigureUnit::Count),
                format!("{} µs", get("rtt_us", FigureUnit::Count)),
            ]
        })
        .collect();
    let more = match all.len().saturating_sub(PATHS) {
        0 => String::new(),
        more => format!(" ({more} more are in this page's data)"),
    };
    let heads = ["path", "connections", "sent", "received", "share", "retransmits", "round trip"];
    table(&format!("Paths over the measurement, by the kernel's counts{more}"), &heads, &rows)
}
