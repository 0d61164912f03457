//! Blocks as written by fio: those in `data/fio`, from fio 3.33, are reproduced and compared bit by bit.
#![allow(clippy::unwrap_used)]

use std::path::Path;

use content::{Check, CheckMethod, Content, PatternPiece};
use drivers::{Damaged, Op, Payload};
use metrics::OpKind;
use proptest::prelude::*;

/// The methods that leave a header, and the names of their files.
const MARKED: [(&str, CheckMethod); 15] = [
    ("md5", CheckMethod::Md5),
    ("crc64", CheckMethod::Crc64),
    ("crc32c", CheckMethod::Crc32c),
    ("crc32", CheckMethod::Crc32),
    ("crc16", CheckMethod::Crc16),
    ("crc7", CheckMethod::Crc7),
    ("xxhash", CheckMethod::Xxhash),
    ("sha1", CheckMethod::Sha1),
    ("sha256", CheckMethod::Sha256),
    ("sha512", CheckMethod::Sha512),
    ("sha3-224", CheckMethod::Sha3_224),
    ("sha3-256", CheckMethod::Sha3_256),
    ("sha3-384", CheckMethod::Sha3_384),
    ("sha3-512", CheckMethod::Sha3_512),
    ("meta", CheckMethod::Meta),
];

/// A file of blocks, and how they were written.
struct Blocks {
    name: &'static str,
    bytes: Vec<u8>,
    block: usize,
    check: Check,
}

fn hex(digits: &str) -> PatternPiece {
    PatternPiece::Hex(digits.into())
}

/// `0xff%o"ab"`.
fn pattern() -> Vec<PatternPiece> {
    vec![hex("ff"), PatternPiece::Offset, hex("6162")]
}

fn check(method: CheckMethod, pattern: Vec<PatternPiece>) -> Check {
    Check { method, pattern, ..Check::default() }
}

fn blocks(name: &'static str, block: usize, check: Check) -> Blocks {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/fio").join(format!("{name}.bin"));
    Blocks { name, bytes: std::fs::read(path).unwrap(), block, check }
}

/// All that can be reproduced: their bytes around the headers are a pattern.
fn with_patterns() -> Vec<Blocks> {
    let mut all: Vec<Blocks> =
        MARKED.iter().map(|(name, method)| blocks(name, 512, check(*method, pattern()))).collect();
    let of = |method| check(method, pattern());
    all.push(blocks("pattern", 512, of(CheckMethod::Pattern)));
    all.push(blocks("pattern-odd", 512, check(CheckMethod::Pattern, vec![hex("fedcb")])));
    all.push(blocks("interval", 1024, Check { interval_bytes: 512, ..of(CheckMethod::Crc32c) }));
    all.push(blocks("offset", 512, Check { header_offset: 200, ..of(CheckMethod::Md5) }));
    let both = Check { interval_bytes: 512, header_offset: 60, ..of(CheckMethod::Xxhash) };
    all.push(blocks("offset-interval", 1024, both));
    all
}

fn with_fresh_bytes() -> Vec<Blocks> {
    let of = |method| check(method, Vec::new());
    vec![
        blocks("random-crc32c", 512, of(CheckMethod::Crc32c)),
        blocks("random-sha256", 608, of(CheckMethod::Sha256)),
        blocks("random-sha512", 1000, of(CheckMethod::Sha512)),
        blocks("random-meta", 512, of(CheckMethod::Meta)),
    ]
}

fn op(object: u64, offset: u64, len: usize, generation: u32) -> Op {
    Op::new(OpKind::Write, 0, object).range(offset, len as u64).generation(generation)
}

fn payload(check: &Check) -> Payload {
    Payload::of_content(42, &Content::default(), Some(check))
}

fn each_block(blocks: &Blocks) -> impl Iterator<Item = (Op, &[u8])> {
    let chunks = blocks.bytes.chunks(blocks.block).enumerate();
    chunks.map(|(at, bytes)| (op(0, (at * blocks.block) as u64, blocks.block, Op::ANY_GENERATION), bytes))
}

/// Bytes of a block that fio and we write differently: seed, time, thread and write number, and the header's own
/// checksum.
fn is_the_writers(blocks: &Blocks, at: usize) -> bool {
    let interval = if blocks.check.interval_bytes == 0 { blocks.block } else { 512 };
    let in_header = (at % interval).wrapping_sub(blocks.check.header_offset as usize);
    blocks.check.method.header_bytes() > 0 && matches!(in_header, 8..16 | 24..40)
}

