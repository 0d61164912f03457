//! The report as one self-contained HTML file: it needs no network, and no script for reading or printing.

mod cell;
mod charts;
pub(crate) mod curves;
mod details;
mod environment;
mod escape;
mod facts;
mod figure;
mod header;
mod hosts;
mod limit;
mod machines;
mod matrix;
mod overview;
mod page;
mod parameters;
mod procedures;
mod scale;
mod summary;
mod words;

pub use escape::escape;
pub(crate) use escape::{script_safe, style_safe};
pub(crate) use page::{Page, page};

use std::borrow::Cow;
use std::fmt::Write;

use facts::SharedFacts;
use figure::Figures;
use serde_json::Value;

use crate::{Document, NamedCell};

/// A run as in `manometer export --format json`, conforming to `schemas/run.schema.json`.
///
/// The report looks up every figure in this data, and embeds it.
pub fn data(document: &Document) -> Value {
    let records = document.cells.iter().map(|view| &view.record);
    let cells: Vec<_> = records.map(|cell| NamedCell::of(&document.run, Cow::Borrowed(cell))).collect();
    serde_json::json!({
        "schema": "manometer.run",
        "schema_version": 1,
        "manometer_version": env!("CARGO_PKG_VERSION"),
        "run": document.run,
        "cells": cells,
        "events": document.events,
    })
}

/// The report.
pub fn html(document: &Document) -> String {
    let data = data(document);
    let figures = Figures::new(&data);
    let shared = SharedFacts::of(document, &figures);
    // Empty sections are left out of the page and its menu.
    let sections = [
        ("summary", "Summary", summary::summary(document, &figures)),
        ("overview", "Overview", overview::overview(document)),
        ("scale", "Scale-out", scale::scale(document, &figures)),
        ("matrix", "Matrix", matrix::matrix(document, &figures)),
        ("cells", "Cells", cells(document, &figures, &shared)),
        ("plan", "Plan", environment::plan(document)),
        ("environment", "Environment", environment::surroundings(document, &shared)),
        ("events", "What happened", environment::events(document)),
    ];
    let shown = || sections.iter().filter(|(_, _, content)| !content.is_empty());
    let menu: Vec<(&str, &str)> = shown().map(|(id, name, _)| (*id, *name)).collect();
    let mut body = header::header(document, &menu);
    body.push_str("<main>");
    for (id, name, content) in shown() {
        let _ = write!(
            body,
            "<section id=\"{id}\" aria-labelledby=\"{id}-title\"><h2 id=\"{id}-title\">{name}</h2>{content}</section>"
        );
    }
    body.push_str("</main>");
    let title = format!("{} · {} · manometer", document.run.name, document.run.id);
    page(&Page { title: &title, body: &body, data: &data })
}

fn cells(document: &Document, figures: &Figures<'_>, shared: &SharedFacts) -> String {
    if document.cells.is_empty() {
        return "<p class=\"quiet\">The plan has no cells.</p>".into();
    }
    let each = document.cells.iter().enumerate();
    each.map(|(position, view)| cell::cell(document, position, view, (figures, shared))).collect()
}

#[cfg(test)]
mod tests {
    use super::figure::Figures;

    #[test]
    fn a_figure_that_is_not_in_the_document_is_not_made_up() {
        let data = serde_json::json!({"a": [{"b": 3}], "n": null});
        let figures = Figures::new(&data);
        assert!(figures.get("/a/0/b", crate::figures::FigureUnit::Count).contains("value=\"3\""));
        assert!(figures.get("/n", crate::figures::FigureUnit::Count).contains("–"));
        assert!(figures.get("/a/1/b", crate::figures::FigureUnit::Count).contains("–"));
    }
}
