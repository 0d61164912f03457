//! Everything written reads back equal: records with all options, histograms with extreme values.

#![allow(clippy::unwrap_used)] // a test may fail loudly

mod support;

use std::collections::BTreeMap;

use jiff::Timestamp;
use metrics::{CallKind, ErrorKind, Interval, ListingStats, OpKind, OpStats, ProcedureStats};
use proptest::collection::{btree_map, vec};
use proptest::option::of;
use proptest::prelude::*;
use proptest::sample::select;
use stats::{
    Criterion, CriterionUnit, Estimate, Measure, Regime, RunShape, SeriesEstimate, Stalls, SteadyOutcome,
    Trend, Window,
};
use store::{
    Baseline, CellRecord, CellResult, Environment, ErrorSample, Event, FleetFigures, GateResult, HostClock,
    HostRecord, HostResult, HostSpread, LatencySummary, ListingSummary, LostHost, OpSummary, OpenLoop,
    ProcedureSummary, RunRecord, StageRecord, State, StudyPoint, Validity, Verdict,
};
use support::engine::{Results, shared};
use support::histogram;

/// Any number that JSON can represent, including the largest and the smallest.
fn number() -> impl Strategy<Value = f64> {
    prop_oneof![
        4 => proptest::num::f64::NORMAL | proptest::num::f64::SUBNORMAL | proptest::num::f64::ZERO,
        1 => select(vec![0.0, 0.1, 1.0 / 3.0, f64::MAX, f64::MIN, f64::MIN_POSITIVE, 5e-324]),
    ]
}

fn count() -> impl Strategy<Value = u64> {
    prop_oneof![any::<u64>(), select(vec![0, 1, u64::MAX, i64::MAX as u64, i64::MAX as u64 + 1])]
}

fn text() -> impl Strategy<Value = String> {
    let texts =
        prop_oneof![any::<String>(), "[a-z]{0,9}", Just("'; DROP TABLE runs; --\n\0\u{7f}ü".to_owned())];
    // PostgreSQL has no NUL in texts.
    texts.prop_map(|text| if shared() { text.replace('\0', "") } else { text })
}

fn moment() -> impl Strategy<Value = Timestamp> {
    let (least, most) = (Timestamp::MIN.as_second() + 1, Timestamp::MAX.as_second() - 1);
    (least..most, 0..1_000_000_000)
        .prop_map(|(second, nanosecond)| Timestamp::new(second, nanosecond).unwrap())
}

fn op() -> impl Strategy<Value = OpKind> {
    select(OpKind::ALL)
}

fn state() -> impl Strategy<Value = State> {
    select(vec![State::Pending, State::Running, State::Finished, State::Interrupted, State::Failed])
}

prop_compose! {
    fn estimate()(n in vec(number(), 6), samples in count()) -> Estimate {
        Estimate {
            mean: n[0], low: n[1], high: n[2], deviation: n[3], samples, effective_samples: n[4], autocorrelation: n[5],
        }
    }
}

prop_compose! {
    fn latency()(n in vec(count(), 9), mean_ns in number()) -> LatencySummary {
        LatencySummary {
            count: n[0], min_ns: n[1], mean_ns, p50_ns: n[2], p90_ns: n[3], p95_ns: n[4], p99_ns: n[5], p999_ns: n[6],
            p9999_ns: n[7], max_ns: n[8],
        }
    }
}

prop_compose! {
    fn listing()(n in vec(count(), 2), x in vec(number(), 3)) -> ListingSummary {
        ListingSummary {
            entries: n[0], first_max_ns: n[1], entries_per_op: x[0], entries_per_s: x[1], first_mean_ns: x[2],
        }
    }
}

prop_compose! {
    fn op_result()(
        op in of(op()), n in vec(count(), 8), calls_per_op in number(), mean_ns in number(), procedure in select(CallKind::ALL), listing in of(listing()), errors in btree_map(select(ErrorKind::ALL), count(), 0..4),
        e in vec(estimate(), 3), service in latency(), response in latency(),
    ) -> OpSummary {
        OpSummary {
            op, ok: n[0], failed: n[1], errors, bytes: n[2], rpcs: n[3], retries: n[4], bytes_per_s: e[0], ops_per_s: e[1],
            procedures: vec![ProcedureSummary {
                procedure, calls: n[5], calls_per_op, errors: n[6], mean_ns, max_ns: n[7], listing,
            }],
            service, response, p99_ns: e[2],
        }
    }
}

