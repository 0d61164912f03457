//! Operations on names and attributes over version 4.1, and what each costs on the wire.

use std::collections::BTreeMap;

use drivers::nfs::{Lookup, NfsConfig, NfsDriver, NfsSession};
use drivers::tree::{DirectoryTree, TreeLayout};
use drivers::{Driver, Op, Session};
use metrics::{CallKind, ErrorKind, OpKind, ProcedureStats};
use reactor::{BackendChoice, Reactor};
use wire::nfs4::{Nfs4Status, Operation};

use crate::server41::{Act, Server41};
use crate::support::{context, on_both, op, perform};
use crate::v41::{LIMIT, driver, first, open};

/// Every operation, in an order in which each finds what it needs.
fn all() -> [Op; 29] {
    let of = |kind, object| op(kind, 0, object, 0, 0);
    [
        of(OpKind::Create, 1),
        op(OpKind::Write, 0, 1, 0, 9000),
        of(OpKind::Commit, 1),
        op(OpKind::Read, 0, 1, 0, 9000),
        of(OpKind::Stat, 1),
        of(OpKind::Open, 1),
        of(OpKind::Close, 1),
        of(OpKind::Access, 1),
        of(OpKind::Chmod, 1),
        op(OpKind::Truncate, 0, 1, 0, 5000),
        op(OpKind::Append, 0, 1, 5000, 700),
        op(OpKind::WriteFile, 0, 6, 0, 9000),
        Op { durable: true, ..op(OpKind::WriteFile, 0, 7, 0, 9000) },
        op(OpKind::ReadFile, 0, 7, 0, 9000),
        op(OpKind::Overwrite, 0, 7, 0, 9000),
        op(OpKind::TruncateOverwrite, 0, 7, 0, 9000),
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
    ]
}

/// Performs every operation; returns what each took. The sum equals what the server counted meanwhile.
fn costs(reactor: &Reactor, server: &Server41, session: &NfsSession) -> Vec<(OpKind, Vec<(CallKind, u64)>)> {
    let before = server.state().compounds.clone();
    let mut ours: BTreeMap<&str, u64> = BTreeMap::new();
    let mut each = Vec::new();
    for op in all() {
        let done = perform(reactor, session, op).unwrap_or_else(|error| panic!("{}: {error}", op.kind));
        let mut of_op = Vec::new();
        session.visit_procedures(0, |stats| {
            assert_eq!((stats.ok, stats.errors), (stats.calls, 0), "{}", op.kind);
            *ours.entry(stats.procedure.name()).or_default() += stats.calls;
            of_op.push((stats.procedure, stats.calls));
        });
        assert_eq!(of_op.iter().map(|(_, calls)| calls).sum::<u64>(), u64::from(done.rpcs));
        each.push((op.kind, of_op));
    }
    let mut theirs = server.state().compounds.clone();
    for (name, count) in before {
        *theirs.get_mut(name).unwrap() -= count;
    }
    theirs.retain(|_, count| *count > 0);
    assert_eq!(ours, theirs);
    each
}

#[test]
fn every_operation_is_one_compound_named_by_what_it_does() {
    use CallKind::{
        Access, Close, Commit, Create, Getattr, Link, Open, Read, Readdir, Readlink, Remove, Rename, Setattr,
        Write,
    };
    on_both(|choice| {
        let server = Server41::start(8, |_| Act::Answer);
        let driver = driver(&server, 1);
        driver.prepare(LIMIT).unwrap();
        let reactor = Reactor::open(choice).unwrap();
        let session = open(&reactor, &driver, &context(1));
        let names = [
            Open, Write, Commit, Read, Getattr, Open, Close, Access, Setattr, Setattr, Write, Open, Open,
            Read, Write, Setattr, Link, Rename, Create, Readlink, Create, Readdir, Readdir, Remove, Remove,
            Remove, Remove, Remove, Remove,
        ];
        for ((kind, calls), name) in costs(&reactor, &server, &session).into_iter().zip(names) {
            match kind {
                // Nobody has returned the handle of a new symbolic link.
                OpKind::WriteFile => {
                    assert_eq!(calls[..2], [(Open, 1), (Write, 1)]);
                    assert!(matches!(calls[2..], [] | [(Commit, 1)]), "{calls:?}");
                }
                OpKind::TruncateOverwrite => assert_eq!(calls, [(Setattr, 1), (Write, 1)]),
                OpKind::Readlink => assert_eq!(calls, [(CallKind::Lookup, 1), (Readlink, 1)]),
                _ => assert_eq!(calls, [(name, 1)], "{kind}"),
            }
        }
        assert_eq!(server.state().nodes.len(), 3, "the root, the export and the run's directory");
        drop(session);
        driver.remove_all(LIMIT).unwrap();
        assert!(server.is_empty());
    });
}

#[test]
fn a_walk_from_the_root_looks_up_each_part_of_the_path() {
    let server = Server41::start(8, |_| Act::Answer);
    let config = NfsConfig { lookup: Lookup::EachComponent, ..driver(&server, 1).config().clone() };
    let driver = NfsDriver::new(config).unwrap();
    driver.prepare(LIMIT).unwrap();
    let reactor = Reactor::open(BackendChoice::Auto).unwrap();
    let session = reactor.block_on(driver.connect(&reactor, &context(1))).unwrap();
    for (kind, calls) in costs(&reactor, &server, &session) {
        let lookups = match kind {
            OpKind::Close => {
                assert_eq!(calls, [(CallKind::Close, 1)]);
                continue;
            }
            OpKind::Link => 3,
            OpKind::Open
            | OpKind::Create
            | OpKind::Rename
            | OpKind::Symlink
            | OpKind::Mkdir
            | OpKind::Rmdir => 1,
            OpKind::List | OpKind::Readdir | OpKind::Remove | OpKind::WriteFile => 1,
            _ => 2,
        };
        assert_eq!(calls[0], (CallKind::Lookup, lookups), "{kind}");
    }
}

