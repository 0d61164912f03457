//! Cross tables: two parameters of the matrix against each other, one table per metric, coloured by value.

use std::fmt::Write;

use super::figure::Figures;
use super::parameters::{CrossedCell, Group};
use super::{escape, parameters};
use crate::Document;
use crate::figures::FigureUnit;

/// A metric that gets a table.
struct CrossMetric {
    title: &'static str,
    /// Its field in a result.
    field: &'static str,
    /// The estimate in a result whose interval gives the uncertainty.
    estimate: &'static str,
    unit: FigureUnit,
}

const METRICS: [CrossMetric; 4] = [
    CrossMetric {
        title: "Throughput (more is better)",
        field: "total/bytes_per_s/mean",
        estimate: "total/bytes_per_s",
        unit: FigureUnit::BytesPerS,
    },
    CrossMetric {
        title: "IOPS (more is better)",
        field: "total/ops_per_s/mean",
        estimate: "total/ops_per_s",
        unit: FigureUnit::OpsPerS,
    },
    CrossMetric {
        title: "Median response time (less is better)",
        field: "total/response/p50_ns",
        estimate: "total/ops_per_s",
        unit: FigureUnit::Ns,
    },
    CrossMetric {
        title: "99th percentile of the response time (less is better)",
        field: "total/response/p99_ns",
        estimate: "total/p99_ns",
        unit: FigureUnit::Ns,
    },
];

/// Parameters that readers expect as rows and as columns.
const DOWN_FIRST: [&str; 3] = ["block_size", "bs", "size"];
const ACROSS_FIRST: [&str; 3] = ["queue_depth", "qd", "jobs"];

/// The section; empty if no parameters were crossed.
pub fn matrix(document: &Document, figures: &Figures<'_>) -> String {
    let tables: String = parameters::groups(document).iter().map(|one| group(one, figures)).collect();
    if tables.is_empty() {
        return tables;
    }
    let unsteady = document.measured().any(|(_, _, result)| !result.steady.reached);
    let asterisk = if unsteady { " * marks points without a steady state." } else { "" };
    format!(
        "<p class=\"quiet\">The stronger the colour, the larger the value; where the smallest and the largest do \
         not differ by more than their 95 % intervals, there is none. Repetitions of a point are shown by their \
         mean.{asterisk}</p>{tables}",
    )
}

fn group(group: &Group<'_>, figures: &Figures<'_>) -> String {
    let mut crossed: Vec<(&str, Vec<&str>)> =
        group.crossed().into_iter().map(|parameter| (parameter.name, parameter.values)).collect();
    if crossed.is_empty() {
        return String::new();
    }
    // A single parameter goes across.
    let down = (crossed.len() > 1).then(|| {
        let wanted = crossed.iter().position(|(name, _)| DOWN_FIRST.contains(name));
        let other = crossed.iter().position(|(name, _)| !ACROSS_FIRST.contains(name));
        crossed.remove(wanted.or(other).unwrap_or(0))
    });
    let wanted = crossed.iter().position(|(name, _)| ACROSS_FIRST.contains(name));
    let across = crossed.remove(wanted.unwrap_or(0));
    let mut out = String::new();
    for (fixed, places) in split(&group.places, &crossed) {
        let _ = write!(
            out,
            "<h3>{} <small>on {}{}</small></h3><div class=\"crosses\">",
            escape(group.workload),
            escape(group.target),
            escape(&fixed)
        );
        for metric in &METRICS {
            out.push_str(&cross(metric, down.as_ref(), &across, &places, figures));
        }
        out.push_str("</div>");
    }
    out
}

