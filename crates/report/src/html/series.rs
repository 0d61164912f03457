//! What the charts show, for the script that reads values off them: short numbers, one list a line.

use std::fmt::Write;

use crate::document::{Curve, TimelinePoint};
use crate::{Document, op_name};

/// The series of every chart as JSON: `{"<chart>": {"x": [...], "rows": [[name, unit, [...]], ...]}}`.
pub fn series(document: &Document) -> String {
    let mut out = String::from("{");
    for (position, cell) in document.cells.iter().enumerate() {
        if let Some(total) = cell.total().filter(|total| !total.points.is_empty()) {
            let open = cell.record.result.as_ref().is_some_and(|result| result.open_loop.is_some());
            let mut rate = Entry::new(&mut out, &format!("rate-{position}"), total.points.iter().map(middle));
            rate.row("throughput", "B/s", total.points.iter().map(|p| p.bytes_per_s.mean));
            rate.row("operations", "/s", total.points.iter().map(|p| p.ops_per_s.mean));
            for timeline in cell.timelines.iter().filter(|timeline| timeline.op.is_some()) {
                rate.row(op_name(timeline.op), "/s", timeline.points.iter().map(|p| p.ops_per_s.mean));
            }
            if total.points.iter().any(|p| p.failed > 0) {
                rate.row("failed", "", total.points.iter().map(|p| p.failed as f64));
            }
            rate.end();
            let mut latency =
                Entry::new(&mut out, &format!("latency-{position}"), total.points.iter().map(middle));
            latency.row("p50", "ns", total.points.iter().map(|p| p.p50_ns.mean));
            latency.row("p99", "ns", total.points.iter().map(|p| p.p99_ns.mean));
            if open {
                latency.row("service p99", "ns", total.points.iter().map(|p| p.service_p99_ns.mean));
            }
            latency.row("max", "ns", total.points.iter().map(|p| p.max_ns as f64));
            latency.end();
        }
        if let Some(longest) = cell.hosts.iter().max_by_key(|host| host.points.len()) {
            let ops = super::charts::counts_operations(cell);
            let mut hosts =
                Entry::new(&mut out, &format!("hosts-{position}"), longest.points.iter().map(middle));
            for host in cell.hosts.iter().take(super::hosts::LINES) {
                let (unit, of): (&str, fn(&TimelinePoint) -> f64) = match ops {
                    true => ("/s", |point| point.ops_per_s.mean),
                    false => ("B/s", |point| point.bytes_per_s.mean),
                };
                hosts.row(&host.name, unit, host.points.iter().map(of));
            }
            hosts.end();
        }
        if let Some(curve) = cell.curves.first() {
            let mut entry =
                Entry::new(&mut out, &format!("curve-{position}"), curve.points.iter().map(|p| p.one_in));
            for curve in &cell.curves {
                entry.row(op_name(curve.op), "ns", responses(curve));
            }
            entry.end();
        }
    }
    // Every entry ends with a comma; JSON has none before the end.
    if out.ends_with(',') {
        out.pop();
    }
    out.push('}');
    out
}

fn responses(curve: &Curve) -> impl Iterator<Item = f64> + '_ {
    curve.points.iter().map(|point| point.response_ns as f64)
}

fn middle(point: &TimelinePoint) -> f64 {
    (point.start_s + point.end_s) / 2.0
}

/// One chart's entry.
struct Entry<'a> {
    out: &'a mut String,
    rows: usize,
}

impl<'a> Entry<'a> {
    fn new(out: &'a mut String, chart: &str, x: impl Iterator<Item = f64>) -> Self {
        let _ = write!(out, "\"{chart}\":{{\"x\":");
        numbers(out, x);
        out.push_str(",\"rows\":[");
        Self { out, rows: 0 }
    }

    fn row(&mut self, name: &str, unit: &str, values: impl Iterator<Item = f64>) {
        if self.rows > 0 {
            self.out.push(',');
        }
        let name = serde_json::Value::from(name);
        let _ = write!(self.out, "[{name},\"{unit}\",");
        numbers(self.out, values);
        self.out.push(']');
        self.rows += 1;
    }

    fn end(self) {
        self.out.push_str("]},");
    }
}

/// Four significant digits are more than a chart shows.
pub(crate) fn numbers(out: &mut String, values: impl Iterator<Item = f64>) {
    out.push('[');
    for (index, value) in values.enumerate() {
        if index > 0 {
            out.push(',');
        }
        short(out, value);
    }
    out.push(']');
}

fn short(out: &mut String, value: f64) {
    if !value.is_finite() {
        out.push_str("null");
        return;
    }
    if value.fract() == 0.0 && value.abs() < 10_000.0 {
        let _ = write!(out, "{value:.0}");
        return;
    }
    let text = format!("{value:.3e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let mantissa = mantissa.trim_end_matches('0').trim_end_matches('.');
    if exponent == "0" {
        out.push_str(mantissa);
    } else {
        let _ = write!(out, "{mantissa}e{exponent}");
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn numbers_are_short_and_json() {
        let mut out = String::new();
        super::numbers(&mut out, [0.0, 12.0, 3_214_567_890.0, 0.05, 1.5, f64::NAN].into_iter());
        assert_eq!(out, "[0,12,3.215e9,5e-2,1.5,null]");
        assert!(serde_json::from_str::<serde_json::Value>(&out).is_ok());
    }
}
