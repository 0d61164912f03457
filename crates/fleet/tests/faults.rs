//! Failures of hosts and of the coordinator: lost members are named, the others continue, and nothing is left behind.
#![allow(clippy::unwrap_used)]

mod support;

use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use engine::{Control, StageResult};
use fleet::{
    Act, AgentEnd, Hello, HostExecutor, HostGroupSettings, Leaving, StageRequest, StageTask, StageUpdate,
    Trouble, serve,
};
use metrics::{Interval, OpKind};
use serde_json::json;
use support::hands::{EngineHand, Load};
use support::process::process;
use support::*;

const INTERVAL: Duration = Duration::from_millis(50);

fn null_hand() -> Arc<EngineHand> {
    Arc::new(EngineHand::new(Load::Null(1000.0), INTERVAL))
}

/// A coordinator with very short timeouts.
fn hasty() -> HostGroupSettings {
    HostGroupSettings { heartbeat: Duration::from_millis(50), silence: Duration::from_secs(1), ..settings() }
}

/// The agent in a process of its own: this very program, which was told where to find its coordinator.
#[test]
fn agent_of_another_process() {
    let Some(path) = std::env::var_os("FLEET_TEST_SOCKET") else { return };
    let leader = UnixStream::connect(path).unwrap();
    let input = leader.try_clone().unwrap().into();
    serve(input, leader.into(), null_hand(), Hello::own(Vec::new()), &Leaving::default()).unwrap();
}

#[test]
fn a_killed_agent_is_in_the_result_as_far_as_it_came() {
    let (ends, ids): (Vec<_>, Vec<_>) = (0..3).map(|at| process(&format!("node-{at}"))).unzip();
    let events = Events::default();
    let host_group = host_group(ends, settings(), &events);
    open_all(&host_group);
    let (mut whole, mut of_killed) = (0, Interval::default());
    let mut observer = |seen: StageUpdate<'_>| match seen {
        StageUpdate::Part { member: 1, interval } => {
            of_killed.merge(interval);
            if interval.index == 5 {
                let victim = rustix::process::Pid::from_raw(ids[1] as i32).unwrap();
                rustix::process::kill_process(victim, rustix::process::Signal::KILL).unwrap();
            }
        }
        StageUpdate::Whole(interval) => whole += interval.ok(),
        _ => {}
    };
    let order = orders(&host_group, &measure(2.0));
    let result = host_group.run_stage(order, nothing_beside(), &Control::new(), &mut observer).unwrap();
    let why = "its agent ended: it ended: signal: 9 (SIGKILL)";
    assert_eq!(result.parts[1].lost.as_deref(), Some(why));
    assert_eq!(events.lost(), [(1, why.to_owned())]);
    assert_eq!(result.parts[1].result.total.op(OpKind::Read), of_killed.op(OpKind::Read));
    assert!(of_killed.ok() > 200, "{}", of_killed.ok());
    for at in [0, 2] {
        assert_eq!((result.parts[at].result.window_ns, &result.parts[at].lost), (2_000_000_000, &None));
    }
    // What was shown equals the result, all of it: no member was waited for.
    assert_eq!(whole, result.whole.total.ok());
    assert_eq!(whole, result.parts.iter().map(|part| part.result.total.ok()).sum::<u64>());
    assert!(!result.whole.exhausted && host_group.alive() == [0, 2]);
    // The next stage runs on two members.
    let result = host_group.run_stage(
        orders(&host_group, &measure(0.2)),
        nothing_beside(),
        &Control::new(),
        &mut |_| {},
    );
    assert_eq!(result.unwrap().parts.iter().map(|part| part.member).collect::<Vec<_>>(), [0, 2]);
    host_group.end();
}

