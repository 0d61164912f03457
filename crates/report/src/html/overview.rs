//! The run at a glance: the results against each crossed parameter, and the latencies of all cells.

use std::fmt::Write;

use store::CellResult;

use super::charts::{Picture, SQUARE, line_class};
use super::parameters::{self, Crossed, Group};
use super::{curves, escape};
use crate::Document;
use crate::figures::FigureUnit;
use crate::svg::{Axis, Chart, ChartData, DataRow, Scale};

/// Maximum lines in a chart; beyond that, a selection spread evenly over their order.
const LINES: usize = 12;
/// Maximum workloads drawn; the matrix has all of them.
const GROUPS: usize = 8;
/// Values that span more than this factor get a logarithmic axis, like the shading of the matrix.
const WIDE: f64 = 10.0;
/// Maximum letters of all category labels below a chart.
const LETTERS: usize = 44;

/// A metric drawn against the parameters.
struct OverviewMetric {
    title: &'static str,
    unit: FigureUnit,
    /// A result's value with its interval.
    of: fn(&CellResult) -> Option<[f64; 3]>,
}

const METRICS: [OverviewMetric; 3] = [
    OverviewMetric {
        title: "Throughput",
        unit: FigureUnit::BytesPerS,
        of: |result| (result.total.bytes > 0).then(|| with_interval(&result.total.bytes_per_s)),
    },
    OverviewMetric {
        title: "IOPS",
        unit: FigureUnit::OpsPerS,
        of: |result| (result.total.ok > 0).then(|| with_interval(&result.total.ops_per_s)),
    },
    OverviewMetric {
        title: "p99",
        unit: FigureUnit::Ns,
        of: |result| {
            let of_all = result.total.response.p99_ns as f64;
            let [_, low, high] = with_interval(&result.total.p99_ns);
            (result.total.response.count > 0).then_some([of_all, low, high])
        },
    },
];

fn with_interval(estimate: &stats::Estimate) -> [f64; 3] {
    match estimate.samples > 1 {
        true => [estimate.mean, estimate.low.max(0.0), estimate.high],
        false => [estimate.mean; 3],
    }
}

/// A chart: a crossed parameter on the axis, and a line for each combination of the others.
struct Study<'a> {
    /// The parameter on the axis.
    axis: Crossed<'a>,
    /// The name of each line, and its cells for each value on the axis.
    lines: Vec<(String, Vec<Vec<usize>>)>,
    /// Number of lines before the limit.
    all_lines: usize,
}

/// The section; empty with fewer than two cells to compare.
pub fn overview(document: &Document) -> String {
    let groups = parameters::groups(document);
    let mut charts: Vec<(String, String)> = Vec::new();
    let mut number = 0;
    for group in groups.iter().take(GROUPS) {
        let pictures: String =
            studies(group).iter().map(|study| pictures(document, study, &mut number)).collect();
        charts.push((
            format!("{} <small>on {}</small>", escape(group.workload), escape(group.target)),
            pictures,
        ));
    }
    if let Some(study) = workloads(&groups) {
        charts.push(("Workloads".into(), pictures(document, &study, &mut number)));
    }
    charts.retain(|(_, pictures)| !pictures.is_empty());
    let curves = curves::of_all(document).map(super::cell::figure).unwrap_or_default();
    let curves = curves.replacen("<figure>", "<figure class=\"all-cells\">", 1);
    if charts.is_empty() && curves.is_empty() {
        return String::new();
    }
    let mut out = String::new();
    if !charts.is_empty() {
        out.push_str(
            "<p class=\"quiet\">Bands and whiskers are 95 % intervals (of p99: of the mean of the one-second percentiles). \
             Repetitions of a point are shown by their mean; the band then holds the interval of each. Axes whose values span \
             more than a factor of 10 are logarithmic; intervals far beyond the values are cut at the edge.</p>",
        );
    }
    let titled = charts.len() > 1;
    for (title, pictures) in &charts {
        if titled {
            let _ = write!(out, "<h3>{title}</h3>");
        }
        let _ = write!(out, "<div class=\"overview\">{pictures}</div>");
    }
    if groups.len() > GROUPS {
        let _ = write!(
            out,
            "<p class=\"quiet\">Shown are the first {GROUPS} of {} workloads; the matrix has all.</p>",
            groups.len()
        );
    }
    out.push_str(&curves);
    out
}

