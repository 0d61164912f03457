//! Conditions on results: `read.bandwidth >= 3 GB/s`, `p99 <= 2 ms`, `errors == 0`.

use metrics::OpKind;
use units::{ByteRate, OpRate, ParseError, Span};

use crate::nearest::{hint, nearest};
use crate::plan::{Gate, GateMetric, GateOperator};
use crate::reader::Reader;
use crate::tree::{Entry, Node};

const EXAMPLES: &str = "write such as read.bandwidth >= 3 GB/s, write.p99 <= 5 ms or errors == 0";

/// The metrics of gates, besides percentiles.
const METRICS: [&str; 8] = ["bandwidth", "bw", "rate", "iops", "mean", "max", "errors", "p99"];

/// Longest first: `<=` before `<`.
const COMPARISONS: [(&str, GateOperator); 5] = [
    (">=", GateOperator::AtLeast),
    ("<=", GateOperator::AtMost),
    ("==", GateOperator::Equal),
    (">", GateOperator::Above),
    ("<", GateOperator::Below),
];

/// Reads a condition.
pub(crate) fn gate(reader: &Reader<'_>, node: &Node, workloads: &[Entry]) -> Option<Gate> {
    let text = reader.text(node, EXAMPLES)?;
    let node = reader.resolve(node)?;
    match read(&text) {
        Ok(gate) => Some(gate),
        Err((fault, hint)) => {
            let named = text.split_once('.').filter(|(first, _)| {
                workloads.iter().any(|workload| *workload.key == *first.trim()) && operation(first).is_err()
            });
            match named {
                Some((workload, rest)) => reader.fault(
                    &node,
                    format!("{workload:?} is a workload, and gates look at operations"),
                    format!("give it a gate of its own: workloads: {{{workload}: {{gates: [{rest}]}}}}"),
                ),
                None => reader.fault(&node, fault, hint),
            }
            None
        }
    }
}

/// Parses a condition's text, or says what is wrong and how to fix it.
fn read(text: &str) -> Result<Gate, (String, String)> {
    let wrong = |fault: String| (fault, EXAMPLES.to_owned());
    let found =
        COMPARISONS.iter().filter_map(|(sign, comparison)| Some((text.find(sign)?, *sign, *comparison)));
    // The first operator counts; of two at the same position the longer one, which comes first in the list.
    let Some((at, sign, comparison)) = found.min_by_key(|(at, ..)| *at) else {
        return Err(wrong(format!("{text:?} compares nothing: >=, <=, >, < or == is missing")));
    };
    let (left, right) = (text[..at].trim(), text[at + sign.len()..].trim());
    let (op, name) = match left.split_once('.') {
        // `p99.9` contains a dot of its own.
        Some((first, rest))
            if !first.starts_with(|c: char| c == 'p' && rest.starts_with(|c: char| c.is_ascii_digit())) =>
        {
            (operation(first)?, rest.trim())
        }
        Some((first, rest)) if rest.contains('.') => (operation(first)?, rest.trim()),
        _ => (None, left),
    };
    let metric = metric(name)?;
    let number = |error: ParseError| (error.fault(), error.hint().to_owned());
    let limit = match metric {
        GateMetric::Bandwidth => right.parse::<ByteRate>().map_err(number)?.bytes_per_second(),
        GateMetric::Rate => match right.parse::<f64>() {
            Ok(rate) if rate.is_finite() && rate >= 0.0 => rate,
            _ => right.parse::<OpRate>().map_err(number)?.0,
        },
        GateMetric::Errors => right
            .parse::<u64>()
            .map_err(|_| (format!("{right:?} is no number of errors"), "write errors == 0".to_owned()))?
            as f64,
        GateMetric::Mean | GateMetric::Percentile(_) | GateMetric::Max => {
            right.parse::<Span>().map_err(number)?.nanos() as f64
        }
    };
    Ok(Gate { text: text.to_owned(), op, metric, comparison, limit })
}

