//! Values of a plan in words.

use std::time::Duration;

use experiment::{Access, Arrivals, Cell, LevelLimits, Prepare, SteadyRule, Study, Think};
use stats::SteadyJudgement;
use store::{CellResult, State, Validity};
use units::{Size, Span};

use crate::figures::{FigureUnit, digits};

/// A share as a percentage.
fn percent(share: f64) -> String {
    format!("{} %", trim(&digits(share * 100.0, 3)))
}

fn trim(text: &str) -> String {
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text.to_owned(),
    }
}

/// `1 cell`, `2 cells`.
pub fn count(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

/// How far a run or cell got.
pub fn state(state: State) -> &'static str {
    match state {
        State::Pending => "not begun",
        State::Running => "unfinished",
        State::Finished => "finished",
        State::Interrupted => "interrupted",
        State::Failed => "failed",
    }
}

/// Whether a rule judged the measurement: without one, its steadiness is unknown.
pub fn judged(result: &CellResult) -> bool {
    result.steady.judgement() != SteadyJudgement::NotJudged
}

/// A validity as a badge: symbol and word, so that it does not rely on colour.
pub fn badge(validity: Validity) -> &'static str {
    match validity {
        Validity::Valid => "<span class=\"badge good\">✓ VALID</span>",
        Validity::Warn => "<span class=\"badge warn\">! WARN</span>",
        Validity::Invalid => "<span class=\"badge bad\">✕ INVALID</span>",
    }
}

/// What a cell does, as pairs of a name and its value.
pub fn workload(cell: &Cell) -> Vec<(&'static str, String)> {
    let load = &cell.workload;
    let list = |parts: Vec<String>| parts.join(", ");
    let ops = list(load.ops.iter().map(|w| format!("{} {}", percent(w.weight), w.op)).collect());
    let sizes = match &*load.block_sizes() {
        [one] => Size(one.bytes).to_string(),
        several => list(several.iter().map(|w| format!("{} {}", percent(w.weight), Size(w.bytes))).collect()),
    };
    let mut pairs = vec![
        ("operations", ops),
        ("access", access(&load.access())),
        ("block size", sizes),
        ("in flight", format!("{} × queue depth {}", count(load.jobs as usize, "job"), load.queue_depth)),
        (
            "arrivals",
            match cell.study {
                Some(_) => "open loop, at each rate that is tried".into(),
                None => arrivals(&load.arrivals),
            },
        ),
        ("data set", data_set(cell)),
    ];
    // All lanes of a job share one stream of operations.
    let whose = if load.stream().is_some() { "job" } else { "lane" };
    if let Some(think) = load.think() {
        pairs.push(("pauses", format!("{} of each {whose}", pauses(think))));
    }
    if load.commit_every() > 0 {
        let name = if load.fdatasync() { "fdatasync" } else { "fsync" };
        pairs.push(("durability", format!("{name} after {} writes of a {whose}", load.commit_every())));
    }
    if load.compressible() > 0.0 || load.dedupe() > 0.0 {
        let text =
            format!("{} compressible, {} duplicates", percent(load.compressible()), percent(load.dedupe()));
        pairs.push(("payload", text));
    }
    let checked =
        if load.verifies() { "every read is compared with what was written" } else { "not verified" };
    pairs.push(("verification", checked.into()));
    match &cell.study {
        Some(study) => pairs.push(("study", study_text(study))),
        None => pairs.push(("stop rule", rule(&cell.steady))),
    }
    pairs
}

fn pauses(think: &Think) -> String {
    let span = |seconds: f64| Span(Duration::try_from_secs_f64(seconds).unwrap_or_default());
    let after = match (think.after_s > 0.0, think.after) {
        (true, _) => format!("{} of load", span(think.after_s)),
        (false, 0 | 1) => "every operation".to_owned(),
        (false, operations) => format!("{operations} operations"),
    };
    format!("{} after {after}", span(think.pause_s))
}

/// How long a cell warms up and measures, in words.
pub fn stages(cell: &Cell) -> String {
    let stages = &cell.stages;
    let least = stages.measure_at_least_s;
    let measured = match &cell.study {
        Some(Study::Find { trial_s, .. }) => format!("each trial {trial_s} s"),
        Some(Study::Sweep { point_s, .. }) => format!("each rate {point_s} s"),
        // Without a rule it ends at the minimum duration.
        None if matches!(cell.steady, SteadyRule::None) && stages.measure_at_least_bytes == 0 => {
            format!("measured {least} s")
        }
        None => format!("measured {least} to {} s", stages.measure_at_most_s),
    };
    format!("warm-up {} s, {measured}", stages.warm_up_s)
}

