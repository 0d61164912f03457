//! The receiving side without sockets: any segmentation of the stream gives the same replies, and malformed bytes can
//! do no more than end calls with an error.

use std::time::Duration;

use metrics::ErrorKind;
use proptest::prelude::*;
use reactor::{Reactor, clock};
use wire::nfs3::{
    Attributes, CommitOk, FileHandle, LookupOk, NfsFailure, ProcedureResult, ReadOk, Status, WccData,
};
use wire::rpc::{LAST_FRAGMENT, ReplyHeader};
use wire::xdr::Encode;

use super::calls::{Came, Expect, Reply};
use super::incoming::{Garbage, Incoming};
use super::slots::{Answer, Piece, Table};
use crate::{Payload, Sink};

const PAYLOAD: Payload = Payload::new(9);
const CALLS: u32 = 6;
const READ_LEN: u32 = 3001;
const LIMIT: usize = 64 * 1024;

/// A table with a call in every slot: READ, LOOKUP, COMMIT, READ, LOOKUP, COMMIT.
fn table(reactor: &Reactor) -> Table {
    let mut table = Table::new(CALLS, 0, 1024, || reactor.signal());
    for index in 0..CALLS {
        let slot = &mut table.slots[index as usize];
        slot.message = vec![0; 64];
        slot.expect = match index % 3 {
            0 => Expect::Read(Piece {
                object: u64::from(index),
                offset: 77,
                len: READ_LEN,
                generation: 3,
                block_offset: 77,
                block_len: u64::from(READ_LEN),
            }),
            1 => Expect::Lookup,
            _ => Expect::Commit,
        };
        table.begin(index);
    }
    table
}

fn fragments(record: &[u8], len: usize, out: &mut Vec<u8>) {
    for (index, piece) in record.chunks(len).enumerate() {
        let last = if (index + 1) * len >= record.len() { LAST_FRAGMENT } else { 0 };
        out.extend((piece.len() as u32 | last).to_be_bytes());
        out.extend(piece);
    }
}

/// Correct replies to all calls, in the order of `order`, in fragments of `len` bytes.
fn replies(table: &Table, order: &[u32], len: usize) -> Vec<u8> {
    let mut out = Vec::new();
    for &index in order {
        let slot = &table.slots[index as usize];
        let mut record = Vec::new();
        ReplyHeader::success(slot.xid).encode(&mut record);
        match slot.expect {
            Expect::Read(piece) => {
                let mut data = vec![0; piece.len as usize];
                PAYLOAD.fill_op(&piece.op(), piece.at(), &mut data);
                let ok = ReadOk { attributes: None, count: piece.len, eof: false, data: &data };
                ProcedureResult::<ReadOk, Option<Attributes>>::Ok(ok).encode(&mut record);
            }
            Expect::Lookup => {
                let ok = LookupOk { file: FileHandle::EMPTY, attributes: None, directory: None };
                ProcedureResult::<LookupOk, Option<Attributes>>::Ok(ok).encode(&mut record);
            }
            _ => {
                let failure = NfsFailure { status: Status::IO, detail: WccData::default() };
                ProcedureResult::<CommitOk, WccData>::Err(failure).encode(&mut record);
            }
        }
        fragments(&record, len, &mut out);
    }
    out
}

/// Feeds the stream in pieces that end at `cuts`, discarding payload unseen where allowed.
fn feed(table: &mut Table, sink: Sink, stream: &[u8], cuts: &[usize]) -> Result<(), Garbage> {
    let mut incoming = Incoming::new(LIMIT, PAYLOAD, sink);
    let mut at = 0;
    for &cut in cuts.iter().chain([&stream.len()]) {
        if cut > at {
            incoming.feed(&stream[at..cut], table, 1)?;
            at = cut;
        }
        let dropped = incoming.discardable().min(stream.len() - at);
        incoming.discarded(dropped);
        at += dropped;
        incoming.feed(&[], table, 1)?;
    }
    Ok(())
}

proptest! {
    #[test]
    fn any_cut_of_the_stream_gives_the_same_answers(
        order in Just((0..CALLS).collect::<Vec<_>>()).prop_shuffle(),
        fragment in prop_oneof![1usize..64, 1000usize..5000],
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..20),
        sink in prop_oneof![Just(Sink::Buffer), Just(Sink::Verify), Just(Sink::Discard)],
    ) {
        let reactor = Reactor::simulated();
        let mut table = table(&reactor);
        let stream = replies(&table, &order, fragment);
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(stream.len())).collect();
        cuts.sort_unstable();
        prop_assert_eq!(feed(&mut table, sink, &stream, &cuts), Ok(()));
        prop_assert!(table.is_idle());
        prop_assert_eq!((table.large_reads, table.late_replies), (0, 0));
        for slot in &table.slots {
            let expected = match slot.expect {
                Expect::Read(_) => Answer::Reply(Reply::Read(Came { bytes: READ_LEN, eof: false })),
                Expect::Lookup => Answer::Reply(Reply::Lookup(None)),
                _ => Answer::Status(Status::IO),
            };
            prop_assert_eq!(slot.answer.as_ref(), Some(&expected));
        }
    }
}

