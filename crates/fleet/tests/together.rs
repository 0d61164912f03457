//! Host groups of agents behind real pipes: their results are complete and exact, with one start and one end.
#![allow(clippy::unwrap_used)]

mod support;

use std::sync::Arc;
use std::time::Duration;

use drivers::sim::SimConfig;
use engine::{Control, StageResult};
use fleet::{Act, AgentEnd, Hello, HostExecutor, HostGroup, HostRefusal, Reply, StageUpdate, Trouble};
use metrics::{Histogram, Interval, OpKind};
use serde_json::json;
use support::hands::{EngineHand, Load};
use support::*;

const INTERVAL: Duration = Duration::from_millis(100);

fn null_hands(count: usize) -> Vec<Arc<EngineHand>> {
    (0..count).map(|at| Arc::new(EngineHand::new(Load::Null(500.0 * (at + 1) as f64), INTERVAL))).collect()
}

fn as_hands(hands: &[Arc<EngineHand>]) -> Vec<Arc<dyn HostExecutor>> {
    hands.iter().map(|hand| Arc::clone(hand) as Arc<dyn HostExecutor>).collect()
}

fn quantiles(histogram: &Histogram) -> Vec<u64> {
    [0.0, 0.5, 0.9, 0.99, 0.999, 1.0].iter().map(|q| histogram.quantile_ns(*q)).collect()
}

#[test]
fn what_is_merged_is_the_sum_of_the_parts() {
    let hands = null_hands(3);
    let events = Events::default();
    let (host_group, threads) = host_group_of(&as_hands(&hands), &events);
    assert!(host_group.tells_hosts_apart() && host_group.names() == ["host-0", "host-1", "host-2"]);
    assert!(open_all(&host_group).iter().all(|(_, facts)| facts.is_ok()));
    let (mut wholes, mut parts, mut samples) = (Vec::new(), vec![Vec::new(); 3], 0);
    let mut observer = |seen: StageUpdate<'_>| match seen {
        StageUpdate::Whole(interval) => wholes.push(interval.clone()),
        StageUpdate::Part { member, interval } => parts[member].push(interval.clone()),
        StageUpdate::Sample { .. } => samples += 1,
    };
    let order = orders(&host_group, &measure(2.5));
    let result = host_group.run_stage(order, nothing_beside(), &Control::new(), &mut observer).unwrap();
    assert_eq!(events.lost(), []);
    // Each part is what the agent itself measured, bit by bit; the whole is the sum of all.
    let mut all = Histogram::new();
    for (hand, part) in hands.iter().zip(&parts) {
        let own = hand.seen.lock().unwrap();
        assert_eq!(own.len(), 25);
        for (mine, theirs) in own.iter().zip(part) {
            assert_eq!(mine.op(OpKind::Read), theirs.op(OpKind::Read));
            all.merge(&mine.op(OpKind::Read).unwrap().service);
        }
    }
    assert_eq!(wholes.iter().map(|whole| whole.index).collect::<Vec<_>>(), (0..25).collect::<Vec<_>>());
    let mut shown = Interval::default();
    wholes.iter().for_each(|whole| shown.merge(whole));
    let total = result.whole.total.op(OpKind::Read).unwrap();
    assert_eq!(shown.op(OpKind::Read).unwrap().ok, total.ok);
    assert_eq!(total.ok, result.parts.iter().map(|part| part.result.total.ok()).sum::<u64>());
    assert_eq!(quantiles(&total.service), quantiles(&all));
    assert!(total.ok.abs_diff(3000 * 5 / 2) <= 300, "{}", total.ok);
    assert!(samples >= 3, "{samples} samples in 2.5 s of three hosts");
    // One start, as far as the clocks of one machine can tell.
    assert!(result.parts.iter().all(|part| part.started_ns.is_some() && part.lost.is_none()));
    assert!(result.skew_uncertainty_ns > 0);
    for facts in host_group.clocks() {
        let facts = facts.unwrap();
        assert!(facts.offset_ns.unsigned_abs() <= facts.uncertainty_ns + 1, "{facts:?}");
    }
    host_group.end();
    for thread in threads {
        assert_eq!(thread.join().unwrap(), AgentEnd::Dismissed);
    }
}

