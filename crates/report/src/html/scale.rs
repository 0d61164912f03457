//! Scale-out: what additional hosts, addresses or parts of the server bring, as a table and two charts.

use std::fmt::Write;

use stats::limit::{ServerFinding, ServerPart};
use stats::{Ratio, ScalePoint, Scaling, StepVerdict};
use store::CellResult;

use super::cell::figure;
use super::charts::{self, Picture};
use super::details::{table, text};
use super::escape;
use super::figure::Figures;
use crate::Document;
use crate::figures::{FigureUnit, digits};
use crate::svg::{Axis, Chart, ChartData};

/// Parameters along which every study scales, with their plural and singular names.
const AXES: [(&str, &str, &str); 2] = [("agents", "hosts", "host"), ("addresses", "addresses", "address")];

/// Cells that differ only in the number of hosts or addresses, or in the size of the server.
struct Study {
    /// Workload, target, and the other parameters.
    name: String,
    /// What is scaled, in the plural.
    what: String,
    /// In the singular.
    one: String,
    /// The number, and the cell's index in the document.
    cells: Vec<(u32, usize)>,
}

/// The section; empty if nothing was scaled.
pub fn scale(document: &Document, figures: &Figures<'_>) -> String {
    let parts: String = studies(document)
        .iter()
        .enumerate()
        .map(|(number, study)| shown(document, (number, study), figures))
        .collect();
    if parts.is_empty() {
        return parts;
    }
    format!(
        "<p class=\"quiet\">Efficiency is the throughput per host (or address, or part of the server) against that of the smallest number. \
         Added ones count as scaling while they bring at least half of what each brought before.</p>{parts}"
    )
}

fn studies(document: &Document) -> Vec<Study> {
    let mut studies: Vec<Study> = Vec::new();
    for (position, view) in document.cells.iter().enumerate() {
        let (Some(cell), Some(result)) = (document.planned(view.record.index), &view.record.result) else {
            continue;
        };
        for (axis, what, one) in axes(document).iter().filter(|(axis, ..)| cell.point.contains_key(axis)) {
            let named = cell.point.get(axis).and_then(|value| value.parse::<u32>().ok());
            let count = match axis.as_str() {
                "agents" => named
                    .or(cell.agents)
                    .or((!result.hosts.is_empty()).then_some(result.hosts.len() as u32))
                    .or_else(|| document.run.plan.hosts_of(cell)),
                _ => named,
            };
            let Some(count) = count else { continue };
            let mut name = format!("{}, {}", cell.workload_name, cell.target.name);
            for (other, value) in cell.point.iter().filter(|(other, _)| *other != axis) {
                let _ = write!(name, ", {other} {value}");
            }
            match studies.iter_mut().find(|study| study.name == name && study.what == *what) {
                Some(study) => study.cells.push((count, position)),
                None => {
                    let (what, one) = (what.clone(), one.clone());
                    studies.push(Study { name, what, one, cells: vec![(count, position)] });
                }
            }
        }
    }
    studies
}

/// The parameters along which this run may scale, the sizes of its server among them, which the user named.
fn axes(document: &Document) -> Vec<(String, String, String)> {
    let named = AXES.map(|(axis, what, one)| (axis.to_owned(), what.to_owned(), one.to_owned()));
    let server = document.run.plan.server_scale.as_ref().map(|scale| {
        let one = scale.name.strip_suffix('s').filter(|one| !one.is_empty()).unwrap_or(&scale.name);
        (scale.name.clone(), scale.name.clone(), one.to_owned())
    });
    named.into_iter().chain(server).collect()
}

