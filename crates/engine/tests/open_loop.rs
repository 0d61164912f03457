//! Open loops against targets with known behaviour: what was offered, what waited, and how long.

#![allow(clippy::unwrap_used)] // a test may fail loudly

mod support;

use drivers::sim::{Periodic, SimConfig, SimLatency};
use engine::{Schedule, StagePlan, StageResult};
use experiment::{Arrivals, RateFrom, RateStep};
use metrics::{Histogram, OpKind, OpStats};
use proptest::prelude::*;
use support::{MS, assert_ns, ms, plan, simulate, simulate_intervals};

const US: u64 = 1000;

fn open(arrivals: Arrivals) -> Schedule {
    Schedule::Open { arrivals, backlog_limit: u64::MAX, seed: 8 }
}

/// Answers in half a millisecond, except for one second starting at 5.00025 s, and again every 10 s.
fn stalling() -> SimConfig {
    let stalls = Periodic { first_ns: 5_000_250 * US, every_ns: 10_000 * MS, for_ns: 1000 * MS };
    SimConfig { latency: SimLatency::Fixed(500 * US), stall_every: Some(stalls), ..SimConfig::default() }
}

fn reads(result: &StageResult) -> &OpStats {
    result.total.op(OpKind::Read).unwrap()
}

/// Six stalls of a second, one every 10 s, at 1000 operations per second, one lane.
///
/// By hand, in milliseconds since the start of a period of 10 s. Operation `k` is intended at `k`. Those up to 4999
/// take 0.5. Operation 5000 starts in time and would be answered at 5000.5, within the stall [5000.25, 6000.25), so it
/// is answered at 6000.25: after 1000.25. Those intended meanwhile wait for the lane, which completes one every 0.5.
/// Operation `5000 + j` therefore ends at `6000.25 + 0.5 j`, which is `1000.25 - 0.5 j` after its intended start, as
/// long as it finds the lane busy, that is as long as its start `6000.25 + 0.5 (j - 1)` is not before `5000 + j`: up to
/// `j = 1999`, which takes 0.75. From 7000 on each takes 0.5 again.
/// j`: up to `j = 1999`, which takes 0.75. From 7000 on each takes 0.5 again.
///
/// Of 10 000 operations per period, 8000 thus take 0.5, and 2000 take 0.75, 1.25, … 1000.25. Over six periods each of
/// those values occurs six times: of the 60 000 in order the first 48 000 take 0.5; the one of rank `48 000 + 6 i`
/// takes `0.75 + 0.5 (i - 1)`. That is 500.25 at p90 (rank 54 000, i = 1000), 750.25 at p95 (i = 1500), 950.25 at p99
/// (i = 1900), 995.25 at p99.9 (i = 1990), 1000.25 at most.
///
/// The service time of all but one operation of each period is 0.5: up to rank 59 994 of 60 000, p99.99.
#[test]
fn a_stall_shows_in_response_times_exactly_and_not_in_service_times() {
    let schedule = Schedule::rate(1000.0);
    let result = simulate(stalling(), &StagePlan { schedule, window: ms(60_000), ..plan() });
    let read = reads(&result);
    assert_eq!((read.ok, result.offered, result.missed_starts, result.shed), (60_000, 60_000, 0, 0));
    for (quantile, expected_us) in [
        (0.5, 500),
        (0.8, 500),
        (0.9, 500_250),
        (0.95, 750_250),
        (0.99, 950_250),
        (0.999, 995_250),
        (1.0, 1_000_250),
    ] {
        assert_ns(read.response().quantile_ns(quantile), expected_us * US);
    }
    // The mean: 0.8 * 0.5 + 0.2 * (0.75 + 1000.25) / 2.
    assert!((read.response().mean_ns() / 100_500_000.0 - 1.0).abs() < 0.001);
    for quantile in [0.5, 0.99, 0.999, 0.9999] {
        assert_ns(read.service.quantile_ns(quantile), 500 * US);
    }
    assert_ns(read.service.max_ns(), 1_000_250 * US);
    // Operation `5000 + j` starts `999.75 - 0.5 j` late: more than 1 ms for j from 1 to 1997.
    assert_eq!(result.late_starts, 6 * 1997);
    // When the stall ends, those intended at 5001 to 6000 are waiting.
    assert_eq!(result.deepest_backlog, 1000);
}

