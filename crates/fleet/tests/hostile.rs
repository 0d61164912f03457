//! Agents that lie, babble or flood: each is lost, with a reason, and the correct one beside it completes its stage
//! unaffected.
#![allow(clippy::unwrap_used)]

mod support;

use std::sync::Arc;
use std::time::Duration;

use engine::{Control, StageResult};
use fleet::{Hello, PROGRAM, PROTOCOL, greet};
use metrics::{Interval, OpKind};
use serde_json::{Value, json};
use support::hands::{EngineHand, Load};
use support::*;

const INTERVAL: Duration = Duration::from_millis(100);

/// A correct agent and one that does `lie` once a stage starts; returns why it was lost.
fn lose(lie: impl FnOnce(&mut Liar, u64) + Send + 'static) -> String {
    let (honest, _thread, _) = agent("honest", Arc::new(EngineHand::new(Load::Null(1000.0), INTERVAL)));
    let (ours, theirs) = pipe();
    let liar = std::thread::spawn(move || {
        let mut liar = Liar::welcome(theirs);
        let stage = liar.until("Stage").unwrap();
        let id = stage["id"].as_u64().unwrap();
        liar.say(&json!({ "Ready": { "id": id } }));
        liar.until("Go").unwrap();
        lie(&mut liar, id);
        // Whatever it sent, nothing more is read from it.
        while liar.hear().is_some() {}
    });
    let events = Events::default();
    let host_group = host_group(vec![honest, ends("liar", ours)], settings(), &events);
    assert!(open_all(&host_group).iter().all(|(_, facts)| facts.is_ok()));
    let order = orders(&host_group, &measure(0.5));
    let result = host_group.run_stage(order, nothing_beside(), &Control::new(), &mut |_| {}).unwrap();
    liar.join().unwrap();
    let [honest, liar] = &result.parts[..] else { panic!("two parts") };
    assert!(honest.lost.is_none() && honest.result.window_ns == 500_000_000, "{:?}", honest.lost);
    assert!(honest.result.total.ok() > 300, "{}", honest.result.total.ok());
    assert_eq!(host_group.alive(), [0]);
    let [(1, why)] = &events.lost()[..] else { panic!("one is lost: {:?}", events.lost()) };
    assert_eq!(liar.lost.as_ref(), Some(why));
    why.clone()
}

fn interval(index: u32, start_ns: u64, ok: u64) -> Interval {
    let mut interval = Interval { index, start_ns, length_ns: 1_000_000, ..Interval::default() };
    interval.op_mut(OpKind::Read).ok = ok;
    interval
}

fn handed_in(id: u64, interval: &Interval) -> Value {
    json!({ "Interval": { "id": id, "interval": interval } })
}

#[test]
fn intervals_that_cannot_be() {
    let said = |intervals: Vec<Interval>| {
        lose(move |liar, id| {
            for interval in intervals {
                liar.say(&handed_in(id, &interval));
            }
        })
    };
    assert_eq!(
        said(vec![interval(3, 0, 1), interval(3, 1_000_000, 1)]),
        "it handed in interval 3 when 4 or a later one was to come"
    );
    assert_eq!(
        said(vec![interval(900, 3_600_000_000_000, 1)]),
        "it handed in interval 900, which cannot have ended yet"
    );
    assert_eq!(
        said(vec![interval(1_000_000, 0, 1)]),
        "it handed in interval 1000000, which cannot have ended yet"
    );
    assert_eq!(
        said(vec![interval(0, 0, u64::MAX)]),
        format!("it counts {} of something, which cannot be", u64::MAX)
    );
    let mut latencies = interval(0, 0, 1);
    (0..2).for_each(|_| latencies.op_mut(OpKind::Read).service.record(9));
    assert_eq!(said(vec![latencies]), "it counts fewer operations than latencies");
}

#[test]
fn an_endless_stream_of_intervals() {
    let why = lose(|liar, id| {
        let mut index = 0;
        while liar.say(&handed_in(id, &interval(index, u64::from(index) * 1_000_000, 1))) {
            index += 1;
        }
    });
    assert!(why.ends_with("which cannot have ended yet"), "{why}");
}

#[test]
fn answers_and_news_that_nobody_asked_for() {
    let said = |message: fn(u64) -> Value| {
        lose(move |liar, id| {
            liar.say(&message(id));
        })
    };
    assert_eq!(
        said(|_| json!({ "Answer": { "id": 999, "outcome": { "Ok": "Done" } } })),
        "it answers what was not asked"
    );
    assert_eq!(said(|id| json!({ "Ready": { "id": id } })), "it was ready for a stage twice");
    assert_eq!(said(|id| json!({ "Ready": { "id": id + 1 } })), "it speaks of a stage that does not run");
    assert_eq!(
        said(|_| json!({ "Pong": { "number": 77_777, "received_ns": 1, "answered_ns": 2 } })),
        "it answers a ping that was not sent"
    );
    assert_eq!(said(|_| json!({ "Hello": Hello::own(Vec::new()) })), "an agent says hello first, and once");
    assert_eq!(
        said(|_| json!({ "Bye": { "frames": 0, "checksum": 0 } })).split(',').next().unwrap(),
        "it sent 0 messages"
    );
    assert!(said(|_| json!({ "Nonsense": [] })).starts_with("a message cannot be read: unknown variant"));
    assert_eq!(
        said(|_| json!({ "Ready": { "id": 1, "pad": "x".repeat(5000) } })),
        "it sends a message of 5027 bytes, which is too long for its kind"
    );
}

