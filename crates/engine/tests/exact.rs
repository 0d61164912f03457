//! Runs against the scripted target on a virtual clock give exactly the numbers worked out by hand.

mod support;

use drivers::sim::{SimConfig, SimLatency, Stall};
use engine::{Schedule, StagePlan, StageWorkload, StopRule};
use metrics::{ErrorKind, OpKind};
use proptest::prelude::*;
use support::{MS, assert_ns, ms, ok, plan, simulate, simulate_intervals};

fn fixed(latency_ms: u64) -> SimConfig {
    SimConfig { latency: SimLatency::Fixed(latency_ms * MS), ..SimConfig::default() }
}

#[test]
fn a_fixed_latency_gives_its_rate_and_its_percentiles() {
    // Ends at 10, 20, … ms; the ramp takes 99 of them, the window [1 s, 11 s) a thousand.
    let result = simulate(fixed(10), &StagePlan { ramp: ms(1000), ..plan() });
    assert_eq!((result.before.ok, ok(&result, OpKind::Read), result.after.ok), (99, 1000, 1));
    assert_eq!((result.in_flight_at_end, result.abandoned), (1, 0));
    assert_eq!(result.window_ns, 10_000 * MS);
    assert!(result.ops_per_s() == 100.0 && result.bytes_per_s() == 409_600.0);
    let read = result.total.op(OpKind::Read).unwrap();
    assert_eq!((read.bytes, read.rpcs, read.failed()), (4_096_000, 1000, 0));
    for quantile in [0.0, 0.5, 0.99, 1.0] {
        assert_ns(read.service.quantile_ns(quantile), 10 * MS);
    }
    assert!(read.response.is_none(), "in a closed loop both latencies are one");
}

#[test]
fn lanes_and_workers_multiply() {
    let result =
        simulate(fixed(10), &StagePlan { workers: 3, lanes_per_worker: 4, ramp: ms(1000), ..plan() });
    assert_eq!((result.before.ok, ok(&result, OpKind::Read), result.after.ok), (99 * 12, 12_000, 12));
    assert_eq!(result.worker_cpu_ns.len(), 3);
    assert!(
        result.process_cpu_ns >= *result.worker_cpu_ns.iter().max().unwrap(),
        "a thread is part of its process"
    );
}

#[test]
fn an_end_on_the_windows_edge_belongs_to_what_begins_there() {
    // Ends at 1, 2 and 3 s; the window is [1 s, 3 s).
    let result = simulate(fixed(1000), &StagePlan { ramp: ms(1000), window: ms(2000), ..plan() });
    assert_eq!((result.before.ok, ok(&result, OpKind::Read), result.after.ok), (0, 2, 1));
}

#[test]
fn a_list_of_latencies_gives_its_percentiles() {
    // Rounds of 100 ms: 100 operations with each latency except the last 40 ms one, which ends at exactly 10 s.
    let list = [10, 20, 30, 40].map(|latency| latency * MS).to_vec();
    let result = simulate(SimConfig { latency: SimLatency::List(list), ..SimConfig::default() }, &plan());
    let service = &result.total.op(OpKind::Read).unwrap().service;
    assert_eq!((service.count(), result.in_flight_at_end), (399, 1));
    // Of 399 in order: 1 to 100, 101 to 200, 201 to 300, 301 to 399.
    for (quantile, expected) in [(0.25, 10), (0.5, 20), (0.51, 30), (0.75, 30), (0.76, 40), (0.99, 40)] {
        assert_ns(service.quantile_ns(quantile), expected * MS);
    }
    assert!((service.mean_ns() / (9960.0 / 399.0 * MS as f64) - 1.0).abs() < 0.001);
}

#[test]
fn intervals_add_up_to_the_window_and_the_last_is_what_is_left() {
    // Ends at 0.4, 0.8, … 2.4 s.
    let (result, intervals) =
        simulate_intervals(fixed(400), &StagePlan { window: ms(2500), lanes_per_worker: 2, ..plan() });
    let seen: Vec<_> =
        intervals.iter().map(|i| (i.index, i.start_ns / MS, i.length_ns / MS, i.ok())).collect();
    assert_eq!(seen, [(0, 0, 1000, 4), (1, 1000, 1000, 4), (2, 2000, 500, 4)]);
    assert_eq!((result.total.ok(), result.total.length_ns), (12, 2500 * MS));
}

#[test]
fn intervals_go_on_while_nothing_ends() {
    let stalled = SimConfig { hang_from: Some(1), ..fixed(300) };
    let (result, intervals) = simulate_intervals(stalled, &StagePlan { window: ms(4000), ..plan() });
    assert_eq!(intervals.iter().map(|i| i.ok()).collect::<Vec<_>>(), [1, 0, 0, 0]);
    assert_eq!((result.in_flight_at_end, result.abandoned, result.unseen_intervals), (1, 1, 0));
}

