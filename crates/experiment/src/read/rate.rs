//! When operations are scheduled to start.

use crate::known::{Key, RAMP, RATE, STEP, TIME};
use crate::plan::{Arrivals, RateFrom, RateStep};
use crate::reader::{Fields, Reader};
use crate::tree::{Entry, Value};

/// The arrivals of a workload.
pub(super) fn arrivals(fields: &Fields<'_>) -> Option<Arrivals> {
    let reader = fields.reader;
    let Some(node) = fields.get("rate") else { return Some(Arrivals::Closed) };
    if let Value::Scalar(text) = &node.value {
        if text.trim() == "none" {
            return Some(Arrivals::Closed);
        }
        if text.trim() == "poisson" {
            if fields.has("find") || fields.has("sweep") {
                // The study chooses the rates; this sets how the starts are distributed at each rate.
                return Some(Arrivals::Poisson { ops_per_s: 0.0 });
            }
            reader.fault(&node, "poisson needs its rate", "write rate: {poisson: 1000/s}");
            return None;
        }
        return Some(Arrivals::Constant { ops_per_s: above_zero(reader, &node)? });
    }
    if matches!(node.value, Value::List(_)) {
        reader.fault(
            &node,
            "a list does not say how long each rate holds",
            "write rate: {steps: [{rate: 100/s, for: 30s}, …]}, cross it in the matrix, or use sweep",
        );
        return None;
    }
    let entry = reader.only_entry(&node, "kind of rate", RATE)?;
    match &*entry.key {
        "constant" => Some(Arrivals::Constant { ops_per_s: above_zero(reader, &entry.node)? }),
        "poisson" => Some(Arrivals::Poisson { ops_per_s: above_zero(reader, &entry.node)? }),
        "ramp" => ramp(reader, &entry),
        "steps" => steps(reader, &entry),
        _ => times(reader, &entry),
    }
}

fn above_zero(reader: &Reader<'_>, node: &crate::tree::Node) -> Option<f64> {
    let rate = reader.rate(node)?;
    if rate <= 0.0 {
        reader.fault(node, "at a rate of 0 nothing ever starts", "write a rate such as 1000/s, or none");
        return None;
    }
    Some(rate)
}

fn ramp(reader: &Reader<'_>, entry: &Entry) -> Option<Arrivals> {
    let fields = part(reader, "ramp", entry.node.clone(), entry.key_place, RAMP)?;
    let from = reader.rate(&fields.get("from")?)?;
    let to = reader.rate(&fields.get("to")?)?;
    let over = reader.seconds(&fields.get("over")?)?;
    if from <= 0.0 && to <= 0.0 {
        reader.fault(&entry.node, "a ramp from 0 to 0 starts nothing", "write a rate above 0 at one end");
        return None;
    }
    if over <= 0.0 {
        fields.fault("over", "a ramp needs time", "write a duration such as 60s");
        return None;
    }
    Some(Arrivals::Ramp { from_ops_per_s: from, to_ops_per_s: to, over_s: over })
}

fn steps(reader: &Reader<'_>, entry: &Entry) -> Option<Arrivals> {
    let mut steps = Vec::new();
    for item in reader.list(&entry.node)? {
        let fields = part(reader, "step", item.clone(), item.place, STEP)?;
        let ops_per_s = reader.rate(&fields.get("rate")?)?;
        let for_s = reader.seconds(&fields.get("for")?)?;
        if for_s <= 0.0 {
            fields.fault("for", "a step needs time", "write a duration such as 30s");
            return None;
        }
        steps.push(RateStep { ops_per_s, for_s });
    }
    if steps.iter().all(|step| step.ops_per_s <= 0.0) {
        reader.fault(&entry.node, "no step starts anything", "write [{rate: 100/s, for: 30s}, …]");
        return None;
    }
    Some(Arrivals::Steps { steps })
}

fn times(reader: &Reader<'_>, entry: &Entry) -> Option<Arrivals> {
    let mut times: Vec<RateFrom> = Vec::new();
    for item in reader.list(&entry.node)? {
        let fields = part(reader, "moment", item.clone(), item.place, TIME)?;
        let at_s = reader.seconds(&fields.get("at")?)?;
        let ops_per_s = reader.rate(&fields.get("rate")?)?;
        if times.last().is_some_and(|last| last.at_s >= at_s) {
            fields.fault(
                "at",
                "the moments do not follow each other",
                "write them in order of time, each once",
            );
            return None;
        }
        times.push(RateFrom { at_s, ops_per_s });
    }
    if times.iter().all(|time| time.ops_per_s <= 0.0) {
        reader.fault(&entry.node, "at no moment does anything start", "write [{at: 0s, rate: 100/s}, …]");
        return None;
    }
    Some(Arrivals::Times { times })
}

/// A map in which all keys are required.
fn part<'r>(
    reader: &'r Reader<'r>,
    what: &str,
    node: crate::tree::Node,
    place: crate::place::Place,
    keys: &[Key],
) -> Option<Fields<'r>> {
    let before = reader.log.count();
    let fields = Fields::new(reader, what, "rate.part.", place, [node]);
    fields.check_keys(keys);
    for key in keys {
        if !fields.has(key.name) && reader.log.count() == before {
            let all: Vec<_> = keys.iter().map(|key| format!("{}: …", key.name)).collect();
            reader.log.fault(
                place,
                format!("a {what} needs {:?}", key.name),
                format!("write {{{}}}", all.join(", ")),
            );
        }
    }
    (reader.log.count() == before).then_some(fields)
}
