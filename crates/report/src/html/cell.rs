//! One cell: the verdict, the figures, the charts, the details.

use std::fmt::Write;

use stats::SteadyJudgement;
use store::{CellResult, State, Validity};

use super::charts::{self, Picture};
use super::facts::SharedFacts;
use super::figure::Figures;
use super::{curves, details, escape, hosts, limit, machines, procedures, words};
use crate::figures::FigureUnit;
use crate::{CellView, Document};

/// The section of a cell.
pub fn cell(
    document: &Document,
    position: usize,
    view: &CellView,
    (figures, shared): (&Figures<'_>, &SharedFacts),
) -> String {
    let index = view.record.index;
    let planned = document.planned(index);
    let name = planned.map_or_else(|| format!("cell {}", index + 1), |cell| cell.name.clone());
    // A single cell is the whole report: show it unfolded.
    let open = if document.cells.len() == 1 { " open" } else { "" };
    let mut out = format!(
        "<details class=\"cell\"{open}><summary><h3 id=\"cell-title-{number}\"><span class=\"number\">{}</span> {}</h3>{}{}\
         <a class=\"permalink\" href=\"#cell-{number}\" title=\"Link to this cell\" aria-label=\"Link to cell {}\">#</a></summary>\
         <div class=\"inside\" id=\"cell-{number}\" role=\"group\" aria-labelledby=\"cell-title-{number}\">",
        index + 1,
        escape(&name),
        badge(view),
        glance(position, view, figures),
        index + 1,
        number = position + 1,
    );
    if let Some(cell) = planned {
        let _ = write!(
            out,
            "<p class=\"sub\">{} · {} <span class=\"url\">{}</span></p>",
            escape(&cell.workload_name),
            escape(&cell.target.name),
            escape(&cell.target.url),
        );
    }
    let Some(result) = &view.record.result else {
        out.push_str(&without_result(view));
        let pictures = pictures(position, &name, view, None);
        if !pictures.is_empty() {
            let _ = write!(out, "<div class=\"plots\"><div class=\"over-time\">{pictures}</div></div>");
        }
        out.push_str("</div></details>");
        return out;
    };
    let path = format!("/cells/{position}/result");
    out.push_str(&reasons(result));
    out.push_str(&limit::limit(&path, result, figures));
    out.push_str(&headline(&path, result, figures));
    let beside = details::latencies_fit_beside(result);
    let _ = write!(
        out,
        "<div class=\"plots\"><div class=\"over-time\">{}</div><div class=\"beside\">{}{}{}</div></div>",
        pictures(position, &name, view, Some(result)),
        curves::curve(position, &name, &view.curves, result.open_loop.is_some())
            .map(figure)
            .unwrap_or_default(),
        curves::study(position, &name, &result.points).map(figure).unwrap_or_default(),
        if beside { details::latencies(&path, result, figures) } else { String::new() },
    );
    out.push_str(&hosts::hosts(position, &name, view, result, figures));
    out.push_str("<div class=\"details\">");
    if !beside {
        out.push_str(&details::latencies(&path, result, figures));
    }
    out.push_str(&details::operations(&path, result, figures));
    out.push_str(&procedures::table(&path, result, figures));
    out.push_str(&procedures::listings(&path, result, figures));
    out.push_str(&procedures::server_tables(&path, result, figures));
    out.push_str(&details::study(&path, result, figures));
    out.push_str(&details::open_loop(&path, result, figures));
    out.push_str(&details::criteria(&path, result, figures));
    out.push_str(&details::pts(&path, result, figures));
    out.push_str(&details::series(&path, result, figures));
    out.push_str(&limit::evidence(result));
    out.push_str(&hosts::paths(&path, result, figures));
    out.push_str(&details::errors(&path, result, figures));
    out.push_str(&details::gates(&path, result, figures, planned));
    out.push_str(&details::stages(&path, result, figures));
    out.push_str("</div>");
    out.push_str(&shared.of_cell(document, position, figures));
    out.push_str("</div></details>");
    out
}

/// The summary shown for a folded cell.
fn glance(position: usize, view: &CellView, figures: &Figures<'_>) -> String {
    let Some(result) = &view.record.result else { return String::new() };
    let total = format!("/cells/{position}/result/total");
    let mut out = String::from("<span class=\"glance\">");
    let throughput = match result.total.bytes {
        0 => String::new(),
        _ => figures.estimate(&format!("{total}/bytes_per_s"), FigureUnit::BytesPerS),
    };
    let iops = figures.estimate(&format!("{total}/ops_per_s"), FigureUnit::OpsPerS);
    let p99 = figures.latency(&format!("{total}/response"), "p99_ns");
    let limit = result.limit.as_ref().map_or("", |limit| limit.bound.words());
    let _ = write!(
        out,
        "<span>{throughput}</span><span>{iops}</span><span><small>p99</small> {p99}</span><span class=\"why\">{limit}</span></span>"
    );
    out
}

fn badge(view: &CellView) -> String {
    let note = match (&view.record.state, &view.record.result) {
        (_, Some(result)) => words::badge(result.verdict.validity).to_owned(),
        (State::Failed, None) => "<span class=\"badge bad\">✕ FAILED</span>".into(),
        (state, None) => format!("<span class=\"badge none\">{}</span>", words::state(*state)),
    };
    match (&view.record.state, &view.record.result) {
        (State::Interrupted, Some(_)) => format!("{note}<span class=\"badge none\">interrupted</span>"),
        _ => note,
    }
}

fn without_result(view: &CellView) -> String {
    let text = match (&view.record.failure, view.record.state) {
        (Some(failure), _) => format!("It could not be run: {failure}"),
        (None, State::Pending) => "This cell did not start; manometer run --resume continues there.".into(),
        (None, State::Finished) => "This cell is finished, but nothing was stored of it.".into(),
        (None, _) => "This cell did not come to its end, so that there is no result; \
                      what had been stored until then is shown."
            .into(),
    };
    let class = if view.record.state == State::Failed { "reasons bad" } else { "reasons" };
    format!("<p class=\"{class}\">{}</p>", escape(&text))
}

fn reasons(result: &CellResult) -> String {
    let class = match result.verdict.validity {
        Validity::Valid => "reasons",
        Validity::Warn => "reasons warn",
        Validity::Invalid => "reasons bad",
    };
    let mut out = format!("<ul class=\"{class}\">");
    let steady = &result.steady;
    let _ = match steady.judgement() {
        // The reason says that nothing was judged, and why.
        SteadyJudgement::NotJudged => write!(out, "<li>Steady state {}</li>", escape(&steady.reason)),
        SteadyJudgement::Yes => judged(&mut out, "Steady", steady),
        SteadyJudgement::No => judged(&mut out, "No steady state", steady),
    };
    for reason in &result.verdict.reasons {
        let _ = write!(out, "<li>{}</li>", escape(reason));
    }
    for sentence in crate::steadiness(&result.steady) {
        let _ = write!(out, "<li class=\"quiet\">{}</li>", escape(&sentence));
    }
    if let Some(lost) = &result.steady.lost {
        let _ =
            write!(out, "<li>A steady level was left at interval {} of the measurement.</li>", lost.interval);
    }
    for note in &result.steady.notes {
        let _ = write!(out, "<li class=\"quiet\">{}</li>", escape(note));
    }
    out.push_str("</ul>");
    out
}

fn judged(out: &mut String, call: &str, steady: &stats::SteadyOutcome) -> std::fmt::Result {
    write!(
        out,
        "<li><strong>{call}</strong> (rule {}): {}</li>",
        escape(&steady.rule),
        escape(&steady.reason)
    )
}

fn headline(path: &str, result: &CellResult, figures: &Figures<'_>) -> String {
    let total = format!("{path}/total");
    let estimate = |name: &str, unit: FigureUnit| {
        let at = format!("{total}/{name}");
        let value = figures.get(&format!("{at}/mean"), unit);
        (value, figures.uncertainty(&at, unit).unwrap_or_default())
    };
    let mut cards = Vec::new();
    if result.total.bytes > 0 {
        cards.push(("throughput", estimate("bytes_per_s", FigureUnit::BytesPerS)));
    }
    cards.push(("IOPS", estimate("ops_per_s", FigureUnit::OpsPerS)));
    let response = format!("{total}/response");
    cards.push(("median", (figures.latency(&response, "p50_ns"), String::new())));
    cards.push((
        "p99",
        match result.total.response.count {
            0 => ("–".into(), String::new()),
            _ => (figures.latency(&response, "p99_ns"), figures.p99_uncertainty(&total).unwrap_or_default()),
        },
    ));
    cards.push(("p99.9", (figures.latency(&response, "p999_ns"), String::new())));
    cards.push(("failed", (figures.get(&format!("{total}/failed"), FigureUnit::Count), String::new())));
    if result.found_ops_per_s.is_some() {
        let found = figures.get(&format!("{path}/found_ops_per_s"), FigureUnit::OpsPerS);
        cards.insert(0, ("highest rate found", (found, String::new())));
    }
    let mut out = String::from("<dl class=\"headline\">");
    for (name, (value, uncertainty)) in cards {
        let alarm = if name == "failed" && result.total.failed > 0 { " class=\"alarm\"" } else { "" };
        let _ = write!(out, "<div{alarm}><dt>{name}</dt><dd>{value}<small>{uncertainty}</small></dd></div>");
    }
    let _ = write!(
        out,
        "<div class=\"wide\"><dt>reported window</dt><dd>{} – {}<small>of {}</small></dd></div></dl>",
        figures.get(&format!("{path}/window_start_s"), FigureUnit::Seconds),
        figures.get(&format!("{path}/window_end_s"), FigureUnit::Seconds),
        figures.get(&format!("{path}/measured_s"), FigureUnit::Seconds),
    );
    out
}

fn pictures(position: usize, name: &str, view: &CellView, result: Option<&CellResult>) -> String {
    let load = [
        charts::rate(position, name, view, result),
        charts::latency(position, name, view, result),
        charts::heat(position, name, view),
    ];
    load.into_iter().flatten().chain(machines::machines(position, name, view, result)).map(figure).collect()
}

pub(super) fn figure(picture: Picture) -> String {
    let mut legend = String::new();
    for (class, name) in &picture.legend {
        let _ =
            write!(legend, "<span class=\"key\"><i class=\"{}\"></i>{}</span>", escape(class), escape(name));
    }
    format!(
        "<figure><figcaption><span class=\"title\">{}</span> {legend}</figcaption><div class=\"canvas\">{}</div></figure>",
        escape(&picture.title),
        picture.svg
    )
}