/// A study for each crossed parameter.
fn studies<'a>(group: &Group<'a>) -> Vec<Study<'a>> {
    let names: Vec<&str> = group.crossed().iter().map(|parameter| parameter.name).collect();
    let study = |axis: Crossed<'a>| {
        let others: Vec<&str> = names.iter().copied().filter(|name| *name != axis.name).collect();
        let mut lines: Vec<(String, Vec<Vec<usize>>)> = Vec::new();
        for place in &group.places {
            let value = |name: &str| place.point.get(name).map_or("", String::as_str);
            let Some(at) = axis.values.iter().position(|known| *known == value(axis.name)) else { continue };
            let name: Vec<String> =
                others.iter().map(|name| format!("{} {}", words(name), value(name))).collect();
            let name = name.join(", ");
            let line = match lines.iter().position(|(known, _)| *known == name) {
                Some(line) => line,
                None => {
                    lines.push((name, vec![Vec::new(); axis.values.len()]));
                    lines.len() - 1
                }
            };
            lines[line].1[at].push(place.position);
        }
        let all_lines = lines.len();
        let lines = evenly(all_lines, LINES).map(|at| std::mem::take(&mut lines[at])).collect();
        Study { axis, lines, all_lines }
    };
    group.crossed().into_iter().map(study).collect()
}

/// Workloads without crossed parameters, side by side; if there are several targets, the targets on the axis and a line
/// per workload.
fn workloads<'a>(groups: &[Group<'a>]) -> Option<Study<'a>> {
    let alone: Vec<&Group<'a>> = groups.iter().filter(|group| group.crossed().is_empty()).collect();
    if alone.len() < 2 {
        return None;
    }
    let cells = |wanted: &dyn Fn(&Group<'a>) -> bool| -> Vec<usize> {
        let of = alone.iter().filter(|group| wanted(group));
        of.flat_map(|group| &group.places).map(|place| place.position).collect()
    };
    let names = distinct(alone.iter().map(|group| group.workload));
    if names.len() == alone.len() {
        let values: Vec<&str> = evenly(names.len(), LINES).map(|at| names[at]).collect();
        let line = values.iter().map(|name| cells(&|group| group.workload == *name)).collect();
        return Some(Study {
            axis: Crossed { name: "workload", values },
            lines: vec![(String::new(), line)],
            all_lines: 1,
        });
    }
    let targets = distinct(alone.iter().map(|group| group.target));
    let line = |name: &str| {
        let of = |target: &&str| cells(&|group| group.workload == name && group.target == *target);
        (name.to_owned(), targets.iter().map(of).collect())
    };
    let lines = evenly(names.len(), LINES).map(|at| line(names[at])).collect();
    Some(Study { lines, axis: Crossed { name: "target", values: targets }, all_lines: names.len() })
}

/// Each name once, in order of appearance.
fn distinct<'a>(names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut known: Vec<&str> = Vec::new();
    for name in names {
        if !known.contains(&name) {
            known.push(name);
        }
    }
    known
}

/// As many of the first `count` numbers as the limit allows, including the first and the last.
pub fn evenly(count: usize, limit: usize) -> impl Iterator<Item = usize> {
    let shown = count.min(limit);
    (0..shown).map(move |n| if shown < 2 { 0 } else { n * (count - 1) / (shown - 1) })
}

fn words(name: &str) -> String {
    name.replace('_', " ")
}

fn pictures(document: &Document, study: &Study<'_>, number: &mut usize) -> String {
    let mut out = String::new();
    for metric in &METRICS {
        if let Some(picture) = picture(document, study, metric, *number) {
            out.push_str(&super::cell::figure(picture));
            *number += 1;
        }
    }
    out
}

/// A value with its interval; for repetitions their mean, with the widest interval ends.
fn pooled(document: &Document, cells: &[usize], metric: &OverviewMetric) -> Option<[f64; 3]> {
    let results = cells.iter().filter_map(|cell| document.cells[*cell].record.result.as_ref());
    let values: Vec<[f64; 3]> = results
        .filter_map(metric.of)
        .filter(|values| values.iter().all(|value| value.is_finite()) && values[0] > 0.0)
        .collect();
    let mean = values.iter().map(|[mean, ..]| mean).sum::<f64>() / values.len() as f64;
    let low = values.iter().map(|[_, low, _]| *low).fold(f64::MAX, f64::min);
    let high = values.iter().map(|[.., high]| *high).fold(0.0, f64::max);
    (!values.is_empty()).then_some([mean, low, high])
}

