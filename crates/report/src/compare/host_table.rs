//! Table of a cell's hosts in both runs, for the comparison page.

use stats::Estimate;

use super::hosts::HostComparison;
use super::{CellComparison, text};
use crate::figures::FigureUnit;
use crate::html::escape;

/// The table of the `n`-th comparison; empty if hosts were not compared.
pub fn table(n: usize, cell: &CellComparison) -> String {
    if cell.hosts.is_empty() {
        return String::new();
    }
    let mut out = format!(
        "<div class=\"scroll\"><table class=\"cells sortable\"><caption>Hosts: {}</caption><thead><tr>",
        escape(&cell.metric)
    );
    for head in ["host", "A", "B", "difference", "95 % interval", "the others", "p, adjusted"] {
        out.push_str(&format!("<th scope=\"col\">{head}</th>"));
    }
    out.push_str("</tr></thead><tbody>");
    for (h, host) in cell.hosts.iter().enumerate() {
        out.push_str(&row(&format!("/cells/{n}/hosts/{h}"), host, cell.of.unit()));
    }
    out.push_str("</tbody></table></div>");
    out
}

fn row(path: &str, host: &HostComparison, unit: FigureUnit) -> String {
    let data = |value: f64, field: &str, text: &str| {
        format!("<data value=\"{value}\" data-path=\"{path}/{field}\">{}</data>", escape(text))
    };
    let mean = |side: &str, of: &[Estimate]| {
        let value = super::mean(of);
        let paths: Vec<String> = (0..of.len()).map(|r| format!("{path}/{side}/{r}/mean")).collect();
        format!(
            "<data value=\"{value}\" data-path=\"{}\">{}</data>",
            paths.join(" "),
            escape(&unit.text(value))
        )
    };
    let d = &host.difference;
    let interval = match d.high > 1e6 {
        true => "–".to_owned(),
        false => format!("{} to {}", text::percent(d.low), text::percent(d.high)),
    };
    let badge = if host.stands_out { " <span class=\"badge warn\">! alone</span>" } else { "" };
    format!(
        "<tr><th scope=\"row\"><span class=\"text\">{}</span>{badge}</th><td>{}</td><td>{}</td><td>{}</td>\
         <td>{interval}</td><td>{}</td><td>{}</td></tr>",
        escape(&host.host),
        mean("a", &host.a),
        mean("b", &host.b),
        data(d.relative, "difference/relative", &text::percent(d.relative)),
        data(host.others, "others", &text::percent(host.others)),
        data(host.adjusted_p_value, "adjusted_p_value", &text::p_value(host.adjusted_p_value)),
    )
}