#[test]
fn who_is_lost_before_the_start_is_left_out() {
    let (honest, _thread, _) = agent("honest", null_hand());
    let (ours, theirs) = pipe();
    std::thread::spawn(move || {
        let mut mortal = Liar::welcome(theirs);
        mortal.until("Stage").unwrap();
        mortal.shut();
    });
    let events = Events::default();
    let host_group = host_group(vec![ends("mortal", ours), honest], settings(), &events);
    open_all(&host_group);
    let order = orders(&host_group, &measure(0.3));
    let result = host_group.run_stage(order.clone(), nothing_beside(), &Control::new(), &mut |_| {}).unwrap();
    assert_eq!(result.parts[0].lost.as_deref(), Some("its agent ended"));
    assert_eq!(result.whole.total, result.parts[1].result.total);
    // A lost member gets no more requests, and returns the reason.
    assert_eq!(
        host_group.act(&[0], SITE, &Act::Facts),
        [(0, Err(Trouble::Lost("its agent ended".to_owned())))]
    );
    let nobody = host_group.run_stage(order[..1].to_vec(), nothing_beside(), &Control::new(), &mut |_| {});
    assert_eq!(nobody.unwrap_err().text, "no host is left: mortal: its agent ended");
}

#[test]
fn a_host_that_hangs_is_lost_by_its_silence() {
    let (honest, _thread, _) = agent("honest", null_hand());
    let (ours, theirs) = pipe();
    let hung = std::thread::spawn(move || {
        let mut hung = Liar::welcome(theirs);
        let stage = hung.until("Stage").unwrap();
        hung.say(&json!({ "Ready": { "id": stage["id"] } }));
        hung.until("Go").unwrap();
        // It reads and sends nothing until the coordinator closes the pipe.
        let mut other_end = [rustix::event::PollFd::new(hung.input(), rustix::event::PollFlags::RDHUP)];
        rustix::event::poll(&mut other_end, None).unwrap();
    });
    let events = Events::default();
    let host_group = host_group(vec![honest, ends("hung", ours)], hasty(), &events);
    open_all(&host_group);
    let order = orders(&host_group, &measure(3.0));
    let mut wholes = 0;
    let mut observer = |seen: StageUpdate<'_>| wholes += u32::from(matches!(seen, StageUpdate::Whole(_)));
    let result = host_group.run_stage(order, nothing_beside(), &Control::new(), &mut observer).unwrap();
    assert_eq!(result.parts[1].lost.as_deref(), Some("nothing was heard of it for 1 s"));
    assert_eq!((result.parts[0].result.window_ns, wholes), (3_000_000_000, 60));
    drop(host_group);
    hung.join().unwrap();
}

#[test]
fn a_host_that_takes_nothing_is_lost_although_it_speaks() {
    let (ours, theirs) = pipe();
    let deaf = std::thread::spawn(move || {
        let mut deaf = Liar::welcome(theirs);
        deaf.until("Welcome").unwrap();
        while deaf.say(&json!({ "Said": { "text": "still here" } })) {
            std::thread::sleep(Duration::from_millis(110));
        }
    });
    let events = Events::default();
    let host_group = host_group(vec![ends("deaf", ours)], hasty(), &events);
    let mut large = opening();
    large.run = "x".repeat(8 << 20);
    let answers = host_group.open(vec![(0, large)]);
    let why = "it has taken nothing of what it is sent for 1 s".to_owned();
    assert!(matches!(&answers[..], [(0, Err(Trouble::Lost(text)))] if *text == why), "{answers:?}");
    drop(host_group);
    deaf.join().unwrap();
}

#[test]
fn a_host_whose_load_stands_still_holds_nobody_up_for_ever() {
    let (honest, _thread, _) = agent("honest", null_hand());
    let (ours, theirs) = pipe();
    let enough = Arc::new(AtomicBool::new(false));
    let heard = Arc::clone(&enough);
    std::thread::spawn(move || {
        let mut idle = Liar::welcome(theirs);
        let id = idle.until("Stage").unwrap()["id"].clone();
        idle.say(&json!({ "Ready": { "id": id } }));
        while let Some(told) = idle.hear() {
            idle.behave(&told);
            if heard.swap(false, Ordering::SeqCst) {
                let result = StageResult::of_intervals(Interval::default());
                idle.say(&json!({ "Finished": { "id": id, "outcome": { "Ok": result } } }));
            }
        }
    });
    let events = Events::default();
    let host_group = host_group(vec![honest, ends("idle", ours)], settings(), &events);
    open_all(&host_group);
    let mut wholes = 0;
    let mut observer = |seen: StageUpdate<'_>| {
        if matches!(seen, StageUpdate::Whole(_)) {
            wholes += 1;
            if wholes == 10 {
                enough.store(true, Ordering::SeqCst);
            }
        }
    };
    let order = orders(&host_group, &measure(3.0));
    host_group.run_stage(order, nothing_beside(), &Control::new(), &mut observer).unwrap();
    assert_eq!((wholes, events.lost()), (60, vec![]));
}

