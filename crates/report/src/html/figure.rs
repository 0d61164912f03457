//! Figures: each is looked up in the document by its path and carries its source in the page, so that the page cannot
//! show a number that the document does not hold.

use serde_json::Value;

use super::escape;
use crate::figures::{FigureUnit, plus_minus};

/// Looks figures up.
#[derive(Clone, Copy, Debug)]
pub struct Figures<'a> {
    data: &'a Value,
}

impl<'a> Figures<'a> {
    /// Figures of this document.
    pub fn new(data: &'a Value) -> Self {
        Self { data }
    }

    /// The number at a path (RFC 6901); NaN if there is none.
    pub fn number(&self, path: &str) -> f64 {
        self.data.pointer(path).and_then(Value::as_f64).unwrap_or(f64::NAN)
    }

    /// Whether the value at a path is `true`.
    pub fn is_true(&self, path: &str) -> bool {
        self.data.pointer(path).and_then(Value::as_bool).unwrap_or(false)
    }

    /// The figure at a path.
    pub fn get(&self, path: &str, unit: FigureUnit) -> String {
        element(path, self.number(path), unit)
    }

    /// A latency: without a successful operation there is none, although the stored figure is 0.
    pub fn latency(&self, latency: &str, percentile: &str) -> String {
        match self.number(&format!("{latency}/count")) {
            count if count > 0.0 => self.get(&format!("{latency}/{percentile}"), FigureUnit::Ns),
            _ => "–".into(),
        }
    }

    /// The mean of an estimate with the half-width of its interval.
    pub fn estimate(&self, path: &str, unit: FigureUnit) -> String {
        let value = self.get(&format!("{path}/mean"), unit);
        match self.uncertainty(path, unit) {
            Some(uncertainty) => format!("{value} {uncertainty}"),
            None => value,
        }
    }

    /// The half-width of an estimate's interval, relative to its mean; 0 if unknown.
    pub fn half_width(&self, path: &str) -> f64 {
        let at = |field: &str| self.number(&format!("{path}/{field}"));
        let share = (at("high") - at("low")) / 2.0 / at("mean");
        if share.is_finite() { share } else { 0.0 }
    }

    /// The half-width of an estimate's interval, as text.
    pub fn uncertainty(&self, path: &str, unit: FigureUnit) -> Option<String> {
        let estimate: stats::Estimate = serde_json::from_value(self.data.pointer(path)?.clone()).ok()?;
        let text = plus_minus(&estimate)?;
        Some(format!(
            "<span class=\"pm\" data-estimate=\"{}\" title=\"95 % confidence interval: {} to {}\">{text}</span>",
            escape(path),
            escape(&unit.text(estimate.low)),
            escape(&unit.text(estimate.high)),
        ))
    }

    /// The uncertainty of an operation's 99th percentile. Its interval is that of the mean of the intervals' own
    /// percentiles; where a burst makes these differ from the overall percentile, both are given.
    pub fn p99_uncertainty(&self, op: &str) -> Option<String> {
        let at = |field: &str| self.number(&format!("{op}/{field}"));
        let of_all = at("response/p99_ns");
        let text = self.uncertainty(&format!("{op}/p99_ns"), FigureUnit::Ns)?;
        let near = (at("p99_ns/mean") / of_all - 1.0).abs() < 0.1;
        if near || (at("p99_ns/low")..=at("p99_ns/high")).contains(&of_all) && at("p99_ns/low") > 0.0 {
            return Some(text);
        }
        let mean = self.get(&format!("{op}/p99_ns/mean"), FigureUnit::Ns);
        Some(format!("<span class=\"pm\">of intervals {mean}</span> {text}"))
    }

    /// The mean of several figures: repetitions of one point.
    pub fn mean(&self, paths: &[String], unit: FigureUnit) -> (f64, String) {
        let values: Vec<f64> = paths.iter().map(|path| self.number(path)).filter(|v| v.is_finite()).collect();
        if values.is_empty() {
            return (f64::NAN, "–".into());
        }
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        (mean, element(&paths.join(" "), mean, unit))
    }
}

fn element(path: &str, value: f64, unit: FigureUnit) -> String {
    if !value.is_finite() {
        return "–".into();
    }
    format!("<data value=\"{value}\" data-path=\"{}\">{}</data>", escape(path), escape(&unit.text(value)))
}
