//! The charts of a cell over time.

use std::collections::BTreeMap;

use stats::SteadyJudgement;
use store::CellResult;

use crate::document::{CellView, HeatColumn, HeatMap, Timeline, TimelinePoint};
use crate::figures::FigureUnit;
use crate::op_name;
use crate::svg::{Axis, Chart, ChartData, Frame};

/// Charts over time, stacked, with the same horizontal axis.
pub(super) const OVER_TIME: Frame = Frame::new(720.0, 210.0);
/// Charts that stand side by side, small enough for a phone.
pub(super) const SQUARE: Frame = Frame::new(400.0, 260.0);

/// Colours by operation: the first is for all together.
pub const COLOURS: [&str; 6] = ["c0", "c1", "c2", "c3", "c4", "c5"];

/// The CSS class of one of many lines: six colours, then the same dashed, then dotted.
pub fn line_class(index: usize) -> String {
    format!("c{}{}", index % COLOURS.len(), ["", " dashed", " dotted"][index / COLOURS.len() % 3])
}

/// A chart with its title and legend.
pub struct Picture {
    /// The chart.
    pub svg: String,
    /// Its title.
    pub title: String,
    /// CSS classes and names of its lines.
    pub legend: Vec<(String, String)>,
}

/// Whether to show IOPS instead of throughput: for small operations.
pub fn counts_operations(view: &CellView) -> bool {
    let Some(total) = view.total() else { return true };
    let sum = |of: fn(&crate::TimelinePoint) -> f64| total.points.iter().map(of).sum::<f64>();
    let (bytes, ops) = (sum(|p| p.bytes_per_s.mean), sum(|p| p.ops_per_s.mean));
    bytes <= 0.0 || bytes / ops.max(1e-9) < 64.0 * 1024.0
}

/// The time axis of a cell: charts with this axis are stacked and zoom together.
pub(super) fn time_axis(total: &Timeline) -> Axis {
    let first = total.points.first().map_or(0.0, |point| point.start_s);
    let last = total.points.last().map_or(1.0, |point| point.end_s);
    Axis::time(first, last, "time since the measurement began")
}

/// Throughput over time.
pub fn rate(position: usize, name: &str, view: &CellView, result: Option<&CellResult>) -> Option<Picture> {
    let total = view.total().filter(|total| !total.points.is_empty())?;
    let ops = counts_operations(view);
    let unit = if ops { FigureUnit::OpsPerS } else { FigureUnit::BytesPerS };
    let of = |point: &crate::TimelinePoint| if ops { point.ops_per_s } else { point.bytes_per_s };
    let most = total.points.iter().map(|point| of(point).high).fold(0.0, f64::max);
    let what = if ops { "IOPS" } else { "Throughput" };
    let mut chart = Chart::new(
        OVER_TIME,
        time_axis(total),
        Axis::from_zero(most, unit, ""),
        &format!("{what} over time, {name}"),
        &format!("From {} to {} at most.", unit.text(lowest(total, of)), unit.text(most)),
    );
    chart.attribute("data-zoom", "time");
    chart.data(&format!("rate-{position}"), &rate_data(view, total));
    spans(&mut chart, total, result);
    if total.is_thinned() {
        let band: Vec<_> = total.points.iter().map(|p| (p.middle_s(), of(p).low, of(p).high)).collect();
        chart.band("c0", &band);
    }
    let mut legend = Vec::new();
    for (timeline, colour) in view.timelines.iter().zip(COLOURS) {
        chart.line(colour, timeline.points.iter().map(|p| (p.middle_s(), Some(of(p).mean))));
        let all = if view.timelines.len() > 1 { "all together" } else { "" };
        legend.push((colour.to_owned(), timeline.op.map_or(all, |op| op.name()).to_owned()));
    }
    legend.retain(|(_, name)| !name.is_empty());
    if total.is_thinned() {
        legend.push(("band c0".into(), "min to max of an interval".into()));
    }
    if let Some(result) = result.filter(|result| result.steady.regimes.len() > 1) {
        for regime in &result.steady.regimes {
            let from = f64::from(regime.window.first) * interval_s(view);
            let to = f64::from(regime.window.end) * interval_s(view);
            let within = |point: &&crate::TimelinePoint| point.middle_s() >= from && point.middle_s() < to;
            let values: Vec<f64> = total.points.iter().filter(within).map(|point| of(point).mean).collect();
            if values.is_empty() {
                continue;
            }
            let level = values.iter().sum::<f64>() / values.len() as f64;
            chart.level("regime", from, to, level, &format!("{} from {from} s to {to} s", unit.text(level)));
        }
        legend.push(("level".into(), "stretches with a level of their own".into()));
    }
    let failed = total.points.iter().filter(|point| point.failed > 0);
    let marks: Vec<_> = failed
        .map(|p| {
            (
                p.middle_s(),
                format!("{} failed at {:.0} s", FigureUnit::Count.text(p.failed as f64), p.start_s),
            )
        })
        .collect();
    if !marks.is_empty() {
        legend.push(("mark".into(), "operations failed".into()));
    }
    chart.marks("failed", marks);
    if let Some((key, lost)) = result.and_then(super::hosts::lost) {
        legend.push(key);
        chart.moments("lost", lost);
    }
    Some(Picture { svg: chart.finish(), title: format!("{what} over time"), legend })
}