/// Between which numbers the limit changes, and what and where it was before and after; empty if it does not, or is not
/// known.
fn shift(scaling: &Scaling, results: &[(u32, usize, &CellResult)]) -> String {
    let known = |step: &stats::ScaleStep| Some((step.point.count, step.point.limit.clone()?));
    let change = scaling.steps.windows(2).find_map(|pair| {
        let (before, after) = (known(&pair[0])?, known(&pair[1])?);
        (before.1 != after.1).then_some((before, after))
    });
    let limit = |of: u32, bound: &str| {
        let limits =
            results.iter().filter(|(count, ..)| *count == of).filter_map(|(.., cell)| cell.limit.as_ref());
        let place = limits.filter(|limit| limit.bound.words() == bound).map(|limit| &limit.place);
        let place =
            place.filter(|place| !place.is_empty()).map(|place| format!(" ({})", escape(place))).next();
        format!("{}{}", escape(bound), place.unwrap_or_default())
    };
    change.map_or_else(String::new, |((last, from), (next, to))| {
        format!(
            "<p><strong>The limit shifts</strong> from {} to {} between {last} and {next}.</p>",
            limit(last, &from),
            limit(next, &to)
        )
    })
}

fn shown(document: &Document, (number, study): (usize, &Study), figures: &Figures<'_>) -> String {
    let results: Vec<(u32, usize, &CellResult)> = study
        .cells
        .iter()
        .filter_map(|(count, position)| {
            Some((*count, *position, document.cells[*position].record.result.as_ref()?))
        })
        .collect();
    let bytes = results.iter().all(|(_, _, result)| result.total.bytes > 0);
    let point = |(count, _, result): &(u32, usize, &CellResult)| ScalePoint {
        count: *count,
        throughput: if bytes { result.total.bytes_per_s } else { result.total.ops_per_s },
        p99_ns: (result.total.response.count > 0).then_some(result.total.response.p99_ns as f64),
        limit: result.limit.as_ref().map(|limit| limit.bound.words().to_owned()),
    };
    let points: Vec<ScalePoint> = results.iter().map(point).collect();
    let Some(scaling) = stats::scaling(&points) else { return String::new() };
    let end = match &scaling.end {
        Some(end) => {
            let limit = |limit: &Option<String>| {
                limit.as_ref().map(|limit| format!(" ({})", escape(limit))).unwrap_or_default()
            };
            format!(
                "<p><strong>It scales to {} {what}</strong>{}; {}{} no longer {pay}.</p>",
                end.last,
                limit(&end.limit_before),
                end.next,
                limit(&end.limit_after),
                pay = if end.next == 1 { "pays" } else { "pay" },
                what = escape(if end.last == 1 { &study.one } else { &study.what }),
            )
        }
        None => "<p>It scales as far as was measured, or noise hides the steps.</p>".to_owned(),
    };
    let rows = rows(&scaling, &results, bytes, figures);
    let shift = shift(&scaling, &results);
    let mut heads = vec![&*study.what, "throughput", "efficiency", "a step brings", "p99", "held back by"];
    if observed(&results) {
        heads.extend(["busiest server disk", "busiest server NIC"]);
    }
    heads.push("finding");
    format!(
        "<h3>{}</h3>{end}{shift}<div class=\"scaling\">{}{}</div>{}",
        escape(&study.name),
        throughput(study, number, &scaling, bytes).map(figure).unwrap_or_default(),
        latency(study, number, &scaling).map(figure).unwrap_or_default(),
        table(&format!("By number of {}", study.what), &heads, &rows)
    )
}

/// Whether hosts of the server were observed in any of these cells.
fn observed(results: &[(u32, usize, &CellResult)]) -> bool {
    results.iter().any(|(_, _, result)| result.limit.as_ref().is_some_and(|limit| !limit.servers.is_empty()))
}

/// The busiest disk or NIC over all servers of a cell, with its host and what it carried.
fn busiest(result: &CellResult, part: fn(&ServerFinding) -> Option<&ServerPart>) -> String {
    let servers = result.limit.iter().flat_map(|limit| &limit.servers);
    let parts = servers.filter_map(|server| Some((&server.host, part(server)?)));
    let order = |part: &ServerPart| (part.share.unwrap_or(0.0), part.bytes_per_s);
    let most = parts.max_by(|(_, a), (_, b)| {
        let (a, b) = (order(a), order(b));
        a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1))
    });
    let Some((host, part)) = most else { return "–".into() };
    let share = part.share.map_or_else(String::new, |share| format!("{}, ", percent(share)));
    let alone = part
        .baseline_bytes_per_s
        .map_or_else(String::new, |rate| format!(" (alone {})", FigureUnit::BytesPerS.text(rate)));
    text(&format!("{host} {}: {share}{}{alone}", part.name, FigureUnit::BytesPerS.text(part.bytes_per_s)))
}