/// The cells for each combination of the parameters that are neither rows nor columns.
fn split<'a, 'p>(
    places: &'p [CrossedCell<'a>],
    rest: &[(&str, Vec<&str>)],
) -> Vec<(String, Vec<&'p CrossedCell<'a>>)> {
    let mut groups: Vec<(String, Vec<&CrossedCell<'a>>)> = Vec::new();
    for place in places {
        let fixed: String = rest
            .iter()
            .map(|(name, _)| format!(" · {name} = {}", place.point.get(*name).map_or("", String::as_str)))
            .collect();
        match groups.iter_mut().find(|(other, _)| *other == fixed) {
            Some((_, places)) => places.push(place),
            None => groups.push((fixed, vec![place])),
        }
    }
    groups
}

fn cross(
    metric: &CrossMetric,
    down: Option<&(&str, Vec<&str>)>,
    across: &(&str, Vec<&str>),
    places: &[&CrossedCell<'_>],
    figures: &Figures<'_>,
) -> String {
    let CrossMetric { title, field, estimate, unit } = *metric;
    let nothing = vec![""];
    let (down_name, rows) = down.map_or(("", &nothing), |(name, values)| (*name, values));
    let (across_name, columns) = (across.0, &across.1);
    let at = |row: &str, column: &str| {
        let matching: Vec<&&CrossedCell<'_>> = places
            .iter()
            .filter(|place| {
                down_name.is_empty() || place.point.get(down_name).is_some_and(|value| value == row)
            })
            .filter(|place| place.point.get(across_name).is_some_and(|value| value == column))
            .collect();
        // Where nothing succeeded the stored latency is 0, which means none.
        let counted = |position: usize| {
            unit != FigureUnit::Ns
                || figures.number(&format!("/cells/{position}/result/total/response/count")) > 0.0
        };
        let paths: Vec<String> = matching
            .iter()
            .filter(|place| counted(place.position))
            .map(|place| format!("/cells/{}/result/{field}", place.position))
            .collect();
        let steady = matching
            .iter()
            .all(|place| figures.is_true(&format!("/cells/{}/result/steady/reached", place.position)));
        // Relative half-width of the interval; the widest of the repetitions.
        let unsure = matching
            .iter()
            .map(|place| figures.half_width(&format!("/cells/{}/result/{estimate}", place.position)))
            .fold(0.0, f64::max);
        (figures.mean(&paths, unit), steady, matching.first().map(|place| place.position), unsure)
    };
    let all: Vec<(f64, f64)> = rows
        .iter()
        .flat_map(|row| columns.iter().map(move |column| (row, column)))
        .map(|(row, column)| at(row, column))
        .map(|((value, _), _, _, unsure)| (value, unsure))
        .filter(|(value, _)| value.is_finite() && *value > 0.0)
        .collect();
    let by_value = |a: &&(f64, f64), b: &&(f64, f64)| a.0.total_cmp(&b.0);
    let (Some(&(least, least_unsure)), Some(&(most, most_unsure))) =
        (all.iter().min_by(by_value), all.iter().max_by(by_value))
    else {
        return String::new();
    };
    let alike = least * (1.0 + least_unsure) >= most * (1.0 - most_unsure);
    let shade = |value: f64| match most / least {
        _ if alike => 0.0,
        // Above one decade, equal factors look equal.
        wide if wide > 10.0 => (value / least).ln() / wide.ln(),
        same if same <= 1.0 => 0.0,
        _ => (value - least) / (most - least),
    };
    let mut out = format!(
        "<div class=\"scroll\"><table class=\"cross\"><caption>{title}</caption><thead><tr><th scope=\"col\" class=\"corner\">"
    );
    let _ = match down_name {
        "" => write!(out, "{}</th>", escape(across_name)),
        name => write!(out, "{} ╲ {}</th>", escape(name), escape(across_name)),
    };
    for column in columns {
        let _ = write!(out, "<th scope=\"col\">{}</th>", escape(column));
    }
    out.push_str("</tr></thead><tbody>");
    for row in rows {
        let _ = write!(out, "<tr><th scope=\"row\">{}</th>", escape(row));
        for column in columns {
            let ((value, text), steady, position, _) = at(row, column);
            match position.filter(|_| value.is_finite()) {
                None => out.push_str("<td>–</td>"),
                Some(position) => {
                    let step = (shade(value).clamp(0.0, 1.0) * 7.99) as u8;
                    let mark = if steady { "" } else { "<abbr title=\"no steady state\">*</abbr>" };
                    let number = position + 1;
                    let _ =
                        write!(out, "<td class=\"s{step}\"><a href=\"#cell-{number}\">{text}</a>{mark}</td>");
                }
            }
        }
        out.push_str("</tr>");
    }
    out.push_str("</tbody></table></div>");
    out
}
