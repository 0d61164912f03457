//! The monitor from outside: when it decides, and what it reports.

#![allow(clippy::unwrap_used)] // a test may fail loudly

use experiment::{LevelLimits, SteadyRule};
use metrics::{Interval, OpKind};
use stats::{Decision, Floors, LevelHeld, Measure, Monitor, RunShape, SteadyOutcome};

fn default_rule() -> SteadyRule {
    SteadyRule::Default(LevelLimits::default())
}

fn floors(seconds: f64, limit_seconds: f64) -> Floors {
    Floors { seconds, bytes: 0, limit_seconds }
}

/// One second with this many operations of each kind, of 1000 bytes and one latency each.
fn second(index: u32, ops: &[(OpKind, u64, u64)]) -> Interval {
    let mut interval = Interval { index, length_ns: 1_000_000_000, ..Interval::default() };
    interval.start_ns = u64::from(index) * 1_000_000_000;
    for (kind, count, latency_ns) in ops {
        let stats = interval.op_mut(*kind);
        stats.ok = *count;
        stats.bytes = count * 1000;
        for _ in 0..*count {
            stats.service.record(*latency_ns);
        }
    }
    interval
}

/// Throughput only, which is cheap.
fn counted(index: u32, ok: f64) -> Interval {
    let mut interval = Interval { index, length_ns: 1_000_000_000, ..Interval::default() };
    let stats = interval.op_mut(OpKind::Read);
    stats.ok = ok.round() as u64;
    stats.bytes = stats.ok * 4096;
    interval
}

/// A fixed sequence of shares between −0.5 and 0.5 without any pattern.
fn scatter(index: u32) -> f64 {
    let mut rng = fastrand::Rng::with_seed(u64::from(index) ^ 0x5eed);
    rng.f64() - 0.5
}

/// Pushes at most `most` intervals until a decision; returns it and the number of intervals.
fn until(monitor: &mut Monitor, most: u32, make: impl Fn(u32) -> Interval) -> (Decision, u32) {
    for index in 0..most {
        match monitor.push(&make(index)) {
            Decision::GoOn => {}
            decision => return (decision, index + 1),
        }
    }
    (Decision::GoOn, most)
}

fn series(outcome: &SteadyOutcome, op: Option<OpKind>, measure: Measure) -> &stats::SeriesEstimate {
    outcome.series.iter().find(|s| s.op == op && s.measure == measure).unwrap()
}

#[test]
fn a_deterministic_target_is_steady_at_the_first_look() {
    let mut monitor = Monitor::new(&default_rule(), floors(60.0, 600.0));
    let decided = until(&mut monitor, 600, |i| second(i, &[(OpKind::Read, 500, 1_000_000)]));
    assert_eq!(decided, (Decision::Steady, 60));
    let outcome = monitor.outcome();
    assert!(outcome.reached, "{}", outcome.reason);
    assert_eq!((outcome.window.first, outcome.window.end), (30, 60));
    assert_eq!(outcome.shape, RunShape::Flat);
    let ops = &series(&outcome, None, Measure::OpsPerS).estimate;
    assert_eq!((ops.mean, ops.low, ops.high, ops.effective_samples), (500.0, 500.0, 500.0, 30.0));
    let p99 = series(&outcome, Some(OpKind::Read), Measure::P99Ns);
    assert!((p99.estimate.mean / 1_000_000.0 - 1.0).abs() < 1e-3 && p99.drift_bound == 0.0);
    assert_eq!(series(&outcome, None, Measure::BytesPerS).estimate.mean, 500_000.0);
}

#[test]
fn the_looks_are_geometric_and_shown() {
    let mut monitor = Monitor::new(&default_rule(), floors(60.0, 600.0));
    let mut looks = vec![monitor.progress().next_look_s];
    // A sawtooth of ±40 % over 30 s is never steady.
    let decided =
        until(&mut monitor, 1000, |i| counted(i, 1000.0 + 800.0 * (f64::from(i % 30) / 30.0 - 0.5)));
    assert_eq!(decided, (Decision::LimitReached, 600));
    let mut again = Monitor::new(&default_rule(), floors(60.0, 600.0));
    for i in 0..600 {
        again.push(&counted(i, 1000.0 + 800.0 * (f64::from(i % 30) / 30.0 - 0.5)));
        if looks.last() != Some(&again.progress().next_look_s) {
            looks.push(again.progress().next_look_s);
        }
    }
    assert_eq!(looks, [60.0, 90.0, 135.0, 202.5, 303.75, 455.625, 600.0]);
    let outcome = monitor.outcome();
    assert!(!outcome.reached && outcome.reason.starts_with("no steady state: "), "{}", outcome.reason);
    assert!(outcome.criteria.iter().any(|c| !c.met) && !again.progress().criteria.is_empty());
    // The figure is still given, with an honest interval.
    let ops = &series(&outcome, None, Measure::OpsPerS).estimate;
    assert!(ops.low < 1000.0 && 1000.0 < ops.high && ops.high - ops.low > 10.0, "{ops:?}");
}

