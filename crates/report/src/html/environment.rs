//! Context that may explain the figures later: the plan, the client, the events.

use std::collections::BTreeSet;
use std::fmt::Write;

use super::facts::{self, SharedFacts};
use super::{escape, words};
use crate::Document;

/// The plan, workload by workload and as a whole.
pub fn plan(document: &Document) -> String {
    let plan = &document.run.plan;
    let mut out = String::new();
    if let Some(description) = &plan.description {
        let _ = write!(out, "<p class=\"lead\">{}</p>", escape(description));
    }
    let _ = write!(
        out,
        "<p class=\"quiet\">{}, seed {}. A workload's first cell is described; what the matrix crosses differs from cell to cell.</p>\
         <div class=\"columns\">",
        words::count(plan.cells.len(), "cell"),
        plan.seed
    );
    let mut seen = BTreeSet::new();
    for cell in &plan.cells {
        if !seen.insert((&cell.workload_name, &cell.target.name)) {
            continue;
        }
        let mut rows = vec![("target", format!("{} {}", cell.target.name, cell.target.url))];
        rows.extend(words::workload(cell));
        rows.push(("stages", words::stages(cell)));
        for (name, value) in &cell.target.options {
            rows.push(("option", format!("{name} = {value}")));
        }
        for gate in &cell.gates {
            rows.push(("gate", gate.text.clone()));
        }
        pairs(&mut out, &cell.workload_name, rows.iter().map(|(name, value)| (*name, value.as_str())));
    }
    let text = serde_json::to_string_pretty(plan).unwrap_or_default();
    let _ = write!(
        out,
        "</div><details class=\"whole-plan\"><summary>The whole plan, as it was run (JSON)</summary><pre>{}</pre></details>",
        escape(&text)
    );
    out
}

/// Facts about a host, in words.
fn known(out: &mut String, caption: &str, environment: &store::Environment) {
    let rows: Vec<(String, String)> =
        environment.facts.iter().map(|(key, value)| (facts::name(key), facts::value(key, value))).collect();
    pairs(out, caption, rows.iter().map(|(name, value)| (name.as_str(), value.as_str())));
}

fn pairs<'a>(out: &mut String, caption: &str, rows: impl Iterator<Item = (&'a str, &'a str)>) {
    let _ = write!(out, "<table class=\"pairs\"><caption>{}</caption><tbody>", escape(caption));
    for (name, value) in rows {
        let _ = write!(out, "<tr><th scope=\"row\">{}</th><td>{}</td></tr>", escape(name), escape(value));
    }
    out.push_str("</tbody></table>");
}

/// The client, or the hosts of a fleet.
pub fn surroundings(document: &Document, shared: &SharedFacts) -> String {
    let run = &document.run;
    let mut out = String::new();
    let started = run.started.to_string();
    let finished = run.finished.map(|moment| moment.to_string()).unwrap_or_default();
    let own = [
        ("run", run.id.as_str()),
        ("manometer", run.version.as_str()),
        ("started", started.as_str()),
        ("finished", finished.as_str()),
    ];
    out.push_str("<div class=\"columns\">");
    pairs(&mut out, "Run", own.into_iter().filter(|(_, value)| !value.is_empty()));
    if !run.environment.facts.is_empty() {
        known(&mut out, "Client", &run.environment);
    }
    for host in run.hosts.iter().take(HOSTS) {
        let caption = format!("Host {}", host.name);
        known(&mut out, &caption, &host.environment);
    }
    out.push_str("</div>");
    out.push_str(&shared.table);
    let more = run.hosts.len().saturating_sub(HOSTS);
    if more > 0 {
        let _ = write!(
            out,
            "<p class=\"quiet\">and {} more, in this page's data</p>",
            words::count(more, "host")
        );
    }
    out
}

/// Maximum hosts whose facts the page shows.
const HOSTS: usize = 16;

/// Maximum events that the page shows.
const EVENTS: usize = 200;

/// Stages, errors and stalls with their times; empty if there were none.
pub fn events(document: &Document) -> String {
    if document.events.is_empty() {
        return String::new();
    }
    let mut out = String::from(
        "<div class=\"scroll\"><table class=\"events\"><thead><tr><th scope=\"col\">since the start</th><th scope=\"col\">cell</th>\
         <th scope=\"col\">kind</th><th scope=\"col\">what</th></tr></thead><tbody>",
    );
    for event in document.events.iter().take(EVENTS) {
        let since = event.at.duration_since(document.run.started).as_secs_f64();
        let _ = write!(
            out,
            "<tr><td>{since:.1} s</td><td>{}</td><td><span class=\"text\">{}</span></td><td><span class=\"text\">{}</span></td></tr>",
            event.cell.map(|cell| (cell + 1).to_string()).unwrap_or_default(),
            escape(&event.kind),
            escape(&event.text)
        );
    }
    out.push_str("</tbody></table></div>");
    let more = document.events.len().saturating_sub(EVENTS);
    if more > 0 {
        let _ = write!(
            out,
            "<p class=\"quiet\">and {more} more, in the results file and in this page's data</p>"
        );
    }
    out
}