#[test]
fn every_operation_ends_as_exactly_one_thing() {
    // Operations 1 to 999 end inside the window; every 10th fails, and every 15th of the rest.
    let errors = vec![(10, ErrorKind::Busy), (15, ErrorKind::NoSpace)];
    let result = simulate(SimConfig { errors, ..fixed(10) }, &plan());
    let read = result.total.op(OpKind::Read).unwrap();
    let count = |kind: ErrorKind| read.errors[kind as usize];
    // 99 multiples of ten; 66 multiples of fifteen, of which 33 are multiples of ten as well.
    assert_eq!((count(ErrorKind::Busy), count(ErrorKind::NoSpace), read.failed()), (99, 33, 132));
    assert_eq!((read.ok, read.bytes, read.service.count()), (867, 867 * 4096, 867));
    // The thousandth ends, with an error, at the window's end.
    assert_eq!((result.after.failed, result.in_flight_at_end, result.abandoned), (1, 1, 0));
    let kinds: Vec<_> = result.error_samples.iter().map(|(kind, _)| *kind).collect();
    assert_eq!(kinds, [ErrorKind::Busy, ErrorKind::NoSpace], "one example each, for they are all alike");
}

#[test]
fn what_is_not_answered_in_time_is_timed_out() {
    let result = simulate(fixed(700), &StagePlan { op_timeout: ms(500), window: ms(2100), ..plan() });
    // No pause after the first, 1 ms after the second, 2 ms after the third: 500, 1000, 1501, 2003 ms.
    assert_eq!(result.total.op(OpKind::Read).unwrap().errors[ErrorKind::TimedOut as usize], 4);
    assert_eq!((result.total.ok(), result.after.timed_out), (0, 1));
}

#[test]
fn a_lane_that_only_fails_pauses_longer_and_longer() {
    let failing = SimConfig { errors: vec![(1, ErrorKind::AccessDenied)], ..fixed(1) };
    let result = simulate(failing, &StagePlan { window: ms(1000), ..plan() });
    // 1, 2, 4, 7, 12, 21, 38, 71, 136 ms, then every 129 ms: 265, 394, 523, 652, 781, 910.
    assert_eq!((result.total.failed(), result.window_ns), (15, 1000 * MS));
    assert_eq!((result.in_flight_at_end, result.total.ok()), (0, 0));
}

#[test]
fn operations_that_never_end_are_abandoned_and_shown() {
    let hanging = SimConfig { hang_from: Some(5), ..fixed(10) };
    let result = simulate(hanging, &StagePlan { lanes_per_worker: 4, ..plan() });
    assert_eq!((result.total.ok(), result.in_flight_at_end, result.abandoned), (5, 4, 4));
    assert_eq!(result.window_ns, 10_000 * MS);
}

#[test]
fn a_pipe_limits_all_lanes_together() {
    // A million bytes take 1 ms through the pipe, then 1 ms more; four lanes keep it full.
    let pipe = SimConfig { bytes_per_s: Some(1_000_000_000), ..fixed(1) };
    let workload = StageWorkload::Repeat { kind: OpKind::Read, bytes: 1_000_000 };
    let plan = StagePlan { lanes_per_worker: 4, ramp: ms(1000), window: ms(3000), workload, ..plan() };
    let result = simulate(pipe, &plan);
    assert!(result.bytes_per_s() == 1e9, "{}", result.bytes_per_s());
    // Each waits for three others in turn: 4 ms.
    assert_ns(result.total.op(OpKind::Read).unwrap().service.quantile_ns(0.5), 4 * MS);
}

#[test]
fn a_stall_shows_in_response_time_but_not_in_service_time() {
    // Intended every 10 ms. The one that starts at 5000 ms is answered only at 6000.5 ms; those queued behind it take 1
    // ms each but are answered 991.5, 982.5, … 1.5 ms after their intended start: 111 of them.
    let stall = Stall { from_ns: 5000 * MS + MS / 2, until_ns: 6000 * MS + MS / 2 };
    let config = SimConfig { stalls: vec![stall], ..fixed(1) };
    let schedule = Schedule::rate(100.0);
    let result = simulate(config.clone(), &StagePlan { schedule, ..plan() });
    let read = result.total.op(OpKind::Read).unwrap();
    assert_eq!((read.ok, result.in_flight_at_end, result.missed_starts), (1000, 0, 0));
    assert_eq!(result.window_ns, 10_000 * MS, "although nothing was to be done in its last 9 ms");
    assert_ns(read.service.quantile_ns(0.999), MS);
    assert_ns(read.service.max_ns(), 1000 * MS + MS / 2);
    let response = read.response();
    assert_eq!(response.count(), 1000);
    assert_ns(response.quantile_ns(0.5), MS);
    assert_ns(response.quantile_ns(0.888), MS);
    assert_ns(response.quantile_ns(0.889), MS + MS / 2);
    assert_ns(response.quantile_ns(0.99), 910 * MS + MS / 2);
    assert_ns(response.max_ns(), 1000 * MS + MS / 2);

    // A closed loop sees one slow operation and misses those that it did not even start.
    let result = simulate(config, &plan());
    assert_ns(result.total.op(OpKind::Read).unwrap().response().quantile_ns(0.999), MS);
}