/// Parses what precedes the first dot.
fn operation(name: &str) -> Result<Option<OpKind>, (String, String)> {
    let name = name.trim();
    if name == "total" {
        return Ok(None);
    }
    match OpKind::ALL.iter().find(|kind| kind.name() == name) {
        Some(kind) => Ok(Some(*kind)),
        None => {
            let names = OpKind::ALL.iter().map(|kind| kind.name()).chain(["total"]);
            Err((format!("{name:?} is no operation"), hint(name, names)))
        }
    }
}

fn metric(name: &str) -> Result<GateMetric, (String, String)> {
    Ok(match name {
        "bandwidth" | "bw" => GateMetric::Bandwidth,
        "rate" | "iops" => GateMetric::Rate,
        "mean" => GateMetric::Mean,
        "max" => GateMetric::Max,
        "errors" => GateMetric::Errors,
        _ => {
            let percent = name.strip_prefix('p').and_then(|digits| {
                let plain = digits.chars().all(|c| c.is_ascii_digit() || c == '.');
                digits.parse::<f64>().ok().filter(|_| plain)
            });
            match percent {
                Some(percent) if percent > 0.0 && percent < 100.0 => {
                    // 99.9 / 100 is not 0.999; parse to get the float closest to the decimal.
                    let share = format!("{percent}e-2").parse().unwrap_or(percent / 100.0);
                    GateMetric::Percentile(share)
                }
                Some(_) => {
                    let hint = "write p50, p99 or p99.9; the longest of all is max".into();
                    return Err((format!("{name:?} is no percentile between 0 and 100"), hint));
                }
                None => {
                    let hint = match nearest(name, METRICS) {
                        Some(near) => format!("did you mean {near}?"),
                        None => "there are bandwidth, rate (iops), mean, p50 (p99, p99.9 …), max and errors"
                            .into(),
                    };
                    return Err((format!("{name:?} is nothing that is measured"), hint));
                }
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gates_are_read_as_people_write_them() {
        for (text, op, metric, comparison, limit) in [
            (
                "read.bandwidth >= 3 GB/s",
                Some(OpKind::Read),
                GateMetric::Bandwidth,
                GateOperator::AtLeast,
                3e9,
            ),
            ("total.bw>1GiB/s", None, GateMetric::Bandwidth, GateOperator::Above, 1_073_741_824.0),
            (
                "write.p99 <= 5 ms",
                Some(OpKind::Write),
                GateMetric::Percentile(0.99),
                GateOperator::AtMost,
                5e6,
            ),
            ("p99.9 < 10ms", None, GateMetric::Percentile(0.999), GateOperator::Below, 1e7),
            ("put.p99.99<1s", Some(OpKind::Put), GateMetric::Percentile(0.9999), GateOperator::Below, 1e9),
            ("errors == 0", None, GateMetric::Errors, GateOperator::Equal, 0.0),
            ("read.iops >= 100k/s", Some(OpKind::Read), GateMetric::Rate, GateOperator::AtLeast, 1e5),
            ("rate >= 250", None, GateMetric::Rate, GateOperator::AtLeast, 250.0),
            ("get.max <= 1m30s", Some(OpKind::Get), GateMetric::Max, GateOperator::AtMost, 9e10),
            ("put.mean < 20us", Some(OpKind::Put), GateMetric::Mean, GateOperator::Below, 2e4),
        ] {
            let expected = Gate { text: text.into(), op, metric, comparison, limit };
            assert_eq!(read(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn wrong_gates_say_how_to_mend_them() {
        for (text, fault, hint) in [
            ("read.bandwidth", "compares nothing", "write such as"),
            ("read.bandwith >= 3 GB/s", "\"bandwith\" is nothing", "did you mean bandwidth?"),
            ("red.p99 <= 5 ms", "\"red\" is no operation", "did you mean \"read\"?"),
            ("p99 <= 5", "the unit is missing", "250ms"),
            ("p100 <= 5 ms", "no percentile", "max"),
            ("bandwidth >= 3 GB", "does not end in /s", "3.1 GB/s"),
            ("errors == none", "no number of errors", "errors == 0"),
            (">= 3", "is nothing", "there are"),
            ("pinf < 1s", "is nothing", "there are"),
        ] {
            let (found, how) = read(text).unwrap_err();
            assert!(found.contains(fault) && how.contains(hint), "{text}: {found}; {how}");
        }
    }
}