fn window() -> impl Strategy<Value = Window> {
    any::<(u32, u32)>().prop_map(|(first, end)| Window { first, end })
}

prop_compose! {
    fn criterion()(
        name in text(), value in number(), limit in number(), at_most: bool, met: bool,
        unit in select(vec![CriterionUnit::Share, CriterionUnit::Count, CriterionUnit::Nanoseconds]),
    ) -> Criterion {
        Criterion { name, value, limit, at_most, met, unit }
    }
}

prop_compose! {
    fn stalls()(n in vec(any::<u32>(), 2), x in vec(number(), 5)) -> Stalls {
        Stalls {
            count: n[0], in_window: n[1], seconds: x[0], longest_s: x[1], expected_in_window: x[2], cost: x[3],
            window_cost: x[4],
        }
    }
}

prop_compose! {
    fn trend()(x in vec(number(), 3)) -> Trend {
        Trend { measure: Measure::OpsPerS, mean: x[0], per_minute: x[1], per_minute_bound: x[2] }
    }
}

prop_compose! {
    fn steady()(
        rule in text(), reached: bool, reason in text(), window in window(), criteria in vec(criterion(), 0..3),
        series in vec((of(op()), estimate(), number(), number()), 0..3),
        shape in select(vec![RunShape::Flat, RunShape::WarmUp, RunShape::Slowdown, RunShape::MultiModal, RunShape::Unsettled]),
        regimes in vec((window(), estimate()), 0..3), notes in vec(text(), 0..2), stalls in of(stalls()), trend in of(trend()),
    ) -> SteadyOutcome {
        let series = series.into_iter().map(|(op, estimate, drift, drift_bound)| {
            SeriesEstimate { op, measure: Measure::P99Ns, estimate, drift, drift_bound }
        });
        let regimes = regimes.into_iter().map(|(window, estimate)| Regime { window, estimate });
        SteadyOutcome {
            rule, reached, reason, window, criteria, series: series.collect(), shape, regimes: regimes.collect(), notes,
            stalls, trend,
            ..support::result(Validity::Valid).steady
        }
    }
}

prop_compose! {
    fn open_loop()(offered_ops_per_s in number(), n in vec(count(), 4)) -> OpenLoop {
        OpenLoop {
            offered_ops_per_s, late_starts: n[0], deepest_backlog: n[1], shed: n[2], missed_starts: n[3],
        }
    }
}

prop_compose! {
    fn stage()(name in text(), seconds in number(), n in vec(count(), 3), note in of(text())) -> StageRecord {
        StageRecord { name, seconds, ok: n[0], failed: n[1], bytes: n[2], note }
    }
}

prop_compose! {
    fn gate()(text in text(), measured in number(), limit in number(), passed: bool) -> GateResult {
        GateResult { text, measured, limit, passed }
    }
}

prop_compose! {
    fn point()(n in vec(number(), 3), response in latency(), deepest_backlog in count(), held: bool) -> StudyPoint {
        StudyPoint {
            offered_ops_per_s: n[0], ops_per_s: n[1], bytes_per_s: n[2], response, deepest_backlog, held,
        }
    }
}

prop_compose! {
    fn clock()(offset_ns: i64, n in vec(count(), 2), drift_ppm in number()) -> HostClock {
        HostClock { offset_ns, uncertainty_ns: n[0], drift_ppm, round_trip_ns: n[1] }
    }
}

prop_compose! {
    fn host()(
        name in text(), index: u32, total in op_result(), ops in vec(op_result(), 0..2), started_ns in of(any::<i64>()),
        clock in of(clock()), lost in of((number(), text())), client in btree_map(text(), number(), 0..3),
    ) -> HostResult {
        let lost = lost.map(|(at_s, why)| LostHost { at_s, why });
        HostResult { name, index, total, ops, started_ns, clock, lost, client, paths: Vec::new() }
    }
}

