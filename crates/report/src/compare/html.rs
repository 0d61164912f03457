//! A comparison as a page: the table, and both runs' latency curves and timelines overlaid.

use std::fmt::Write;

use stats::Call;

use super::matching::{MatchedPoint, RepeatedPoint, matched, points};
use super::{CellComparison, RunComparison, text};
use crate::figures::FigureUnit;
use crate::html::curves::{NamedCurve, at_percentiles};
use crate::html::{Page, escape, page};
use crate::svg::{Axis, Chart, ChartData, Frame};
use crate::{Curve, CurvePoint, Document, TimelinePoint};

// The badges of a comparison's summary.
pub const NOTHING_COMPARED: &str = "<span class=\"badge none\">nothing compared</span>";
pub const REGRESSED: &str = "<span class=\"badge bad\">✕ WORSE</span>";
pub const UNCONFIRMED: &str = "<span class=\"badge warn\">! UNCONFIRMED</span>";
pub const NOT_WORSE: &str = "<span class=\"badge good\">✓ NOT WORSE</span>";

/// The page.
pub fn html(comparison: &RunComparison, a: &Document, b: &Document) -> String {
    let mut body = header(comparison);
    body.push_str("<main><section id=\"summary\" aria-labelledby=\"summary-title\"><h2 id=\"summary-title\">Summary</h2>");
    let any = |call: Call| comparison.cells.iter().any(|cell| cell.difference.call == call);
    let badge = match comparison.cells.is_empty() {
        true => NOTHING_COMPARED,
        _ if comparison.regressions > 0 => REGRESSED,
        _ if any(Call::Worse) => "<span class=\"badge warn\">! WORSE</span>",
        _ if any(Call::UnconfirmedWorse) => UNCONFIRMED,
        _ => NOT_WORSE,
    };
    let _ = write!(body, "<p class=\"verdict\">{badge} {}</p>", escape(&comparison.summary));
    body.push_str(&list(&text::host_changes(comparison).collect::<Vec<_>>()));
    body.push_str(&list(&comparison.changed));
    body.push_str(&list(&comparison.warnings));
    body.push_str(&table(comparison));
    for (letter, names) in [("A", &comparison.only_a), ("B", &comparison.only_b)] {
        for name in names {
            let _ = write!(body, "<p class=\"quiet\">Only in {letter}: {}</p>", escape(name));
        }
    }
    body.push_str(
        "</section><section id=\"cells\" aria-labelledby=\"cells-title\"><h2 id=\"cells-title\">Cells</h2>",
    );
    let matched = matched(&[points(a), points(b)]);
    let both = matched.iter().filter_map(|point| Some((point, point.both()?)));
    for (position, (point, (a, b))) in both.enumerate() {
        let of_point = comparison.cells.iter().enumerate().filter(|(_, cell)| is_of(cell, point));
        let hosts: String = of_point.map(|(n, cell)| super::host_table::table(n, cell)).collect();
        body.push_str(&overlay((position, &point.text()), a, b, &hosts));
    }
    body.push_str("</section></main>");
    let title = format!("{} against {} · manometer", comparison.b.id, comparison.a.id);
    page(&Page { title: &title, body: &body, data: &comparison.json() })
}

fn is_of(cell: &CellComparison, point: &MatchedPoint<'_>) -> bool {
    (&cell.target, &cell.cell) == (&point.target, &point.cell)
}

/// Warnings as a list; empty if there are none.
pub fn list(lines: &[String]) -> String {
    if lines.is_empty() {
        return String::new();
    }
    let items: String = lines.iter().map(|line| format!("<li>{}</li>", escape(line))).collect();
    format!("<ul class=\"reasons warn\">{items}</ul>")
}