/// The same target with a limit of 100 waiting operations: of the 1000 intended while operation 5000 is stuck, the
/// first hundred wait and 900 are shed, in each period.
#[test]
fn what_finds_the_backlog_full_is_shed_and_counted() {
    let arrivals = Arrivals::Constant { ops_per_s: 1000.0 };
    let schedule = Schedule::Open { arrivals, backlog_limit: 100, seed: 0 };
    let result = simulate(stalling(), &StagePlan { schedule, window: ms(60_000), ..plan() });
    let read = reads(&result);
    assert_eq!((result.offered, result.shed, result.missed_starts), (60_000, 5400, 0));
    assert_eq!((read.ok, result.deepest_backlog), (54_600, 100));
    // The ones that waited have the same latencies as without a limit: the first hundred of each stall. Of 54 600 those
    // are 600 with 950.75 to 1000.25, and the operation that was stuck, six times 1000.25 ms: rank 54 600 - 300 is at
    // least 975.5.
    assert_ns(read.response().max_ns(), 1_000_250 * US);
    assert_ns(read.response().quantile_ns(1.0 - 300.5 / 54_600.0), 975_750 * US);
    // Operations shed during the ramp are not part of what the window was offered.
    let arrivals = Arrivals::Constant { ops_per_s: 1000.0 };
    let schedule = Schedule::Open { arrivals, backlog_limit: 100, seed: 0 };
    let plan = StagePlan { schedule, ramp: ms(10_000), window: ms(50_000), ..plan() };
    let result = simulate(stalling(), &plan);
    assert_eq!((result.offered, result.shed), (50_000, 4500));
}

/// Several lanes, compared with a plain queue simulation: each operation starts once it is due and a lane is free.
#[test]
fn several_lanes_are_one_queue() {
    let result = simulate(
        stalling(),
        &StagePlan { schedule: Schedule::rate(4000.0), lanes_per_worker: 3, window: ms(20_000), ..plan() },
    );
    let (mut free, mut response, mut late, mut counted) = ([0u64; 3], Histogram::new(), 0, 0);
    for number in 0..80_000u64 {
        let intended = number * 250 * US;
        let lane = (0..3).min_by_key(|lane| free[*lane]).unwrap();
        let start = intended.max(free[lane]);
        let mut end = start + 500 * US;
        for stall in [5_000_250 * US, 15_000_250 * US] {
            if (stall..stall + 1000 * MS).contains(&end) {
                end = stall + 1000 * MS;
            }
        }
        free[lane] = end;
        late += u64::from(start - intended > MS);
        if end < 20_000 * MS {
            response.record(end - intended);
            counted += 1;
        }
    }
    assert_eq!((reads(&result).ok, result.late_starts), (counted, late));
    assert_eq!(reads(&result).response(), &response);
}

/// Poisson arrivals and exponential service with one server: the response time is exponential with mean
/// `1 / (service rate - arrival rate)` (M/M/1; Kleinrock, "Queueing Systems", 1975, section 3.2).
#[test]
fn random_arrivals_at_a_random_server_queue_as_theory_says() {
    let config = SimConfig { latency: SimLatency::Exponential(MS), seed: 4, ..SimConfig::default() };
    let schedule = open(Arrivals::Poisson { ops_per_s: 1000.0 });
    // Two workers with one lane each: 500 per second each, at servers that do 1000.
    let plan = StagePlan { schedule, workers: 2, ramp: ms(10_000), window: ms(600_000), ..plan() };
    let result = simulate(config, &plan);
    let read = reads(&result);
    // Standard deviation of the count: sqrt(600 000) = 775.
    assert!(result.offered.abs_diff(600_000) < 3900, "{}", result.offered);
    assert!(read.ok.abs_diff(result.offered) < 100);
    let near = |seen: f64, expected: f64| assert!((seen / expected - 1.0).abs() < 0.04, "{seen} {expected}");
    near(read.service.mean_ns(), MS as f64);
    near(read.response().mean_ns(), 2.0 * MS as f64);
    for quantile in [0.5, 0.9, 0.99] {
        near(read.response().quantile_ns(quantile) as f64, -2.0 * MS as f64 * (1.0f64 - quantile).ln());
    }
}

