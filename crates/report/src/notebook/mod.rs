//! A Jupyter notebook (nbformat 4.5) that holds the run's data and draws its charts with pandas, matplotlib and
//! seaborn: a starting point for further analysis, not only for viewing.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::document::{Curve, HostLine, HostSamples, Timeline};
use crate::html::escape;
use crate::{Document, data, op_name};

/// Line length of the packed data.
const LINE: usize = 100;

/// The notebook as JSON. It needs no other file.
pub fn notebook(document: &Document) -> String {
    let run = &document.run;
    let cells = [
        markdown("title", &title(document)),
        markdown(
            "how",
            "Everything below is computed from the data in the second cell: the run as `manometer export --format json` \
             shows it, with its time lines, percentile curves and samples of the hosts. Needs pandas, matplotlib and seaborn.",
        ),
        hidden("data", &packed(document)),
        code("load", include_str!("load.py")),
        markdown(
            "summary-title",
            "## Summary\n\nEach figure is of the reported window, with half of the width of its 95 % interval.",
        ),
        code("headline", include_str!("headline.py")),
        code("summary", include_str!("summary.py")),
        markdown(
            "overview-title",
            "## Overview\n\nAgainst each parameter that was crossed, with 95 % intervals; repetitions by their mean, the band then \
             spans the intervals of all.",
        ),
        code("overview", include_str!("overview.py")),
        markdown(
            "time-title",
            "## Over time\n\nThe reported window is shaded: green when steady, orange when not, blue when no rule judged it.",
        ),
        code("time", include_str!("time.py")),
        markdown("curves-title", "## Latency by percentile"),
        code("curves", include_str!("curves.py")),
        markdown("matrix-title", "## Matrix"),
        code("matrix", include_str!("matrix.py")),
        markdown(
            "hosts-title",
            "## Hosts\n\nWhat held each cell back, the hosts of a fleet side by side, and each host over time: its load, its \
             processors, its network card.",
        ),
        code("hosts", include_str!("hosts.py")),
        code("hosts-time", include_str!("hosts_time.py")),
        markdown(
            "compare-title",
            "## Against another run\n\nWrite the other run with `manometer export RUN --format json --output-file other.json`, \
             set `OTHER` and run the cell. `manometer compare` tests whether the differences are real.",
        ),
        code("compare", include_str!("compare.py")),
    ];
    let notebook = json!({
        "nbformat": 4,
        "nbformat_minor": 5,
        "metadata": {
            "kernelspec": { "display_name": "Python 3", "language": "python", "name": "python3" },
            "language_info": { "name": "python" },
            "title": format!("{} {}", run.name, run.id),
        },
        "cells": cells,
    });
    // Two spaces of indentation, as Jupyter itself writes.
    serde_json::to_string_pretty(&notebook).unwrap_or_default() + "\n"
}

fn title(document: &Document) -> String {
    let run = &document.run;
    let text = |text: &str| {
        let mut out = String::new();
        for c in escape(text).chars() {
            if "\\`*_[]#$|~".contains(c) && c != '#' {
                out.push('\\');
            }
            out.push(if c == '\n' { ' ' } else { c });
        }
        out
    };
    let description = run.plan.description.as_deref().map(|d| format!("\n\n{}", text(d))).unwrap_or_default();
    format!(
        "# {}\n\nRun {} of {}, manometer {}.{description}",
        text(&run.name),
        text(&run.id),
        run.started.strftime("%Y-%m-%d %H:%M:%S UTC"),
        text(&run.version)
    )
}

fn markdown(id: &str, text: &str) -> Value {
    json!({ "cell_type": "markdown", "id": id, "metadata": {}, "source": lines(text) })
}

fn code(id: &str, text: &str) -> Value {
    json!({
        "cell_type": "code", "id": id, "metadata": {}, "execution_count": null, "outputs": [],
        "source": lines(text.trim_end()),
    })
}

fn hidden(id: &str, text: &str) -> Value {
    let mut cell = code(id, text);
    cell["metadata"] = json!({ "jupyter": { "source_hidden": true }, "tags": ["data"] });
    cell
}

