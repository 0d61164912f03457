//! Shaped data compresses and repeats as requested, verifies at any position, and damage is identified.

use std::collections::HashMap;

use proptest::prelude::*;

use super::shape::UNIT;
use super::{Damage, Mismatch, Payload};

fn content(payload: &Payload, object: u64, offset: u64, len: usize) -> Vec<u8> {
    let mut out = vec![0; len];
    payload.fill(object, offset, &mut out);
    out
}

fn stream(generation: u64, offset: u64) -> u64 {
    generation << 48 | offset
}

#[test]
fn a_share_compresses_to_nothing() {
    for asked in [0.0, 0.1, 0.3, 0.5, 0.77, 1.0] {
        let payload = Payload::new(5).with(asked, 0.0);
        let data = content(&payload, 1, 0, 4 << 20);
        for level in [1, 3, 9] {
            let left = zstd::bulk::compress(&data, level).unwrap().len() as f64 / data.len() as f64;
            // The fast compression levels are late to notice that compressing pays again.
            let missed = if level < 9 { 0.05 } else { 0.02 };
            assert!((left - (1.0 - asked)).abs() < missed, "{asked} at level {level}: {left} is left");
        }
        // Not only overall, but in every 4 KiB.
        for unit in data.chunks(UNIT as usize).take(64) {
            let left = zstd::bulk::compress(unit, 3).unwrap().len() as f64 / UNIT as f64;
            assert!((left - (1.0 - asked)).abs() < 0.05, "{asked}: of one unit {left} is left");
        }
    }
}

#[test]
fn a_share_of_the_units_occurs_elsewhere_too() {
    for (asked, compressible) in [(0.0, 0.0), (0.2, 0.0), (0.5, 0.5), (0.9, 0.0), (1.0, 0.3)] {
        let payload = Payload::new(6).with(compressible, asked);
        let mut counts: HashMap<Vec<u8>, u32> = HashMap::new();
        // Many small files behave like one large one.
        for object in 0..64u64 {
            for unit in content(&payload, object << 32, 0, 1 << 20).chunks(UNIT as usize) {
                *counts.entry(unit.to_vec()).or_default() += 1;
            }
        }
        let all: u32 = counts.values().sum();
        let twice: u32 = counts.values().filter(|count| **count > 1).sum();
        let share = f64::from(twice) / f64::from(all);
        assert!((share - asked).abs() < 0.02, "{asked}: {share}");
        let different = counts.values().filter(|count| **count > 1).count();
        assert!(different <= 256, "{different} different duplicates");
    }
}

#[test]
fn generations_differ_in_every_unit() {
    for payload in [Payload::new(7), Payload::new(7).with(1.0, 0.0), Payload::new(7).with(0.4, 1.0)] {
        for (one, other) in [(0, 1), (1, 2), (0xFFFE, 0xFFFF), (3, 250)] {
            let old = content(&payload, 9, stream(one, 0), 1 << 20);
            for (number, unit) in old.chunks(UNIT as usize).enumerate() {
                let place = stream(other, number as u64 * UNIT);
                let found = payload.verify(9, place, unit).unwrap_err();
                // The first byte may be equal by coincidence, but not the whole first block.
                assert!(found.offset < place + 16, "{payload:?} {one} {other}");
            }
        }
    }
}

/// The diagnosis after `damage` is done to 64 KiB at `offset`, all of which is examined.
fn diagnose(payload: &Payload, offset: u64, damage: impl FnOnce(&mut [u8])) -> (super::Diagnosis, String) {
    let mut data = content(payload, 3, stream(2, offset), 64 << 10);
    damage(&mut data);
    let mismatch = payload.verify(3, stream(2, offset), &data).unwrap_err();
    let found = payload.diagnose(3, stream(2, offset), &data, mismatch);
    (found, found.to_string())
}

fn shapes() -> [Payload; 4] {
    let plain = Payload::new(8);
    [plain, plain.with(0.5, 0.0), plain.with(0.0, 0.5), plain.with(0.7, 1.0)]
}

