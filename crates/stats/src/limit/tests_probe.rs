//! The effect of a probe on a finding.

use super::probe::{Probe, ProbeFinding, ProbePoint, decide};
use super::tests::{of, quiet, reads};
use super::*;

fn point(lanes: f64, ops_per_s: f64, latency_s: f64) -> ProbePoint {
    ProbePoint {
        lanes,
        asked_ops_per_s: None,
        ops_per_s,
        half_width: 0.01,
        bytes_per_s: ops_per_s * 1e6,
        latency_s,
    }
}

/// 32 lanes that did 320 op/s; twice as many lanes did `gain` times that.
fn gain(gain: f64) -> Probe {
    let half = point(16.0, 318.0, 0.05);
    Probe::of(5.0, point(32.0, 320.0, 0.1), Some(half), point(64.0, 320.0 * gain, 0.2 / gain)).unwrap()
}

#[track_caller]
fn decided(finding: Bottleneck, by: f64, wanted: (Bound, Cause, Confidence)) -> Bottleneck {
    let before = finding.evidence.len();
    let found = decide(finding, gain(by));
    assert_eq!((found.bound, found.cause, found.confidence), wanted, "{}", found.sentence);
    assert!(found.sentence.contains("twice the operations in flight (64) gave "), "{}", found.sentence);
    assert!(!found.sentence.contains("more lanes would show"), "{}", found.sentence);
    assert_eq!(found.evidence.len(), before + 2, "a row for each trial");
    found
}

#[test]
fn a_target_that_gives_no_more_is_full_for_sure() {
    let found = decided(of(|_| {}), 1.02, (Bound::Target, Cause::Service, Confidence::High));
    assert!(found.sentence.starts_with("target-bound: operations take 100 ms"), "{}", found.sentence);
    let says = "gave 2.0 % more throughput and 1.96 times the latency: the target or the path is full";
    assert!(found.sentence.ends_with(says), "{}", found.sentence);
    assert!(!found.next.contains("lanes"), "{}", found.next);
    assert_eq!(found.evidence.last().unwrap().says, "half would do");
    assert_eq!(found.probe.unwrap().says, ProbeFinding::Full);
}

#[test]
fn a_target_that_gives_twice_as_much_was_not_the_limit() {
    let found = decided(of(|_| {}), 1.95, (Bound::Tool, Cause::Depth, Confidence::High));
    assert!(
        found.sentence.starts_with("concurrency-limited: twice the operations in flight"),
        "{}",
        found.sentence
    );
    assert!(found.sentence.contains("without this probe: target-bound (likely)"), "{}", found.sentence);
    assert!(found.next.contains("128 and more"), "{}", found.next);
}

#[test]
fn between_the_two_nothing_is_decided() {
    let before = of(|_| {});
    decided(before.clone(), 1.35, (before.bound, before.cause, before.confidence));
    let noisy = ProbePoint { half_width: 0.3, ..point(64.0, 352.0, 0.18) };
    let probe = Probe::of(5.0, point(32.0, 320.0, 0.1), None, noisy).unwrap();
    assert_eq!(probe.says, ProbeFinding::Between, "1.1 times, and perhaps 1.4 times");
    let found = decide(before.clone(), probe);
    assert_eq!((found.bound, found.confidence), (before.bound, before.confidence));
}

#[test]
fn too_few_in_flight_is_confirmed_or_refuted() {
    let few = || {
        of(|host| {
            host.load = ObservedLoad { lanes: 2.0, ops_per_s: 20.0, ..host.load.clone() };
        })
    };
    assert_eq!((few().cause, few().confidence), (Cause::Depth, Confidence::Medium));
    let found = decided(few(), 2.0, (Bound::Tool, Cause::Depth, Confidence::High));
    assert!(found.sentence.starts_with("concurrency-limited: only 2"), "{}", found.sentence);
    decided(few(), 1.0, (Bound::Target, Cause::Service, Confidence::Medium));
}

#[test]
fn what_is_full_cannot_give_twice_as_much() {
    let path = || {
        of(|host| {
            host.paths[0].busy = 0.9;
            host.paths[0].echo_s = Some(0.02);
        })
    };
    assert_eq!((path().bound, path().confidence), (Bound::Network, Confidence::High));
    decided(path(), 1.01, (Bound::Network, Cause::PathRate, Confidence::High));
    decided(path(), 1.9, (Bound::Tool, Cause::Depth, Confidence::Medium));
    // A worker that batches does more per turn of its loop.
    let worker = || of(|host| host.ran = 0.97);
    let found = decided(worker(), 1.7, (Bound::Client, Cause::WorkerFull, Confidence::Medium));
    assert!(found.sentence.starts_with("client-bound (likely): "), "{}", found.sentence);
}

#[test]
fn full_does_not_tell_the_target_from_a_path_that_nobody_sees() {
    let hidden = of(|host| {
        reads(host);
        host.paths[0].least_rtt_s = 0.01;
        host.paths[0].echo_s = Some(0.01);
    });
    assert_eq!((hidden.cause, hidden.confidence), (Cause::Service, Confidence::Low));
    decided(hidden, 1.0, (Bound::Target, Cause::Service, Confidence::Low));
}

#[test]
fn a_higher_rate_says_how_much_room_there_is_and_accuses_nobody() {
    let mut host = quiet();
    host.load.offered_ops_per_s = Some(320.0);
    let before = judge(&Evidence { load: host.load.clone(), hosts: vec![host], ..Evidence::default() });
    let at = |asked: f64, done: f64| ProbePoint { asked_ops_per_s: Some(asked), ..point(32.0, done, 0.1) };
    let probe = Probe::of(5.0, at(320.0, 320.0), Some(at(160.0, 160.0)), at(640.0, 640.0)).unwrap();
    let found = decide(before, probe);
    assert_eq!((found.bound, found.cause), (Bound::None, Cause::Rate));
    let says = "twice the rate (640 op/s) gave 2.00 times the throughput and 1.00 times the latency: there is room for more";
    assert!(found.sentence.ends_with(says), "{}", found.sentence);
}

#[test]
fn nothing_is_said_of_nothing() {
    assert_eq!(Probe::of(5.0, point(32.0, 0.0, 0.0), None, point(64.0, 1.0, 0.1)), None);
}