prop_compose! {
    fn fleet()(n in vec(count(), 2), spread in vec((vec(number(), 4), text()), 0..3)) -> FleetFigures {
        let spread = spread.into_iter().map(|(n, slowest)| HostSpread {
            measure: Measure::OpsPerS, least: n[0], greatest: n[1], mean: n[2], variation: n[3], slowest,
        });
        FleetFigures { start_skew_ns: n[0], skew_uncertainty_ns: n[1], spread: spread.collect() }
    }
}

prop_compose! {
    fn result()(
        n in vec(number(), 3), steady in steady(), total in op_result(), ops in vec(op_result(), 0..3),
        open_loop in of(open_loop()), stages in vec(stage(), 0..3), gates in vec(gate(), 0..3),
        verdict in (select(vec![Validity::Valid, Validity::Warn, Validity::Invalid]), vec(text(), 0..3)),
        samples in vec((select(ErrorKind::ALL), text()), 0..3), cache in text(),
        (client, target) in (btree_map(text(), number(), 0..3), btree_map(text(), text(), 0..3)),
        (points, found_ops_per_s) in (vec(point(), 0..3), of(number())),
        (hosts, fleet) in (vec(host(), 0..3), of(fleet())),
    ) -> CellResult {
        CellResult {
            measured_s: n[0], window_start_s: n[1], window_end_s: n[2], steady, total, ops, open_loop, stages, gates,
            verdict: Verdict { validity: verdict.0, reasons: verdict.1 },
            error_samples: samples.into_iter().map(|(kind, detail)| ErrorSample { kind, detail }).collect(),
            cache, client, target, points, found_ops_per_s, hosts, fleet,
            paths: support::fleet_result().paths, limit: support::fleet_result().limit,
            server_calls: support::fleet_result().server_calls,
        }
    }
}

prop_compose! {
    fn cell()(
        state in state(), started in of(moment()), finished in of(moment()), result in of(result()), failure in of(text()),
    ) -> CellRecord {
        CellRecord { index: 0, state, started, finished, result, failure }
    }
}

prop_compose! {
    fn run_record()(
        name in text(), started in moment(), finished in of(moment()), state in state(), version in text(),
        (plan_name, description, seed, results) in (text(), of(text()), any::<u64>(), of(text())),
        facts in btree_map(text(), text(), 0..4), hosts in btree_map(text(), btree_map(text(), text(), 0..3), 0..3),
    ) -> RunRecord {
        let mut record = support::run("aaaabbb2", &name);
        record.plan.cells.truncate(2);
        (record.plan.name, record.plan.description) = (plan_name, description);
        (record.plan.seed, record.plan.results) = (seed, results);
        let hosts = hosts.into_iter().map(|(name, facts)| HostRecord { name, environment: Environment { facts } });
        let hosts = hosts.collect();
        RunRecord { name, started, finished, state, version, environment: Environment { facts }, hosts, ..record }
    }
}

prop_compose! {
    /// Counts as the engine produces them, and some that nothing produces.
    fn op_stats()(
        n in vec(count(), 4), errors in vec(0u64..1 << 40, ErrorKind::COUNT), failing: bool,
        service in vec(any::<u64>(), 0..40), response in of(vec(any::<u64>(), 0..40)),
        procedures in vec((select(CallKind::ALL), vec(count(), 5)), 0..3),
    ) -> OpStats {
        let procedures = procedures.into_iter().map(|(procedure, n)| ProcedureStats {
            procedure, calls: n[0], ok: n[1], errors: n[2], total_ns: n[3], max_ns: n[4],
            listing: (n[0] % 2 == 0).then(|| ListingStats {
                entries: n[1], started: n[2], first_total_ns: n[3], first_max_ns: n[4],
            }),
        });
        OpStats {
            ok: n[0], bytes: n[1], rpcs: n[2], retries: n[3],
            errors: if failing { errors.try_into().unwrap() } else { [0; ErrorKind::COUNT] },
            procedures: procedures.collect(),
            service: histogram(&service),
            response: response.map(|latencies| Box::new(histogram(&latencies))),
        }
    }
}

