//! Turns a cell's stream of intervals into what the report shows.

use metrics::{Interval, OpKind, OpStats, SeriesPoint};
use store::CellRecord;

use super::heat::{HeatBuilder, HeatColumn};
use super::timeline::{Thinning, TimelinePoint};
use super::{CellView, Curve, HeatMap, PointLimits, Timeline};

/// Collects the intervals of a cell, in constant memory.
#[derive(Debug)]
pub struct CellBuilder {
    warm_up: Part,
    measured: Part,
    window: Interval,
}

/// Warm-up or measurement.
#[derive(Debug)]
struct Part {
    lines: Vec<(Option<OpKind>, Thinning)>,
    heat: HeatBuilder,
    end_s: f64,
}

impl CellBuilder {
    /// An empty builder.
    pub fn new(limits: PointLimits) -> Self {
        // A warm-up is seldom longer than the measurement: a quarter of the points is enough for it.
        let few = PointLimits { points: limits.points / 4, columns: limits.columns / 4 };
        Self { warm_up: Part::new(few), measured: Part::new(limits), window: Interval::default() }
    }

    /// Adds the next interval of the warm-up.
    pub fn warm_up(&mut self, interval: &Interval) {
        self.warm_up.push(interval);
    }

    /// Adds the next interval of the measurement.
    pub fn measured(&mut self, interval: &Interval) {
        self.measured.push(interval);
    }

    /// Adds data of the reported window: all of it merged, or interval by interval.
    pub fn window(&mut self, interval: &Interval) {
        self.window.merge(interval);
    }

    /// The finished view of the cell.
    pub fn finish(self, record: CellRecord) -> CellView {
        let shift = self.warm_up.end_s;
        let (warm, measured) = (self.warm_up, self.measured);
        let mut timelines: Vec<Timeline> = Vec::new();
        let lines = warm.lines.into_iter().map(|line| (line, shift));
        for ((op, thinning), shift) in lines.chain(measured.lines.into_iter().map(|line| (line, 0.0))) {
            let points = thinning.finish().into_iter().map(|point| TimelinePoint {
                start_s: point.start_s - shift,
                end_s: point.end_s - shift,
                ..point
            });
            match timelines.iter_mut().find(|timeline| timeline.op == op) {
                Some(timeline) => timeline.points.extend(points),
                None => timelines.push(Timeline { op, points: points.collect() }),
            }
        }
        // With a single operation, the total is the same series: shown once.
        if timelines.len() == 2 {
            timelines.truncate(1);
        }
        let mut columns = warm.heat.finish();
        for column in &mut columns {
            column.start_s -= shift;
            column.end_s -= shift;
        }
        columns.extend(measured.heat.finish());
        let index = record.index;
        let heat = columns.iter().any(|column| !column.rows.is_empty()).then_some(HeatMap { columns });
        CellView { timelines, heat, curves: curves(&self.window), record, ..CellView::pending(index) }
    }
}

fn curves(window: &Interval) -> Vec<Curve> {
    let used: Vec<_> = window.ops.iter().filter(|(_, stats)| stats.ok > 0).collect();
    let all = window.all_ops();
    let mut curves: Vec<Curve> = Curve::of(None, &all.service, all.response()).into_iter().collect();
    if used.len() > 1 {
        curves.extend(
            used.iter().filter_map(|(op, stats)| Curve::of(Some(*op), &stats.service, stats.response())),
        );
    }
    curves
}

impl Part {
    fn new(limits: PointLimits) -> Self {
        let lines = vec![(None, Thinning::new(limits.points))];
        Self { lines, heat: HeatBuilder::new(limits.columns), end_s: 0.0 }
    }

    fn push(&mut self, interval: &Interval) {
        if interval.length_ns == 0 {
            return;
        }
        let all = interval.all_ops();
        let (start_s, end_s) =
            (interval.start_ns as f64 / 1e9, (interval.start_ns + interval.length_ns) as f64 / 1e9);
        self.end_s = self.end_s.max(end_s);
        self.heat.push(HeatColumn::of(start_s, end_s, all.response()));
        for (op, stats) in &interval.ops {
            if !stats.is_empty() && !self.lines.iter().any(|(line, _)| *line == Some(*op)) {
                // The series of an operation that first occurs late starts with empty points.
                let fresh = self.lines[0].1.emptied();
                self.lines.push((Some(*op), fresh));
            }
        }
        let nothing = OpStats::default();
        for (op, line) in &mut self.lines {
            let stats = match op {
                None => &*all,
                Some(op) => interval.op(*op).unwrap_or(&nothing),
            };
            let point = SeriesPoint::of(interval, *op, stats);
            line.push(TimelinePoint::of(&point, stats.service.quantile_ns(0.99)));
        }
    }
}
