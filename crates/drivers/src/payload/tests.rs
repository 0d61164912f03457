//! Guarantees of the payload: the same bytes on every path and from every position, incompressible, without duplicates.

use std::collections::HashSet;

use proptest::prelude::*;

use super::{CHUNK, Mismatch, Payload, available};

fn content(payload: &Payload, object: u64, offset: u64, len: usize) -> Vec<u8> {
    let mut out = vec![0; len];
    payload.fill(object, offset, &mut out);
    out
}

/// The format is stable: each version verifies data written by earlier ones.
#[test]
fn the_bytes_of_a_seed_never_change() {
    let bytes = content(&Payload::new(42), 7, 0, 16);
    assert_eq!(bytes, [135, 79, 11, 202, 61, 185, 48, 179, 54, 52, 38, 222, 186, 106, 212, 97],);
}

#[test]
fn all_paths_make_the_same_bytes() {
    let payload = Payload::new(0xDEAD_BEEF);
    let paths = available();
    for (object, offset) in [(0, 0), (1, 16), (u64::MAX, 5), (1 << 48, u64::MAX - 8191), (3, 1 << 40)] {
        let mut expected = vec![0; 4096 + 77];
        payload.fill_by(*paths.last().unwrap(), object, offset, &mut expected);
        for path in &paths {
            let mut made = vec![0; expected.len()];
            payload.fill_by(*path, object, offset, &mut made);
            assert!(made == expected, "{} differs at object {object} offset {offset}", path.name);
            assert_eq!(payload.verify_by(*path, object, offset, &made), Ok(()), "{}", path.name);
        }
    }
}

#[test]
fn zeroes_are_expected_where_they_were_written() {
    let payload = Payload::new(3);
    let zeroed = crate::Op::new(metrics::OpKind::Read, 0, 5).range(8192, 4096).generation(crate::Op::ZEROES);
    assert_eq!(payload.verify_op(&zeroed, 0, &[0; 4096]), Ok(()));
    let mut data = vec![0; 2048];
    (data[100], data[2000]) = (1, 2);
    let text = payload.verify_op(&zeroed, 2048, &data).unwrap_err();
    assert!(text.starts_with("2 bytes from byte 10340 on are not the zeroes"), "{text}");
    let text = payload.verify_op(&zeroed, 0, &data).unwrap_err();
    assert!(text.starts_with("at least 2 bytes from byte 8292 on"), "{text}");
}

#[test]
fn seeds_objects_and_places_make_different_bytes() {
    let mut seen = HashSet::new();
    for (seed, object, offset) in [(1, 1, 0), (2, 1, 0), (1, 2, 0), (1, 1, 4096)] {
        assert!(seen.insert(content(&Payload::new(seed), object, offset, 64)));
    }
}

#[test]
fn no_aligned_block_occurs_twice() {
    let payload = Payload::new(9);
    let mut blocks = HashSet::new();
    for object in [0u64, 1, 2, 0x1_0000_0000, 0x1_0000_0001, 1 << 48, (1 << 48) + 1] {
        for start in [0u64, 1 << 20, 1 << 32] {
            for block in content(&payload, object, start, 128 << 10).chunks(512) {
                assert!(blocks.insert(<[u8; 512]>::try_from(block).unwrap()));
            }
        }
    }
    assert_eq!(blocks.len(), 7 * 3 * 256);
    let shorter: HashSet<&[u8]> = blocks.iter().flat_map(|b| b.chunks(16)).collect();
    assert_eq!(shorter.len(), blocks.len() * 32, "even 16 bytes never repeat");
}

#[test]
fn compressors_gain_nothing() {
    let payload = Payload::new(3);
    // A mix of objects, so that similarity between them would show as well.
    let data: Vec<u8> = (0..16).flat_map(|object| content(&payload, object, 0, 128 << 10)).collect();
    let zstd = zstd::bulk::compress(&data, 19).unwrap();
    assert!(zstd.len() >= data.len(), "zstd made {} of {}", zstd.len(), data.len());
    let deflated = miniz_oxide::deflate::compress_to_vec(&data, 9);
    assert!(deflated.len() >= data.len(), "deflate made {} of {}", deflated.len(), data.len());
}

#[test]
fn all_byte_values_are_equally_frequent() {
    let mut counts = [0u32; 256];
    let data = content(&Payload::new(11), 5, 0, 1 << 20);
    data.iter().for_each(|byte| counts[usize::from(*byte)] += 1);
    // Chi-squared with 255 degrees of freedom: 180 to 340 holds for all but one in a thousand, and the data is fixed.
    let expected = f64::from(1 << 12);
    let chi: f64 = counts.iter().map(|n| (f64::from(*n) - expected).powi(2) / expected).sum();
    assert!((180.0..340.0).contains(&chi), "{chi}");
}

#[test]
fn a_difference_is_found_where_it_is() {
    let payload = Payload::new(1);
    let good = content(&payload, 2, 1000, 3000);
    for path in available() {
        for at in [0, 1, 7, 8, 9, 300, 511, 512, 1023, 2047, 2998, 2999] {
            let mut bad = good.clone();
            bad[at] ^= 0x10;
            let found = payload.verify_by(path, 2, 1000, &bad);
            assert_eq!(found, Err(Mismatch { offset: 1000 + at as u64 }), "{}", path.name);
        }
    }
}

#[test]
fn content_of_another_place_or_object_is_refused() {
    let payload = Payload::new(1);
    let data = content(&payload, 2, 0, 4096);
    assert_eq!(payload.verify(3, 0, &data), Err(Mismatch { offset: 0 }));
    assert_eq!(payload.verify(2, 4096, &data), Err(Mismatch { offset: 4096 }));
    assert_eq!(Payload::new(2).verify(2, 0, &data), Err(Mismatch { offset: 0 }));
}

proptest! {
    /// Any piece equals the corresponding slice of the whole, wherever it begins and ends.
    #[test]
    fn any_piece_is_a_piece_of_the_whole(seed: u64, object: u64, start in 0usize..2048, len in 0usize..2048) {
        let payload = Payload::new(seed);
        let whole = content(&payload, object, 0, 4096);
        let piece = content(&payload, object, start as u64, len);
        prop_assert_eq!(&piece, &whole[start..start + len]);
        prop_assert_eq!(payload.verify(object, start as u64, &piece), Ok(()));
    }

    #[test]
    fn a_changed_byte_never_passes(object: u64, start in 0u64..100_000, len in 1usize..4 * CHUNK, at: prop::sample::Index, flip in 1u8..) {
        let payload = Payload::new(77);
        let mut piece = content(&payload, object, start, len);
        let at = at.index(len);
        piece[at] ^= flip;
        prop_assert_eq!(payload.verify(object, start, &piece), Err(Mismatch { offset: start + at as u64 }));
    }
}