#[test]
fn ten_seconds_are_possible_and_say_what_they_are_worth() {
    let mut monitor = Monitor::new(&default_rule(), floors(10.0, 10.0));
    let decided = until(&mut monitor, 100, |i| counted(i, 1000.0 + 40.0 * scatter(i)));
    assert_eq!(decided, (Decision::LimitReached, 10));
    let outcome = monitor.outcome();
    assert!(
        outcome.reason.contains("effective samples in the window, fewest: bandwidth: 5 (at least 30)"),
        "{}",
        outcome.reason
    );
    assert_eq!(outcome.window.len(), 5);
    // With more time it evaluates at 10, 15, 22.5, 33.75, 50.6 and 75.9 s, when 38 intervals can give 30 effective
    // samples.
    let mut monitor = Monitor::new(&default_rule(), floors(10.0, 600.0));
    let (decision, after) = until(&mut monitor, 600, |i| counted(i, 1000.0 + 40.0 * scatter(i)));
    assert_eq!(decision, Decision::Steady);
    assert!([76, 114, 171].contains(&after), "{after}");
}

#[test]
fn floors_hold_back_what_is_steady() {
    let floor = Floors { seconds: 60.0, bytes: 4096 * 1000 * 200, limit_seconds: 900.0 };
    let mut monitor = Monitor::new(&default_rule(), floor);
    // Bytes for 200 s: not at 60, 90 or 135, but at 202.5 s.
    assert_eq!(until(&mut monitor, 900, |i| counted(i, 1000.0)), (Decision::Steady, 203));
    let mut monitor = Monitor::new(&default_rule(), floors(150.0, 900.0));
    assert_eq!(until(&mut monitor, 900, |i| counted(i, 1000.0)), (Decision::Steady, 150));
    // The limit comes first: the reason names the floor.
    let floor = Floors { seconds: 60.0, bytes: u64::MAX, limit_seconds: 100.0 };
    let mut monitor = Monitor::new(&default_rule(), floor);
    assert_eq!(until(&mut monitor, 900, |i| counted(i, 1000.0)), (Decision::LimitReached, 100));
    assert!(monitor.outcome().reason.contains("bytes moved at least"), "{}", monitor.outcome().reason);
}

#[test]
fn a_cliff_in_the_window_is_named_and_the_level_after_it_reported() {
    let mut monitor = Monitor::new(&default_rule(), floors(60.0, 200.0));
    let cliff = |i: u32| counted(i, if i < 140 { 1000.0 } else { 600.0 } * (1.0 + 0.02 * scatter(i)));
    // Flat up to the evaluation at 135 s. Floors exist so as not to be fooled by that, so none of these evaluations
    // counts.
    let floor = Floors { seconds: 140.0, ..floors(0.0, 200.0) };
    let mut floored = Monitor::new(&default_rule(), floor);
    assert_eq!(until(&mut floored, 200, cliff).0, Decision::Steady);
    let mut late = Monitor::new(&default_rule(), floors(180.0, 200.0));
    assert_eq!(until(&mut late, 200, cliff), (Decision::LimitReached, 200));
    let outcome = late.outcome();
    assert!(outcome.reason.contains("level change in the last half"), "{}", outcome.reason);
    assert_eq!(outcome.shape, RunShape::Slowdown);
    assert_eq!((outcome.window.first, outcome.window.end), (140, 200));
    let lost = outcome.lost.unwrap();
    assert_eq!(lost.interval, 140);
    assert!(
        (lost.before / 4_096_000.0 - 1.0).abs() < 0.01 && (lost.after / 2_457_600.0 - 1.0).abs() < 0.01,
        "{lost:?}"
    );
    assert!((series(&outcome, None, Measure::OpsPerS).estimate.mean / 600.0 - 1.0).abs() < 0.01);
    // Losing the level after the decision does not change it, but is reported.
    let (decision, decided) = until(&mut monitor, 200, cliff);
    assert!(decision == Decision::Steady && decided <= 135, "{decision:?} after {decided}");
    let before = monitor.outcome();
    for i in decided..200 {
        assert_eq!(monitor.push(&cliff(i)), Decision::Steady);
    }
    let after = monitor.outcome();
    assert_eq!((before.window, &before.series, before.lost), (after.window, &after.series, None));
    assert_eq!(after.lost.unwrap().interval, 140);
}

