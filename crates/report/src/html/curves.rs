//! Latency by percentile, and by load.

use store::StudyPoint;

use super::charts::{COLOURS, OVER_TIME, Picture, SQUARE, line_class};
use super::overview::evenly;
use crate::document::{Curve, CurvePoint};
use crate::figures::FigureUnit;
use crate::svg::{Axis, Chart, ChartData, DataRow, Frame};
use crate::{Document, op_name};

/// The chart of all cells, as wide as the charts over time.
const ALL: Frame = Frame::new(OVER_TIME.width, 320.0);
/// Maximum cells in the chart of all cells.
const CELLS: usize = 12;

/// A curve with its name and the latency to plot.
pub(crate) type NamedCurve<'a> = (String, &'a Curve, fn(&CurvePoint) -> u64);

/// Latency by percentile of all cells; `None` with fewer than two. If there are too many cells, shows a selection
/// spread evenly from the lowest to the highest p99.
pub fn of_all(document: &Document) -> Option<Picture> {
    let mut cells: Vec<(usize, &Curve)> = document
        .cells
        .iter()
        .enumerate()
        .filter_map(|(position, view)| Some((position, view.curves.first()?)))
        .filter(|(_, curve)| curve.points.iter().any(|point| point.response_ns > 0))
        .collect();
    if cells.len() < 2 {
        return None;
    }
    let count = cells.len();
    let p99 = |position: usize| {
        let result = document.cells[position].record.result.as_ref();
        result.map_or(0, |result| result.total.response.p99_ns)
    };
    if count > CELLS {
        cells.sort_by_key(|(position, _)| p99(*position));
        cells = evenly(count, CELLS).map(|at| cells[at]).collect();
        cells.sort_by_key(|(position, _)| *position);
    }
    let curves: Vec<&Curve> = cells.iter().map(|(_, curve)| *curve).collect();
    let points = || curves.iter().flat_map(|curve| &curve.points);
    let values = || points().map(|p| p.response_ns as f64).filter(|value| *value > 0.0);
    let (least, most) = (values().fold(f64::MAX, f64::min), values().fold(0.0, f64::max));
    let mut chart = Chart::new(
        ALL,
        Axis::percentiles(points().map(|p| p.one_in).fold(0.0, f64::max)),
        Axis::log(least, most, FigureUnit::Ns, ""),
        "Latency by percentile of all cells",
        &format!("From {} to {}.", FigureUnit::Ns.text(least), FigureUnit::Ns.text(most)),
    );
    let name = |position: usize| {
        let index = document.cells[position].record.index;
        format!("{} {}", index + 1, document.planned(index).map_or("", |cell| &cell.name))
    };
    let named: Vec<NamedCurve<'_>> = cells
        .iter()
        .map(|(position, curve)| {
            (name(*position), *curve, (|p: &CurvePoint| p.response_ns) as fn(&CurvePoint) -> u64)
        })
        .collect();
    chart.data("curves", &at_percentiles(&named));
    let mut legend = Vec::new();
    for (index, (name, curve, _)) in named.into_iter().enumerate() {
        let class = line_class(index);
        chart.line(&class, curve.points.iter().map(|p| (p.one_in, Some(p.response_ns as f64))));
        legend.push((class, name));
    }
    let title = match count > CELLS {
        true => format!(
            "Latency by percentile: {CELLS} of {count} cells, evenly spread from the lowest to the highest p99"
        ),
        false => "Latency by percentile of all cells".to_owned(),
    };
    Some(Picture { svg: chart.finish(), title, legend })
}

/// Latency by percentile, for all operations together and for each; with a rate, also from the actual start.
pub fn curve(position: usize, name: &str, curves: &[Curve], open: bool) -> Option<Picture> {
    let most_counted =
        curves.iter().filter_map(|curve| curve.points.last()).map(|p| p.one_in).fold(0.0, f64::max);
    let points = || curves.iter().flat_map(|curve| &curve.points);
    let values = || points().flat_map(|p| [p.response_ns as f64, p.service_ns as f64]).filter(|v| *v > 0.0);
    let (least, most) = (values().fold(f64::MAX, f64::min), values().fold(0.0, f64::max));
    if most <= 0.0 {
        return None;
    }
    let mut chart = Chart::new(
        SQUARE,
        Axis::percentiles(most_counted),
        Axis::log(least, most, FigureUnit::Ns, ""),
        &format!("Latency by percentile, {name}"),
        &format!("From {} to {}.", FigureUnit::Ns.text(least), FigureUnit::Ns.text(most)),
    );
    chart.data(&format!("curve-{position}"), &of_cell(curves, open));
    let mut legend = Vec::new();
    for (curve, colour) in curves.iter().zip(COLOURS) {
        if open {
            let class = format!("{colour} dashed");
            chart.line(&class, curve.points.iter().map(|p| (p.one_in, Some(p.service_ns as f64))));
        }
        chart.line(colour, curve.points.iter().map(|p| (p.one_in, Some(p.response_ns as f64))));
        if curves.len() > 1 || open {
            let of = if curves.len() > 1 { op_name(curve.op) } else { "response: from the intended start" };
            legend.push((colour.to_owned(), of.to_owned()));
        }
    }
    if open {
        legend.push(("c0 dashed".into(), "service: from the actual start".into()));
    }
    Some(Picture { svg: chart.finish(), title: "Latency by percentile".into(), legend })
}