#[test]
fn a_flipped_bit_is_named() {
    for payload in shapes() {
        for at in [0, 77, 4095, 4096, 65535] {
            let (found, text) = diagnose(&payload, 8192, |data| data[at] ^= 4);
            assert_eq!(found.damage, Damage::Bits { differing: 1 });
            assert_eq!(text, format!("1 bit differs at byte {}", 8192 + at));
        }
        let (_, text) = diagnose(&payload, 0, |data| {
            data[100] ^= 3;
            data[300] ^= 1;
        });
        assert_eq!(text, "3 bits differ in 201 bytes from byte 100 on");
    }
}

#[test]
fn a_lost_write_is_named() {
    for payload in shapes() {
        let old = content(&payload, 3, stream(1, 8192 + 4096), 8192);
        let (found, text) = diagnose(&payload, 8192, |data| data[4096..12288].copy_from_slice(&old));
        assert_eq!(found.damage, Damage::OtherGeneration { found: 1, expected: 2 }, "{payload:?}");
        assert_eq!((found.offset, found.bytes), (12288, 8192), "{payload:?}");
        let expected = "8192 bytes from byte 12288 on are generation 1 of this place instead of 2: a lost write or a \
                        stale read";
        assert_eq!(text, expected);
        let new = content(&payload, 3, stream(3, 0), 512);
        let (_, text) = diagnose(&payload, 0, |data| data[..512].copy_from_slice(&new));
        assert!(text.contains("generation 3 of this place, newer than the expected 2"), "{text}");
    }
}

#[test]
fn a_misplaced_block_is_named() {
    for payload in [Payload::new(8), Payload::new(8).with(0.5, 0.0)] {
        let other = content(&payload, 12, stream(1, 1 << 20), 4096);
        let (found, text) = diagnose(&payload, 8192, |data| data[4096..8192].copy_from_slice(&other));
        assert_eq!((found.offset, found.bytes), (12288, 4096));
        let expected = "4096 bytes from byte 12288 on belong to object 000000000000000c at byte 1048576 \
                        (generation 1): a misplaced block";
        assert_eq!(text, expected);
        // The same object, shifted by a sector.
        let other = content(&payload, 3, stream(2, 512), 512);
        let (found, _) = diagnose(&payload, 0, |data| data[..512].copy_from_slice(&other));
        let place = Damage::OtherPlace { object: 3, offset: 512, generation: 2 };
        assert_eq!((found.damage, found.bytes), (place, 512));
    }
    // Where everything is a duplicate, misplaced data has no identifiable origin.
    let payload = Payload::new(8).with(0.0, 1.0);
    let other = content(&payload, 3, stream(2, 1 << 30), 4096);
    let (found, _) = diagnose(&payload, 0, |data| data[..4096].copy_from_slice(&other));
    assert!(matches!(found.damage, Damage::OtherDuplicate | Damage::OtherGeneration { .. }), "{found:?}");
}

#[test]
fn zeros_and_foreign_data_are_named() {
    for payload in shapes() {
        let (found, text) = diagnose(&payload, 4096, |data| data[512..1024].fill(0));
        assert_eq!((found.offset, found.bytes, found.damage), (4608, 512, Damage::Zeros));
        assert!(text.ends_with("are zeros: never written, or lost"), "{text}");
        let (found, text) =
            diagnose(&payload, 4096, |data| data[1000..1018].copy_from_slice(b"somebody else's da"));
        assert!(matches!(found.damage, Damage::Foreign { .. }), "{found:?}");
        assert!(text.contains("foreign (they begin with"), "{text}");
        let (found, _) = diagnose(&Payload::new(99), 0, |data| {
            data.copy_from_slice(&content(&payload, 3, stream(2, 0), data.len()));
        });
        assert!(matches!(found.damage, Damage::Foreign { .. }), "another seed's: {found:?}");
        assert_eq!((found.offset, found.bytes), (0, 64 << 10));
    }
}