#[test]
fn replies_to_calls_that_were_given_up_are_late() {
    let reactor = Reactor::simulated();
    let mut table = table(&reactor);
    let stream = replies(&table, &[0, 1, 2, 3, 4, 5], 700);
    for index in 0..CALLS {
        table.release(index);
    }
    // Slot 1 is in use again, with another transaction id.
    table.begin(1);
    assert_eq!(feed(&mut table, Sink::Verify, &stream, &[5, 1000, 2000]), Ok(()));
    assert_eq!(table.late_replies, u64::from(CALLS));
    assert!(table.slots[1].waiting && table.slots[1].answer.is_none());
    // The same again, abandoned while the payload is arriving.
    let mut table = self::table(&reactor);
    let stream = replies(&table, &[0], 10_000);
    let mut incoming = Incoming::new(LIMIT, PAYLOAD, Sink::Verify);
    assert_eq!(incoming.feed(&stream[..500], &mut table, 1), Ok(()));
    table.release(0);
    assert_eq!(incoming.feed(&stream[500..], &mut table, 1), Ok(()));
    assert_eq!(table.late_replies, 1);
}

#[test]
fn a_call_nobody_made_is_garbage() {
    let reactor = Reactor::simulated();
    let mut table = table(&reactor);
    let mut record = Vec::new();
    ReplyHeader::success(table.slots[0].xid.wrapping_sub(1 << 30)).encode(&mut record);
    let mut stream = Vec::new();
    fragments(&record, 100, &mut stream);
    let Err(Garbage(text)) = feed(&mut table, Sink::Buffer, &stream, &[]) else { panic!("it was accepted") };
    assert!(text.contains("was never made"), "{text}");
}

/// Valid streams with some bytes changed, for a time (`MANOMETER_FUZZ_SECONDS`, default 1). The seed reproduces a
/// failing case.
#[test]
fn fuzzed_streams_only_end_calls() {
    let seconds = std::env::var("MANOMETER_FUZZ_SECONDS").ok().and_then(|text| text.parse().ok());
    let end = clock::now_ns() + Duration::from_secs_f64(seconds.unwrap_or(1.0)).as_nanos() as u64;
    let reactor = Reactor::simulated();
    let mut seed = 0x696e_6300_0000_0000;
    while clock::now_ns() < end {
        seed += 1;
        let mut random = fastrand::Rng::with_seed(seed);
        let mut table = table(&reactor);
        let mut order: Vec<u32> = (0..CALLS).collect();
        random.shuffle(&mut order);
        let mut stream = replies(&table, &order, random.usize(1..6000));
        for _ in 0..random.usize(0..6) {
            let at = random.usize(0..stream.len() - 4);
            match random.u8(0..4) {
                0 => stream[at] = random.u8(..),
                1 => stream[at & !3..][..4].copy_from_slice(&random.u32(..).to_be_bytes()),
                2 => {
                    stream.drain(at..at + 4);
                }
                _ => stream.truncate(at.max(100)),
            }
        }
        let mut cuts: Vec<usize> = (0..random.usize(0..6)).map(|_| random.usize(0..stream.len())).collect();
        cuts.sort_unstable();
        let sink = [Sink::Buffer, Sink::Verify, Sink::Discard][random.usize(0..3)];
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let _ = feed(&mut table, sink, &stream, &cuts);
            for slot in table.slots.iter().filter(|slot| !slot.waiting) {
                let Some(answer) = &slot.answer else { panic!("a call ended without an answer") };
                if let (Answer::Failed(kind, _), Sink::Verify) = (answer, sink) {
                    let kinds = [
                        ErrorKind::Protocol,
                        ErrorKind::Corrupt,
                        ErrorKind::Length,
                        ErrorKind::Rejected,
                        ErrorKind::AccessDenied,
                        ErrorKind::ServerFault,
                    ];
                    assert!(kinds.contains(kind), "{kind}");
                }
            }
        }));
        assert!(outcome.is_ok(), "failing seed {seed:#x}");
    }
}