#[test]
fn each_kind_of_arrivals_is_kept() {
    let step = |ops_per_s, for_s| RateStep { ops_per_s, for_s };
    let from = |at_s, ops_per_s| RateFrom { at_s, ops_per_s };
    let cases = [
        (Arrivals::Constant { ops_per_s: 100.0 }, [100, 100, 100, 100]),
        // The integral of 100 t: 50 (2 i + 1).
        (Arrivals::Ramp { from_ops_per_s: 0.0, to_ops_per_s: 300.0, over_s: 3.0 }, [50, 150, 250, 300]),
        (Arrivals::Steps { steps: vec![step(10.0, 1.0), step(0.0, 1.0), step(40.0, 1.0)] }, [10, 0, 40, 40]),
        (Arrivals::Times { times: vec![from(1.0, 20.0), from(2.5, 60.0)] }, [0, 20, 40, 60]),
    ];
    for (arrivals, expected) in cases {
        for workers in [1, 3] {
            let config = SimConfig { latency: SimLatency::Fixed(1), ..SimConfig::default() };
            let schedule = open(arrivals.clone());
            let plan = StagePlan { schedule, workers, lanes_per_worker: 2, window: ms(4000), ..plan() };
            let (result, intervals) = simulate_intervals(config, &plan);
            let seen: Vec<u64> = intervals.iter().map(|interval| interval.ok()).collect();
            assert_eq!(seen, expected, "{arrivals:?}");
            assert_eq!((result.offered, result.late_starts), (expected.iter().sum(), 0));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// With any arrivals, lanes, stalls and limit, each start intended in the stage is begun, shed or missed, and each
    /// one begun is counted as ended or in flight. Intervals add up to totals.
    #[test]
    fn every_start_is_accounted_for(
        kind in 0..4,
        rate in 50.0..3000.0f64,
        limit in prop_oneof![Just(u64::MAX), 0u64..200],
        workers in 1u32..4,
        lanes in 1u32..5,
        latency_us in 100u64..20_000,
        stall_ms in 0u64..400,
        window in 100u64..3000,
        seed: u64,
    ) {
        let arrivals = match kind {
            0 => Arrivals::Constant { ops_per_s: rate },
            1 => Arrivals::Poisson { ops_per_s: rate },
            2 => Arrivals::Ramp { from_ops_per_s: rate, to_ops_per_s: 0.0, over_s: 1.5 },
            _ => Arrivals::Steps { steps: vec![RateStep { ops_per_s: rate, for_s: 0.5 }, RateStep { ops_per_s: 7.0, for_s: 1.0 }] },
        };
        let config = SimConfig {
            seed,
            latency: SimLatency::Exponential(latency_us * US),
            stall_every: Some(Periodic::new(stall_ms * MS, 1000 * MS)),
            ..SimConfig::default()
        };
        let schedule = Schedule::Open { arrivals, backlog_limit: limit, seed };
        let plan = StagePlan {
            schedule, workers, lanes_per_worker: lanes, window: ms(window), interval: ms(300), ..plan()
        };
        let (result, intervals) = simulate_intervals(config, &plan);
        let begun = result.total.ok() + result.total.failed() + result.in_flight_at_end;
        prop_assert_eq!(result.offered, begun + result.shed + result.missed_starts);
        prop_assert!(limit != u64::MAX || result.shed == 0);
        prop_assert!(result.deepest_backlog <= limit.saturating_add(u64::from(workers)));
        prop_assert_eq!(intervals.iter().map(|i| i.ok()).sum::<u64>(), result.total.ok());
        prop_assert_eq!(intervals.iter().map(|i| i.length_ns).sum::<u64>(), result.window_ns);
        let responses: u64 =
            intervals.iter().filter_map(|i| i.op(OpKind::Read)).map(|read| read.response().count()).sum();
        prop_assert_eq!(responses, result.total.ok());
    }
}