fn picture(
    document: &Document,
    study: &Study<'_>,
    metric: &OverviewMetric,
    number: usize,
) -> Option<Picture> {
    let values: Vec<Vec<Option<[f64; 3]>>> = study
        .lines
        .iter()
        .map(|(_, points)| points.iter().map(|cells| pooled(document, cells, metric)).collect())
        .collect();
    let all = || values.iter().flatten().flatten();
    let least = all().map(|[mean, ..]| *mean).fold(f64::MAX, f64::min);
    let most = all().map(|[mean, ..]| *mean).fold(0.0, f64::max);
    // A single point shows no dependence on a parameter.
    if all().count() < 2 {
        return None;
    }
    // The values determine the axis; a much wider interval is cut at the edge.
    let (low, high) = all().fold((least, most), |(low, high), [_, l, h]| (low.min(*l), high.max(*h)));
    let unit = metric.unit;
    let by_factors = most / least > WIDE;
    let y = match by_factors {
        true => Axis::log(low.max(least / 3.0), high.min(most * 3.0), unit, ""),
        false => Axis::from_zero(high.min(most * 1.5), unit, ""),
    };
    let numbers = study.axis.numbers();
    let x = match &numbers {
        Some(numbers) => numeric(&study.axis, numbers),
        None => categories(&study.axis),
    };
    let title = format!("{} by {}", metric.title, words(study.axis.name));
    let mut chart =
        Chart::new(SQUARE, x, y, &title, &format!("From {} to {}.", unit.text(least), unit.text(most)));
    let places: Vec<f64> =
        numbers.clone().unwrap_or_else(|| (0..study.axis.values.len()).map(|n| n as f64).collect());
    chart.data(&format!("overview-{number}"), &data(study, metric, &places, &values));
    let mut legend = Vec::new();
    // Drawn in order: the bands of later lines may cover earlier ones.
    for (index, ((name, _), line)) in study.lines.iter().zip(&values).enumerate() {
        let class = line_class(index);
        match numbers.is_some() {
            true => draw_line(&mut chart, &class, unit, &places, line),
            false => {
                let room = 0.8 / study.lines.len() as f64;
                draw_bars(&mut chart, &class, (index as f64 * room - 0.4, room), (unit, !by_factors), line);
            }
        }
        if !name.is_empty() {
            legend.push((class, name.clone()));
        }
    }
    let more = match study.all_lines - study.lines.len() {
        0 => String::new(),
        _ => format!(", {} of {} lines", study.lines.len(), study.all_lines),
    };
    Some(Picture { svg: chart.finish(), title: format!("{title}{more}"), legend })
}

fn draw_line(chart: &mut Chart, class: &str, unit: FigureUnit, places: &[f64], line: &[Option<[f64; 3]>]) {
    let points = || places.iter().zip(line).filter_map(|(x, value)| Some((*x, (*value)?)));
    let band: Vec<(f64, f64, f64)> = points().map(|(x, [_, low, high])| (x, low, high)).collect();
    match band.len() {
        1 => chart.intervals(class, band),
        _ => chart.band(class, &band),
    }
    chart.line(class, points().map(|(x, [mean, ..])| (x, Some(mean))));
    chart.dots(class, points().map(|(x, [mean, ..])| (x, mean, unit.text(mean))));
}

/// Bars from zero; dots if the axis has no zero.
fn draw_bars(
    chart: &mut Chart,
    class: &str,
    (from, room): (f64, f64),
    (unit, zero): (FigureUnit, bool),
    line: &[Option<[f64; 3]>],
) {
    let points = || line.iter().enumerate().filter_map(|(n, value)| Some((n as f64 + from, (*value)?)));
    let middle = |x: f64| x + room / 2.0;
    match zero {
        true => chart.bars(
            class,
            points().map(|(x, [mean, ..])| (x + room * 0.08, x + room * 0.92, mean, unit.text(mean))),
        ),
        false => chart.dots(class, points().map(|(x, [mean, ..])| (middle(x), mean, unit.text(mean)))),
    }
    let class = if zero { "on-bar" } else { class };
    chart.intervals(class, points().map(|(x, [_, low, high])| (middle(x), low, high)));
}

