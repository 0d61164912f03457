//! Rules around a cell: steady state, errors, caches.

use crate::known::{
    CACHE, ERRORS, FIO_METRIC, STEADY, STEADY_DEFAULT, STEADY_FIO, STEADY_SNIA, STEADY_STORPERF,
    STEADY_SUSTAINED,
};
use crate::plan::{CacheControl, ErrorPolicy, LevelLimits, SteadyRule};
use crate::reader::{Fields, Reader};
use crate::tree::{Node, Value};

/// The steady-state rule.
pub(super) fn steady(fields: &Fields<'_>) -> Option<SteadyRule> {
    let reader = fields.reader;
    let Some(node) = fields.get("steady") else { return rule(reader, "default", None, fields.place) };
    match &node.value {
        Value::Map(_) => {
            let entry = reader.only_entry(&node, "steady-state rule", STEADY)?;
            rule(reader, &entry.key, Some(entry.node.clone()), entry.key_place)
        }
        _ => rule(reader, reader.choice(&node, "steady-state rule", STEADY)?, None, node.place),
    }
}

fn rule(
    reader: &Reader<'_>,
    name: &str,
    options: Option<Node>,
    place: crate::place::Place,
) -> Option<SteadyRule> {
    let before = reader.log.count();
    let fields = Fields::new(reader, format!("rule {name:?}"), "steady.rule.", place, options);
    let known = match name {
        "default" => STEADY_DEFAULT,
        "sustained" => STEADY_SUSTAINED,
        "snia" => STEADY_SNIA,
        "storperf" => STEADY_STORPERF,
        "fio" => STEADY_FIO,
        _ => &[],
    };
    fields.check_keys(known);
    let above_zero = |key: &str, value: f64| {
        if value <= 0.0 {
            fields.fault(key, format!("{key} must be more than 0"), "write a larger value");
        }
        value
    };
    let usual = LevelLimits::default();
    let share_above_zero = |key: &str, usual: f64| above_zero(key, fields.share(key, usual));
    let level_limits = || LevelLimits {
        half_width: share_above_zero("half_width", usual.half_width),
        drift: share_above_zero("drift", usual.drift),
        latency_drift: share_above_zero("latency_drift", usual.latency_drift),
        effective_samples: fields.integer("effective_samples", 2, 1_000_000, usual.effective_samples as u64)
            as f64,
    };
    let rule = match name {
        "default" => SteadyRule::Default(level_limits()),
        "sustained" => SteadyRule::Sustained {
            horizon_s: at_least_one(&fields, "horizon", 600.0),
            limits: level_limits(),
        },
        "snia" => SteadyRule::Snia { round_s: at_least_one(&fields, "round", 60.0) },
        "storperf" => SteadyRule::Storperf {
            sample_s: at_least_one(&fields, "sample", 60.0),
            samples: u32::try_from(fields.integer("samples", 2, 10_000, 10)).unwrap_or(u32::MAX),
        },
        "fio" => SteadyRule::Fio {
            metric: fields.choice("metric", FIO_METRIC, "iops").to_owned(),
            slope: fields.flag("slope", true),
            limit: share_above_zero("limit", 0.003),
            window_s: at_least_one(&fields, "window", 30.0),
        },
        _ => SteadyRule::None,
    };
    (reader.log.count() == before).then_some(rule)
}

/// Whole seconds, because an interval is one second long.
fn at_least_one(fields: &Fields<'_>, key: &str, default: f64) -> f64 {
    let seconds = fields.seconds(key, default);
    if seconds < 1.0 || seconds.fract() != 0.0 {
        fields.fault(key, "this is measured in intervals of one second", "write whole seconds, at least 1s");
    }
    seconds
}

/// Minimum number of seconds a rule needs before it can decide.
pub(crate) fn shortest(rule: &SteadyRule) -> f64 {
    match rule {
        SteadyRule::Default(_) | SteadyRule::None => 0.0,
        SteadyRule::Sustained { horizon_s, .. } => *horizon_s,
        SteadyRule::Snia { round_s } => 5.0 * round_s,
        SteadyRule::Storperf { sample_s, samples } => sample_s * f64::from(*samples),
        SteadyRule::Fio { window_s, .. } => *window_s,
    }
}

/// What to do when operations fail.
pub(super) fn errors(fields: &Fields<'_>) -> Option<ErrorPolicy> {
    let reader = fields.reader;
    let Some(node) = fields.get("errors") else { return Some(ErrorPolicy::Continue) };
    if matches!(node.value, Value::Map(_)) {
        let entry = reader.only_entry(&node, "error policy", &[ERRORS[0].name])?;
        return reader.integer(&entry.node, 1, u64::MAX).map(ErrorPolicy::StopCellAfter);
    }
    match reader.choice(&node, "error policy", &["continue", "stop", "stop_cell_after"])? {
        "continue" => Some(ErrorPolicy::Continue),
        "stop" => Some(ErrorPolicy::Stop),
        _ => {
            reader.fault(&node, "stop_cell_after needs a number", "write errors: {stop_cell_after: 100}");
            None
        }
    }
}

/// What to do with caches before a cell.
pub(super) fn cache(fields: &Fields<'_>, default: CacheControl) -> Option<CacheControl> {
    let Some(node) = fields.get("cache") else { return Some(default) };
    Some(match fields.reader.choice(&node, "cache control", CACHE)? {
        "keep" => CacheControl::Keep,
        "invalidate" => CacheControl::Invalidate,
        _ => CacheControl::Drop,
    })
}