#[test]
fn the_worst_operation_decides() {
    // Reads are steady, writes swing by 40 % within a minute.
    let mixed = |i: u32| {
        let swing = (f64::from(i) / 25.0 * std::f64::consts::TAU).sin();
        second(i, &[(OpKind::Read, 400, 1_000_000), (OpKind::Write, 100 + (40.0 * swing) as u64, 2_000_000)])
    };
    let mut monitor = Monitor::new(&default_rule(), floors(60.0, 120.0));
    assert_eq!(until(&mut monitor, 200, mixed).0, Decision::LimitReached);
    assert!(monitor.outcome().reason.contains("write"), "{}", monitor.outcome().reason);
    // Only the read latency drifts.
    let slower = |i: u32| second(i, &[(OpKind::Read, 500, 1_000_000 + 10_000 * u64::from(i))]);
    let mut monitor = Monitor::new(&default_rule(), floors(60.0, 100.0));
    assert_eq!(until(&mut monitor, 200, slower).0, Decision::LimitReached);
    assert!(monitor.outcome().reason.contains("p99: drift over the window"), "{}", monitor.outcome().reason);
}

#[test]
fn rare_operations_do_not_make_nonsense() {
    // Twelve operations per second: their p99 is a maximum. It is reported, but not judged, with a note.
    let rare = |i: u32| {
        let tail = if i.is_multiple_of(7) { 9_000_000 } else { 1_000_000 };
        second(i, &[(OpKind::Put, 11, 1_000_000), (OpKind::Get, 1, tail)])
    };
    let mut monitor = Monitor::new(&default_rule(), floors(60.0, 600.0));
    assert_eq!(until(&mut monitor, 600, rare), (Decision::Steady, 60));
    let outcome = monitor.outcome();
    assert!(
        outcome.notes.iter().any(|n| n.starts_with("put p99 was not judged: 11.0")),
        "{:?}",
        outcome.notes
    );
    assert!(outcome.criteria.iter().all(|c| !c.name.starts_with("p99")));
    // Enough for groups: 80 per second, three seconds per point; at 60 s there are 10 points in the window.
    let some = |i: u32| second(i, &[(OpKind::Put, 80, 1_000_000)]);
    let mut monitor = Monitor::new(&default_rule(), floors(60.0, 600.0));
    let (decision, after) = until(&mut monitor, 600, some);
    assert_eq!((decision, after), (Decision::Steady, 203));
    assert!(monitor.outcome().notes.iter().any(|n| n.contains("intervals were merged")));
    assert!(series(&monitor.outcome(), Some(OpKind::Put), Measure::P99Ns).estimate.samples >= 30);
    // One in a thousand operations is a sync: it is not judged at all.
    let sync = |i: u32| {
        let syncs = u64::from(i.is_multiple_of(3));
        second(i, &[(OpKind::Write, 999, 1_000_000), (OpKind::Commit, syncs, 5_000_000)])
    };
    let mut monitor = Monitor::new(&default_rule(), floors(60.0, 600.0));
    assert_eq!(until(&mut monitor, 600, sync).0, Decision::Steady);
    assert!(monitor.outcome().notes.iter().any(|n| n.starts_with("commit was not judged")));
}

#[test]
fn nothing_is_not_steady() {
    let mut monitor = Monitor::new(&default_rule(), floors(60.0, 90.0));
    let failing = |index: u32| {
        let mut interval = counted(index, 0.0);
        interval.op_mut(OpKind::Read).errors[0] = 5;
        interval
    };
    assert_eq!(until(&mut monitor, 100, failing), (Decision::LimitReached, 90));
    assert!(monitor.outcome().reason.contains("successful operations"), "{}", monitor.outcome().reason);
    // Before anything was pushed, and with zero-length intervals.
    for rule in [default_rule(), SteadyRule::Snia { round_s: 60.0 }, SteadyRule::None] {
        let mut monitor = Monitor::new(&rule, floors(60.0, 90.0));
        assert!(!monitor.outcome().reached);
        assert_eq!(monitor.push(&Interval::default()), Decision::GoOn);
        assert_eq!(monitor.outcome().window.len(), 0);
    }
}