#[test]
fn questions_are_answered_refused_and_survived() {
    let hands = null_hands(2);
    let events = Events::default();
    let (host_group, _threads) = host_group_of(&as_hands(&hands), &events);
    open_all(&host_group);
    let answers = host_group.act(&[0, 1], SITE, &Act::Prepare);
    assert_eq!(answers, [(0, Ok(Reply::Entered { new: true })), (1, Ok(Reply::Entered { new: true }))]);
    // Only the given members are contacted.
    assert_eq!(host_group.act(&[1], SITE, &Act::Facts).len(), 1);
    for (_, answer) in host_group.act(&[0, 1], SITE, &Act::Adopt) {
        assert!(
            matches!(answer, Err(Trouble::Refused(HostRefusal { text, .. })) if text.contains("prepare it first"))
        );
    }
    // A panicking executor counts as a refusal; the agent lives on.
    for (_, answer) in host_group.act(&[0, 1], SITE, &Act::RemoveAll) {
        assert!(
            matches!(answer, Err(Trouble::Refused(HostRefusal { text, .. })) if text.contains("nothing to remove"))
        );
    }
    assert_eq!(host_group.alive(), [0, 1]);
    assert!(events.lost().is_empty());
}

#[test]
fn one_refusal_is_a_refusal_of_all() {
    let mut hands = null_hands(3);
    Arc::get_mut(&mut hands[1]).unwrap().refusal = Some("no such export".to_owned());
    let events = Events::default();
    let (host_group, _threads) = host_group_of(&as_hands(&hands), &events);
    open_all(&host_group);
    let order = orders(&host_group, &measure(3600.0));
    let refusal = host_group.run_stage(order, nothing_beside(), &Control::new(), &mut |_| {}).unwrap_err();
    assert_eq!(refusal, HostRefusal::failed("host-1: no such export"));
    assert_eq!(host_group.alive(), [0, 1, 2], "nobody is lost by it");
}

#[test]
fn stopping_and_finishing_reach_all() {
    let hands = null_hands(3);
    let events = Events::default();
    let (host_group, _threads) = host_group_of(&as_hands(&hands), &events);
    open_all(&host_group);
    let control = Control::new();
    let finish = control.clone();
    let mut observer = |seen: StageUpdate<'_>| {
        if let StageUpdate::Whole(interval) = seen
            && interval.index == 4
        {
            finish.finish_after(10);
        }
    };
    let order = orders(&host_group, &measure(3600.0));
    let result = host_group.run_stage(order.clone(), nothing_beside(), &control, &mut observer).unwrap();
    let windows: Vec<_> = result.parts.iter().map(|part| part.result.window_ns).collect();
    // On a busy machine the message may arrive late; then the window is longer, and the same for all.
    assert!(windows[0] >= 1_100_000_000 && windows.iter().all(|window| *window == windows[0]), "{windows:?}");
    assert!(!result.whole.stopped);
    let stop = control.clone();
    let result = host_group.run_stage(order, nothing_beside(), &control, &mut |_| stop.stop()).unwrap();
    assert!(result.whole.stopped && result.parts.iter().all(|part| part.result.stopped));
    let stopped =
        host_group.run_stage(orders(&host_group, &measure(1.0)), nothing_beside(), &control, &mut |_| {});
    assert!(stopped.unwrap_err().stopped);
}

#[test]
fn two_stages_of_a_group_start_together() {
    let hands = null_hands(2);
    let events = Events::default();
    let (host_group, _threads) = host_group_of(&as_hands(&hands), &events);
    open_all(&host_group);
    let rendezvous = engine::Rendezvous::new(2);
    let run = |wait_ms| {
        std::thread::sleep(Duration::from_millis(wait_ms));
        let beside =
            engine::StageContext { rendezvous: Some(rendezvous.clone()), ..engine::StageContext::default() };
        host_group
            .run_stage(orders(&host_group, &measure(0.5)), beside, &Control::new(), &mut |_| {})
            .unwrap()
    };
    let (one, two) = std::thread::scope(|scope| {
        let other = scope.spawn(|| run(200));
        (run(0), other.join().unwrap())
    });
    let apart = one.whole.started_ns.abs_diff(two.whole.started_ns);
    // Threads may start late, but far less than the 200 ms between the orders.
    assert!(apart < 150_000_000, "{apart} ns apart");
}

/// A host group on virtual clocks; returns the intervals up to the end, and the result.
fn simulate(host_group: &HostGroup, last: u32) -> (Vec<(u32, u64)>, fleet::HostGroupResult) {
    let control = Control::new();
    let mut seen = Vec::new();
    let finish = control.clone();
    let mut observer = |what: StageUpdate<'_>| {
        if let StageUpdate::Whole(interval) = what {
            seen.push((interval.index, interval.ok()));
            if interval.index == last {
                finish.finish_after(last);
            }
        }
    };
    let order = orders(host_group, &measure(3600.0));
    let result = host_group.run_stage(order, nothing_beside(), &control, &mut observer).unwrap();
    (seen, result)
}