#[test]
fn files_in_a_tree_are_found_level_by_level() {
    for lookup in [Lookup::Cached, Lookup::EachComponent] {
        let server = Server41::start(8, |_| Act::Answer);
        let tree = DirectoryTree::new(2, 4, TreeLayout::Hashed).unwrap();
        let config = NfsConfig { lookup, tree, ..driver(&server, 1).config().clone() };
        let driver = NfsDriver::new(config).unwrap();
        driver.prepare(LIMIT).unwrap();
        assert_eq!(server.state().nodes.len(), 3 + 4 + 16);
        driver.adopt(LIMIT).unwrap();
        let reactor = Reactor::open(BackendChoice::Auto).unwrap();
        let session = reactor.block_on(driver.connect(&reactor, &context(1))).unwrap();
        let each = costs(&reactor, &server, &session);
        if lookup == Lookup::EachComponent {
            let of = |kind| each.iter().find(|(of, _)| *of == kind).unwrap().1[0];
            assert_eq!(of(OpKind::Create), (CallKind::Lookup, 3));
            assert_eq!(of(OpKind::Read), (CallKind::Lookup, 4));
            assert_ne!(tree.leaf_of(1), tree.leaf_of(3));
            assert_eq!(of(OpKind::Rename), (CallKind::Lookup, 6));
        }
        assert_eq!(server.state().nodes.len(), 3 + 4 + 16);
        perform(&reactor, &session, op(OpKind::Create, 0, 1, 0, 0)).unwrap();
        drop(session);
        assert_eq!(driver.list(LIMIT).unwrap().len(), 1);
        assert_eq!(driver.remove_all(LIMIT).unwrap(), 1);
        assert!(server.is_empty());
    }
}

/// What an operation's calls came to, with its outcome.
fn outcome(reactor: &Reactor, session: &NfsSession, op: Op) -> (Option<ErrorKind>, Vec<ProcedureStats>) {
    let result = perform(reactor, session, op);
    let mut all = Vec::new();
    session.visit_procedures(0, |stats| all.push(*stats));
    (result.err().map(|error| error.kind), all)
}

#[test]
fn a_retransmitted_change_is_executed_once() {
    for (operation, kind) in [
        (Operation::Rename, OpKind::Rename),
        (Operation::Link, OpKind::Link),
        (Operation::Create, OpKind::Mkdir),
        (Operation::Remove, OpKind::Remove),
    ] {
        // `prepare` creates the run's directory with a COMPOUND that ends with GETFH.
        let server = Server41::start(8, first(operation, || Act::Lose));
        let driver = driver(&server, 1);
        driver.prepare(LIMIT).unwrap();
        let reactor = Reactor::open(BackendChoice::Auto).unwrap();
        let session = open(&reactor, &driver, &context(1));
        perform(&reactor, &session, op(OpKind::Create, 0, 1, 0, 0)).unwrap();
        let before = server.executed(operation);
        let object = if kind == OpKind::Mkdir { 2 } else { 1 };
        let (error, calls) = outcome(&reactor, &session, op(kind, 0, object, 0, 0).other(2));
        assert_eq!(error, None, "{kind}");
        assert_eq!(server.executed(operation), before + 1, "{kind}");
        assert_eq!((calls.len(), calls[0].calls, calls[0].ok), (1, 2, 1), "{kind}: both transmissions count");
    }
}

#[test]
fn refusals_are_named_by_version_4() {
    // A failed SETATTR says which attributes it set, even if none.
    for (operation, op, status, expected) in [
        (Operation::SetAttr, op(OpKind::Truncate, 0, 1, 0, 1 << 40), Nfs4Status::NOSPC, ErrorKind::NoSpace),
        (Operation::SetAttr, op(OpKind::Chmod, 0, 1, 0, 0), Nfs4Status::PERM, ErrorKind::AccessDenied),
        (Operation::Rename, op(OpKind::Rename, 0, 1, 0, 0).other(2), Nfs4Status::NOENT, ErrorKind::NotFound),
        (
            Operation::Create,
            op(OpKind::Symlink, 0, 3, 0, 0).other(1),
            Nfs4Status::EXIST,
            ErrorKind::AlreadyExists,
        ),
        (Operation::ReadLink, op(OpKind::Readlink, 0, 1, 0, 0), Nfs4Status::INVAL, ErrorKind::Rejected),
    ] {
        let server = Server41::start(8, first(operation, move || Act::Fail(status)));
        let driver = driver(&server, 1);
        driver.prepare(LIMIT).unwrap();
        let reactor = Reactor::open(BackendChoice::Auto).unwrap();
        let session = open(&reactor, &driver, &context(1));
        perform(&reactor, &session, crate::support::op(OpKind::Create, 0, 1, 0, 0)).unwrap();
        let error = perform(&reactor, &session, op).unwrap_err();
        assert_eq!(error.kind, expected, "{error}");
        assert!(error.detail.starts_with(operation.name()), "{error}");
        assert!(error.detail.contains(&status.to_string()), "{error}");
        assert_eq!(session.facts().reconnects, 0, "the reply was understood: {error}");
    }
}