fn data(
    study: &Study<'_>,
    metric: &OverviewMetric,
    places: &[f64],
    values: &[Vec<Option<[f64; 3]>>],
) -> ChartData {
    let row = |((name, _), line): (&(String, _), &Vec<Option<[f64; 3]>>)| {
        let part =
            |n: usize| -> Vec<f64> { line.iter().map(|value| value.map_or(f64::NAN, |v| v[n])).collect() };
        DataRow {
            name: if name.is_empty() { metric.title.to_owned() } else { name.clone() },
            unit: metric.unit,
            values: part(0),
            bounds: Some((part(1), part(2))),
        }
    };
    ChartData {
        x_name: words(study.axis.name),
        x_unit: "",
        x: places.to_vec(),
        labels: study.axis.values.iter().map(|value| (*value).to_owned()).collect(),
        rows: study.lines.iter().zip(values).map(row).collect(),
    }
}

/// An axis with a tick at each value.
fn numeric(axis: &Crossed<'_>, numbers: &[f64]) -> Axis {
    let low = numbers.iter().copied().fold(f64::MAX, f64::min);
    let high = numbers.iter().copied().fold(f64::MIN, f64::max);
    let by_factors = low > 0.0 && high / low > WIDE;
    // A little margin beyond the first and the last.
    let (scale, low, high) = match by_factors {
        true => {
            let room = (high / low).powf(0.05);
            (Scale::Log, low / room, high * room)
        }
        false => {
            let room = (high - low) * 0.05;
            (Scale::Linear, low - room, high + room)
        }
    };
    let ticks = numbers.iter().copied().zip(axis.values.iter().map(|value| (*value).to_owned())).collect();
    Axis { scale, low, high, title: words(axis.name), ticks }
}

/// An axis of categories.
fn categories(axis: &Crossed<'_>) -> Axis {
    let count = axis.values.len();
    let letters = (LETTERS / count).max(3);
    // Addresses differ at their ends.
    let label = |name: &str| {
        let (count, half) = (name.chars().count(), (letters - 1) / 2);
        match count > letters {
            true => name.chars().take(half).chain(['…']).chain(name.chars().skip(count - half)).collect(),
            false => name.to_owned(),
        }
    };
    let ticks = axis.values.iter().enumerate().map(|(n, value)| (n as f64, label(value))).collect();
    Axis { scale: Scale::Linear, low: -0.5, high: count as f64 - 0.5, title: words(axis.name), ticks }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_many_the_first_and_the_last_are_shown() {
        assert_eq!(evenly(3, 12).collect::<Vec<_>>(), [0, 1, 2]);
        assert_eq!(evenly(1, 12).collect::<Vec<_>>(), [0]);
        assert_eq!(evenly(0, 12).count(), 0);
        let shown: Vec<usize> = evenly(100, 12).collect();
        assert_eq!((shown.len(), shown[0], shown[11]), (12, 0, 99));
        assert!(shown.windows(2).all(|pair| pair[0] < pair[1]));
    }

    #[test]
    fn workloads_that_stand_alone_are_compared_by_name_or_by_target() {
        let none = std::collections::BTreeMap::new();
        let group = |workload, target, position| Group {
            workload,
            target,
            places: vec![super::parameters::CrossedCell { point: &none, position }],
        };
        let study = workloads(&[group("scan", "nas", 0), group("oltp", "nas", 1)]).unwrap();
        assert_eq!((study.axis.name, study.axis.values), ("workload", vec!["scan", "oltp"]));
        assert_eq!(study.lines, [(String::new(), vec![vec![0], vec![1]])]);
        let check = [group("write", "a", 0), group("read", "a", 1), group("write", "b", 2)];
        let study = workloads(&check).unwrap();
        assert_eq!((study.axis.name, study.axis.values), ("target", vec!["a", "b"]));
        let lines =
            [("write".to_owned(), vec![vec![0], vec![2]]), ("read".to_owned(), vec![vec![1], Vec::new()])];
        assert_eq!(study.lines, lines);
        assert!(workloads(&[group("scan", "nas", 0)]).is_none());
    }

    #[test]
    fn long_names_of_categories_leave_room_for_the_others() {
        let axis = Crossed { name: "w", values: vec!["short", "a-very-long-name-of-a-workload", "x", "y"] };
        let axis = categories(&axis);
        let labels: Vec<&str> = axis.ticks.iter().map(|(_, label)| label.as_str()).collect();
        assert_eq!(labels, ["short", "a-ver…kload", "x", "y"]);
    }
}
