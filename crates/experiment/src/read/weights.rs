//! Shares of a whole: `{read: 70%, write: 30%}`, `{4KiB: 60%, 64KiB: 40%}`.

use metrics::OpKind;
use units::{ParseError, Share, Size};

use crate::nearest::hint;
use crate::plan::{WeightedOp, WeightedSize};
use crate::reader::{Fields, Reader};
use crate::tree::{Node, Value};

/// Tolerance for rounded percentages: three times 33.3 is meant to be the whole.
const ROUNDING: f64 = 0.0015;

/// The operations of a workload.
pub(super) fn ops(fields: &Fields<'_>) -> Option<Vec<WeightedOp>> {
    let reader = fields.reader;
    let Some(node) = fields.get("ops") else {
        if !fields.has("ops") {
            reader.log.fault(
                fields.place,
                format!("{} does not say what to do", fields.what),
                "add ops: read, or ops: {read: 70%, write: 30%}",
            );
        }
        return None;
    };
    let op = |text: &str, place, note: Option<std::rc::Rc<str>>| {
        let found = OpKind::ALL.iter().copied().find(|kind| kind.name() == text);
        if found.is_none() {
            let hint = match text {
                "randread" | "randwrite" | "randrw" | "rw" | "readwrite" => {
                    "write ops: read, write or {read: 70%, write: 30%}, and access: random or sequential"
                        .into()
                }
                "readdirplus" | "ls-l" | "ls -l" => {
                    "write list: on nfs targets it reads names with attributes (READDIRPLUS), as ls -l does; on file targets \
                     mix list and stat"
                        .into()
                }
                _ => hint(text, OpKind::ALL.iter().map(|kind| kind.name())),
            };
            reader.log.fault_with(place, format!("{text:?} is no operation"), hint, note);
        }
        found
    };
    match &node.value {
        Value::Scalar(text) => {
            Some(vec![WeightedOp { op: op(text.trim(), node.place, node.note.clone())?, weight: 1.0 }])
        }
        Value::Map(entries) => {
            let weights = shares(reader, &node, "ops: {read: 70%, write: 30%}")?;
            let kinds: Vec<_> =
                entries.iter().map(|entry| op(entry.key.trim(), entry.key_place, None)).collect();
            let kinds: Option<Vec<_>> = kinds.into_iter().collect();
            Some(kinds?.into_iter().zip(weights).map(|(op, weight)| WeightedOp { op, weight }).collect())
        }
        _ => {
            let text = "a list does not say how often each operation comes";
            reader.fault(&node, text, format!("write ops: {}", even_shares(&node)));
            None
        }
    }
}

/// A list of operations rewritten as a map with equal shares.
fn even_shares(node: &Node) -> String {
    let Value::List(items) = &node.value else { return "read".into() };
    match items.as_slice() {
        [only] => only.text(),
        items if (2..=5).contains(&items.len()) && 100 % items.len() == 0 => {
            let each = 100 / items.len();
            let all: Vec<_> = items.iter().map(|item| format!("{}: {each}%", item.text())).collect();
            format!("{{{}}}", all.join(", "))
        }
        _ => "{read: 70%, write: 30%}".into(),
    }
}

/// The block sizes of a workload; `default` if none is given.
pub(super) fn block_sizes(fields: &Fields<'_>, default: u64) -> Option<Vec<WeightedSize>> {
    let reader = fields.reader;
    let Some(node) = fields.get("block_size") else {
        return Some(vec![WeightedSize { bytes: default, weight: 1.0 }]);
    };
    let sizes = match &node.value {
        Value::Map(_) => sizes_of(reader, &node, "block_size: {4KiB: 60%, 64KiB: 40%}")?,
        Value::List(_) => {
            reader.fault(
                &node,
                "a list of block sizes belongs in the matrix",
                "write matrix: {block_size: [4KiB, 64KiB]}, or one workload of several sizes: \
                 block_size: {4KiB: 60%, 64KiB: 40%}",
            );
            return None;
        }
        _ => vec![WeightedSize { bytes: reader.size(&node)?, weight: 1.0 }],
    };
    if sizes.iter().any(|size| size.bytes == 0) {
        reader.fault(&node, "a block of no bytes moves nothing", "write a size such as 4KiB");
        return None;
    }
    Some(sizes)
}

/// The keys of a map as sizes, and its values as shares that add up to 1.
pub(super) fn sizes_of(reader: &Reader<'_>, node: &Node, example: &str) -> Option<Vec<WeightedSize>> {
    let weights = shares(reader, node, example)?;
    let mut sizes: Vec<WeightedSize> = Vec::new();
    for (entry, weight) in node.entries().iter().zip(weights) {
        let parsed: Result<Size, ParseError> = entry.key.parse();
        match parsed {
            Ok(size) if sizes.iter().any(|other| other.bytes == size.bytes()) => {
                let text = format!("{size} is given twice");
                reader.log.fault(entry.key_place, text, "give each size once");
            }
            Ok(size) => sizes.push(WeightedSize { bytes: size.bytes(), weight }),
            Err(error) => reader.log.fault(entry.key_place, error.fault(), error.hint()),
        }
    }
    (sizes.len() == node.entries().len()).then_some(sizes)
}

/// The values of a map as shares that add up to 1.
fn shares(reader: &Reader<'_>, node: &Node, example: &str) -> Option<Vec<f64>> {
    let entries = node.entries();
    if entries.is_empty() {
        reader.fault(node, "the map is empty", format!("write {example}"));
        return None;
    }
    let before = reader.log.count();
    let mut weights = Vec::new();
    for entry in entries {
        let Some(share) = reader.share(&entry.node) else { continue };
        if share == 0.0 {
            let text = format!("{:?} never happens", entry.key);
            reader.fault(&entry.node, text, "remove it, or give it a share above 0");
        }
        weights.push(share);
    }
    if weights.len() < entries.len() || reader.log.count() > before {
        return None;
    }
    let sum: f64 = weights.iter().sum();
    if (sum - 1.0).abs() > ROUNDING {
        let shown =
            |share: f64| Share::new(share).map_or(format!("{:.4}%", share * 100.0), |s| s.to_string());
        let last = weights.last().copied().unwrap_or(0.0);
        let rest = 1.0 - (sum - last);
        let hint = match entries.last() {
            Some(entry) if rest > 0.0 && rest < 1.0 => format!(
                "change them so that they do: with {}: {} for example",
                entry.key,
                shown((rest * 1e6).round() / 1e6)
            ),
            _ => format!("change them so that they do, as in {example}"),
        };
        let sum = format!("{:.3}", sum * 100.0);
        let sum = sum.trim_end_matches('0').trim_end_matches('.');
        reader.fault(node, format!("the shares add up to {sum} %, not to 100 %"), hint);
        return None;
    }
    Some(weights.into_iter().map(|weight| weight / sum).collect())
}