#[test]
fn results_that_contradict_themselves() {
    let why = lose(|liar, id| {
        liar.say(&handed_in(id, &interval(0, 0, 100)));
        let result = StageResult::of_intervals(interval(0, 0, 99));
        liar.say(&json!({ "Finished": { "id": id, "outcome": { "Ok": result } } }));
    });
    assert_eq!(why, "its result counts less than its intervals");
    let why = lose(|liar, id| {
        let mut result = StageResult::of_intervals(interval(0, 0, 1));
        result.worker_cpu_ns = vec![1; 100_000];
        liar.say(&json!({ "Finished": { "id": id, "outcome": { "Ok": result } } }));
    });
    assert_eq!(why, "it hands in a list of more than 65536 entries");
    // As many histograms as fit into a frame would take a multiple of that in memory.
    let why = lose(|liar, id| {
        let mut all = serde_json::to_value(interval(0, 0, 1)).unwrap();
        let one = all["ops"][0].clone();
        all["ops"] = Value::Array(vec![one; 10_000]);
        liar.say(&json!({ "Interval": { "id": id, "interval": all } }));
    });
    assert!(why.starts_with("a message cannot be read: read is there twice"), "{why}");
}

#[test]
fn frames_that_are_none() {
    let why = lose(|liar, _| {
        liar.say_bytes(&[0xff; 4096]);
    });
    assert!(why.starts_with("what it sends is broken: frame "), "{why}");
    assert!(why.ends_with(" claims 4294967295 bytes, more than 16777216"), "{why}");
    let why = lose(|liar, id| {
        // A frame of another stream: its number is out of sequence.
        let body = json!({ "Ready": { "id": id } }).to_string();
        liar.say_bytes(&fleet::frame::Tally::default().frame(body.as_bytes()));
    });
    assert!(why.ends_with(" was expected, and 0 came"), "{why}");
    let why = lose(|liar, _| {
        let mut frame = liar.frame(b"{\"Ready\":{\"id\":1}}");
        frame[20] ^= 0x20;
        liar.say_bytes(&frame);
    });
    assert!(why.contains(" has the checksum "), "{why}");
    // Half a frame, and the end of the stream.
    let why = lose(|liar, _| {
        let frame = liar.frame(&[b' '; 100]);
        liar.say_bytes(&frame[..50]);
        liar.shut();
    });
    assert!(why.ends_with(", after 50 of 116 bytes"), "{why}");
}

#[test]
fn a_babbler_is_shown_harmlessly_and_then_lost() {
    let (ours, theirs) = pipe();
    let babbler = std::thread::spawn(move || {
        let mut liar = Liar::welcome(theirs);
        liar.until("Welcome").unwrap();
        let text = "\u{1b}[31mred\u{7} \u{202e}over\nthere";
        while liar.say(&json!({ "Said": { "text": text } })) {}
    });
    let events = Events::default();
    let host_group = host_group(vec![ends("babbler", ours)], settings(), &events);
    babbler.join().unwrap();
    while events.lost().is_empty() {
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(events.lost(), [(0, "it says more than 600 lines in a minute".to_owned())]);
    assert_eq!(events.said().len(), 600);
    assert!(events.said().iter().all(|text| text == "[31mred over there"), "{:?}", events.said()[0]);
    assert!(host_group.alive().is_empty());
}

#[test]
fn what_is_no_agent_of_this_program_is_named_at_the_start() {
    let start = |first: Box<dyn FnOnce(&mut Liar) + Send>| {
        let (ours, theirs) = pipe();
        let liar = std::thread::spawn(move || {
            let mut liar = Liar::new(theirs);
            first(&mut liar);
            while liar.hear().is_some() {}
        });
        let greeted = greet(vec![ends("node7", ours)], Duration::from_secs(1), &|| false);
        let Some(Err((name, why))) = greeted.into_iter().next() else { panic!("it belongs to no fleet") };
        liar.join().unwrap();
        assert_eq!(name, "node7");
        why
    };
    let other = Hello { version: "9.9.9".to_owned(), ..Hello::own(Vec::new()) };
    let why = start(Box::new(move |liar| {
        liar.say(&json!({ "Hello": other }));
    }));
    assert_eq!(
        why,
        format!(
            "it runs manometer 9.9.9 (protocol {PROTOCOL}), and this is {PROGRAM} (protocol {PROTOCOL}): install the same version there"
        )
    );
    // A future version may send more.
    let why = start(Box::new(|liar| {
        liar.say(&json!({ "Hello": { "protocol": PROTOCOL + 1, "version": PROGRAM, "mood": "good" } }));
    }));
    assert!(why.contains(&format!("(protocol {})", PROTOCOL + 1)), "{why}");
    let why = start(Box::new(|liar| {
        liar.say_bytes(b"Welcome to node7!\r\nLast login: today\r\n");
    }));
    assert!(
        why.starts_with("its first output is not an agent's: \"Welcome to node7! Last login: today\" ("),
        "{why}"
    );
    let why = start(Box::new(|_| {}));
    assert_eq!(why, "it has not said hello within 1 s");
}
