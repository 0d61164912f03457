//! Several runs as a page: each cell's figures over the runs, with their intervals, as a chart and a table.

use std::fmt::Write;

use stats::{Call, Difference};

use super::html::{NOT_WORSE, NOTHING_COMPARED, REGRESSED, UNCONFIRMED};
use super::series::{CellSeries, RunSeries};
use super::{label, text};
use crate::figures::FigureUnit;
use crate::html::{Page, escape, page};
use crate::svg::{Axis, Chart, ChartData, DataRow, Frame};

/// The page.
pub fn html(series: &RunSeries) -> String {
    let mut body = header(series);
    body.push_str("<main><section id=\"summary\" aria-labelledby=\"summary-title\"><h2 id=\"summary-title\">Summary</h2>");
    let badge = match series.cells.is_empty() {
        true => NOTHING_COMPARED,
        _ if series.regressions > 0 => REGRESSED,
        _ if series.unconfirmed_regressions > 0 => UNCONFIRMED,
        _ => NOT_WORSE,
    };
    let _ = write!(body, "<p class=\"verdict\">{badge} {}</p>", escape(&series.summary));
    for lines in [&series.changed, &series.warnings] {
        body.push_str(&super::html::list(lines));
    }
    body.push_str(
        "</section><section id=\"cells\" aria-labelledby=\"cells-title\"><h2 id=\"cells-title\">Cells</h2>",
    );
    for (n, cell) in series.cells.iter().enumerate() {
        let lines: String = cell.lines().iter().map(|line| format!("<p>{}</p>", escape(line))).collect();
        let _ = write!(
            body,
            "<article class=\"cell\" id=\"cell-{}\"><h3>{}</h3><div class=\"plots\"><figure><figcaption><span class=\"title\">{}</span></figcaption><div class=\"canvas\">{}</div></figure></div>{lines}{}</article>",
            n + 1,
            escape(&cell.title()),
            escape(&format!("{} over the runs", cell.metric)),
            chart(n, cell),
            table(series, n, cell)
        );
    }
    body.push_str("</section></main>");
    let title = format!("{} runs of {} · manometer", series.runs.len(), last_name(series));
    page(&Page { title: &title, body: &body, data: &series.json() })
}

fn last_name(series: &RunSeries) -> &str {
    series.runs.last().map_or("", |run| &run.name)
}

fn header(series: &RunSeries) -> String {
    let runs: String = series
        .runs
        .iter()
        .enumerate()
        .map(|(n, run)| {
            format!(
                "<p class=\"meta\"><strong>{}</strong> {} · {} · {} · manometer {}</p>",
                label(n),
                escape(&run.name),
                escape(&run.id),
                run.started.strftime("%Y-%m-%d %H:%M:%S UTC"),
                escape(&run.version)
            )
        })
        .collect();
    format!(
        "<header class=\"top\"><p class=\"eyebrow\">manometer · comparison of {} runs</p><h1>{}</h1>{runs}</header>\
         <nav aria-label=\"Sections\"><a href=\"#summary\">Summary</a><a href=\"#cells\">Cells</a></nav>",
        series.runs.len(),
        escape(last_name(series))
    )
}

/// The means over the runs, in order, with a band for their intervals.
fn chart(position: usize, cell: &CellSeries) -> String {
    let there = || cell.figures.iter().enumerate().filter_map(|(n, figure)| Some((n, figure.as_ref()?)));
    let points: Vec<(f64, f64, f64, f64)> = there()
        .map(|(n, figure)| {
            let estimate = figure.estimate();
            (n as f64 + 1.0, estimate.mean, estimate.low, estimate.high)
        })
        .collect();
    let most = points.iter().map(|(.., high)| *high).fold(0.0, f64::max);
    let mut chart = Chart::new(
        Frame::new(720.0, 300.0),
        Axis::from_zero(cell.figures.len() as f64 + 0.5, FigureUnit::Count, "run, in the order given"),
        Axis::from_zero(most, cell.of.unit(), ""),
        &format!("{} over the runs", cell.title()),
        "A line through the means; the band is their 95 % interval.",
    );
    let of = |pick: fn(&(f64, f64, f64, f64)) -> f64| points.iter().map(pick).collect::<Vec<f64>>();
    let bounds = Some((of(|point| point.2), of(|point| point.3)));
    let row = DataRow { bounds, ..DataRow::of(&cell.metric, cell.of.unit(), of(|point| point.1)) };
    let labels = there().map(|(n, _)| label(n)).collect();
    let x = of(|point| point.0);
    let data = ChartData { x_name: "run".to_owned(), x, labels, rows: vec![row], ..ChartData::default() };
    chart.data(&format!("runs-{position}"), &data);
    let band: Vec<(f64, f64, f64)> = points.iter().map(|(at, _, low, high)| (*at, *low, *high)).collect();
    chart.band("side-b", &band);
    chart.line("side-b", points.iter().map(|(at, mean, ..)| (*at, Some(*mean))));
    // Between the last run on the old level and the first on the new one.
    chart.moments(
        "",
        cell.changes.iter().map(|found| {
            let (before, relative) = (found.change.run as f64 + 0.5, text::percent(found.change.relative));
            (before, format!("level since {}: {relative}, {}", label(found.change.run), found.call))
        }),
    );
    chart.dots(
        "side-b",
        there().zip(&points).map(|((n, figure), (at, mean, ..))| {
            (*at, *mean, format!("{}: {}", label(n), cell.of.unit().text(figure.mean())))
        }),
    );
    chart.finish()
}

fn table(series: &RunSeries, n: usize, cell: &CellSeries) -> String {
    let mut out = String::from("<div class=\"scroll\"><table class=\"cells\"><thead><tr>");
    for head in ["run", "started, UTC", "figure", "against the first", "against the one before"] {
        let _ = write!(out, "<th scope=\"col\">{head}</th>");
    }
    out.push_str("</tr></thead><tbody>");
    for (r, (run, figure)) in series.runs.iter().zip(&cell.figures).enumerate() {
        let Some(figure) = figure else { continue };
        let path = format!("/cells/{n}/figures/{r}");
        let paths: Vec<String> =
            (0..figure.repetitions.len()).map(|one| format!("{path}/repetitions/{one}/mean")).collect();
        let unsteady = if figure.is_settled() { "" } else { " <span class=\"badge warn\">not steady</span>" };
        let _ = write!(
            out,
            "<tr><th scope=\"row\">{} {}{unsteady}</th><td>{}</td><td><data value=\"{}\" data-path=\"{}\">{}</data></td>\
             <td>{}</td><td>{}</td></tr>",
            label(r),
            escape(&run.id),
            run.started.strftime("%Y-%m-%d %H:%M"),
            figure.mean(),
            paths.join(" "),
            escape(&cell.of.unit().text(figure.mean())),
            against(&figure.against_first, &format!("{path}/against_first")),
            against(&figure.against_previous, &format!("{path}/against_previous")),
        );
    }
    out.push_str("</tbody></table></div>");
    out
}

fn against(difference: &Option<Difference>, path: &str) -> String {
    let Some(difference) = difference else { return String::new() };
    if difference.call == Call::NotComparable {
        return difference.call.to_string();
    }
    format!(
        "<data value=\"{}\" data-path=\"{path}/relative\">{}</data> {}",
        difference.relative,
        text::notation(difference)(difference.relative),
        difference.call
    )
}