#[test]
fn interrupted_is_not_steady_but_has_figures() {
    let mut monitor = Monitor::new(&default_rule(), floors(60.0, 600.0));
    assert_eq!(until(&mut monitor, 40, |i| counted(i, 1000.0 + 20.0 * scatter(i))).0, Decision::GoOn);
    let outcome = monitor.outcome();
    assert!(
        !outcome.reached && outcome.reason.contains("measured at least: 40 s (at least 60 s)"),
        "{}",
        outcome.reason
    );
    assert!((series(&outcome, None, Measure::OpsPerS).estimate.mean / 1000.0 - 1.0).abs() < 0.02);
}

/// Between two evaluations all conditions may hold for a moment; that is not a decision.
#[test]
fn steady_is_only_said_at_a_look() {
    let mut early = 0;
    for shift in 0..40 {
        let mut monitor = Monitor::new(&default_rule(), floors(60.0, 600.0));
        let (decision, _) =
            until(&mut monitor, 80, |i| counted(i, 1000.0 + 40.0 * scatter(i + 1000 * shift)));
        if decision == Decision::GoOn {
            let outcome = monitor.outcome();
            assert!(!outcome.reached && outcome.reason.starts_with("no steady state"), "{}", outcome.reason);
            early += u32::from(outcome.reason.ends_with("ended before the rule had looked"));
        }
    }
    assert!(early > 0, "none of the measurements was fit to show it");
}

#[test]
fn the_other_rules_decide_as_they_are_defined() {
    let steady = |i: u32| counted(i, 1000.0 + 40.0 * scatter(i));
    let mut snia = Monitor::new(&SteadyRule::Snia { round_s: 10.0 }, floors(0.0, 1000.0));
    assert_eq!(until(&mut snia, 1000, steady), (Decision::Steady, 50));
    let outcome = snia.outcome();
    assert_eq!((outcome.window.first, outcome.window.end, outcome.pts.len()), (0, 50, 2));
    assert_eq!((outcome.pts[0].first_round, outcome.pts[0].last_round), (1, 5));
    assert!(outcome.pts.iter().all(stats::PtsStatement::is_steady));
    // A ramp is never steady; after 25 rounds the PTS gives up.
    let ramp = |i: u32| counted(i, 100.0 * 1.02f64.powi(i as i32 / 10 * 10));
    let mut snia = Monitor::new(&SteadyRule::Snia { round_s: 10.0 }, floors(0.0, 10_000.0));
    assert_eq!(until(&mut snia, 1000, ramp), (Decision::LimitReached, 250));
    assert!(snia.outcome().reason.contains("within 25 rounds"), "{}", snia.outcome().reason);
    assert_eq!(snia.outcome().pts[0].last_round, 25);

    let storperf = SteadyRule::Storperf { sample_s: 6.0, samples: 10 };
    let mut monitor = Monitor::new(&storperf, floors(0.0, 1000.0));
    assert_eq!(until(&mut monitor, 1000, steady), (Decision::Steady, 60));
    // 1.9 % per sample adds up to 19 % of the first: StorPerf calls that steady, the PTS does not.
    let creeping = |i: u32| counted(i, 1000.0 + 19.0 * f64::from(i / 6));
    let mut monitor = Monitor::new(&storperf, floors(0.0, 1000.0));
    assert_eq!(until(&mut monitor, 1000, creeping), (Decision::Steady, 60));

    let fio = |slope, limit| SteadyRule::Fio { metric: "iops".to_owned(), slope, limit, window_s: 20.0 };
    let mut monitor = Monitor::new(&fio(false, 0.03), floors(0.0, 1000.0));
    assert_eq!(until(&mut monitor, 1000, steady), (Decision::Steady, 20));
    let mut monitor = Monitor::new(&fio(true, 0.001), floors(0.0, 100.0));
    assert_eq!(
        until(&mut monitor, 1000, |i| counted(i, 1000.0 + 20.0 * f64::from(i))),
        (Decision::LimitReached, 100)
    );

    let mut none = Monitor::new(&SteadyRule::None, floors(30.0, 1000.0));
    assert_eq!(until(&mut none, 1000, steady), (Decision::Steady, 30));
    assert!(none.outcome().reason.starts_with("not judged"));
    assert_eq!(none.outcome().window.len(), 30);
}