fn rows(
    scaling: &Scaling,
    results: &[(u32, usize, &CellResult)],
    bytes: bool,
    figures: &Figures<'_>,
) -> Vec<Vec<String>> {
    let (field, unit) = match bytes {
        true => ("bytes_per_s", FigureUnit::BytesPerS),
        false => ("ops_per_s", FigureUnit::OpsPerS),
    };
    let row = |step: &stats::ScaleStep| {
        let of_count: Vec<usize> = results
            .iter()
            .filter(|(count, ..)| *count == step.point.count)
            .map(|(_, position, _)| *position)
            .collect();
        let mean = |field: &str, unit| {
            let paths: Vec<String> =
                of_count.iter().map(|position| format!("/cells/{position}/result/total/{field}")).collect();
            figures.mean(&paths, unit).1
        };
        let first = of_count.first().map_or(0, |position| position + 1);
        let ratio = |ratio: &Ratio| {
            let half = (ratio.high - ratio.low) / 2.0;
            match half > 0.0 && half.is_finite() {
                true => format!("{} <span class=\"pm\">± {}</span>", percent(ratio.value), percent(half)),
                false => percent(ratio.value),
            }
        };
        let verdict = match step.verdict {
            None => String::new(),
            Some(StepVerdict::Scales) => "<span class=\"yes\">✓ scales</span>".into(),
            Some(StepVerdict::Stops) => "<span class=\"no\">✕ stops scaling</span>".into(),
            Some(StepVerdict::Unclear) => "? within the noise".into(),
        };
        let mut row = vec![
            format!("<a href=\"#cell-{first}\">{}</a>", step.point.count),
            mean(&format!("{field}/mean"), unit),
            ratio(&step.efficiency),
            step.marginal.as_ref().map_or_else(|| "–".into(), ratio),
            if step.point.p99_ns.is_some() { mean("response/p99_ns", FigureUnit::Ns) } else { "–".into() },
            text(step.point.limit.as_deref().unwrap_or("–")),
        ];
        if observed(results) {
            let result =
                results.iter().find(|(count, ..)| *count == step.point.count).map(|(.., result)| *result);
            let of = |part| result.map_or_else(|| "–".into(), |result| busiest(result, part));
            row.extend([of(|server| server.disk.as_ref()), of(|server| server.nic.as_ref())]);
        }
        row.push(verdict);
        row
    };
    scaling.steps.iter().map(row).collect()
}

fn percent(share: f64) -> String {
    format!("{} %", digits(share * 100.0, if share.abs() >= 1.0 { 3 } else { 2 }))
}

/// The horizontal axis: the number of hosts or addresses, or the size of the server.
fn counts(study: &Study, scaling: &Scaling) -> Axis {
    let most = scaling.steps.iter().map(|step| step.point.count).max().unwrap_or(1);
    let ticks = scaling.steps.iter().map(|step| (f64::from(step.point.count), step.point.count.to_string()));
    Axis {
        scale: crate::svg::Scale::Linear,
        low: 0.0,
        high: f64::from(most) * 1.06,
        title: study.what.clone(),
        ticks: ticks.collect(),
    }
}

/// Marks the range where it stops scaling.
fn knee(chart: &mut Chart, scaling: &Scaling) {
    if let Some(end) = &scaling.end {
        chart.span("unsteady", f64::from(end.last), f64::from(end.next), "stops scaling");
    }
}

/// The numbers behind a study's charts.
fn numbers(study: &Study, scaling: &Scaling) -> ChartData {
    let x = scaling.steps.iter().map(|step| f64::from(step.point.count)).collect();
    ChartData { x_name: study.what.clone(), x, ..ChartData::default() }
}

