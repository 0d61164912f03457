//! Every operation against a small S3 that checks signatures, digests and checksums, on both backends.

mod s3_support;

use drivers::Secret;
use drivers::s3::{Credentials, PayloadSigning, Removed, S3Config, S3Driver};
use drivers::{Op, Session, Sink};
use metrics::{ErrorKind, OpKind};
use s3_support::{backends, content, context, op, store, with_session};

const PREFIX: &str = "manometer-test/";

#[test]
fn objects_go_there_and_back_in_every_way_of_signing() {
    let sizes = [0u64, 1, 4096, 128 * 1024, 256 * 1024, 256 * 1024 + 1, 1_000_003];
    for choice in backends() {
        for signing in [
            PayloadSigning::Unsigned,
            PayloadSigning::Signed,
            PayloadSigning::CrcTrailer,
            PayloadSigning::Crc32cTrailer,
        ] {
            let (server, store) = store::start();
            let mut config = server.config();
            config.payload_signing = signing;
            config.credentials.session_token = Some(Secret::new("token"));
            with_session(choice, config, &context(Sink::Verify), async |session| {
                for (object, len) in (0u64..).zip(sizes) {
                    let put = session.perform(&op(OpKind::Put, object, len)).await.unwrap();
                    assert_eq!((put.bytes, put.rpcs, put.retries), (len, 1, 0));
                    let key = format!("{PREFIX}{object:016x}");
                    let stored = store.lock().unwrap().objects[&key].clone();
                    assert!(stored == content(object, 0, len as usize), "{signing:?} {len}");
                    let got = session.perform(&op(OpKind::Get, object, len)).await.unwrap();
                    assert_eq!((got.bytes, got.first_byte_ns.is_some()), (len, len > 0));
                }
                let facts = session.facts();
                assert_eq!((facts.connections.len(), facts.retries, facts.reconnects), (1, 0, 0));
            });
            assert_eq!(server.connections(), 1, "keep-alive");
        }
    }
}

#[test]
fn ranges_are_read_and_checked() {
    for choice in backends() {
        for sink in [Sink::Buffer, Sink::Verify, Sink::Discard] {
            let (server, _store) = store::start();
            with_session(choice, server.config(), &context(sink), async |session| {
                session.perform(&op(OpKind::Put, 5, 1_000_000)).await.unwrap();
                for (offset, len) in [(0, 1), (0, 1_000_000), (999_999, 1), (12_345, 300_000), (7, 0)] {
                    let done = session.perform(&Op { offset, ..op(OpKind::Read, 5, len) }).await.unwrap();
                    assert_eq!(done.bytes, len);
                }
                let short = session.perform(&Op { offset: 999_990, ..op(OpKind::Read, 5, 20) }).await;
                assert_eq!(short.unwrap_err().kind, ErrorKind::Length);
                let beyond = session.perform(&Op { offset: 2_000_000, ..op(OpKind::Read, 5, 20) }).await;
                assert_eq!(beyond.unwrap_err().kind, ErrorKind::Length);
            });
        }
    }
}

#[test]
fn a_get_checks_length_and_content() {
    for choice in backends() {
        let (server, store) = store::start();
        with_session(choice, server.config(), &context(Sink::Verify), async |session| {
            session.perform(&op(OpKind::Put, 1, 50_000)).await.unwrap();
            for wrong in [49_999, 50_001] {
                let error = session.perform(&op(OpKind::Get, 1, wrong)).await.unwrap_err();
                assert_eq!(error.kind, ErrorKind::Length, "{error}");
                assert!(error.detail.contains("50000 bytes long"), "{error}");
            }
            store.lock().unwrap().objects.get_mut(&format!("{PREFIX}{:016x}", 1)).unwrap()[40_000] ^= 1;
            let error = session.perform(&op(OpKind::Get, 1, 50_000)).await.unwrap_err();
            assert_eq!(error.kind, ErrorKind::Corrupt);
            assert!(error.detail.contains("1 bit differs at byte 40000"), "{error}");
            let error = session.perform(&op(OpKind::Get, 9, 1)).await.unwrap_err();
            assert_eq!(error.kind, ErrorKind::NotFound);
            assert!(
                error.detail.contains("NoSuchKey")
                    && error.detail.contains("s3://bucket/manometer-test/0000000000000009"),
                "{error}"
            );
        });
    }
}

