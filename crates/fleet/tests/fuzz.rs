//! An agent's stream with some bytes changed, removed or duplicated, for a time (`MANOMETER_FUZZ_SECONDS`, default 1):
//! the coordinator either accepts it or loses the agent with a reason; it never panics and never waits forever. A
//! failing case prints its seed.
#![allow(clippy::unwrap_used)]

mod support;

use std::time::Duration;

use engine::{Control, StageResult};
use fleet::frame::{FrameReader, Tally};
use metrics::{Interval, OpKind};
use proptest::prelude::*;
use serde_json::json;
use support::*;

fn seconds() -> f64 {
    std::env::var("MANOMETER_FUZZ_SECONDS").ok().and_then(|text| text.parse().ok()).unwrap_or(1.0)
}

/// Changes, removes or duplicates some bytes.
fn damage(bytes: &mut Vec<u8>, random: &mut fastrand::Rng) {
    for _ in 0..random.usize(1..4) {
        let at = random.usize(..bytes.len().max(1)).min(bytes.len().saturating_sub(1));
        match random.u8(..9) {
            6.. => {
                let digits: Vec<usize> = (0..bytes.len()).filter(|at| bytes[*at].is_ascii_digit()).collect();
                if let Some(at) = random.choice(&digits) {
                    bytes[*at] = random.u8(b'0'..=b'9');
                }
            }
            0 => bytes[at] ^= 1 << random.u8(..8),
            1 => bytes[at] = random.u8(..),
            2 => bytes[at] = *b"9-\"{}[],:\\u\0\xff".get(random.usize(..13)).unwrap(),
            3 if bytes.len() > 20 => {
                let until = (at + random.usize(..20)).min(bytes.len());
                drop(bytes.drain(at..until));
            }
            4 => {
                let more: Vec<u8> = bytes[at..(at + random.usize(..40)).min(bytes.len())].to_vec();
                bytes.splice(at..at, more);
            }
            _ => bytes.insert(at, random.u8(..)),
        }
        if bytes.is_empty() {
            return;
        }
    }
}

/// Messages of a correct agent after the start.
fn honest(id: u64) -> Vec<Vec<u8>> {
    let mut interval = Interval { length_ns: 1_000_000, ..Interval::default() };
    interval.op_mut(OpKind::Read).ok = 2;
    interval.op_mut(OpKind::Read).service.record(77_000);
    let result = StageResult::of_intervals(interval.clone());
    [
        json!({ "Interval": { "id": id, "interval": interval } }),
        json!({ "Said": { "text": "a \u{1b}[1m line" } }),
        json!({ "Answer": { "id": 99, "outcome": { "Err": { "input": false, "stopped": false, "text": "no" } } } }),
        json!({ "Finished": { "id": id, "outcome": { "Ok": result } } }),
    ]
    .iter()
    .map(|message| serde_json::to_vec(message).unwrap())
    .collect()
}

#[test]
fn damaged_streams_end_with_a_result_or_a_reason() {
    let (began, limit) = (reactor::clock::now_ns(), (seconds() * 1e9) as u64);
    let mut seed = 0;
    let (mut taken, mut lost) = (0, 0);
    while seed < 20 || reactor::clock::now_ns() - began < limit {
        let (ours, theirs) = pipe();
        let agent = std::thread::spawn(move || {
            let mut random = fastrand::Rng::with_seed(seed);
            let mut agent = Liar::welcome(theirs);
            let Some(stage) = agent.until("Stage") else { return };
            let id = stage["id"].as_u64().unwrap();
            agent.say(&json!({ "Ready": { "id": id } }));
            if agent.until("Go").is_none() {
                return;
            }
            let messages = honest(id);
            // Occasionally nothing is damaged.
            let victim = random.usize(..=messages.len());
            for (at, mut body) in messages.into_iter().enumerate() {
                if at == victim && random.bool() {
                    damage(&mut body, &mut random);
                    agent.say_body(&body);
                } else if at == victim {
                    let mut frame = agent.frame(&body);
                    damage(&mut frame, &mut random);
                    agent.say_bytes(&frame);
                } else if at != 2 {
                    agent.say_body(&body);
                }
            }
            agent.shut();
            while agent.hear().is_some() {}
        });
        let events = Events::default();
        let host_group = host_group(vec![ends("fuzzed", ours)], settings(), &events);
        open_all(&host_group);
        let outcome = host_group.run_stage(
            orders(&host_group, &measure(1.0)),
            nothing_beside(),
            &Control::new(),
            &mut |_| {},
        );
        match outcome {
            Ok(result) => {
                taken += 1;
                assert!(result.whole.total.ok() < 1 << 54, "seed {seed}");
            }
            Err(refusal) => {
                lost += 1;
                assert!(!refusal.text.is_empty() && refusal.text.len() < 10_000, "seed {seed}: {refusal}");
            }
        }
        host_group.end();
        agent.join().unwrap_or_else(|_| panic!("seed {seed}"));
        seed += 1;
    }
    println!("{seed} streams: {taken} taken, {lost} lost");
    assert!(lost > 0 && taken > 0, "damage is noticed, and what is whole is taken");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    /// However the bytes are split into pieces, the bodies are the same.
    #[test]
    fn frames_survive_any_pieces(
        bodies in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..3000), 1..8),
        piece in 1usize..700,
    ) {
        let mut tally = Tally::default();
        let stream: Vec<u8> = bodies.iter().flat_map(|body| tally.frame(body)).collect();
        let mut reader = FrameReader::new(Pieces { rest: &stream, piece });
        for body in &bodies {
            prop_assert_eq!(reader.read_frame().unwrap(), &body[..]);
        }
        prop_assert_eq!(reader.tally(), tally);
    }

    /// One changed byte is always detected.
    #[test]
    fn a_changed_byte_is_noticed(
        body in proptest::collection::vec(any::<u8>(), 1..500),
        at in any::<proptest::sample::Index>(),
        flip in 1u8..,
    ) {
        let mut frame = Tally::default().frame(&body);
        let at = at.index(frame.len());
        frame[at] ^= flip;
        prop_assert!(FrameReader::new(&frame[..]).read_frame().is_err());
    }
}

/// Yields this many bytes at a time.
struct Pieces<'a> {
    rest: &'a [u8],
    piece: usize,
}

impl std::io::Read for Pieces<'_> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let count = self.piece.min(into.len()).min(self.rest.len());
        let (now, rest) = self.rest.split_at(count);
        into[..count].copy_from_slice(now);
        self.rest = rest;
        Ok(count)
    }
}

#[test]
fn a_slow_stream_is_no_hang() {
    let (ours, theirs) = pipe();
    let agent = std::thread::spawn(move || {
        let mut slow = Liar::new(theirs);
        let hello = json!({ "Hello": fleet::Hello::own(Vec::new()) }).to_string();
        let frame = slow.frame(hello.as_bytes());
        // Byte by byte, but not the last one.
        for byte in &frame[..frame.len() - 1] {
            slow.say_bytes(&[*byte]);
        }
        while slow.hear().is_some() {}
    });
    let greeted = fleet::greet(vec![ends("slow", ours)], Duration::from_millis(500), &|| false);
    let Some(Err((_, why))) = greeted.into_iter().next() else { panic!("it never said hello") };
    assert_eq!(why, "it has not said hello within 0.5 s");
    agent.join().unwrap();
}