#[test]
fn a_member_in_this_process_says_which_kernel_it_shares_with_agents_beside_it() {
    let config = SimConfig::default();
    let hand = EngineHand::new(Load::Sim(Box::new(config)), Duration::from_secs(1));
    let alone = HostGroup::here(Arc::new(hand));
    assert!(!alone.machine(0).is_empty());
    assert_eq!(alone.machine(0), Hello::own(Vec::new()).machine);
    assert!(!alone.shares_machine(0), "no other member does");
}

#[test]
fn virtual_clocks_are_exact_and_repeatable() {
    let hand = || -> Arc<dyn HostExecutor> {
        let config = SimConfig::default();
        Arc::new(EngineHand::new(Load::Sim(Box::new(config)), Duration::from_secs(1)))
    };
    let alone = HostGroup::here(hand());
    open_all(&alone);
    let (one, result_of_one) = simulate(&alone, 30);
    let events = Events::default();
    let (host_group, _threads) = host_group_of(&[hand(), hand(), hand()], &events);
    open_all(&host_group);
    let (first, result) = simulate(&host_group, 30);
    let (second, again) = simulate(&host_group, 30);
    assert_eq!(first, second);
    assert_eq!(first.len(), 31, "the window ends with the very interval");
    assert_eq!(result.whole.window_ns, 31_000_000_000);
    let thrice: Vec<_> = one.iter().map(|(index, ok)| (*index, ok * 3)).collect();
    assert_eq!(first, thrice);
    assert_eq!(result.whole.total, again.whole.total);
    assert_eq!(result.whole.total.ok(), 3 * result_of_one.whole.total.ok());
    let (whole, part) = (&result.whole.total, &result_of_one.whole.total);
    assert_eq!(
        quantiles(&whole.op(OpKind::Read).unwrap().service),
        quantiles(&part.op(OpKind::Read).unwrap().service)
    );
    assert_eq!((result.start_skew_ns, events.lost()), (0, vec![]));
}

#[test]
fn hosts_that_booted_at_other_times_start_at_one_moment() {
    /// Booted 40 days later, and runs 50 parts per million fast.
    fn other_clock(ours: u64) -> u64 {
        ours + ours / 20_000 + 3_456_000_000_000_000
    }
    let (honest, _thread, _) = agent("honest", as_hands(&null_hands(1)).remove(0));
    let (ours, theirs) = pipe();
    std::thread::spawn(move || {
        let mut far = Liar::welcome(theirs);
        far.clock = other_clock;
        let id = far.until("Stage").unwrap()["id"].clone();
        far.say(&json!({ "Ready": { "id": id } }));
        let go = far.until("Go").unwrap();
        let mut result = StageResult::of_intervals(Interval::default());
        result.started_ns = go["start_ns"].as_u64().unwrap();
        far.say(&json!({ "Finished": { "id": id, "outcome": { "Ok": result } } }));
        while let Some(heard) = far.hear() {
            far.behave(&heard);
        }
    });
    let events = Events::default();
    let host_group = host_group(vec![honest, ends("far", ours)], settings(), &events);
    open_all(&host_group);
    let order = orders(&host_group, &measure(0.5));
    let result = host_group.run_stage(order, nothing_beside(), &Control::new(), &mut |_| {}).unwrap();
    let starts: Vec<u64> = result.parts.iter().map(|part| part.started_ns.unwrap()).collect();
    let apart = starts[0].abs_diff(starts[1]);
    // The agent's thread may be late on a busy machine, its clock is not.
    assert!(apart < 200_000_000, "{apart} ns apart");
    assert!(
        result.skew_uncertainty_ns > 0 && result.start_skew_ns < 200_000_000 + result.skew_uncertainty_ns
    );
    let now = reactor::clock::now_ns();
    let far = host_group.clocks()[1].unwrap();
    let truth = other_clock(now) as i64 - now as i64;
    // The time between the two clock readings is far below this.
    assert!(far.offset_ns.abs_diff(truth) <= far.uncertainty_ns + 1_000_000, "{far:?}, and not {truth}");
    assert_eq!(events.lost(), []);
}
