//! The script is followed to the nanosecond.

use std::time::Duration;

use metrics::OpKind;

use super::*;
use crate::{Payload, Sink};

const CONTEXT: WorkerContext = WorkerContext {
    worker: 0,
    lanes: 1,
    payload: Payload::new(0),
    sink: Sink::Buffer,
    op_timeout: Duration::from_nanos(1000),
    connect_timeout: Duration::from_secs(1),
};

/// When each of `count` sequential reads of 100 bytes ended, and how.
fn ends(config: SimConfig, count: usize) -> Vec<(u64, Result<u64, ErrorKind>)> {
    let reactor = Reactor::simulated();
    let op = Op::new(OpKind::Read, 0, 1).range(0, 100);
    reactor.block_on(async {
        let session = SimDriver::new(config).connect(&reactor, &CONTEXT).await.unwrap();
        let mut ends = Vec::new();
        for _ in 0..count {
            let result = session.perform(&op).await.map(|done| done.bytes).map_err(|e| e.kind);
            ends.push((reactor.now(), result));
        }
        ends
    })
}

#[test]
fn a_list_is_repeated_and_nothing_takes_no_time() {
    let config = SimConfig { latency: SimLatency::List(vec![5, 0, 10]), ..SimConfig::default() };
    let at: Vec<u64> = ends(config, 4).into_iter().map(|(at, _)| at).collect();
    assert_eq!(at, [5, 6, 16, 21]);
}

#[test]
fn what_falls_into_a_stall_is_answered_at_its_end() {
    let stalls = vec![Stall { from_ns: 15, until_ns: 100 }];
    let config = SimConfig { latency: SimLatency::Fixed(10), stalls, ..SimConfig::default() };
    let at: Vec<u64> = ends(config, 3).into_iter().map(|(at, _)| at).collect();
    assert_eq!(at, [10, 100, 110]);
}

#[test]
fn bandwidth_comes_before_latency() {
    // 100 bytes at 10 bytes a nanosecond.
    let bytes_per_s = Some(10_000_000_000);
    let config = SimConfig { latency: SimLatency::Fixed(3), bytes_per_s, ..SimConfig::default() };
    assert_eq!(ends(config, 2), [(13, Ok(100)), (26, Ok(100))]);
}

#[test]
fn errors_come_in_turn_and_deadlines_hold() {
    let list = SimLatency::List(vec![1, 1, 1, 5000]);
    let config = SimConfig { latency: list, errors: vec![(3, ErrorKind::NoSpace)], ..SimConfig::default() };
    let expected =
        [(1, Ok(100)), (2, Ok(100)), (3, Err(ErrorKind::NoSpace)), (1003, Err(ErrorKind::TimedOut))];
    assert_eq!(ends(config, 4), expected);
}

#[test]
fn random_latencies_stay_in_their_range_and_follow_the_seed() {
    let config = |seed| SimConfig { seed, latency: SimLatency::Uniform(10, 20), ..SimConfig::default() };
    let ends_of = |seed| ends(config(seed), 200);
    let mut last = 0;
    for (at, _) in ends_of(1) {
        assert!((10..=20).contains(&(at - last)));
        last = at;
    }
    assert_eq!(ends_of(1), ends_of(1));
    assert_ne!(ends_of(1), ends_of(2));
}

#[test]
fn a_refusal_is_the_scripted_one() {
    let refusal = DriverError::new(ErrorKind::AccessDenied, "not you");
    let driver = SimDriver::new(SimConfig { refuse: Some(refusal), ..SimConfig::default() });
    let reactor = Reactor::simulated();
    let refused = reactor.block_on(async { driver.connect(&reactor, &CONTEXT).await.err() });
    assert_eq!(refused.map(|error| error.to_string()).as_deref(), Some("not you"));
}

/// The latencies of `count` sequential operations.
fn latencies(config: SimConfig, count: usize) -> Vec<u64> {
    let mut last = 0;
    let ends = ends(config, count).into_iter();
    ends.map(|(at, _)| at - std::mem::replace(&mut last, at)).collect()
}

#[test]
fn stalls_come_again() {
    // At 15 to 20, 45 to 50, 75 to 80 and so on.
    let stalls = Periodic { first_ns: 15, every_ns: 30, for_ns: 5 };
    let config =
        SimConfig { latency: SimLatency::Fixed(8), stall_every: Some(stalls), ..SimConfig::default() };
    let at: Vec<u64> = ends(config, 9).into_iter().map(|(at, _)| at).collect();
    assert_eq!(at, [8, 20, 28, 36, 44, 52, 60, 68, 80]);
    assert_eq!(Periodic::new(10, 100), Periodic { first_ns: 50, every_ns: 100, for_ns: 10 });
    assert_eq!(Periodic::new(10, 100).end_of_stall_at(49), None);
    assert_eq!(Periodic::new(10, 100).end_of_stall_at(159), Some(160));
}

/// Reads of 100 ns without a time limit.
fn patient(config: SimConfig, count: usize) -> Vec<u64> {
    latencies(SimConfig { latency: SimLatency::Fixed(100), ..config }, count)
}

#[test]
fn drift_is_linear_in_time() {
    // At 0, 100, 210 and 331 ns; 10^6 per second is a thousandth per nanosecond.
    let config = SimConfig { drift_per_s: 1e6, ..SimConfig::default() };
    assert_eq!(patient(config, 4), [100, 110, 121, 133]);
}

#[test]
fn a_beginning_unlike_the_rest_decays() {
    let warm_up = WarmUp { extra: 2.0, decay_ns: 100 };
    let seen = patient(SimConfig { warm_up: Some(warm_up), ..SimConfig::default() }, 20);
    // 300 at first; then 100 (1 + 2 exp(-3)) = 110, 100 (1 + 2 exp(-4.1)) = 103.
    assert_eq!((&seen[..3], seen[19]), (&[300, 110, 103][..], 100));
    let cache = WarmUp { extra: -0.9, decay_ns: 100 };
    let seen = patient(SimConfig { warm_up: Some(cache), ..SimConfig::default() }, 50);
    assert!(seen[0] == 10 && seen[49] == 100 && seen.is_sorted());
}

#[test]
fn a_cliff_comes_after_its_bytes() {
    // 100 bytes per operation: the fourth is the first after 300 were moved.
    let cliff = Some(Cliff { after_bytes: 300, factor: 4.0 });
    assert_eq!(patient(SimConfig { cliff, ..SimConfig::default() }, 5), [100, 100, 100, 400, 400]);
    // The pipe is slower too.
    let bytes_per_s = Some(10_000_000_000);
    let config = SimConfig { cliff, bytes_per_s, ..SimConfig::default() };
    assert_eq!(patient(config, 5), [110, 110, 110, 440, 440]);
}

#[test]
fn noise_follows_the_seed() {
    let noise = Some(Noise { deviation: 0.2, correlation: 0.7, step_ns: 50 });
    let config = |seed| SimConfig { seed, noise, ..SimConfig::default() };
    assert_eq!(patient(config(1), 100), patient(config(1), 100));
    assert_ne!(patient(config(1), 100), patient(config(2), 100));
}

#[test]
fn one_operation_in_so_many_takes_long() {
    let config = SimConfig { latency: SimLatency::Fixed(10), slow: Some((3, 700)), ..SimConfig::default() };
    let at: Vec<u64> = ends(config, 4).into_iter().map(|(at, _)| at).collect();
    assert_eq!(at, [10, 20, 720, 730]);
}