#[test]
fn what_fio_wrote_is_what_was_expected() {
    for blocks in with_patterns().iter().chain(&with_fresh_bytes()) {
        for (op, bytes) in each_block(blocks) {
            assert_eq!(payload(&blocks.check).verify_op(&op, 0, bytes), Ok(()), "{} {op:?}", blocks.name);
        }
    }
}

#[test]
fn what_we_write_is_what_fio_writes() {
    for blocks in with_patterns() {
        for (op, theirs) in each_block(&blocks) {
            let mut ours = vec![0; blocks.block];
            payload(&blocks.check).fill_op(&op, 0, &mut ours);
            for (at, (ours, theirs)) in ours.iter().zip(theirs).enumerate() {
                assert!(
                    ours == theirs || is_the_writers(&blocks, at),
                    "{} differs at byte {at}",
                    blocks.name
                );
            }
        }
    }
}

/// In fio's sha512 only the first 128 bytes and those of an incomplete last block count; with meta, only the header.
#[test]
fn any_changed_bit_of_what_fio_wrote_is_found() {
    for blocks in with_patterns().iter().chain(&with_fresh_bytes()) {
        let payload = payload(&blocks.check);
        let header = blocks.check.method.header_bytes();
        let (op, bytes) = each_block(blocks).next().unwrap();
        for bit in 0..blocks.block * 8 {
            let mut damaged = bytes.to_vec();
            damaged[bit / 8] ^= 1 << (bit % 8);
            let unseen = match blocks.check.method {
                CheckMethod::Meta => bit / 8 >= header,
                CheckMethod::Sha512 => {
                    let (message, at) = (blocks.block - header, (bit / 8).wrapping_sub(header));
                    let overlaid = message % 128;
                    // The start of the first 128 bytes is overwritten by the last ones.
                    at < overlaid || (128..message - overlaid).contains(&at)
                }
                _ => false,
            };
            assert_eq!(payload.verify_op(&op, 0, &damaged).is_ok(), unseen, "{} bit {bit}", blocks.name);
        }
    }
}

#[test]
fn any_changed_byte_of_what_we_wrote_is_found() {
    for (name, method) in MARKED {
        let check = check(method, Vec::new());
        let (payload, op) = (payload(&check), op(3, 8192, 1000, 7));
        let mut block = vec![0; 1000];
        payload.fill_op(&op, 0, &mut block);
        assert_eq!(payload.verify_op(&op, 0, &block), Ok(()), "{name}");
        for at in 0..block.len() {
            block[at] ^= 0x20;
            // Unused space after a header's checksum is compared, too.
            assert!(payload.verify_op(&op, 0, &block).is_err(), "{name} at {at}");
            block[at] ^= 0x20;
        }
    }
}

#[test]
fn damage_is_named() {
    let check = check(CheckMethod::Crc32c, Vec::new());
    let (payload, op) = (payload(&check), op(3, 8192, 1024, 7));
    let mut good = vec![0; 1024];
    payload.fill_op(&op, 0, &mut good);
    let judged = |op: &Op, data: &[u8]| payload.verify_op(op, 0, data).unwrap_err();

    let mut flipped = good.clone();
    flipped[500] ^= 1;
    let text = judged(&op, &flipped);
    assert!(text.starts_with("block at 8192: the crc32c over its data is "), "{text}");
    assert!(text.contains("; 1 byte differs from byte 8692 on: expected "), "{text}");

    let text = judged(&Op { offset: 4096, ..op }, &good);
    assert_eq!(&*text, "block at 4096: its header is of byte 8192: a misplaced block");
    let text = judged(&Op { generation: 8, ..op }, &good);
    assert!(text.contains("generation 7 of this place instead of 8: a lost write or a stale read"), "{text}");
    let text = judged(&Op { object: 4, ..op }, &good);
    assert!(text.contains("not of this run and file"), "{text}");
    let text = judged(&op, &[0; 1024]);
    assert!(text.contains("zeros in place of its header: never written, or lost"), "{text}");
    let text = judged(&op, &[9; 1024]);
    assert!(text.contains("no header: 0909 in place of acca"), "{text}");
    assert_eq!(payload.verify_op(&Op { generation: Op::ANY_GENERATION, ..op }, 0, &good), Ok(()));
}

