//! What limited a cell: the sentence, what to try next, and the evidence.

use std::fmt::Write;

use stats::limit::{Bottleneck, Confidence};
use store::CellResult;

use super::details::{table, text};
use super::escape;
use super::figure::Figures;
use crate::figures::FigureUnit;

/// The verdict on the limit, in words.
pub fn limit(path: &str, result: &CellResult, figures: &Figures<'_>) -> String {
    let Some(limit) = &result.limit else { return String::new() };
    let mut out = format!(
        "<div class=\"limit\"><p><strong>{}</strong> <span class=\"quiet\">({}",
        escape(&limit.sentence),
        sure(limit)
    );
    if limit.share.is_some() {
        let share = figures.get(&format!("{path}/limit/share"), FigureUnit::Percent);
        let _ = match limit.place.as_str() {
            "" => write!(out, "; {share} used"),
            place => write!(out, "; {}: {share} used", escape(place)),
        };
    }
    out.push_str(")</span></p>");
    if !limit.next.is_empty() {
        let _ = write!(out, "<p>Next: {}</p>", escape(&limit.next));
    }
    out.push_str("</div>");
    out
}

/// Confidence in a finding, in words.
pub fn sure(limit: &Bottleneck) -> &'static str {
    match limit.confidence {
        Confidence::High => "several signs agree",
        Confidence::Medium => "one sign says so",
        Confidence::Low => "by elimination, or from few samples",
    }
}

/// The evidence for the verdict.
pub fn evidence(result: &CellResult) -> String {
    let Some(limit) = &result.limit else { return String::new() };
    let row = |row: &stats::limit::EvidenceRow| {
        vec![text(&row.name), text(&row.value), text(&row.limit), text(&row.says)]
    };
    let rows: Vec<Vec<String>> = limit.evidence.iter().map(row).collect();
    table("What was looked at for the limit", &["looked at", "seen", "limit from", "finding"], &rows)
}