#[test]
fn a_day_of_seconds_stays_bounded_and_keeps_its_mean() {
    let mut monitor = Monitor::new(&SteadyRule::None, floors(100_000.0, 200_000.0));
    assert_eq!(
        until(&mut monitor, 150_000, |i| counted(i, 1000.0 + 100.0 * scatter(i))),
        (Decision::Steady, 100_000)
    );
    let outcome = monitor.outcome();
    assert_eq!((outcome.window.first, outcome.window.end), (0, 100_000));
    assert!(
        outcome
            .notes
            .iter()
            .any(|n| n.contains("more than 16384 intervals: each point of the series is the mean of 8")),
        "{:?}",
        outcome.notes
    );
    let ops = &series(&outcome, None, Measure::OpsPerS).estimate;
    assert!((ops.mean / 1000.0 - 1.0).abs() < 1e-3 && ops.samples < 16_384, "{ops:?}");
}

#[test]
fn the_stump_of_an_interval_is_not_a_sample() {
    let mut monitor = Monitor::new(&SteadyRule::None, floors(30.2, 60.0));
    for i in 0..30 {
        assert_eq!(monitor.push(&counted(i, 1000.0)), Decision::GoOn);
    }
    let mut stump = counted(30, 200.0);
    stump.length_ns = 200_000_000;
    assert_eq!(monitor.push(&stump), Decision::Steady);
    let outcome = monitor.outcome();
    let ops = &series(&outcome, None, Measure::OpsPerS).estimate;
    assert_eq!((ops.mean, ops.samples, outcome.window.end), (1000.0, 30, 31));
}

#[test]
fn without_a_rule_two_levels_are_not_settled_and_noise_is() {
    let held = |level: fn(u32) -> f64| {
        let mut monitor = Monitor::new(&SteadyRule::None, floors(60.0, 60.0));
        until(&mut monitor, 60, |i| counted(i, level(i)));
        monitor.outcome().level_held()
    };
    assert_eq!(held(|i| 1000.0 * (1.0 + 0.1 * scatter(i))), LevelHeld::Window);
    assert_eq!(held(|i| if i < 25 { 1000.0 } else { 600.0 }), LevelHeld::Unsettled);
}

/// No stalls are reported for a load that pauses itself, or for one with only a few operations per second.
#[test]
fn own_pauses_and_chance_are_no_stalls() {
    let stalls = |monitor: Monitor, level: f64| {
        let mut monitor = monitor;
        until(&mut monitor, 60, |i| counted(i, if i % 10 == 5 { 0.0 } else { level }));
        monitor.outcome().stalls.map(|stalls| stalls.count)
    };
    let monitor = || Monitor::new(&SteadyRule::None, floors(60.0, 60.0));
    assert_eq!(stalls(monitor(), 1000.0), Some(6));
    assert_eq!(stalls(monitor().of_uneven_load(), 1000.0), None);
    assert_eq!(stalls(monitor(), 20.0), None);
}

#[test]
fn a_drift_is_stated_a_minute_and_stalls_are_counted_over_the_whole_measurement() {
    let mut monitor = Monitor::new(&default_rule(), floors(120.0, 600.0));
    // −0.5 % per minute, and two seconds of nothing before the window.
    let level = |i: u32| 100_000.0 * (1.0 - 0.005 * f64::from(i) / 60.0) * (1.0 + 0.08 * scatter(i));
    let (decision, _) =
        until(&mut monitor, 600, |i| counted(i, if (20..22).contains(&i) { 0.0 } else { level(i) }));
    let outcome = monitor.outcome();
    assert_eq!(decision, Decision::Steady, "{}", outcome.reason);
    let trend = outcome.trend.unwrap();
    assert!((0.005..0.05).contains(&trend.per_minute_bound), "{trend:?}");
    assert!((trend.per_minute + 0.005).abs() <= trend.per_minute_bound, "{trend:?}");
    assert!((trend.bound_over(3600.0) - 60.0 * trend.per_minute_bound).abs() < 1e-12);
    let (low, high) = trend.level_after(600.0).unwrap();
    assert!(low <= 0.95 * trend.mean && high >= 1.05 * trend.mean, "{low} {high}");
    let stalls = outcome.stalls.unwrap();
    assert_eq!((stalls.count, stalls.in_window, stalls.seconds), (1, 0, 2.0));
    assert!(
        stalls.cost > 0.001 && stalls.window_cost == 0.0 && stalls.expected_in_window < 1.0,
        "{stalls:?}"
    );
}
