//! Every operation in both versions, with the same results.

use array::files::NodeCounts;
use drivers::nfs::{Lookup, NfsConfig, NfsDriver, NfsVersion};
use drivers::tree::{DirectoryTree, TreeLayout};
use drivers::{Op, Session};
use metrics::OpKind;

use crate::fixture::*;

/// Every operation, in an order in which each finds what it needs.
fn all(version: NfsVersion) -> Vec<Op> {
    let of = |kind, object| op(kind, object, 0, 0);
    let opens = [of(OpKind::Open, 1), of(OpKind::Close, 1)];
    let before = [
        of(OpKind::Create, 1),
        op(OpKind::Write, 1, 0, 9000),
        of(OpKind::Commit, 1),
        op(OpKind::Read, 1, 0, 9000),
        of(OpKind::Stat, 1),
    ];
    let after = [
        of(OpKind::Access, 1),
        of(OpKind::Chmod, 1),
        op(OpKind::Truncate, 1, 0, 5000),
        op(OpKind::Append, 1, 5000, 700),
        op(OpKind::WriteFile, 6, 0, 9000),
        Op { durable: true, ..op(OpKind::WriteFile, 7, 0, 9000) },
        op(OpKind::ReadFile, 7, 0, 9000),
        op(OpKind::Overwrite, 7, 0, 9000),
        op(OpKind::TruncateOverwrite, 7, 0, 9000),
        of(OpKind::Link, 1).other(2),
        of(OpKind::Rename, 1).other(3),
        of(OpKind::Symlink, 4).other(3),
        of(OpKind::Readlink, 4),
        of(OpKind::Mkdir, 5),
        of(OpKind::List, 0),
        of(OpKind::Readdir, 0),
        of(OpKind::Rmdir, 5),
        of(OpKind::Remove, 6),
        of(OpKind::Remove, 7),
        of(OpKind::Remove, 4),
        of(OpKind::Remove, 3),
        of(OpKind::Remove, 2),
    ];
    let opens = opens.into_iter().filter(|_| version == NfsVersion::V4_1);
    before.into_iter().chain(opens).chain(after).collect()
}

#[test]
fn every_operation_does_the_same_in_both_versions() {
    for lookup in [Lookup::Cached, Lookup::EachComponent] {
        for tree in [DirectoryTree::default(), DirectoryTree::new(2, 3, TreeLayout::Hashed).unwrap()] {
            let mut seen = Vec::new();
            for version in BOTH {
                let fixture = Fixture::new();
                let config = NfsConfig { lookup, tree, ..fixture.config(version) };
                let driver = NfsDriver::new(config).unwrap();
                driver.prepare(LIMIT).unwrap();
                let made = fixture.counts();
                let reactor = reactor();
                let session = open(&reactor, &driver, 1);
                let mut counts = Vec::new();
                for op in all(version) {
                    let done = perform(&reactor, &session, op);
                    done.unwrap_or_else(|error| panic!("{version:?} {lookup:?} {}: {error}", op.kind));
                    if !matches!(op.kind, OpKind::Open | OpKind::Close) {
                        counts.push((op.kind, fixture.counts(), fixture.files.usage("fs").unwrap().bytes));
                    }
                }
                assert_eq!(fixture.counts(), made, "{version:?}");
                finished(&fixture, &driver, session);
                seen.push(counts);
            }
            assert_eq!(seen[0], seen[1], "{lookup:?}");
        }
    }
}

#[test]
fn a_thousand_files_are_open_at_once() {
    const LANES: u32 = 1000;
    let (fixture, driver, reactor, session) = started(NfsVersion::V4_1, 4, LANES);
    for kind in [OpKind::Create, OpKind::Open, OpKind::Close, OpKind::Open] {
        all_ok(&reactor, &session, LANES, kind, 0);
    }
    assert_eq!(session.facts().reconnects, 0);
    // What is left open is closed before the client is destroyed.
    finished(&fixture, &driver, session);
}

#[test]
fn many_lanes_and_connections_move_verified_data() {
    for version in BOTH {
        let (fixture, driver, reactor, session) = started(version, 3, 24);
        // Small enough to be one call, and large enough to be several.
        for len in [4096, 100_001, 3 << 20] {
            for kind in [OpKind::Create, OpKind::Write, OpKind::Commit, OpKind::Read, OpKind::Remove] {
                let len = if matches!(kind, OpKind::Write | OpKind::Read) { len } else { 0 };
                all_ok(&reactor, &session, 24, kind, len);
            }
        }
        assert_eq!(session.facts().connections.len(), 3, "{version:?}");
        finished(&fixture, &driver, session);
    }
}

#[test]
fn a_listing_goes_through_all_pages() {
    const FILES: u32 = 3000;
    for version in BOTH {
        let (fixture, driver, reactor, session) = started(version, 1, FILES / 10);
        for round in 0..10 {
            let results = std::cell::RefCell::new(Vec::new());
            let lane = async |lane: u32| {
                let object = u64::from(round * (FILES / 10) + lane);
                let done = session.perform(&Op::new(OpKind::Create, lane, object)).await;
                results.borrow_mut().push(done.is_ok());
            };
            reactor.run_lanes((0..FILES / 10).map(lane).collect(), std::future::pending::<()>());
            assert!(results.into_inner().into_iter().all(|ok| ok));
        }
        for kind in [OpKind::List, OpKind::Readdir] {
            perform(&reactor, &session, op(kind, 0, 0, 0)).unwrap();
            let mut entries = 0;
            session
                .visit_procedures(0, |stats| entries += stats.listing.map_or(0, |listing| listing.entries));
            assert_eq!(entries, u64::from(FILES), "{version:?} {kind}");
        }
        drop(session);
        assert_eq!(driver.list(LIMIT).unwrap().len(), FILES as usize);
        assert_eq!(driver.remove_all(LIMIT).unwrap(), u64::from(FILES));
        fixture.assert_empty();
    }
}

/// What one version writes the other reads, on any address.
#[test]
fn both_versions_see_the_same_files() {
    let fixture = Fixture::new();
    let first = fixture.driver(BOTH[0], 1);
    let second = NfsDriver::new(fixture.config(BOTH[1])).unwrap();
    second.adopt(LIMIT).unwrap();
    let drivers = [first, second];
    let reactor = reactor();
    let sessions = drivers.each_ref().map(|driver| open(&reactor, driver, 1));
    for (writer, reader) in [(0, 1), (1, 0)] {
        let object = writer as u64;
        perform(&reactor, &sessions[writer], op(OpKind::Create, object, 0, 0)).unwrap();
        perform(&reactor, &sessions[writer], op(OpKind::Write, object, 0, 70_000)).unwrap();
        perform(&reactor, &sessions[reader], op(OpKind::Read, object, 0, 70_000)).unwrap();
    }
    assert_eq!(fixture.counts(), NodeCounts { files: 2, directories: 1, others: 0 });
    drop(sessions);
    drivers[1].remove_all(LIMIT).unwrap();
    fixture.assert_empty();
}