fn header(comparison: &RunComparison) -> String {
    let side = |letter: &str, class: &str, side: &super::Side| {
        format!(
            "<p class=\"meta\"><span class=\"key\"><i class=\"{class}\"></i></span><strong>{letter}</strong> {} · {} · {} · manometer {}</p>",
            escape(&side.name),
            escape(&side.id),
            side.started.strftime("%Y-%m-%d %H:%M:%S UTC"),
            escape(&side.version)
        )
    };
    format!(
        "<header class=\"top\"><p class=\"eyebrow\">manometer · comparison</p><h1>{}</h1>{}{}</header>\
         <nav aria-label=\"Sections\"><a href=\"#summary\">Summary</a><a href=\"#cells\">Cells</a></nav>",
        escape(&comparison.b.name),
        side("A", "side-a", &comparison.a),
        side("B", "side-b", &comparison.b),
    )
}

fn table(comparison: &RunComparison) -> String {
    if comparison.cells.is_empty() {
        return String::new();
    }
    let mut out = String::from("<div class=\"scroll\"><table class=\"cells sortable\"><thead><tr>");
    for head in ["cell", "metric", "difference", "95 % interval", "call", "A", "B", "p, adjusted"] {
        let _ = write!(out, "<th scope=\"col\">{head}</th>");
    }
    out.push_str("</tr></thead><tbody>");
    for (n, cell) in comparison.cells.iter().enumerate() {
        out.push_str(&row(n, cell));
    }
    out.push_str("</tbody></table></div>");
    for line in text::legend(comparison).lines() {
        let _ = write!(out, "<p class=\"quiet\">{}</p>", escape(line));
    }
    out
}

fn row(n: usize, cell: &CellComparison) -> String {
    let d = &cell.difference;
    let unit = cell.of.unit();
    let data = |value: f64, path: &str, text: &str| {
        format!("<data value=\"{value}\" data-path=\"/cells/{n}/{path}\">{}</data>", escape(text))
    };
    let mean = |side: &str, of: &[stats::Estimate], value: f64| {
        let paths: Vec<String> = (0..of.len()).map(|r| format!("/cells/{n}/{side}/{r}/mean")).collect();
        format!(
            "<data value=\"{value}\" data-path=\"{}\">{}</data>",
            paths.join(" "),
            escape(&unit.text(value))
        )
    };
    let badge = match (d.call, d.regression) {
        (Call::Worse, true) => "badge bad",
        (Call::Worse | Call::UnconfirmedWorse, _) => "badge warn",
        (Call::Better, _) => "badge good",
        (Call::UnconfirmedBetter | Call::NoDifference | Call::NotComparable, _) => "badge none",
    };
    let steady = if cell.steady { "" } else { " <span class=\"badge warn\">not steady</span>" };
    let write = text::notation(d);
    let interval = match d.high > 1e6 {
        true => "–".to_owned(),
        false => format!("{} to {}", write(d.low), write(d.high)),
    };
    format!(
        "<tr><th scope=\"row\">{}{steady}</th><td>{}</td><td>{}</td><td>{interval}</td>\
         <td><span class=\"{badge}\">{}</span></td><td>{}</td><td>{}</td><td>{}</td></tr>",
        escape(&cell.cell),
        escape(&cell.metric),
        data(d.relative, "difference/relative", &write(d.relative)),
        d.call,
        mean("a", &cell.a, cell.a_mean()),
        mean("b", &cell.b, cell.b_mean()),
        data(cell.adjusted_p_value, "adjusted_p_value", &text::p_value(cell.adjusted_p_value)),
    )
}

/// The charts of a point, from the first repetition of each run.
fn overlay(
    (position, name): (usize, &str),
    a: &RepeatedPoint<'_>,
    b: &RepeatedPoint<'_>,
    hosts: &str,
) -> String {
    let pictures: String = [rates(position, name, a, b), curves(position, name, a, b)]
        .into_iter()
        .flatten()
        .map(|(title, svg)| {
            format!(
                "<figure><figcaption><span class=\"title\">{title}</span> <span class=\"key\"><i class=\"side-a\"></i>A</span>\
                 <span class=\"key\"><i class=\"side-b\"></i>B</span></figcaption><div class=\"canvas\">{svg}</div></figure>"
            )
        })
        .collect();
    format!(
        "<article class=\"cell\" id=\"cell-{}\"><h3>{}</h3><div class=\"plots\">{pictures}</div>{hosts}</article>",
        position + 1,
        escape(name)
    )
}

