//! Blocks stored as separate objects, as with fio's http engine, against a small S3 that checks signatures.
#![allow(clippy::unwrap_used)]

mod s3_support;

use content::{Check, CheckMethod, Content};
use drivers::s3::S3Config;
use drivers::{Op, Payload, Session, Sink, WorkerContext};
use metrics::{ErrorKind, OpKind};
use s3_support::{backends, context, store, with_session};

/// Two files, one with a path of several parts.
fn blocks(config: S3Config) -> S3Config {
    let names = [(0, "one".to_owned()), (1 << 32, "dir/two".to_owned())];
    S3Config { blocks: Some(names.into()), ..config }
}

fn op(kind: OpKind, object: u64, offset: u64, len: u64) -> Op {
    Op::new(kind, 0, object).range(offset, len)
}

#[test]
fn each_block_is_an_object() {
    for choice in backends() {
        let (server, store) = store::start();
        with_session(choice, blocks(server.config()), &context(Sink::Verify), async |session| {
            for (object, offset) in [(0, 0), (0, 4096), (1 << 32, 8192)] {
                let put = session.perform(&op(OpKind::Write, object, offset, 4096)).await.unwrap();
                assert_eq!((put.bytes, put.rpcs), (4096, 1));
                let got = session.perform(&op(OpKind::Read, object, offset, 4096)).await.unwrap();
                assert_eq!((got.bytes, got.rpcs), (4096, 1));
            }
            let keys: Vec<String> = store.lock().unwrap().objects.keys().cloned().collect();
            assert_eq!(keys, ["dir/two_8192_4096", "one_0_4096", "one_4096_4096"]);
            let mut content = vec![0; 4096];
            Payload::new(s3_support::PAYLOAD_SEED).fill(0, 4096, &mut content);
            assert!(store.lock().unwrap().objects["one_4096_4096"] == content);

            // Trims delete; trimming a missing object succeeds.
            for _ in 0..2 {
                session.perform(&op(OpKind::Trim, 0, 0, 4096)).await.unwrap();
            }
            assert!(!store.lock().unwrap().objects.contains_key("one_0_4096"));
            let done = session.perform(&op(OpKind::Commit, 0, 0, 0)).await.unwrap();
            assert_eq!(done.rpcs, 0);
            let stat = session.perform(&op(OpKind::Stat, 0, 0, 4096)).await.unwrap_err();
            assert_eq!(stat.kind, ErrorKind::Rejected);
        });
    }
}

#[test]
fn what_was_never_written_reads_as_zeros() {
    let read = op(OpKind::Read, 0, 0, 4096);
    for (sink, right) in [(Sink::Buffer, true), (Sink::Verify, false)] {
        let (server, _store) = store::start();
        let result = with_session(backends()[0], blocks(server.config()), &context(sink), async |session| {
            session.perform(&read).await
        });
        match result {
            Ok(done) => assert!(right && done.bytes == 4096),
            Err(error) => {
                assert!(!right && error.kind == ErrorKind::Corrupt);
                assert!(error.detail.contains("s3://bucket/one_0_4096"), "{error}");
            }
        }
    }
}

#[test]
fn sums_are_compared_when_the_whole_block_is_there() {
    let check = Check { method: CheckMethod::Sha1, interval_bytes: 4096, ..Check::default() };
    let payload = Payload::of_content(1, &Content::default(), Some(&check));
    let context = WorkerContext { payload, ..context(Sink::Verify) };
    for choice in backends() {
        let (server, store) = store::start();
        with_session(choice, blocks(server.config()), &context, async |session| {
            let write = op(OpKind::Write, 0, 0, 1 << 20);
            session.perform(&write).await.unwrap();
            let read = Op { kind: OpKind::Read, ..write };
            session.perform(&read).await.unwrap();
            store.lock().unwrap().objects.get_mut("one_0_1048576").unwrap()[700_000] ^= 4;
            let error = session.perform(&read).await.unwrap_err();
            assert_eq!(error.kind, ErrorKind::Corrupt);
            assert!(error.detail.contains("1 byte differs from byte 700000 on"), "{error}");
        });
    }
}