#[test]
fn an_older_generation_is_told_from_what_was_written() {
    for choice in backends() {
        let (server, store) = store::start();
        let mut config = server.config();
        config.part_size = 5 << 20;
        with_session(choice, config, &context(Sink::Verify), async |session| {
            // One simple put, and one in parts; existing keys are overwritten.
            for len in [100_000, 11 << 20] {
                let put = |generation| Op { generation, ..op(OpKind::Put, 1, len) };
                let get = |generation| Op { kind: OpKind::Get, ..put(generation) };
                session.perform(&put(1)).await.unwrap();
                session.perform(&get(1)).await.unwrap();
                let error = session.perform(&get(2)).await.unwrap_err();
                assert_eq!(error.kind, ErrorKind::Corrupt);
                assert!(error.detail.contains("are generation 1 of this place instead of 2"), "{error}");
                session.perform(&put(2)).await.unwrap();
                session.perform(&get(2)).await.unwrap();
                let read = Op { offset: 50_001, len: 20_000, kind: OpKind::Read, ..put(2) };
                session.perform(&read).await.unwrap();
                // Part of the previous object, as a lost write would leave it.
                let key = format!("{PREFIX}{:016x}", 1);
                store.lock().unwrap().objects.get_mut(&key).unwrap()[61_440..65_536]
                    .copy_from_slice(&content(1, 1 << 48 | 61_440, 4096));
                let error = session.perform(&read).await.unwrap_err();
                assert_eq!(error.kind, ErrorKind::Corrupt);
                assert!(error.detail.contains("from byte 61440 on are generation 1 of this"), "{error}");
            }
            assert_eq!(session.facts().reconnects, 0, "damage does not cost the connection");
        });
    }
}

#[test]
fn objects_that_are_there_are_adopted() {
    let (server, store) = store::start();
    let driver = S3Driver::new(server.config()).unwrap();
    store.lock().unwrap().objects.insert("somebody/else".into(), vec![1]);
    let error = driver.adopt().unwrap_err();
    assert_eq!(error.kind, ErrorKind::NotFound);
    assert!(error.detail.contains("nothing lies under manometer-test/"), "{error}");
    store.lock().unwrap().objects.insert(format!("{PREFIX}{:016x}", 1), vec![1]);
    driver.adopt().unwrap();
}

#[test]
fn payload_is_dropped_in_the_kernel_and_counted() {
    for choice in backends() {
        let (server, _store) = store::start();
        with_session(choice, server.config(), &context(Sink::Discard), async |session| {
            for len in [0, 1, 4096, 20_000, 3_000_000] {
                session.perform(&op(OpKind::Put, 1, len)).await.unwrap();
                for _ in 0..3 {
                    let done = session.perform(&op(OpKind::Get, 1, len)).await.unwrap();
                    assert_eq!((done.bytes, done.first_byte_ns.is_some()), (len, len > 0));
                }
                let error = session.perform(&op(OpKind::Get, 1, len + 1)).await.unwrap_err();
                assert_eq!(error.kind, ErrorKind::Length);
            }
        });
    }
}

#[test]
fn stat_delete_list_and_the_rest() {
    for choice in backends() {
        let (server, store) = store::start();
        with_session(choice, server.config(), &context(Sink::Buffer), async |session| {
            for object in 0..7 {
                session.perform(&op(OpKind::Put, object, 10)).await.unwrap();
            }
            store.lock().unwrap().objects.insert("manometer-testing/other".into(), vec![1]);
            assert_eq!(session.perform(&op(OpKind::Stat, 3, 10)).await.unwrap().rpcs, 1);
            let listed = session.perform(&op(OpKind::List, 0, 0)).await.unwrap();
            assert_eq!(listed.rpcs, 3, "seven keys in pages of {}", store::PAGE);
            session.perform(&op(OpKind::Delete, 3, 0)).await.unwrap();
            session.perform(&op(OpKind::Remove, 4, 0)).await.unwrap();
            assert_eq!(
                session.perform(&op(OpKind::Stat, 3, 10)).await.unwrap_err().kind,
                ErrorKind::NotFound
            );
            for kind in [OpKind::Write, OpKind::Create, OpKind::Commit] {
                assert_eq!(session.perform(&op(kind, 1, 10)).await.unwrap_err().kind, ErrorKind::Rejected);
            }
        });
        assert_eq!(store.lock().unwrap().objects.len(), 6);
        assert_eq!(server.connections(), 1, "errors with a whole answer keep the connection");
    }
}

#[test]
fn large_objects_go_up_in_parts() {
    let len = 11 * (1 << 20) + 5;
    for choice in backends() {
        for signing in [PayloadSigning::Unsigned, PayloadSigning::CrcTrailer] {
            let (server, store) = store::start();
            let mut config = server.config();
            config.part_size = 5 << 20;
            config.payload_signing = signing;
            with_session(choice, config, &context(Sink::Verify), async |session| {
                let done = session.perform(&op(OpKind::Put, 2, len)).await.unwrap();
                assert_eq!((done.bytes, done.rpcs), (len, 5), "begin, three parts, complete");
                session.perform(&op(OpKind::Get, 2, len)).await.unwrap();
            });
            let state = store.lock().unwrap();
            assert!(state.uploads.is_empty());
            assert!(state.objects[&format!("{PREFIX}{:016x}", 2)] == content(2, 0, len as usize));
        }
    }
}