fn throughput(study: &Study, number: usize, scaling: &Scaling, bytes: bool) -> Option<Picture> {
    let unit = if bytes { FigureUnit::BytesPerS } else { FigureUnit::OpsPerS };
    let (first, last) = (scaling.steps.first()?, scaling.steps.last()?);
    let each = first.point.throughput.mean / f64::from(first.point.count);
    let linear = each * f64::from(last.point.count);
    let most = scaling.steps.iter().map(|step| step.point.throughput.high).fold(linear, f64::max);
    let what = if bytes { "Throughput" } else { "IOPS" };
    let mut chart = Chart::new(
        charts::SQUARE,
        counts(study, scaling),
        Axis::from_zero(most, unit, ""),
        &format!("{what} by number of {}, {}", study.what, study.name),
        &format!(
            "From {} with {} to {} with {}; {} would be linear.",
            unit.text(first.point.throughput.mean),
            first.point.count,
            unit.text(last.point.throughput.mean),
            last.point.count,
            unit.text(linear)
        ),
    );
    let mut data = numbers(study, scaling);
    let means = scaling.steps.iter().map(|step| step.point.throughput.mean);
    let ends = |of: fn(&stats::Estimate) -> f64| {
        scaling.steps.iter().map(|step| of(&step.point.throughput)).collect()
    };
    data.row(&what.to_lowercase(), unit, means);
    data.rows[0].bounds = Some((ends(|rate| rate.low), ends(|rate| rate.high)));
    data.row(
        "linear",
        data.rows[0].unit,
        scaling.steps.iter().map(|step| each * f64::from(step.point.count)),
    );
    chart.data(&format!("scale-throughput-{number}"), &data);
    knee(&mut chart, scaling);
    chart.line("linear", [(0.0, Some(0.0)), (f64::from(last.point.count), Some(linear))]);
    let band: Vec<(f64, f64, f64)> = scaling
        .steps
        .iter()
        .map(|step| {
            (f64::from(step.point.count), step.point.throughput.low.max(0.0), step.point.throughput.high)
        })
        .collect();
    chart.band("c0", &band);
    let at = |step: &stats::ScaleStep| (f64::from(step.point.count), step.point.throughput.mean);
    chart.line("c0", scaling.steps.iter().map(|step| (at(step).0, Some(at(step).1))));
    chart.dots(
        "c0",
        scaling.steps.iter().map(|step| {
            let (count, rate) = at(step);
            (count, rate, format!("{} with {count} {}", unit.text(rate), study.what))
        }),
    );
    let legend = vec![
        ("c0".into(), "measured, with its 95 % interval".into()),
        ("linear".into(), "linear from the smallest".into()),
    ];
    Some(Picture { svg: chart.finish(), title: format!("{what} by number of {}", study.what), legend })
}

fn latency(study: &Study, number: usize, scaling: &Scaling) -> Option<Picture> {
    let points: Vec<(f64, f64)> = scaling
        .steps
        .iter()
        .filter_map(|step| Some((f64::from(step.point.count), step.point.p99_ns.filter(|ns| *ns > 0.0)?)))
        .collect();
    let (least, most) = points.iter().fold((f64::MAX, 0.0f64), |(l, m), (_, ns)| (l.min(*ns), m.max(*ns)));
    if points.is_empty() {
        return None;
    }
    let mut chart = Chart::new(
        charts::SQUARE,
        counts(study, scaling),
        Axis::log(least, most, FigureUnit::Ns, ""),
        &format!("99th percentile of the latency by number of {}, {}", study.what, study.name),
        &format!("From {} to {}.", FigureUnit::Ns.text(least), FigureUnit::Ns.text(most)),
    );
    let mut data = numbers(study, scaling);
    data.row("p99", FigureUnit::Ns, scaling.steps.iter().map(|step| step.point.p99_ns.unwrap_or(f64::NAN)));
    chart.data(&format!("scale-p99-{number}"), &data);
    knee(&mut chart, scaling);
    chart.line("p99", points.iter().map(|(count, ns)| (*count, Some(*ns))));
    chart.dots(
        "p99",
        points.iter().map(|(count, ns)| {
            (*count, *ns, format!("p99 {} with {count} {}", FigureUnit::Ns.text(*ns), study.what))
        }),
    );
    let title = format!("99th percentile by number of {}", study.what);
    Some(Picture { svg: chart.finish(), title, legend: Vec::new() })
}