/// A title and a chart.
type Drawn = Option<(&'static str, String)>;

fn curves(position: usize, name: &str, a: &RepeatedPoint<'_>, b: &RepeatedPoint<'_>) -> Drawn {
    let sides: Vec<(&str, &str, &Curve)> = [("side-a", "A", a), ("side-b", "B", b)]
        .into_iter()
        .filter_map(|(class, name, group)| Some((class, name, group.view.curves.first()?)))
        .collect();
    let all = || sides.iter().flat_map(|(.., curve)| &curve.points);
    let most = all().map(|point| point.response_ns).max().filter(|most| *most > 0)? as f64;
    let least = all().map(|point| point.response_ns).filter(|ns| *ns > 0).min()? as f64;
    let far = all().map(|point| point.one_in).fold(0.0, f64::max);
    let mut chart = Chart::new(
        Frame::new(400.0, 260.0),
        Axis::percentiles(far),
        Axis::log(least, most, FigureUnit::Ns, ""),
        &format!("Latency by percentile of both runs, {name}"),
        "Two lines, one a run; the higher one waits longer.",
    );
    let named: Vec<NamedCurve<'_>> = sides
        .iter()
        .map(|(_, name, curve)| {
            ((*name).to_owned(), *curve, (|p: &CurvePoint| p.response_ns) as fn(&CurvePoint) -> u64)
        })
        .collect();
    chart.data(&format!("curve-{position}"), &at_percentiles(&named));
    for (class, _, curve) in &sides {
        chart.line(class, curve.points.iter().map(|point| (point.one_in, Some(point.response_ns as f64))));
    }
    Some(("Latency by percentile", chart.finish()))
}

fn rates(position: usize, name: &str, a: &RepeatedPoint<'_>, b: &RepeatedPoint<'_>) -> Drawn {
    let (of_a, of_b) = (a.view.total()?, b.view.total()?);
    let all = || of_a.points.iter().chain(&of_b.points);
    let most = all().map(|point| point.ops_per_s.mean).fold(0.0, f64::max);
    let first = all().map(|point| point.start_s).fold(f64::MAX, f64::min);
    let last = all().map(|point| point.end_s).fold(f64::MIN, f64::max);
    if most <= 0.0 {
        return None;
    }
    let mut chart = Chart::new(
        Frame::new(720.0, 260.0),
        Axis::time(first, last, "time since the measurement began"),
        Axis::from_zero(most, FigureUnit::OpsPerS, ""),
        &format!("IOPS over time of both runs, {name}"),
        "Two lines, one a run.",
    );
    chart.attribute("data-zoom", "time");
    // The lengths may differ: the x values come from the longer one, the y values from whatever exists there.
    let longer = if of_a.points.len() > of_b.points.len() { of_a } else { of_b };
    let mut data = ChartData::over_time(longer.points.iter().map(TimelinePoint::middle_s));
    for (name, timeline) in [("A", of_a), ("B", of_b)] {
        let value = |at: f64| timeline.points.iter().find(|p| p.start_s <= at && at < p.end_s);
        let values = longer.points.iter().map(|p| value(p.middle_s()).map_or(f64::NAN, |p| p.ops_per_s.mean));
        data.row(name, FigureUnit::OpsPerS, values);
    }
    chart.data(&format!("rate-{position}"), &data);
    for (class, timeline) in [("side-a", of_a), ("side-b", of_b)] {
        chart.line(class, timeline.points.iter().map(|point| (point.middle_s(), Some(point.ops_per_s.mean))));
    }
    Some(("IOPS over time", chart.finish()))
}