fn of_cell(curves: &[Curve], open: bool) -> ChartData {
    let mut named: Vec<NamedCurve<'_>> = Vec::new();
    for curve in curves {
        let name = op_name(curve.op);
        named.push((name.to_owned(), curve, |p| p.response_ns));
        if open {
            named.push((format!("{name}, service"), curve, |p| p.service_ns));
        }
    }
    at_percentiles(&named)
}

/// Curves at the percentiles of the longest, which include those of the others except for their ends.
pub(crate) fn at_percentiles(curves: &[NamedCurve<'_>]) -> ChartData {
    let longest = curves.iter().max_by_key(|(_, curve, _)| curve.points.len());
    let points: Vec<f64> =
        longest.map(|(_, curve, _)| curve.points.iter().map(|p| p.one_in).collect()).unwrap_or_default();
    let row = |(name, curve, of): &NamedCurve<'_>| {
        let value = |one_in: &f64| {
            let same = |p: &&CurvePoint| (p.one_in / one_in - 1.0).abs() < 1e-9;
            curve.points.iter().find(same).map_or(f64::NAN, |p| of(p) as f64)
        };
        DataRow::of(name, FigureUnit::Ns, points.iter().map(value))
    };
    let rows = curves.iter().map(row).collect();
    ChartData { x_name: "percentile".into(), x_unit: "one in", x: points, labels: Vec::new(), rows }
}

/// The latency/throughput curve of a sweep or a search.
pub fn study(position: usize, name: &str, points: &[StudyPoint]) -> Option<Picture> {
    let measured: Vec<_> = points.iter().filter(|point| point.response.count > 0).collect();
    let most_rate = measured.iter().map(|point| point.ops_per_s).fold(0.0, f64::max);
    let latencies =
        || measured.iter().flat_map(|p| [p.response.p50_ns, p.response.p99_ns]).map(|ns| ns as f64);
    let (least, most) = (latencies().fold(f64::MAX, f64::min), latencies().fold(0.0, f64::max));
    if measured.is_empty() || most <= 0.0 {
        return None;
    }
    let mut x = Axis::from_zero(most_rate, FigureUnit::OpsPerS, "IOPS reached");
    x.high = x.high.max(most_rate * 1.05);
    let mut chart = Chart::new(
        SQUARE,
        x,
        Axis::log(least, most, FigureUnit::Ns, ""),
        &format!("Latency by throughput, {name}"),
        &format!("{} rates up to {}.", measured.len(), FigureUnit::OpsPerS.text(most_rate)),
    );
    // A closed loop's point shows what the target reaches, but has no offered rate.
    let mut in_order: Vec<&StudyPoint> =
        measured.iter().copied().filter(|p| p.offered_ops_per_s > 0.0).collect();
    in_order.sort_by(|a, b| a.offered_ops_per_s.total_cmp(&b.offered_ops_per_s));
    for (class, of) in
        [("p99", (|p| p.response.p99_ns) as fn(&StudyPoint) -> u64), ("p50", |p| p.response.p50_ns)]
    {
        chart.line(class, in_order.iter().map(|p| (p.ops_per_s, Some(of(p) as f64))));
        let text = |p: &StudyPoint| {
            format!(
                "{class} {} at {}",
                FigureUnit::Ns.text(of(p) as f64),
                FigureUnit::OpsPerS.text(p.ops_per_s)
            )
        };
        let (held, missed): (Vec<&StudyPoint>, Vec<&StudyPoint>) =
            in_order.iter().copied().partition(|p| p.held);
        chart.dots(class, held.iter().map(|p| (p.ops_per_s, of(p) as f64, text(p))));
        chart.dots(&format!("{class} open"), missed.iter().map(|p| (p.ops_per_s, of(p) as f64, text(p))));
    }
    chart.data(&format!("study-{position}"), &study_data(&in_order));
    let mut legend = vec![("p50".to_owned(), "p50".to_owned()), ("p99".to_owned(), "p99".to_owned())];
    if measured.iter().any(|point| !point.held) {
        legend.push(("dot open p99".into(), "the goal was missed".into()));
    }
    Some(Picture { svg: chart.finish(), title: "Latency by throughput".into(), legend })
}

fn study_data(points: &[&StudyPoint]) -> ChartData {
    let mut data = ChartData {
        x_name: "reached".into(),
        x_unit: FigureUnit::OpsPerS.symbol(),
        x: points.iter().map(|p| p.ops_per_s).collect(),
        ..ChartData::default()
    };
    data.row("offered", FigureUnit::OpsPerS, points.iter().map(|p| p.offered_ops_per_s));
    data.row("p50", FigureUnit::Ns, points.iter().map(|p| p.response.p50_ns as f64));
    data.row("p99", FigureUnit::Ns, points.iter().map(|p| p.response.p99_ns as f64));
    data
}
