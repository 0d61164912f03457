//! The report as one HTML file that needs nothing else: no network, no script to be read, none to be printed.

mod cell;
mod charts;
mod details;
mod environment;
mod escape;
mod figure;
mod hosts;
mod limit;
mod matrix;
mod page;
mod scale;
mod series;
mod summary;
mod words;

pub use escape::escape;
pub(crate) use escape::script_safe;
pub(crate) use page::{Page, page};

use std::borrow::Cow;
use std::fmt::Write;

use figure::Figures;
use serde_json::Value;

use crate::{Document, NamedCell};

/// A run as `manometer export --format json` shows it, after `schemas/run.schema.json`.
///
/// This is what the report's figures are taken from, one by one, and what it carries within it.
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
    let mut body = String::new();
    body.push_str(&summary::header(document));
    body.push_str("<main>");
    body.push_str(&summary::summary(document, &figures));
    body.push_str(&scale::scale(document, &figures));
    body.push_str(&matrix::matrix(document, &figures));
    let _ = write!(
        body,
        "<section id=\"cells\" aria-labelledby=\"cells-title\"><h2 id=\"cells-title\">Cells</h2>"
    );
    for (position, view) in document.cells.iter().enumerate() {
        body.push_str(&cell::cell(document, position, view, &figures));
    }
    if document.cells.is_empty() {
        body.push_str("<p class=\"quiet\">The plan has no cells.</p>");
    }
    body.push_str("</section>");
    body.push_str(&environment::environment(document));
    body.push_str("</main>");
    let title = format!("{} · {} · manometer", document.run.name, document.run.id);
    page(&Page { title: &title, body: &body, data: &data, series: &series::series(document) })
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
