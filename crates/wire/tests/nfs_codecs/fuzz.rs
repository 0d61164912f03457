//! Fuzzing as ordinary tests: mutated valid messages and random ones, for a limited time.
//!
//! `MANOMETER_FUZZ_SECONDS` is the duration of each test (default 1). Every case has a seed, starting from a fixed one;
//! a failing case prints its seed.

use std::time::{Duration, Instant};

use wire::rpc::RecordScanner;

use crate::codecs::{Codec, nfs, nfs41, rpc};
use crate::hostile::check;
use crate::random::Random;

impl Random {
    fn bytes(&mut self, max: usize) -> Vec<u8> {
        (0..self.below(max)).map(|_| self.next() as u8).collect()
    }

    /// Changes a message as a broken peer would.
    fn mutate(&mut self, bytes: &mut Vec<u8>) {
        for _ in 0..1 + self.below(3) {
            let at = self.below(bytes.len());
            match self.below(7) {
                0 if !bytes.is_empty() => bytes[at] = self.next() as u8,
                1 if !bytes.is_empty() => bytes[at] ^= 1 << self.below(8),
                2 => bytes.truncate(at),
                3 => bytes.extend(self.next().to_be_bytes()),
                4 if bytes.len() >= 4 => {
                    let word = (at & !3).min(bytes.len() - 4);
                    let evil = [0, 1, 2, 0x7fff_ffff, 0x8000_0000, u32::MAX][self.below(6)];
                    bytes[word..word + 4].copy_from_slice(&evil.to_be_bytes());
                }
                5 => {
                    let tail = bytes[at..].to_vec();
                    bytes.extend(tail);
                }
                _ => {
                    bytes.drain(at..bytes.len().min(at + 4));
                }
            }
        }
    }
}

/// Identifies the case that failed.
struct Case {
    name: &'static str,
    seed: u64,
}

impl Drop for Case {
    #[allow(clippy::print_stderr, reason = "a failing test's message")]
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("failing case: {} with seed {:#x}", self.name, self.seed);
        }
    }
}

#[allow(clippy::disallowed_methods, reason = "a test's budget, not a measurement")]
fn for_a_time(first_seed: u64, mut case: impl FnMut(u64)) {
    let seconds = std::env::var("MANOMETER_FUZZ_SECONDS").ok().and_then(|text| text.parse().ok());
    let end = Instant::now() + Duration::from_secs_f64(seconds.unwrap_or(1.0));
    let mut seed = first_seed;
    while Instant::now() < end {
        for _ in 0..64 {
            case(seed);
            seed += 1;
        }
    }
}

fn fuzz(codecs: &[Codec], first_seed: u64) {
    for_a_time(first_seed, |seed| {
        let mut random = Random(seed);
        let codec = &codecs[random.below(codecs.len())];
        let _case = Case { name: codec.name, seed };
        let mut bytes = random.bytes(600);
        if random.below(4) > 0 {
            bytes = (codec.round_trip)(&bytes);
            random.mutate(&mut bytes);
        }
        check(codec, &bytes);
    });
}

#[test]
fn nfs_messages() {
    fuzz(&nfs(), 0x6e66_7300_0000_0000);
}

#[test]
fn nfs41_messages() {
    fuzz(&nfs41(), 0x6e66_7334_0000_0000);
}

#[test]
fn rpc_portmap_and_mount_messages() {
    fuzz(&rpc(), 0x7270_6300_0000_0000);
}

#[test]
fn record_streams() {
    for_a_time(0x7265_6300_0000_0000, |seed| {
        let _case = Case { name: "record stream", seed };
        let mut random = Random(seed);
        let mut bytes = Vec::new();
        for _ in 0..random.below(5) {
            let data = random.bytes(60);
            let last = if random.below(2) == 0 { wire::rpc::LAST_FRAGMENT } else { 0 };
            bytes.extend((data.len() as u32 | last).to_be_bytes());
            bytes.extend(data);
        }
        if random.below(2) == 0 {
            random.mutate(&mut bytes);
        }
        let limit = 1 + random.below(400);
        let mut scanner = RecordScanner::new(limit);
        let (mut from, mut in_record) = (0, 0);
        while from < bytes.len() {
            let to = (from + 1 + random.below(30)).min(bytes.len());
            let mut input = &bytes[from..to];
            from = to;
            loop {
                match scanner.next(&mut input) {
                    Ok(Some(wire::rpc::RecordEvent::Data(data))) => in_record += data.len(),
                    Ok(Some(wire::rpc::RecordEvent::End)) => in_record = 0,
                    Ok(None) => break,
                    Err(_) => return,
                }
                assert!(in_record <= limit, "more than the bound was let through");
            }
        }
    });
}