#[test]
fn a_rate_is_kept_over_all_lanes_and_workers() {
    let schedule = Schedule::rate(500.0);
    let result = simulate(
        fixed(10),
        &StagePlan { schedule, workers: 2, lanes_per_worker: 4, ramp: ms(1000), ..plan() },
    );
    assert_eq!((result.total.ok(), result.missed_starts), (5000, 0));
    assert!(result.ops_per_s() == 500.0);
    assert_ns(result.total.op(OpKind::Read).unwrap().response().max_ns(), 10 * MS);
}

#[test]
fn starts_that_no_lane_was_free_for_are_counted() {
    let schedule = Schedule::rate(1000.0);
    let result = simulate(fixed(10), &StagePlan { schedule, window: ms(1000), ..plan() });
    // A hundred of the thousand began; the last of them ends with the window.
    assert_eq!((result.total.ok(), result.in_flight_at_end, result.missed_starts), (99, 1, 900));
}

#[test]
fn a_count_is_done_exactly_and_the_window_is_what_it_took() {
    let plan = StagePlan { stop: StopRule::Ops(103), lanes_per_worker: 4, workers: 2, ..plan() };
    let result = simulate(fixed(10), &plan);
    // Seven lanes do 13 operations, one does 12.
    assert_eq!((result.total.ok(), result.in_flight_at_end, result.exhausted), (103, 0, true));
    assert_eq!(result.window_ns, 130 * MS);
}

#[test]
fn random_latencies_are_the_same_in_every_run() {
    let config = SimConfig {
        seed: 99,
        latency: SimLatency::Exponential(3 * MS),
        latency_of: [(OpKind::Stat, SimLatency::Uniform(MS, 2 * MS))].into(),
        errors: vec![(17, ErrorKind::Busy)],
        ..SimConfig::default()
    };
    let plan = StagePlan { workers: 2, lanes_per_worker: 8, window: ms(20_000), ..plan() };
    let (first, seen) = simulate_intervals(config.clone(), &plan);
    for _ in 0..3 {
        let (again, seen_again) = simulate_intervals(config.clone(), &plan);
        assert_eq!((&first.total, first.after), (&again.total, again.after));
        assert!(seen == seen_again);
    }
    // Mean 3 ms without pauses: 16 lanes do 5333 per second. The sum of 100 000 draws is within 2 %.
    let read = first.total.op(OpKind::Read).unwrap();
    assert!((read.service.mean_ns() / (3.0 * MS as f64) - 1.0).abs() < 0.02);
    assert!((read.service.quantile_ns(0.5) as f64 / (3e6 * 2f64.ln()) - 1.0).abs() < 0.03);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// One lane with any latencies, ramp and window: the ends are sums, and counting them by hand is easy.
    #[test]
    fn counts_are_those_of_a_simple_sum(
        latencies in prop::collection::vec(1u64..50, 1..20),
        ramp in 0u64..500,
        window in 1u64..2000,
        interval in 50u64..1000,
    ) {
        let list: Vec<u64> = latencies.iter().map(|latency| latency * MS).collect();
        let config = SimConfig { latency: SimLatency::List(list), ..SimConfig::default() };
        let plan = StagePlan { ramp: ms(ramp), window: ms(window), interval: ms(interval), ..plan() };
        let (result, intervals) = simulate_intervals(config, &plan);

        let end = ramp + window;
        let mut ends = vec![];
        let mut now = 0;
        for latency in latencies.iter().cycle() {
            if now >= end { break; }
            now += latency;
            ends.push(now);
        }
        let count = |from, to| ends.iter().filter(|end| (from..to).contains(*end)).count() as u64;
        prop_assert_eq!(result.before.ok, count(0, ramp));
        prop_assert_eq!(result.total.ok(), count(ramp, end));
        prop_assert_eq!(result.after.ok, count(end, u64::MAX));
        prop_assert_eq!(result.in_flight_at_end, 1);
        prop_assert_eq!(intervals.len() as u64, window.div_ceil(interval));
        for seen in &intervals {
            let from = ramp + seen.start_ns / MS;
            prop_assert_eq!(seen.ok(), count(from, from + seen.length_ns / MS));
        }
    }
}
