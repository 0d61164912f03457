//! What jobs write when no check prescribes it: fresh bytes, zeros, patterns, and parts that compress to nothing.
#![allow(clippy::unwrap_used)]

use std::collections::HashMap;

use content::{Content, ContentKind, PatternPiece};
use drivers::{Op, Payload};
use metrics::OpKind;
use proptest::prelude::*;

fn op(offset: u64, len: u64) -> Op {
    Op::new(OpKind::Write, 0, 5).range(offset, len).generation(1)
}

fn block(content: &Content, offset: u64, len: usize) -> Vec<u8> {
    let mut out = vec![1; len];
    Payload::of_content(3, content, None).fill_op(&op(offset, len as u64), 0, &mut out);
    out
}

fn of(kind: ContentKind) -> Content {
    Content { kind, ..Content::default() }
}

fn pattern() -> ContentKind {
    ContentKind::Pattern(vec![PatternPiece::Hex("1122334455".into())])
}

/// Offsets and lengths of runs of at least four zeros.
fn zeros(bytes: &[u8]) -> Vec<(usize, usize)> {
    let mut runs = Vec::new();
    let mut at = 0;
    for run in bytes.chunk_by(|a, b| (*a == 0) == (*b == 0)) {
        if run[0] == 0 && run.len() > 3 {
            runs.push((at, run.len()));
        }
        at += run.len();
    }
    runs
}

#[test]
fn usual_content_is_the_payload_itself() {
    let mut expected = vec![0; 4096];
    let op = op(8192, 4096);
    Payload::new(3).fill(op.object, op.stream_offset(), &mut expected);
    assert!(block(&Content::default(), 8192, 4096) == expected);
    assert_eq!(Payload::of_content(3, &Content::default(), None), Payload::new(3));
}

#[test]
fn zeros_and_patterns_begin_with_each_block() {
    assert!(block(&of(ContentKind::Zeros), 0, 5000).iter().all(|byte| *byte == 0));
    for offset in [0, 4096] {
        let bytes = block(&of(pattern()), offset, 4096);
        let expected = [0x11, 0x22, 0x33, 0x44, 0x55].into_iter().cycle();
        assert!(bytes.into_iter().eq(expected.take(4096)));
    }
}

/// As fio 3.33 divides blocks with `buffer_compress_percentage`: the remainder of the last chunk is divided separately.
#[test]
fn chunks_end_in_zeros_as_with_fio() {
    let of = |percent, chunk| Content { compress_percent: percent, chunk_bytes: chunk, ..Content::default() };
    let half: Vec<_> = (0..8).map(|chunk| (chunk * 512 + 256, 256)).collect();
    assert_eq!(zeros(&block(&of(50.0, 512), 0, 4096)), half);
    assert_eq!(zeros(&block(&of(30.0, 3072), 4096, 4096)), [(2150, 922), (3788, 308)]);
    assert_eq!(zeros(&block(&of(25.0, 0), 0, 4096)), [(3072, 1024)]);
    assert_eq!(zeros(&block(&of(100.0, 512), 0, 4096)), [(0, 4096)]);
}

/// As with fio: the pattern starts again at the end of each chunk.
#[test]
fn chunks_end_in_the_pattern() {
    let content = Content { compress_percent: 50.0, chunk_bytes: 512, ..of(pattern()) };
    let bytes = block(&content, 0, 4096);
    let fresh = block(&Content::default(), 0, 4096);
    for (chunk, fresh) in bytes.chunks(512).zip(fresh.chunks(512)) {
        assert_eq!(chunk[..256], fresh[..256]);
        assert_eq!(chunk[256..262], [0x11, 0x22, 0x33, 0x44, 0x55, 0x11]);
    }
}

#[test]
fn duplicates_have_their_share() {
    let content = Content { dedupe_percent: 40.0, ..Content::default() };
    let bytes = block(&content, 0, 16 << 20);
    let mut seen = HashMap::new();
    bytes.chunks(4096).for_each(|unit| *seen.entry(unit).or_insert(0) += 1);
    let repeated: u32 = seen.values().filter(|count| **count > 1).sum();
    // 4096 blocks, 1638 expected, with a standard deviation of 31.
    assert!((1480..1800).contains(&repeated), "{repeated}");
    assert!(seen.values().filter(|count| **count > 1).count() <= 256);
}

fn any_content() -> impl Strategy<Value = Content> {
    let kind = prop::sample::select(vec![ContentKind::Fresh, ContentKind::Zeros, pattern()]);
    let chunk = prop::sample::select(vec![0, 512, 777, 4096]);
    (kind, 0.0f64..=100.0, chunk, prop::bool::ANY).prop_map(|(kind, percent, chunk_bytes, compress)| {
        Content { compress_percent: if compress { percent } else { 0.0 }, chunk_bytes, ..of(kind) }
    })
}

proptest! {
    #[test]
    fn any_piece_is_a_piece_of_the_block(
        content in any_content(), offset in 0u64..1 << 40, len in 1u64..9000, from: prop::sample::Index, to: prop::sample::Index
    ) {
        let payload = Payload::of_content(3, &content, None);
        let whole = block(&content, offset, len as usize);
        let (from, to) = (from.index(len as usize), to.index(len as usize));
        let (from, to) = (from.min(to), from.max(to) + 1);
        let mut piece = vec![0; to - from];
        payload.fill_op(&op(offset, len), from as u64, &mut piece);
        prop_assert_eq!(&piece, &whole[from..to]);
        prop_assert_eq!(payload.verify_op(&op(offset, len), from as u64, &piece), Ok(()));
        piece[(to - from) / 2] ^= 1;
        prop_assert!(payload.verify_op(&op(offset, len), from as u64, &piece).is_err());
    }
}