fn rate_data(view: &CellView, total: &Timeline) -> ChartData {
    let mut data = ChartData::over_time(total.points.iter().map(TimelinePoint::middle_s));
    data.row("throughput", FigureUnit::BytesPerS, total.points.iter().map(|p| p.bytes_per_s.mean));
    data.row("IOPS", FigureUnit::OpsPerS, total.points.iter().map(|p| p.ops_per_s.mean));
    for timeline in view.timelines.iter().filter(|timeline| timeline.op.is_some()) {
        data.row(op_name(timeline.op), FigureUnit::OpsPerS, timeline.points.iter().map(|p| p.ops_per_s.mean));
    }
    if total.points.iter().any(|p| p.failed > 0) {
        data.row("failed", FigureUnit::Count, total.points.iter().map(|p| p.failed as f64));
    }
    data
}

fn latency_data(total: &Timeline, open: bool) -> ChartData {
    let mut data = ChartData::over_time(total.points.iter().map(TimelinePoint::middle_s));
    let mut row = |name: &str, of: fn(&crate::TimelinePoint) -> f64| {
        // Without completed operations there is no latency.
        data.row(
            name,
            FigureUnit::Ns,
            total.points.iter().map(|p| if p.busy > 0 { of(p) } else { f64::NAN }),
        );
    };
    row("p50", |p| p.p50_ns.mean);
    row("p99", |p| p.p99_ns.mean);
    if open {
        row("service p99", |p| p.service_p99_ns.mean);
    }
    row("max", |p| p.max_ns as f64);
    data
}

/// Latency over time.
pub fn latency(position: usize, name: &str, view: &CellView, result: Option<&CellResult>) -> Option<Picture> {
    let total = view.total().filter(|total| total.points.iter().any(|point| point.busy > 0))?;
    let busy = || total.points.iter().filter(|point| point.busy > 0);
    let least = busy().map(|point| point.p50_ns.low).filter(|low| *low > 0.0).fold(f64::MAX, f64::min);
    let most = busy().map(|point| point.max_ns as f64).fold(1.0, f64::max);
    let open = result.is_some_and(|result| result.open_loop.is_some());
    let mut chart = Chart::new(
        OVER_TIME,
        time_axis(total),
        Axis::log(least, most, FigureUnit::Ns, ""),
        &format!("Latency over time, {name}"),
        &format!("Medians from {}; max {}.", FigureUnit::Ns.text(least), FigureUnit::Ns.text(most)),
    );
    chart.attribute("data-zoom", "time");
    chart.data(&format!("latency-{position}"), &latency_data(total, open));
    spans(&mut chart, total, result);
    let mut draw = |class: &str, of: fn(&crate::TimelinePoint) -> f64| {
        chart.line(class, total.points.iter().map(|p| (p.middle_s(), (p.busy > 0).then(|| of(p)))));
    };
    draw("max", |point| point.max_ns as f64);
    if open {
        draw("service", |point| point.service_p99_ns.mean);
    }
    draw("p99", |point| point.p99_ns.mean);
    draw("p50", |point| point.p50_ns.mean);
    let mut legend = vec![("p50", "p50"), ("p99", "p99"), ("max", "max")];
    if open {
        legend.push(("service", "p99 from the actual start"));
    }
    let legend = legend.into_iter().map(|(class, name)| (class.into(), name.into())).collect();
    let title = if open { "Response time over time" } else { "Latency over time" };
    Some(Picture { svg: chart.finish(), title: title.into(), legend })
}

/// Number of operations by latency, over time.
pub fn heat(position: usize, name: &str, view: &CellView) -> Option<Picture> {
    let HeatMap { columns } = view.heat.as_ref()?;
    let total = view.total()?;
    let rows = || columns.iter().flat_map(|column| column.rows.keys().copied());
    let (first, last) = (rows().min()?, rows().max()?);
    let edge = crate::document::row_edge_ns;
    let axis = Axis::log(edge(first), edge(last + 1), FigureUnit::Ns, "");
    let mut chart = Chart::new(
        OVER_TIME,
        time_axis(total),
        axis,
        &format!("Latency heat map, {name}"),
        "Each column is a stretch of time, each row a range of latencies; the darker, the more operations.",
    );
    chart.attribute("data-zoom", "time");
    chart.data(&format!("heat-{position}"), &heat_data(columns, first..=last));
    let most = columns.iter().flat_map(|column| column.rows.values()).copied().max()?;
    let boxes = runs(columns, most);
    chart.boxes(&boxes);
    let legend =
        vec![("scale".to_owned(), format!("1 to {} operations", FigureUnit::Count.text(most as f64)))];
    Some(Picture { svg: chart.finish(), title: "Latency heat map".into(), legend })
}

