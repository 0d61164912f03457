//! The rules, and what they have in common.

pub(crate) mod default;
pub(crate) mod fio;
pub(crate) mod none;
pub(crate) mod snia;
pub(crate) mod storperf;

use experiment::{LevelLimits, SteadyRule};

use default::Levels;

use crate::drift;
use crate::estimate::estimate_with;
use crate::history::History;
use crate::series::Series;
use crate::{Criterion, CriterionUnit, Floors, PtsStatement, SeriesEstimate, Window};

/// The result of one evaluation.
#[derive(Clone, Debug, Default)]
pub(crate) struct Look {
    pub reached: bool,
    /// Continuing cannot satisfy the rule.
    pub exhausted: bool,
    pub reason: String,
    pub window: Option<Window>,
    pub criteria: Vec<Criterion>,
    pub pts: Vec<PtsStatement>,
    /// The warm-up cut as an interval number, if the rule has one.
    pub cut: Option<u32>,
    pub notes: Vec<String>,
}

/// Evaluates the history by a rule.
pub(crate) fn look(rule: &SteadyRule, floors: &Floors, history: &History) -> Look {
    match rule {
        SteadyRule::Default(limits) => default::look(limits, None, floors, history),
        SteadyRule::Sustained { horizon_s, limits } => {
            default::look(limits, Some(*horizon_s), floors, history)
        }
        SteadyRule::Snia { round_s } => snia::look(*round_s, floors, history),
        SteadyRule::Storperf { sample_s, samples } => storperf::look(*sample_s, *samples, floors, history),
        SteadyRule::Fio { metric, slope, limit, window_s } => {
            let demand = fio::Demand { metric, slope: *slope, limit: *limit, window_s: *window_s };
            fio::look(&demand, floors, history)
        }
        SteadyRule::None => none::look(floors, history),
    }
}

/// When the rule first evaluates, in seconds.
pub(crate) fn first_look(rule: &SteadyRule, floors: &Floors) -> f64 {
    let own = match rule {
        SteadyRule::Default(_) | SteadyRule::None => 0.0,
        SteadyRule::Sustained { horizon_s, .. } => *horizon_s,
        SteadyRule::Snia { round_s } => *round_s,
        SteadyRule::Storperf { sample_s, .. } => *sample_s,
        SteadyRule::Fio { window_s, .. } => *window_s,
    };
    match rule {
        // Rounds are counted from the start, whatever the floor.
        SteadyRule::Snia { .. } | SteadyRule::Storperf { .. } => own,
        _ => own.max(floors.seconds),
    }
}

/// When the rule evaluates again after an evaluation at `now` seconds that was due at `due`.
pub(crate) fn next_look(rule: &SteadyRule, due: f64, now: f64) -> f64 {
    match rule {
        // 60, 90, 135, 200 …: at least half of each window is new.
        SteadyRule::Default(_) | SteadyRule::Sustained { .. } => {
            let mut next = due.max(1e-3);
            while next <= now * (1.0 + 1e-9) {
                next *= 1.5;
            }
            next
        }
        SteadyRule::Snia { round_s: step } | SteadyRule::Storperf { sample_s: step, .. } if *step > 0.0 => {
            step * ((now / step + 1e-6).floor() + 1.0)
        }
        _ => now,
    }
}

/// The floors as criteria.
pub(crate) fn floor_criteria(floors: &Floors, history: &History) -> Vec<Criterion> {
    let mut out = Vec::new();
    if floors.seconds > 0.0 {
        // The last interval may end slightly early by the clock.
        let met = history.elapsed_s * 1.001 + 0.01 >= floors.seconds;
        let (value, limit) = (history.elapsed_s, floors.seconds);
        let seconds = Criterion::at_least("measured at least", value, limit, CriterionUnit::Seconds);
        out.push(Criterion { met, ..seconds });
    }
    if floors.bytes > 0 {
        let (value, limit) = (history.bytes as f64, floors.bytes as f64);
        out.push(Criterion::at_least("bytes moved at least", value, limit, CriterionUnit::Bytes));
    }
    out
}

/// Every series over a window, as reported. `cut` is where the warm-up ended, if the rule determines that: the stretch
/// between it and the window helps to estimate drift and autocorrelation.
pub(crate) fn estimates(
    rule: &SteadyRule,
    history: &History,
    window: Window,
    cut: Option<u32>,
) -> Vec<SeriesEstimate> {
    // Other rules have no level limits of their own.
    let limits = match rule {
        SteadyRule::Default(limits) | SteadyRule::Sustained { limits, .. } => *limits,
        _ => LevelLimits::default(),
    };
    all_series(history)
        .iter()
        .filter_map(|series| match cut {
            Some(cut) => measure(series, window, Levels::of(&limits, series).stretch(series, window, cut)),
            None => measure(series, window, window.first),
        })
        .collect()
}

/// All series.
fn all_series(history: &History) -> Vec<Series<'_>> {
    let mut all = history.throughput();
    all.extend(history.percentiles());
    all.extend(history.mean_latencies());
    all
}

/// One series over a window; `None` if it has no point there.
pub(crate) fn measure(series: &Series<'_>, window: Window, stretch_from: u32) -> Option<SeriesEstimate> {
    let points = series.within(window);
    if points.is_empty() {
        return None;
    }
    let from = series.grid.point_from(stretch_from).min(points.start);
    let stretch = &series.values[from..points.end];
    let least = match points.len() < stretch.len() {
        true => crate::autocorrelation::integrated_time(stretch),
        false => 1.0,
    };
    let drift = drift::over_window(&series.level()[from..points.end], points.len(), 1.0);
    let estimate = estimate_with(&series.values[points], least);
    Some(SeriesEstimate {
        op: series.op,
        measure: series.measure,
        estimate,
        drift: drift.change,
        drift_bound: drift.bound,
    })
}

/// Lists the unmet criteria and by how much they are missed.
pub(crate) fn misses(criteria: &[Criterion]) -> String {
    let missed: Vec<String> = criteria.iter().filter(|c| !c.met).map(ToString::to_string).collect();
    missed.join("; ")
}