fn data_set(cell: &Cell) -> String {
    let load = &cell.workload;
    if let (Some(_), Some(files)) = (load.tree(), load.user_files()) {
        return format!("{}, only read", files.all());
    }
    let prepare = match cell.stages.prepare {
        Prepare::Fill => "filled unless an earlier cell left it",
        Prepare::FillAlways => "filled before the cell",
        Prepare::Keep => "used as found",
        Prepare::None => "not prepared",
    };
    let size = match (load.files(), load.file_bytes()) {
        (files, 0) if load.user_files().is_some() => {
            format!("{} in full size", FigureUnit::Count.text(files as f64))
        }
        (files, 0) if load.pass().is_some() => format!("{} files", FigureUnit::Count.text(files as f64)),
        (_, 0) => "the whole device".to_owned(),
        (files, bytes) if let Some(sizes) = load.sizes() => {
            format!(
                "{} × {} on average, {sizes}",
                FigureUnit::Count.text(files as f64),
                Size(bytes).rounded()
            )
        }
        (1, bytes) => Size(bytes).to_string(),
        (files, bytes) => format!("{} × {}", FigureUnit::Count.text(files as f64), Size(bytes)),
    };
    match load.user_files() {
        Some(files) => format!("{size} ({}), {prepare}", files.shown(load.files())),
        None => format!("{size}, {prepare}"),
    }
}

fn access(access: &Access) -> String {
    match access {
        Access::Sequential => "sequential".into(),
        Access::Random => "random".into(),
        Access::Shuffled => "shuffled: every block once a pass".into(),
        Access::Zipf { theta } => format!("zipf, theta {theta}"),
        Access::Pareto { h } => format!("pareto, h {h}"),
        Access::Hotspot { ops, space } => {
            format!("{} of operations on {} of the space", percent(*ops), percent(*space))
        }
        Access::Strided { stride_bytes } => format!("every {}", Size(*stride_bytes)),
    }
}

fn arrivals(arrivals: &Arrivals) -> String {
    let rate = |ops: f64| FigureUnit::OpsPerS.text(ops);
    match arrivals {
        Arrivals::Closed => "closed loop: the next as soon as one ends".into(),
        Arrivals::Constant { ops_per_s } => format!("open loop, {} evenly", rate(*ops_per_s)),
        Arrivals::Poisson { ops_per_s } => format!("open loop, {} Poisson", rate(*ops_per_s)),
        Arrivals::Ramp { from_ops_per_s, to_ops_per_s, over_s } => {
            format!("open loop, {} to {} over {over_s} s", rate(*from_ops_per_s), rate(*to_ops_per_s))
        }
        Arrivals::Steps { steps } => format!("open loop, {} steps", steps.len()),
        Arrivals::Times { times } => format!("open loop, {} rates by a list", times.len()),
    }
}

fn rule(rule: &SteadyRule) -> String {
    let level = |drift: &str, limits: &LevelLimits| {
        format!(
            "interval ± {}, {drift} {}, of p99 {}, {} effective samples",
            percent(limits.half_width),
            percent(limits.drift),
            percent(limits.latency_drift),
            limits.effective_samples
        )
    };
    match rule {
        SteadyRule::Default(limits) => format!("default: {}", level("drift", limits)),
        SteadyRule::Sustained { horizon_s, limits } => {
            format!("sustained for {horizon_s} s: {}", level("drift in that time", limits))
        }
        SteadyRule::Snia { round_s } => format!("snia: rounds of {round_s} s"),
        SteadyRule::Storperf { sample_s, samples } => format!("storperf: {samples} samples of {sample_s} s"),
        SteadyRule::Fio { metric, slope, limit, window_s } => {
            let of = if *slope { "slope" } else { "deviation" };
            format!("fio: {of} of {metric} within {} over {window_s} s", percent(*limit))
        }
        SteadyRule::None => "none: a fixed time".into(),
    }
}

fn study_text(study: &Study) -> String {
    match study {
        Study::Find { goal, .. } => format!("find the highest rate at which {} holds", goal.text),
        Study::Sweep { rates_ops_per_s, .. } if rates_ops_per_s.is_empty() => {
            "sweep of the rate in equal steps".into()
        }
        Study::Sweep { rates_ops_per_s, .. } => format!("sweep over {} rates", rates_ops_per_s.len()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_in_words() {
        let think = |after, after_s| pauses(&Think { pause_s: 0.001, after, after_s, ..Think::default() });
        assert_eq!(think(0, 0.0), "1ms after every operation");
        assert_eq!(think(10, 0.0), "1ms after 10 operations");
        assert_eq!(think(0, 2.5), "1ms after 2s500ms of load");
    }
}