prop_compose! {
    fn interval()(
        index: u32, start_ns in count(), length_ns in count(), ops in vec(op_stats(), 0..4), first in 0usize..7,
    ) -> Interval {
        let kinds = OpKind::ALL[first..].iter().copied();
        Interval { index, start_ns, length_ns, ops: kinds.zip(ops).collect() }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn records_are_read_back_equal(record in run_record(), cell in cell(), text in text(), at in moment()) {
        let results = Results::new();
        let store = results.open();
        store.begin_run(&record).unwrap();
        store.finish_cell(&record.id, &cell).unwrap();
        let event = Event { at, cell: Some(1), kind: text.clone(), text };
        store.event(&record.id, &event).unwrap();
        drop(store);
        let store = results.open();
        prop_assert_eq!(store.run(&record.id).unwrap(), record.clone());
        prop_assert_eq!(&store.cells(&record.id).unwrap()[0], &cell);
        prop_assert_eq!(store.events(&record.id).unwrap(), vec![event]);
        prop_assert_eq!(store.summaries().unwrap()[0].verdict, cell.result.map(|result| result.verdict.validity));
        if record.name != "last" && !record.id.starts_with(&record.name) {
            prop_assert_eq!(store.run(&record.name).unwrap().id, record.id);
        }
    }

    #[test]
    fn baselines_are_read_back_equal(cell in cell(), name in "[^\\pC]{1,20}", kept in moment()) {
        let results = Results::new();
        let store = results.open();
        let record = support::run("aaaabbb2", "properties");
        let Some(baseline) = Baseline::of_run(&name, kept, &record, &[cell]) else { return Ok(()) };
        if name.trim().is_empty() {
            prop_assert!(store.save_baseline(&baseline).is_err());
            return Ok(());
        }
        store.save_baseline(&baseline).unwrap();
        drop(store);
        prop_assert_eq!(results.open().baselines().unwrap(), vec![baseline]);
    }

    #[test]
    fn series_of_hosts_are_read_back_equal(
        written in btree_map(text(), vec(interval(), 1..4), 1..4), trial: u32,
    ) {
        let results = Results::new();
        let store = results.open();
        store.begin_run(&support::run("aaaabbb2", "properties")).unwrap();
        let mut writer = store.writer("aaaabbb2").unwrap();
        // The empty name denotes the combined series: a host has a name. Each interval exists once.
        let expected: BTreeMap<&String, BTreeMap<u32, Interval>> = written
            .iter()
            .filter(|(host, _)| !host.is_empty())
            .map(|(host, intervals)| (host, intervals.iter().map(|one| (one.index, one.clone())).collect()))
            .collect();
        for (host, intervals) in &expected {
            for interval in intervals.values() {
                writer.host_interval(3, "measure", trial, host, interval).unwrap();
            }
        }
        writer.finish().unwrap();
        drop(store);
        let store = results.open();
        prop_assert_eq!(store.intervals("aaaabbb2", 3, "measure", trial, 0..u32::MAX).unwrap().count(), 0);
        prop_assert_eq!(store.host_series("aaaabbb2", 3).unwrap().len(), expected.len());
        for (host, kept) in expected {
            let read = store.host_intervals("aaaabbb2", 3, ("measure", trial, host), 0..u32::MAX).unwrap();
            let read: Vec<Interval> = read.map(Result::unwrap).collect();
            let kept: Vec<Interval> = kept.into_values().filter(|one| one.index < u32::MAX).collect();
            prop_assert_eq!(read, kept);
        }
    }

    #[test]
    fn intervals_are_read_back_equal(written in vec(interval(), 1..6), stage in text(), trial: u32) {
        // By number, each once: in the file as in the measurement.
        let written: BTreeMap<u32, Interval> =
            written.into_iter().map(|interval| (interval.index, interval)).collect();
        let results = Results::new();
        let store = results.open();
        store.begin_run(&support::run("aaaabbb2", "properties")).unwrap();
        let mut writer = store.writer("aaaabbb2").unwrap();
        for interval in written.values() {
            writer.interval(3, &stage, trial, interval).unwrap();
        }
        writer.finish().unwrap();
        drop(store);
        let store = results.open();
        let below = store.intervals("aaaabbb2", 3, &stage, trial, 0..u32::MAX).unwrap();
        let below: Vec<Interval> = below.map(Result::unwrap).collect();
        let expected: Vec<Interval> =
            written.into_values().filter(|interval| interval.index < u32::MAX).collect();
        prop_assert_eq!(below, expected);
    }
}