#[test]
fn null_sees_nothing_and_sums_need_whole_blocks() {
    let of = |method| payload(&check(method, pattern()));
    assert_eq!(of(CheckMethod::Null).verify_op(&op(0, 0, 512, 0), 0, &[1; 512]), Ok(()));
    assert!(of(CheckMethod::Md5).whole_blocks() && of(CheckMethod::PatternHeader).whole_blocks());
    for method in [CheckMethod::Null, CheckMethod::Pattern, CheckMethod::Fresh] {
        assert!(!of(method).whole_blocks(), "{method:?}");
    }
    let check = check(CheckMethod::PatternHeader, pattern());
    let (payload, op) = (payload(&check), op(0, 0, 512, 0));
    let mut block = [0; 512];
    payload.fill_op(&op, 0, &mut block);
    block[300] ^= 1;
    assert!(payload.verify_op(&op, 0, &block).unwrap_err().contains("differs from byte 300 on"));
}

#[test]
fn what_differs_is_handed_on() {
    static KEPT: std::sync::Mutex<Vec<Damaged>> = std::sync::Mutex::new(Vec::new());
    let keep: &'static (dyn Fn(Damaged) + Send + Sync) = &|damaged| KEPT.lock().unwrap().push(damaged);
    let marked = Check { interval_bytes: 512, ..check(CheckMethod::Md5, Vec::new()) };
    for (check, from, len) in [(marked, 512, 512), (check(CheckMethod::Pattern, pattern()), 0, 2048)] {
        let (payload, op) = (payload(&check).keeping(keep), op(3, 8192, 2048, 7));
        assert!(payload.whole_blocks());
        let mut good = vec![0; 2048];
        payload.fill_op(&op, 0, &mut good);
        payload.verify_op(&op, 0, &good).unwrap();
        let mut bad = good.clone();
        bad[700] ^= 1;
        payload.verify_op(&op, 0, &bad).unwrap_err();
        let [kept] = &*std::mem::take(&mut *KEPT.lock().unwrap()) else { panic!("one is kept") };
        assert_eq!((kept.object, kept.offset), (3, 8192 + from as u64));
        assert_eq!(kept.received, bad[from..from + len]);
        assert_eq!(kept.expected, good[from..from + len]);
    }
}

fn any_check() -> impl Strategy<Value = Check> {
    let method = prop::sample::select(MARKED.map(|(_, method)| method).to_vec());
    let interval = prop::sample::select(vec![0, 512, 1000]);
    let pattern = prop::sample::select(vec![Vec::new(), pattern(), vec![hex("0102030405")]]);
    (method, interval, prop::bool::ANY, 0u64..300, pattern).prop_map(
        |(method, interval_bytes, moved, more, pattern)| {
            let header_offset = if moved { method.header_bytes() as u64 + more } else { 0 };
            Check { method, interval_bytes, header_offset, pattern, ..Check::default() }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn pieces_make_the_whole_block(
        check in any_check(), object: u64, offset in 0u64..1 << 40, len in 512usize..9000, generation in 0u32..65536,
        cuts in prop::collection::vec(0usize..9000, 0..6)
    ) {
        let (payload, op) = (payload(&check), op(object, offset, len, generation));
        let mut whole = vec![0; len];
        payload.fill_op(&op, 0, &mut whole);
        let mut ends: Vec<usize> = cuts.into_iter().map(|cut| cut.min(len)).chain([len]).collect();
        ends.sort_unstable();
        let mut pieces = vec![0; len];
        let mut at = 0;
        for end in ends {
            payload.fill_op(&op, at as u64, &mut pieces[at..end]);
            at = end;
        }
        prop_assert_eq!(&pieces, &whole);
        prop_assert_eq!(payload.verify_op(&op, 0, &whole), Ok(()));
        let any = Op { generation: Op::ANY_GENERATION, ..op };
        prop_assert_eq!(payload.verify_op(&any, 0, &whole), Ok(()));
    }

    #[test]
    fn no_bytes_make_it_panic(check in any_check(), offset: u64, data: Vec<u8>, generation: u32) {
        let op = op(1, offset >> 17, data.len(), generation);
        let _ = payload(&check).verify_op(&op, 0, &data);
    }
}
