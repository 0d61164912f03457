//! Several measurements at different rates: `find` and `sweep`.

use crate::known::{FIND, SWEEP};
use crate::plan::{Arrivals, GateMetric, GateOperator, Study};
use crate::reader::Fields;
use crate::tree::Value;

/// The study of a workload, if it has one.
pub(super) fn study(fields: &Fields<'_>, arrivals: Option<&Arrivals>) -> Option<Study> {
    let reader = fields.reader;
    let (find, sweep) = (fields.has("find"), fields.has("sweep"));
    if find && sweep {
        reader.log.fault(
            fields.place_of("sweep"),
            "a workload is either a search or a load sweep",
            "write two workloads, one with find and one with sweep",
        );
        return None;
    }
    let chosen = |arrivals: &Arrivals| {
        !matches!(arrivals, Arrivals::Closed) && *arrivals != Arrivals::Poisson { ops_per_s: 0.0 }
    };
    if (find || sweep) && arrivals.is_some_and(chosen) {
        let what = if find { "find" } else { "sweep" };
        reader.log.fault(
            fields.place_of("rate"),
            format!("{what} chooses the rates itself"),
            format!("remove rate, or {what}; rate: poisson alone says how each rate's operations are spread"),
        );
        return None;
    }
    if find {
        find_study(fields)
    } else if sweep {
        sweep_study(fields)
    } else {
        None
    }
}

fn find_study(fields: &Fields<'_>) -> Option<Study> {
    let reader = fields.reader;
    let before = reader.log.count();
    let find = fields.below("find", "find", Some("goal"));
    find.check_keys(FIND);
    let Some(goal_node) = find.get("goal") else {
        if reader.log.count() == before {
            reader.log.fault(find.place, "find needs its goal", "write find: p99 <= 2 ms");
        }
        return None;
    };
    let goal = super::gate(reader, &goal_node, &[])?;
    let latency = matches!(goal.metric, GateMetric::Mean | GateMetric::Percentile(_) | GateMetric::Max);
    let bound = matches!(goal.comparison, GateOperator::AtMost | GateOperator::Below);
    if !latency || !bound {
        reader.fault(
            &goal_node,
            format!("{:?} is no upper bound on latency", goal.text),
            "write a goal such as p99 <= 2 ms or read.p99.9 < 10 ms",
        );
    }
    let rate = |key: &str, default: f64| match find.get(key) {
        Some(node) => {
            let rate = reader.rate(&node);
            if rate == Some(0.0) {
                reader.fault(&node, format!("{key} must be more than 0/s"), "write a rate such as 100/s");
            }
            rate
        }
        None => Some(default),
    };
    let (from, to) = (rate("from", 10.0)?, rate("to", 0.0)?);
    if to > 0.0 && from >= to {
        find.fault("from", "from is not below to", "write from: 100/s, to: 10k/s");
    }
    let tolerance = find.share("tolerance", 0.02);
    if !(0.001..=0.5).contains(&tolerance) {
        find.fault("tolerance", "the tolerance does not fit", "write a share from 0.1% to 50%");
    }
    let trial_s = trial(&find, "trial");
    (reader.log.count() == before).then_some(Study::Find {
        goal,
        from_ops_per_s: from,
        to_ops_per_s: to,
        tolerance,
        trial_s,
    })
}

fn sweep_study(fields: &Fields<'_>) -> Option<Study> {
    let reader = fields.reader;
    let before = reader.log.count();
    let node = fields.get("sweep")?;
    let (rates, point_s) = match &node.value {
        Value::Scalar(text) if text.trim() == "auto" => (Vec::new(), 30.0),
        Value::List(_) => (rates(fields, &node)?, 30.0),
        _ => {
            let sweep = fields.below("sweep", "sweep", None);
            sweep.check_keys(SWEEP);
            let found = match sweep.get("rates") {
                Some(node) => rates(fields, &node)?,
                None => Vec::new(),
            };
            (found, trial(&sweep, "point"))
        }
    };
    (reader.log.count() == before).then_some(Study::Sweep { rates_ops_per_s: rates, point_s })
}

fn rates(fields: &Fields<'_>, node: &crate::tree::Node) -> Option<Vec<f64>> {
    let reader = fields.reader;
    if matches!(&node.value, Value::Scalar(text) if text.trim() == "auto") {
        return Some(Vec::new());
    }
    let items = reader.list(node)?;
    if items.is_empty() {
        reader.fault(node, "the list of rates is empty", "write rates: [100/s, 1k/s], or remove it");
        return None;
    }
    let mut rates = Vec::new();
    for item in &items {
        let rate = reader.rate(item)?;
        if rate <= 0.0 {
            reader.fault(item, "at a rate of 0 nothing ever starts", "write a rate such as 100/s");
            return None;
        }
        if rates.contains(&rate) {
            reader.fault(item, "this rate is in the list twice", "give each rate once");
            return None;
        }
        rates.push(rate);
    }
    Some(rates)
}

/// The length of a trial.
fn trial(fields: &Fields<'_>, key: &str) -> f64 {
    let seconds = fields.seconds(key, 30.0);
    if seconds < 1.0 {
        fields.fault(key, "a measurement takes at least one second", "write a duration such as 30s");
    }
    seconds
}