#[test]
fn data_says_of_which_generation_it_is() {
    for payload in shapes() {
        let data = content(&payload, 3, stream(700, 8192), 64 << 10);
        let all_duplicates = payload.shape.duplicates_below == 1 << 32;
        let expected = if all_duplicates { None } else { Some(700) };
        assert_eq!(payload.generation_of(3, 8192, &data), expected, "{payload:?}");
        assert_eq!(payload.generation_of(4, 8192, &data), None, "another object's");
        assert_eq!(payload.generation_of(3, 4096, &data), None, "another place's");
        assert_eq!(payload.generation_of(3, 8192, &[0; 8192]), None);
    }
    let small = Payload::new(8);
    assert_eq!(small.generation_of(1, 0, &content(&small, 1, stream(5, 0), 100)), Some(5), "a small file");
    assert_eq!(small.generation_of(1, 0, &content(&small, 1, stream(5, 0), 15)), None, "too little");
    let repeated = Payload::new(8).with(1.0, 0.0);
    assert_eq!(repeated.generation_of(1, 0, &content(&repeated, 1, stream(9, 0), 4096)), Some(9));
}

/// A receive buffer may end anywhere: little data gives a less precise diagnosis, never a wrong one.
#[test]
fn little_data_is_enough_for_a_generation() {
    for payload in shapes() {
        for (offset, len) in [(4090, 6), (4096, 15), (4101, 20), (8, 8)] {
            let old = content(&payload, 3, stream(1, offset), len);
            let Err(mismatch) = payload.verify(3, stream(2, offset), &old) else { panic!("they are equal") };
            let found = payload.diagnose(3, stream(2, offset), &old, mismatch);
            let old_one = matches!(found.damage, Damage::OtherGeneration { found: 1, expected: 2 });
            // Other generations share duplicates' bytes: any of them is correct.
            let other =
                matches!(found.damage, Damage::OtherGeneration { .. }) && payload.shape.duplicates_below > 0;
            assert!(old_one || other, "{payload:?} {offset} {len}: {found}");
        }
    }
}

proptest! {
    #[test]
    fn any_piece_of_shaped_data_is_a_piece_of_the_whole(
        compressible in 0.0f64..=1.0, dedupe in 0.0f64..=1.0, start in 0usize..12000, len in 0usize..12000, generation in 0u64..1 << 16
    ) {
        let payload = Payload::new(1).with(compressible, dedupe);
        let whole = content(&payload, 4, stream(generation, 0), 24000);
        let piece = content(&payload, 4, stream(generation, start as u64), len);
        prop_assert_eq!(&piece, &whole[start..start + len]);
        prop_assert_eq!(payload.verify(4, stream(generation, start as u64), &piece), Ok(()));
    }

    #[test]
    fn a_changed_byte_of_shaped_data_never_passes(
        compressible in 0.0f64..=1.0, dedupe in 0.0f64..=1.0, start in 0u64..100_000, len in 1usize..9000, at: prop::sample::Index, flip in 1u8..
    ) {
        let payload = Payload::new(77).with(compressible, dedupe);
        let mut piece = content(&payload, 5, start, len);
        let at = at.index(len);
        piece[at] ^= flip;
        let found = payload.verify(5, start, &piece).unwrap_err();
        prop_assert_eq!(found, Mismatch { offset: start + at as u64 });
        let named = payload.diagnose(5, start, &piece, found);
        prop_assert_eq!((named.offset, named.bytes), (start + at as u64, 1), "{}", named);
    }

    #[test]
    fn a_diagnosis_never_panics(seed: u64, object: u64, position: u64, data: Vec<u8>, shaped: bool) {
        let payload = if shaped { Payload::new(seed).with(0.5, 0.5) } else { Payload::new(seed) };
        let position = position >> 1;
        if let Err(mismatch) = payload.verify(object, position, &data) {
            let _ = payload.diagnose(object, position, &data, mismatch).to_string();
        }
    }
}
