//! The hot path does not allocate: once its buffers are warm, a read, write or commit takes no memory from the allocator.

#![allow(clippy::unwrap_used)] // a test may fail loudly

#[allow(dead_code, reason = "shared with tests that also look at sizes")]
#[path = "../../wire/tests/nfs_codecs/alloc.rs"]
mod alloc;

use std::time::Duration;

use content::FileNames;
use drivers::file::{FileConfig, FileDriver, Hint, NamedFiles, Place};
use drivers::{Driver, Op, Payload, Session, Sink, WorkerContext};
use metrics::OpKind;
use reactor::{BackendChoice, Reactor};

#[test]
fn warm_operations_allocate_nothing() {
    const LEN: u64 = 16_384;
    const DISK: &str = env!("CARGO_TARGET_TMPDIR");
    const MEMORY: &str = "/dev/shm";
    for (choice, direct, directory) in [
        (BackendChoice::Uring, false, DISK),
        (BackendChoice::Uring, true, DISK),
        (BackendChoice::polling(false, true), true, DISK),
        (BackendChoice::Epoll, false, DISK),
        (BackendChoice::Epoll, true, DISK),
        (BackendChoice::Uring, false, MEMORY),
    ] {
        for sink in [Sink::Buffer, Sink::Verify] {
            let place = tempfile::tempdir_in(directory).unwrap();
            let mut config = FileConfig::new(Place::Directory(place.path().join("ours")));
            config.direct = direct;
            let driver = FileDriver::new(config).unwrap();
            driver.prepare().unwrap();
            let reactor = Reactor::open(choice).unwrap();
            let limit = Duration::from_secs(60);
            let payload = Payload::new(7);
            let context = WorkerContext {
                worker: 0,
                lanes: 4,
                payload,
                sink,
                op_timeout: limit,
                connect_timeout: limit,
            };
            reactor.block_on(async {
                let session = driver.connect(&reactor, &context).await.unwrap();
                let op = |kind, object| Op::new(kind, 1, object).range(LEN, LEN);
                for object in 0..3 {
                    session.perform(&op(OpKind::Create, object)).await.unwrap();
                }
                let round = async || {
                    let before = alloc::calls();
                    for object in 0..3 {
                        for kind in [
                            OpKind::Write,
                            OpKind::Commit,
                            OpKind::Read,
                            OpKind::Stat,
                            OpKind::Trim,
                            OpKind::Open,
                            OpKind::Close,
                            OpKind::Write,
                        ] {
                            session.perform(&op(kind, object)).await.unwrap();
                        }
                        // tmpfs has had those of users only since Linux 6.6.
                        for kind in [OpKind::Setxattr, OpKind::Getxattr] {
                            if directory == DISK {
                                session.perform(&op(kind, object)).await.unwrap();
                            }
                        }
                    }
                    alloc::calls() - before
                };
                for _ in 0..20 {
                    round().await;
                }
                for _ in 0..20 {
                    assert_eq!(round().await, 0, "{choice} direct {direct} {sink:?} {directory}");
                }
            });
        }
    }
}

/// Allocations of a round of creating, stat-ing and removing files, once everything is warm, and of the stats alone.
fn churn(choice: BackendChoice, place: Place) -> (usize, usize) {
    let driver = FileDriver::new(FileConfig::new(place)).unwrap();
    driver.prepare().unwrap();
    let reactor = Reactor::open(choice).unwrap();
    let limit = Duration::from_secs(60);
    let context = WorkerContext {
        worker: 0,
        lanes: 2,
        payload: Payload::new(7),
        sink: Sink::Buffer,
        op_timeout: limit,
        connect_timeout: limit,
    };
    reactor.block_on(async {
        let session = driver.connect(&reactor, &context).await.unwrap();
        let (mut in_round, mut in_stat) = (0, 0);
        for round in 0..40 {
            let before = alloc::calls();
            for object in 0..3 {
                for kind in [OpKind::Create, OpKind::Stat, OpKind::Remove] {
                    let op = Op::new(kind, 1, object);
                    let before = alloc::calls();
                    session.perform(&op).await.unwrap();
                    if round >= 20 && kind == OpKind::Stat {
                        in_stat += alloc::calls() - before;
                    }
                }
            }
            in_round = alloc::calls() - before;
        }
        (in_round, in_stat)
    })
}

/// A mix over files that the user listed: object `n` is the `n`-th of the list.
#[test]
fn warm_operations_on_listed_files_allocate_nothing() {
    const LEN: u64 = 4096;
    for choice in [BackendChoice::Uring, BackendChoice::Epoll] {
        let place = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let outside = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let listed: Vec<String> = vec![
            "db1.dat".to_owned(),
            "./db2.dat".to_owned(),
            outside.path().join("db3.dat").display().to_string(),
        ];
        for name in &listed {
            std::fs::write(place.path().join(name), vec![7; 4 * LEN as usize]).unwrap();
        }
        let named = NamedFiles {
            directory: place.path().to_owned(),
            job: String::new(),
            names: FileNames { listed, ..FileNames::default() },
            write: true,
            create: false,
            hint: Hint::Random,
        };
        let driver =
            FileDriver::new(FileConfig { open_files: 6, ..FileConfig::new(Place::Named(named)) }).unwrap();
        let reactor = Reactor::open(choice).unwrap();
        let limit = Duration::from_secs(60);
        let context = WorkerContext {
            worker: 0,
            lanes: 4,
            payload: Payload::new(7),
            sink: Sink::Buffer,
            op_timeout: limit,
            connect_timeout: limit,
        };
        reactor.block_on(async {
            let session = driver.connect(&reactor, &context).await.unwrap();
            let round = async || {
                let before = alloc::calls();
                for object in 0..3 {
                    for kind in [OpKind::Write, OpKind::Read, OpKind::Commit, OpKind::Stat] {
                        let op = Op::new(kind, 1, object).range(LEN, LEN);
                        session.perform(&op).await.unwrap();
                    }
                }
                alloc::calls() - before
            };
            for _ in 0..20 {
                round().await;
            }
            for _ in 0..20 {
                assert_eq!(round().await, 0, "{choice}");
            }
        });
    }
}

#[test]
fn names_of_files_take_no_memory() {
    for choice in [BackendChoice::Uring, BackendChoice::Epoll] {
        let place = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let numbered = churn(choice, Place::Directory(place.path().join("ours")));
        let names =
            FileNames { directories: vec![place.path().display().to_string()], ..FileNames::default() };
        let named = NamedFiles {
            directory: place.path().to_owned(),
            job: "a job".to_owned(),
            names,
            write: true,
            create: true,
            hint: Hint::None,
        };
        let named = churn(choice, Place::Named(named));
        assert_eq!((numbered.1, named.1), (0, 0), "{choice}: a name is no reason to allocate");
        // Each open file is one allocation.
        assert!(numbered.0 <= 3 && named.0 == numbered.0, "{choice}: {numbered:?} {named:?}");
    }
}
