//! The default rule: floors, truncation, a fresh window, effective samples, interval, drift, level changes.
//!
//! Every condition must hold for every series: bandwidth and operations per second of all together and of each
//! operation, and each operation's p99. The worst series decides, and is named. The list of criteria has one line per
//! condition.

use experiment::LevelLimits;

use super::{Look, floor_criteria, measure};
use crate::history::History;
use crate::numbers::share;
use crate::series::{FEWEST_FOR_P99, Series, name};
use crate::{Criterion, CriterionUnit, Floors, SeriesEstimate, Window, change, mser};

/// Maximum share of the measurement that may be warm-up. At MSER-5's cut the rest of a transient is as large as the
/// noise; with the cut at a third, a window that begins at half starts half as late again, where little of it is left.
const LATEST_CUT: f64 = 1.0 / 3.0;
/// Minimum effective samples in the last regime to report it alone when nothing was steady.
const WORTH: f64 = 8.0;

/// A judged series with everything the conditions need.
struct Judged<'a> {
    series: Series<'a>,
    found: Option<SeriesEstimate>,
    /// Largest difference between adjacent levels in the last half.
    jump: f64,
}

/// With a horizon, in seconds, the drift is limited over that time and the window is everything since the warm-up;
/// otherwise it is limited over the window, which is the last half.
pub(crate) fn look(limits: &LevelLimits, horizon_s: Option<f64>, floors: &Floors, history: &History) -> Look {
    let everything = history.everything();
    let throughput = history.throughput();
    // The warm-up ends at the latest cut of the totals.
    let cut = throughput.iter().filter(|s| s.op.is_none()).map(|s| mser::cut(s.level())).max().unwrap_or(0);
    let cut_share = share(cut as f64, history.grid.len() as f64);
    // A claim about the future rests on everything observed; a claim about the present on what is new since the last
    // evaluation but one.
    let half = if horizon_s.is_some() { 0 } else { history.grid.len() / 2 };
    let fresh = Window { first: history.grid.first(half), end: everything.end };
    let window = Window { first: history.grid.first(half.max(cut)), ..fresh };
    let cut = history.grid.first(cut);

    let mut all = throughput;
    all.extend(history.percentiles());
    all.retain(|s| s.judged);
    let judged: Vec<Judged<'_>> = all
        .into_iter()
        .map(|series| {
            let levels = Levels::of(limits, &series);
            let found = measure(&series, window, levels.stretch(&series, window, cut));
            let jump = levels.jump(&series, if horizon_s.is_some() { window } else { fresh });
            Judged { series, found, jump }
        })
        .collect();

    let mut criteria = floor_criteria(floors, history);
    let name = "warm-up cut (MSER-5), share of the measurement";
    criteria.push(Criterion::at_most(name, cut_share, LATEST_CUT, CriterionUnit::Share));
    criteria.extend(conditions(limits, horizon_s, &judged, history.seconds_in(window)));
    if let (Some(_), Some(stalls)) = (horizon_s, history.stalls(window)) {
        let name = "stalls, 95 % bound on their share of the time";
        let bound = stalls.share_bound(history.seconds_in(window));
        criteria.push(Criterion::at_most(name, bound, limits.drift, CriterionUnit::Share));
    }
    // A constant zero is perfectly steady, but it is no measurement.
    if history.counts.iter().all(|counts| counts.ok[half..].iter().all(|ok| *ok == 0.0)) {
        let name = "successful operations in the window";
        criteria.push(Criterion::at_least(name, 0.0, 1.0, CriterionUnit::Count));
    }
    let reached = criteria.iter().all(|c| c.met);
    let notes = left_out(history);
    let window = if reached { window } else { best_window(history, window) };
    let reason = match reached {
        true => format!(
            "steady over the last {} of {} intervals: all series meet every condition",
            window.len(),
            everything.len()
        ),
        false => format!("no steady state: {}", super::misses(&criteria)),
    };
    Look { reached, reason, window: Some(window), criteria, cut: Some(cut), notes, ..Look::default() }
}

/// The level changes that change point detection finds in a series.
pub(crate) struct Levels {
    changes: Vec<LevelChange>,
    tolerated: f64,
}

/// Where one level ends and another begins.
struct LevelChange {
    /// The first point of the new level.
    at: usize,
    /// Its interval.
    interval: u32,
    /// Relative difference between the two levels.
    size: f64,
}

impl Levels {
    pub(crate) fn of(limits: &LevelLimits, series: &Series<'_>) -> Self {
        // Latencies are skewed and vary in proportion: their logarithms have levels.
        let values: Vec<f64> = match series.is_latency() {
            true => series.level().iter().map(|v| v.max(1.0).ln()).collect(),
            false => series.level().to_vec(),
        };
        let mut edges = vec![0];
        edges.extend(change::points(&values));
        edges.push(values.len());
        let level = |from: usize, end: usize| crate::numbers::mean(&values[from..end]);
        let difference = |a: f64, b: f64| match series.is_latency() {
            true => (a - b).abs().exp_m1(),
            false => share((a - b).abs(), 0.5 * (a + b)),
        };
        let changes = edges.windows(3).map(|edge| LevelChange {
            at: edge[1],
            interval: series.grid.first(edge[1]),
            size: difference(level(edge[0], edge[1]), level(edge[1], edge[2])),
        });
        let tolerated = if series.is_latency() { limits.latency_drift } else { limits.drift };
        Self { changes: changes.collect(), tolerated }
    }

