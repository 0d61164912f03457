//! When a job ends, and how it treats errors.

use super::asked::Asked;
use super::errors::name_of_error;
use super::lists::ends;
use super::numbers::seconds;
use crate::values::ValueError;
use experiment::{Ending, LatencyTarget, OnErrors};

const MICROSECOND_S: f64 = 1e-6;

/// When the job ends.
pub(crate) fn ending(asked: &Asked<'_>) -> Ending {
    let runtime_s = asked.seconds("runtime", 1.0).unwrap_or(0.0);
    let mut time_based = asked.flag("time_based");
    if time_based && runtime_s == 0.0 {
        let text = "time_based has no effect: there is no runtime";
        asked.warn("time_based", text, "add runtime, as in runtime=60s");
        time_based = false;
    }
    let (start_delay_s, start_delay_spread_s) = start_delay(asked);
    Ending {
        runtime_s,
        time_based,
        loops: asked.count("loops").filter(|loops| *loops > 1).unwrap_or(0),
        start_delay_s,
        start_delay_spread_s,
        max_latency_s: longest(asked),
        latency_target: latency_target(asked),
        errors: on_errors(asked),
    }
}

fn start_delay(asked: &Asked<'_>) -> (f64, f64) {
    let Some(setting) = asked.setting("startdelay") else { return (0.0, 0.0) };
    let range = asked.read(setting, &setting.value, |text| {
        let (low, high) = ends(text);
        let (low, high) = (seconds(low, 1.0)?, seconds(high, 1.0)?);
        Ok::<_, ValueError>((low.min(high), (high - low).abs()))
    });
    range.unwrap_or((0.0, 0.0))
}

fn longest(asked: &Asked<'_>) -> f64 {
    let given = asked.directions("max_latency", |_, text| seconds(text, MICROSECOND_S));
    let all: Vec<f64> = [given.read, given.write, given.trim].into_iter().flatten().collect();
    let Some(first) = all.first() else { return 0.0 };
    if all.len() < 3 || all.iter().any(|limit| limit != first) {
        let text = "max_latency differs between reads, writes and trims";
        asked.fault("max_latency", text, "write one limit for all directions");
    }
    *first
}

fn latency_target(asked: &Asked<'_>) -> Option<LatencyTarget> {
    let target_s = asked.seconds("latency_target", MICROSECOND_S).filter(|target| *target > 0.0)?;
    let window_s = asked.seconds("latency_window", MICROSECOND_S).unwrap_or(0.0);
    if window_s == 0.0 {
        let text = "latency_target has no latency_window";
        asked.fault("latency_target", text, "add latency_window, as in latency_window=5s");
    }
    let percentile = asked.float("latency_percentile").unwrap_or(100.0);
    if !(percentile > 0.0 && percentile <= 100.0) {
        asked.fault(
            "latency_percentile",
            format!("latency_percentile is {percentile}"),
            "write a percentage above 0, up to 100",
        );
    }
    Some(LatencyTarget { target_s, window_s, percentile, run_on: asked.flag("latency_run") })
}

/// The values of `continue_on_error`: whether reads, writes and verification continue.
const GO_ON: [(&str, [bool; 3]); 8] = [
    ("none", [false, false, false]),
    ("0", [false, false, false]),
    ("read", [true, false, false]),
    ("write", [false, true, false]),
    ("io", [true, true, false]),
    ("verify", [false, false, true]),
    ("all", [true, true, true]),
    ("1", [true, true, true]),
];

fn on_errors(asked: &Asked<'_>) -> OnErrors {
    let mut go_on = [false; 3];
    if let Some(text) = asked.text("continue_on_error") {
        for word in if text.is_empty() { "all" } else { text }.split(',').map(str::trim) {
            match GO_ON.iter().find(|known| known.0 == word) {
                Some(known) => go_on = [0, 1, 2].map(|index| go_on[index] || known.1[index]),
                None => {
                    let hint = experiment::hint(word, GO_ON.iter().map(|known| known.0));
                    asked.fault("continue_on_error", format!("there is no continue_on_error {word:?}"), hint);
                }
            }
        }
    }
    let [go_on_read, go_on_write, go_on_verify] = go_on;
    OnErrors {
        go_on_read,
        go_on_write,
        go_on_verify,
        ignore: ignored(asked),
        ends_group: asked.flag("exitall_on_error"),
    }
}

/// `EAGAIN,ENOSPC:122`: for reads, writes, verification.
fn ignored(asked: &Asked<'_>) -> [Vec<String>; 3] {
    let mut lists: [Vec<String>; 3] = Default::default();
    let Some(setting) = asked.setting("ignore_error") else { return lists };
    let kinds: Vec<&str> = setting.value.split(',').collect();
    if kinds.len() > 3 {
        let text = format!("ignore_error has {} lists", kinds.len());
        asked.fault("ignore_error", text, "write at most three: of reads, of writes, of verification");
    }
    for (list, text) in lists.iter_mut().zip(kinds) {
        for word in text.split(':').map(str::trim).filter(|word| !word.is_empty()) {
            list.extend(asked.read(setting, word, name_of_error));
        }
    }
    lists
}