#[test]
fn a_host_that_fills_nothing_any_more_is_lost_although_it_speaks() {
    let (ours, theirs) = pipe();
    std::thread::spawn(move || {
        let mut stuck = Liar::welcome(theirs);
        let id = stuck.until("Stage").unwrap()["id"].clone();
        stuck.say(&json!({ "Ready": { "id": id } }));
        // It answers every heartbeat.
        while let Some(told) = stuck.hear() {
            stuck.behave(&told);
        }
    });
    let events = Events::default();
    let settings = HostGroupSettings { progress_limit: Duration::from_secs(1), ..settings() };
    let host_group = host_group(vec![ends("stuck", ours)], settings, &events);
    let mut soon = opening();
    soon.cell.workload.op_timeout_s = 1.0;
    assert!(host_group.open(vec![(0, soon)]).iter().all(|(_, answer)| answer.is_ok()));
    let fill = vec![(0, StageRequest::to_the_end(SITE, StageTask::Fill { generation: 0 }))];
    let refused = host_group.run_stage(fill, nothing_beside(), &Control::new(), &mut |_| {}).unwrap_err();
    assert_eq!(refused.text, "no host is left: stuck: it moved nothing within 2 s");
}

/// The outcome of an agent with a running stage whose coordinator did this.
fn left_alone(leader: impl FnOnce(&mut Liar, &Leaving)) -> (Arc<EngineHand>, String) {
    let hand = null_hand();
    let (ours, theirs) = pipe();
    let leaving = Leaving::default();
    let (leave, served) = (leaving.clone(), Arc::clone(&hand) as Arc<dyn HostExecutor>);
    let run = move || serve(theirs.1, theirs.0, served, Hello::own(Vec::new()), &leave).unwrap();
    let agent = std::thread::spawn(run);
    // The same frames in the other direction.
    let mut side = Liar::new(ours);
    assert!(side.hear().unwrap().get("Hello").is_some());
    side.say(&json!({ "Welcome": { "name": "a", "index": 0, "heartbeat_ms": 100, "silence_ms": 1000 } }));
    side.say(&json!({ "Open": { "id": 1, "opening": opening() } }));
    side.until("Answer").unwrap();
    side.say(&json!({ "Stage": { "id": 2, "request": measure(3600.0) } }));
    side.until("Ready").unwrap();
    side.say(&json!({ "Go": { "id": 2, "start_ns": reactor::clock::now_ns() } }));
    side.until("Interval").unwrap();
    leader(&mut side, &leaving);
    let AgentEnd::Abandoned { why, left } = agent.join().unwrap() else { panic!("nobody said farewell") };
    assert_eq!(left, ["one file"]);
    (hand, why)
}

#[test]
fn an_agent_whose_leader_is_gone_removes_what_it_made() {
    type Leader = fn(&mut Liar, &Leaving);
    let cases: [(&str, Leader); 5] = [
        ("the side that leads closed the pipe", |side, _| side.shut()),
        ("nothing was heard of the side that leads for 1 s", |_, _| {}),
        ("a signal ended the agent", |_, leaving| leaving.leave()),
        (
            "what the side that leads sends is broken: frame 4 claims 4294967295 bytes, more than 16777216",
            |side, _| {
                side.say_bytes(&[0xff; 16]);
            },
        ),
        ("the side that leads has taken nothing for 1 s", |side, _| {
            // It receives many requests, and its replies are not read.
            let mut number = 0;
            while side.say(&json!({ "Ping": { "number": number } })) {
                number += 1;
                if number > 20_000 {
                    std::thread::sleep(Duration::from_millis(10));
                }
            }
        }),
    ];
    for (meant, leader) in cases {
        let (hand, why) = left_alone(leader);
        assert_eq!(why, meant);
        assert_eq!(hand.abandoned.load(Ordering::SeqCst), 1, "{meant}");
    }
}
