//! The numbers behind a chart: for the script that reads values off it, and for saving as CSV.

use std::fmt::Write;

use serde_json::Value;

use crate::figures::FigureUnit;
use crate::html::script_safe;

/// The numbers of a chart: a column of x values, and a column per line.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ChartData {
    /// Name of the horizontal axis.
    pub x_name: String,
    /// Its unit: `s`, `one in` (of a percentile), or nothing.
    pub x_unit: &'static str,
    /// The x values.
    pub x: Vec<f64>,
    /// Labels of the x values, if numbers do not say enough.
    pub labels: Vec<String>,
    /// The lines.
    pub rows: Vec<DataRow>,
}

/// A line of a chart: a value for each x, NaN if there is none.
#[derive(Clone, Debug, PartialEq)]
pub struct DataRow {
    /// What it is called.
    pub name: String,
    /// The unit of its values.
    pub unit: FigureUnit,
    /// The values.
    pub values: Vec<f64>,
    /// The lower and upper end of each value's interval, if known.
    pub bounds: Option<(Vec<f64>, Vec<f64>)>,
}

impl DataRow {
    /// Values without intervals.
    pub fn of(name: &str, unit: FigureUnit, values: impl IntoIterator<Item = f64>) -> Self {
        Self { name: name.to_owned(), unit, values: values.into_iter().collect(), bounds: None }
    }
}

impl ChartData {
    /// Numbers over time, in seconds.
    pub fn over_time(x: impl IntoIterator<Item = f64>) -> Self {
        Self { x_name: "time".into(), x_unit: "s", x: x.into_iter().collect(), ..Self::default() }
    }

    /// Adds a line.
    pub fn row(&mut self, name: &str, unit: FigureUnit, values: impl IntoIterator<Item = f64>) {
        self.rows.push(DataRow::of(name, unit, values));
    }

    /// As JSON that is safe to embed in a page:
    /// `{"x": [name, unit, [...]], "labels": [...], "rows": [[name, unit, [values], [low], [high]], ...]}`.
    pub fn json(&self) -> String {
        let text = |text: &str| Value::from(text).to_string();
        let mut out = format!("{{\"x\":[{},{},", text(&self.x_name), text(self.x_unit));
        numbers(&mut out, &self.x);
        let labels = Value::from(self.labels.clone());
        let _ = write!(out, "],\"labels\":{labels},\"rows\":[");
        for (index, row) in self.rows.iter().enumerate() {
            if index > 0 {
                out.push(',');
            }
            let _ = write!(out, "[{},{},", text(&row.name), text(row.unit.symbol()));
            numbers(&mut out, &row.values);
            if let Some((low, high)) = &row.bounds {
                out.push(',');
                numbers(&mut out, low);
                out.push(',');
                numbers(&mut out, high);
            }
            out.push(']');
        }
        out.push_str("]}");
        script_safe(&out)
    }
}

/// Four significant digits: more than a chart can show.
fn numbers(out: &mut String, values: &[f64]) {
    out.push('[');
    for (index, value) in values.iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        short(out, *value);
    }
    out.push(']');
}

fn short(out: &mut String, value: f64) {
    if !value.is_finite() {
        out.push_str("null");
        return;
    }
    if value.fract() == 0.0 && value.abs() < 10_000.0 {
        let _ = write!(out, "{value:.0}");
        return;
    }
    let text = format!("{value:.3e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let mantissa = mantissa.trim_end_matches('0').trim_end_matches('.');
    if exponent == "0" {
        out.push_str(mantissa);
    } else {
        let _ = write!(out, "{mantissa}e{exponent}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short_and_json() {
        let mut out = String::new();
        numbers(&mut out, &[0.0, 12.0, 3_214_567_890.0, 0.05, 1.5, f64::NAN]);
        assert_eq!(out, "[0,12,3.215e9,5e-2,1.5,null]");
        assert!(serde_json::from_str::<Value>(&out).is_ok());
    }

    #[test]
    fn data_is_json_that_ends_no_element() {
        let mut data = ChartData::over_time([0.5, 1.5]);
        data.row("</metadata>\"", FigureUnit::BytesPerS, [1e9, f64::NAN]);
        data.rows[0].bounds = Some((vec![1.0, 2.0], vec![3.0, 4.0]));
        let json = data.json();
        assert!(!json.contains('<'), "{json}");
        let value: Value = serde_json::from_str(&json).unwrap();
        assert_eq!(value["x"], serde_json::json!(["time", "s", [0.5, 1.5]]));
        assert_eq!(
            value["rows"][0],
            serde_json::json!(["</metadata>\"", "B/s", [1e9, null], [1, 2], [3, 4]])
        );
    }
}