#[test]
fn many_lanes_have_a_connection_each() {
    for choice in backends() {
        let (server, _store) = store::start();
        let mut many = context(Sink::Verify);
        many.lanes = 8;
        let driver = S3Driver::new(server.config()).unwrap();
        let reactor = reactor::Reactor::open(choice).unwrap();
        let session = reactor.block_on(drivers::Driver::connect(&driver, &reactor, &many)).unwrap();
        let session = &session;
        let lanes = (0..8u32)
            .map(|lane| async move {
                for round in 0..5u64 {
                    let op = Op { lane, ..op(OpKind::Put, u64::from(lane) << 8 | round, 200_000) };
                    session.perform(&op).await.unwrap();
                    session.perform(&Op { kind: OpKind::Get, ..op }).await.unwrap();
                }
            })
            .collect();
        assert_eq!(reactor.run_lanes(lanes, std::future::pending()), 0);
        assert_eq!(session.facts().connections.len(), 8);
        assert_eq!(server.connections(), 8);
    }
}

#[test]
fn clean_up_removes_what_is_ours_and_nothing_else() {
    let (server, store) = store::start();
    let driver = S3Driver::new(server.config()).unwrap();
    driver.check_bucket().unwrap();
    {
        let mut state = store.lock().unwrap();
        for object in 0..8u64 {
            state.objects.insert(driver.key(object), vec![0; object as usize]);
        }
        state.objects.insert("manometer-testing/a".into(), vec![1]);
        state.objects.insert("other".into(), vec![1]);
        state.uploads.insert("u1".into(), (driver.key(9), Default::default()));
    }
    let mut listed = Vec::new();
    let count = driver.list_prefix(|key, size| listed.push((key.to_owned(), size))).unwrap();
    assert_eq!((count, listed.len()), (8, 8));
    assert_eq!(listed[5], (driver.key(5), 5));
    assert_eq!(driver.remove_all().unwrap(), Removed { objects: 8, uploads: 1 });
    assert_eq!(driver.remove_all().unwrap(), Removed::default());
    let state = store.lock().unwrap();
    assert_eq!(state.objects.keys().collect::<Vec<_>>(), ["manometer-testing/a", "other"]);
    assert!(state.uploads.is_empty());
}

#[test]
fn clean_up_refuses_what_is_not_ours_even_when_the_server_lists_it() {
    let (server, store) = store::start();
    let driver = S3Driver::new(server.config()).unwrap();
    // This server lists uploads regardless of the prefix.
    store.lock().unwrap().uploads.insert("u1".into(), ("somebody-else".into(), Default::default()));
    let error = driver.remove_all().unwrap_err();
    assert!(error.detail.contains("somebody-else"), "{error}");
    assert_eq!(store.lock().unwrap().uploads.len(), 1);
}

#[test]
fn wrong_keys_are_refused_in_one_clear_line() {
    let (server, _store) = store::start();
    let mut config = server.config();
    config.credentials = Credentials::new("AK", "hunter2");
    let error = S3Driver::new(config.clone()).unwrap().check_bucket().unwrap_err();
    assert_eq!(error.kind, ErrorKind::AccessDenied);
    for word in ["bucket \"bucket\"", "SignatureDoesNotMatch", "secret key", "access key AK"] {
        assert!(error.detail.contains(word), "{error}");
    }
    assert!(!error.detail.contains('\n') && !error.detail.contains("hunter2"), "{error}");
    for choice in backends() {
        with_session(choice, config.clone(), &context(Sink::Buffer), async |session| {
            let error = session.perform(&op(OpKind::Put, 1, 3_000_000)).await.unwrap_err();
            assert_eq!(error.kind, ErrorKind::AccessDenied, "{error}");
            assert!(error.detail.contains("SignatureDoesNotMatch"), "{error}");
        });
    }
}

#[test]
fn settings_that_cannot_work_are_refused() {
    let (server, _store) = store::start();
    type Change = fn(&mut S3Config);
    let changes: [(Change, &str); 4] = [
        (|config| config.prefix = "/".into(), "prefix"),
        (|config| config.bucket = "a/b".into(), "\"a/b\""),
        (|config| config.part_size = 1, "part size 1"),
        (|config| config.endpoint = "http://nosuchhost.invalid".parse().unwrap(), "nosuchhost.invalid"),
    ];
    for (change, word) in changes {
        let mut config = server.config();
        change(&mut config);
        let error = S3Driver::new(config).unwrap_err();
        assert!(error.detail.contains(word), "{error}");
    }
}