/// The format requires a list of lines with their line ends.
fn lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

/// The data as one statement: JSON, deflated, in base64.
fn packed(document: &Document) -> String {
    let mut all = data(document);
    let each =
        |of: &dyn Fn(&crate::CellView) -> Value| -> Vec<Value> { document.cells.iter().map(of).collect() };
    all["timelines"] = each(&|cell| cell.timelines.iter().map(timeline).collect()).into();
    all["curves"] = each(&|cell| cell.curves.iter().map(curve).collect()).into();
    all["host_lines"] = each(&|cell| cell.hosts.iter().map(host_line).collect()).into();
    all["samples"] = each(&|cell| cell.samples.iter().map(samples).collect()).into();
    let deflated = miniz_oxide::deflate::compress_to_vec_zlib(all.to_string().as_bytes(), 8);
    let text = STANDARD.encode(deflated);
    let mut out =
        String::from("# The run's data: JSON, zlib, base64. The next cell reads it.\nPACKED = \"\"\"\n");
    let mut rest = text.as_str();
    while !rest.is_empty() {
        let (line, after) = rest.split_at(LINE.min(rest.len()));
        out.push_str(line);
        out.push('\n');
        rest = after;
    }
    out.push_str("\"\"\"");
    out
}

/// A timeline in columns.
fn timeline(timeline: &Timeline) -> Value {
    let column =
        |of: &dyn Fn(&crate::TimelinePoint) -> f64| -> Vec<f64> { timeline.points.iter().map(of).collect() };
    json!({
        "op": op_name(timeline.op),
        "start_s": column(&|p| p.start_s),
        "end_s": column(&|p| p.end_s),
        "bytes_per_s": column(&|p| p.bytes_per_s.mean),
        "ops_per_s": column(&|p| p.ops_per_s.mean),
        "p50_ns": column(&|p| p.p50_ns.mean),
        "p99_ns": column(&|p| p.p99_ns.mean),
        "max_ns": column(&|p| p.max_ns as f64),
        "failed": column(&|p| p.failed as f64),
    })
}

/// A host's load in columns.
fn host_line(line: &HostLine) -> Value {
    let column =
        |of: &dyn Fn(&crate::TimelinePoint) -> f64| -> Vec<f64> { line.points.iter().map(of).collect() };
    json!({
        "host": line.name,
        "start_s": column(&|p| p.start_s),
        "end_s": column(&|p| p.end_s),
        "bytes_per_s": column(&|p| p.bytes_per_s.mean),
        "ops_per_s": column(&|p| p.ops_per_s.mean),
    })
}

/// A host's samples in columns.
fn samples(host: &HostSamples) -> Value {
    type Of<'a> = &'a dyn Fn(&crate::SamplePoint) -> Option<f64>;
    let column = |of: Of<'_>| -> Vec<Option<f64>> { host.points.iter().map(of).collect() };
    json!({
        "host": host.name,
        "at_s": column(&|p| Some(p.at_s)),
        "busiest_core": column(&|p| p.busiest_core),
        "all_cores": column(&|p| p.all_cores),
        "busiest_worker": column(&|p| p.busiest_worker),
        "received_bytes_per_s": column(&|p| p.received_bytes_per_s),
        "sent_bytes_per_s": column(&|p| p.sent_bytes_per_s),
        "busiest_disk": column(&|p| p.busiest_disk),
        "read_bytes_per_s": column(&|p| p.read_bytes_per_s),
        "written_bytes_per_s": column(&|p| p.written_bytes_per_s),
    })
}

fn curve(curve: &Curve) -> Value {
    let column =
        |of: &dyn Fn(&crate::CurvePoint) -> f64| -> Vec<f64> { curve.points.iter().map(of).collect() };
    json!({
        "op": op_name(curve.op),
        "one_in": column(&|p| p.one_in),
        "service_ns": column(&|p| p.service_ns as f64),
        "response_ns": column(&|p| p.response_ns as f64),
    })
}