    /// Start of the constant level at which the window begins: the cut, or later.
    pub(crate) fn stretch(&self, series: &Series<'_>, window: Window, cut: u32) -> u32 {
        let start = series.within(window).start;
        let before = self.changes.iter().filter(|change| change.at <= start && change.size > self.tolerated);
        before.map(|change| change.interval).fold(cut, u32::max)
    }

    /// Largest relative difference between adjacent levels inside the window.
    fn jump(&self, series: &Series<'_>, window: Window) -> f64 {
        let points = series.within(window);
        let inside = self.changes.iter().filter(|change| change.at > points.start && change.at < points.end);
        inside.map(|change| change.size).fold(0.0, f64::max)
    }
}

/// The conditions on the series, each with the series that misses it most.
fn conditions(
    limits: &LevelLimits,
    horizon_s: Option<f64>,
    judged: &[Judged<'_>],
    window_s: f64,
) -> Vec<Criterion> {
    let mut out = Vec::new();
    let (drift_name, level_name, spans) = match horizon_s {
        Some(horizon_s) => (
            format!("drift over {horizon_s} s, 95 % bound, largest"),
            "level change since the warm-up, largest",
            share(horizon_s, window_s),
        ),
        None => (
            "drift over the window, 95 % bound, largest".to_owned(),
            "level change in the last half, largest",
            1.0,
        ),
    };
    let worth = |j: &Judged<'_>| j.found.as_ref().map_or(0.0, |f| f.estimate.effective_samples);
    if let Some(worst) = judged.iter().min_by(|a, b| worth(a).total_cmp(&worth(b))) {
        let name = format!("effective samples in the window, fewest: {}", worst.series.name());
        let (value, limit) = (worth(worst), limits.effective_samples);
        out.push(Criterion::at_least(name, value, limit, CriterionUnit::Count));
    }
    // p99 varies more than throughput; its interval may be wider by the same ratio as its drift may be larger.
    let wider = if limits.drift > 0.0 { (limits.latency_drift / limits.drift).max(1.0) } else { 1.0 };
    for (of, half_width, drift) in [
        ("throughput", limits.half_width, limits.drift),
        ("p99", limits.half_width * wider, limits.latency_drift),
    ] {
        let series: Vec<&Judged<'_>> =
            judged.iter().filter(|j| j.series.is_latency() == (of == "p99")).collect();
        let mut condition = |what: &str, limit: f64, value: &dyn Fn(&Judged<'_>) -> f64| {
            if let Some(worst) = series.iter().max_by(|a, b| value(a).total_cmp(&value(b))) {
                let name = format!("{of}: {what}: {}", worst.series.name());
                let (value, unit) = (value(worst), CriterionUnit::Share);
                out.push(Criterion::at_most(name, value, limit, unit));
            }
        };
        let found =
            |j: &Judged<'_>, pick: fn(&SeriesEstimate) -> f64| j.found.as_ref().map_or(f64::MAX, pick);
        condition("half-width of the 95 % interval, widest", half_width, &|j| {
            found(j, |f| f.estimate.relative_half_width())
        });
        condition(&drift_name, drift, &|j| found(j, |f| f.drift_bound) * spans);
        condition(level_name, drift, &|j| j.jump);
    }
    out
}

/// What is reported when nothing is steady: the window, or the last level in it if that was held.
fn best_window(history: &History, window: Window) -> Window {
    let series = history.headline();
    let points = series.within(window);
    let last =
        change::points(series.level()).into_iter().rev().find(|at| *at > points.start && *at < points.end);
    match last {
        Some(at) if crate::estimate(&series.values[at..points.end]).effective_samples >= WORTH => {
            Window { first: history.grid.first(at), end: window.end }
        }
        _ => window,
    }
}

/// States which series were not judged, and why.
fn left_out(history: &History) -> Vec<String> {
    let mut notes = Vec::new();
    for counts in &history.counts {
        let kind = counts.kind;
        if !history.is_common(counts) {
            notes.push(format!(
                "{kind} was not judged: it accounts for less than 1 % of the operations and bytes"
            ));
        } else if !history.judges_p99(counts) {
            notes.push(format!(
                "{} was not judged: {:.1} operations an interval are too few for a 99th percentile (at least {FEWEST_FOR_P99})",
                name(Some(kind), crate::Measure::P99Ns),
                history.an_interval(counts)
            ));
        }
    }
    notes
}