/// Operations of each column by latency; empty rows at the edges are left out.
fn heat_data(columns: &[HeatColumn], rows: std::ops::RangeInclusive<u32>) -> ChartData {
    let mut data = ChartData::over_time(columns.iter().map(|column| (column.start_s + column.end_s) / 2.0));
    for row in rows {
        let name = format!("from {}", FigureUnit::Ns.text(crate::document::row_edge_ns(row)));
        data.row(
            &name,
            FigureUnit::Count,
            columns.iter().map(|column| column.rows.get(&row).copied().unwrap_or(0) as f64),
        );
    }
    data
}

/// The boxes of a heat map `(x from, x to, y from, y to, shade)`; adjacent columns with the same shade share a box.
fn runs(columns: &[HeatColumn], most: u64) -> Vec<(f64, f64, f64, f64, u8)> {
    let edge = crate::document::row_edge_ns;
    let shade = |count: u64| ((count as f64).ln_1p() / (most as f64).ln_1p() * 9.99) as u8;
    let mut boxes: Vec<(f64, f64, f64, f64, u8)> = Vec::new();
    // Per row, the box that ends where the next column starts.
    let mut open: BTreeMap<u32, usize> = BTreeMap::new();
    for column in columns {
        let mut still_open = BTreeMap::new();
        for (row, count) in &column.rows {
            let shade = shade(*count);
            let grown =
                open.get(row).copied().filter(|at| boxes[*at].4 == shade && boxes[*at].1 == column.start_s);
            let at = grown.unwrap_or_else(|| {
                boxes.push((column.start_s, column.end_s, edge(*row), edge(row + 1), shade));
                boxes.len() - 1
            });
            boxes[at].1 = column.end_s;
            still_open.insert(*row, at);
        }
        open = still_open;
    }
    boxes
}

/// A sparkline, small enough for a table.
pub fn spark(view: &CellView) -> String {
    let Some(total) = view.total().filter(|total| total.points.len() > 1) else { return String::new() };
    let ops = counts_operations(view);
    let value =
        |point: &crate::TimelinePoint| if ops { point.ops_per_s.mean } else { point.bytes_per_s.mean };
    let each = total.points.len().div_ceil(60);
    let means: Vec<f64> = total
        .points
        .chunks(each)
        .map(|part| part.iter().map(value).sum::<f64>() / part.len() as f64)
        .collect();
    let most = means.iter().copied().fold(0.0, f64::max);
    let mut path = String::new();
    for (index, mean) in means.iter().enumerate() {
        path.push(if index == 0 { 'M' } else { 'L' });
        crate::svg::coordinate(&mut path, 1.0 + 78.0 * index as f64 / (means.len() - 1).max(1) as f64);
        path.push(' ');
        crate::svg::coordinate(&mut path, 18.5 - 15.5 * if most > 0.0 { mean / most } else { 0.0 });
    }
    format!("<svg class=\"spark\" viewBox=\"0 0 80 20\" aria-hidden=\"true\"><path d=\"{path}\"/></svg>")
}

fn lowest(total: &Timeline, of: impl Fn(&crate::TimelinePoint) -> crate::ValueSpread) -> f64 {
    total.points.iter().map(|point| of(point).low).fold(f64::MAX, f64::min)
}

/// Length of an interval: points cover whole intervals.
fn interval_s(view: &CellView) -> f64 {
    let first = view.total().and_then(|total| total.points.iter().find(|point| point.start_s >= 0.0));
    first.map_or(1.0, |point| (point.end_s - point.start_s) / f64::from(point.intervals.max(1)))
}

/// Marks the warm-up and the reported window.
fn spans(chart: &mut Chart, total: &Timeline, result: Option<&CellResult>) {
    let first = total.points.first().map_or(0.0, |point| point.start_s);
    if first < 0.0 {
        chart.span("warm-up", first, 0.0, "warm-up");
    }
    if let Some(result) = result {
        reported(chart, result);
    }
}

/// Marks the reported window.
pub(super) fn reported(chart: &mut Chart, result: &CellResult) {
    let (class, name) = match result.steady.judgement() {
        SteadyJudgement::NotJudged => ("unjudged", "reported"),
        SteadyJudgement::Yes => ("steady", "reported: steady"),
        SteadyJudgement::No => ("unsteady", "reported: no steady state"),
    };
    chart.span(class, result.window_start_s, result.window_end_s, name);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_of_one_shade_are_one_box() {
        let column = |start: f64, rows: &[(u32, u64)]| HeatColumn {
            start_s: start,
            end_s: start + 1.0,
            rows: rows.iter().copied().collect(),
        };
        // The second row changes its shade, the third pauses.
        let columns = [
            column(0.0, &[(8, 1000), (9, 1000), (10, 5)]),
            column(1.0, &[(8, 1000), (9, 1)]),
            column(2.0, &[(8, 1000), (10, 5)]),
        ];
        let boxes = runs(&columns, 1000);
        let spans: Vec<(f64, f64)> = boxes.iter().map(|b| (b.0, b.1)).collect();
        assert_eq!(spans, [(0.0, 3.0), (0.0, 1.0), (0.0, 1.0), (1.0, 2.0), (2.0, 3.0)]);
        assert_eq!(boxes[0].4, 9);
    }
}
