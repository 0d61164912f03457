//! Calls to a correct server, and its contents afterwards.

use std::sync::atomic::Ordering::SeqCst;

use drivers::nfs::NfsConfig;
use drivers::{Op, Session, Sink, WorkerContext};
use metrics::OpKind;
use reactor::Reactor;
use wire::nfs3::{Procedure, Stability};

use crate::alloc::allocated;
use crate::server::Server;
use crate::support::*;

fn whole_cycle(reactor: &Reactor, server: &Server, connections: u32) {
    let config = NfsConfig { connections_per_worker: connections, uid: 1234, ..config(server) };
    let session = open_with(reactor, server, &config, &context(5)).unwrap();
    for (kind, offset, len, bytes) in [
        (OpKind::Create, 0, 0, 0),
        (OpKind::Write, 0, 300_001, 300_001),
        (OpKind::Write, 300_001, 5, 5),
        (OpKind::Commit, 0, 0, 0),
        (OpKind::Read, 0, 300_006, 300_006),
        (OpKind::Read, 77, 4096, 4096),
        (OpKind::Stat, 0, 0, 0),
    ] {
        for result in on_all_lanes(reactor, &session, 5, kind, offset, len) {
            let done = result.unwrap();
            assert_eq!((done.bytes, done.rpcs, done.retries), (bytes, 1, 0), "{kind}");
            assert_eq!(done.first_byte_ns.is_some(), kind == OpKind::Read);
        }
    }
    let mut expected = vec![0; 300_006];
    for object in 0..5u64 {
        PAYLOAD.fill(object, 0, &mut expected);
        let nodes = server.state.nodes.lock().unwrap();
        let node = nodes.values().find(|node| node.name == format!("{object:016x}")).unwrap();
        assert!(node.data == expected, "object {object} was written as its payload says");
    }
    for (kind, procedure) in [(OpKind::List, Procedure::Readdirplus), (OpKind::Readdir, Procedure::Readdir)] {
        assert_eq!(perform(reactor, &session, op(kind, 0, 0, 0, 0)).unwrap().rpcs, 1);
        assert_eq!(server.count(procedure), 1, "{kind}");
    }
    let facts = session.facts();
    assert_eq!(facts.connections.len(), connections as usize);
    assert!(facts.connections.iter().all(|c| c.mss_bytes > 0 && c.remote == server.address));
    assert_eq!((facts.reconnects, facts.retries, facts.late_replies), (0, 0, 0));
    for result in on_all_lanes(reactor, &session, 5, OpKind::Remove, 0, 0) {
        assert_eq!(result.unwrap().rpcs, 1);
    }
    assert_eq!(server.state.nodes.lock().unwrap().len(), 2, "root and directory are left");
    assert_eq!(server.state.last_uid.load(SeqCst), 1234);
}

#[test]
fn files_are_made_written_read_and_removed() {
    on_both(|choice| {
        let reactor = Reactor::open(choice).unwrap();
        for connections in [1, 3] {
            whole_cycle(&reactor, &Server::start(obedient), connections);
        }
    });
}

#[test]
fn over_ipv6() {
    let reactor = Reactor::open(reactor::BackendChoice::Auto).unwrap();
    whole_cycle(&reactor, &Server::start_on("[::1]:0", obedient), 2);
}

#[test]
fn operations_above_the_servers_limit_are_split() {
    on_both(|choice| {
        let reactor = Reactor::open(choice).unwrap();
        let server = Server::start(obedient);
        server.state.transfer_max.store(4096, SeqCst);
        let session = open(&reactor, &server, &context(3));
        on_all_lanes(&reactor, &session, 3, OpKind::Create, 0, 0);
        for kind in [OpKind::Write, OpKind::Read] {
            for result in on_all_lanes(&reactor, &session, 3, kind, 0, 400_001) {
                let done = result.unwrap();
                assert_eq!((done.bytes, done.rpcs), (400_001, 98), "{kind}");
            }
        }
        assert!(server.state.writes.lock().unwrap().iter().all(|(_, len)| *len <= 4096));
        let capped = NfsConfig { read_size: Some(1000), ..config(&server) };
        let session = open_with(&reactor, &server, &capped, &context(1)).unwrap();
        let done = perform(&reactor, &session, op(OpKind::Read, 0, 1, 0, 4096)).unwrap();
        assert_eq!((done.bytes, done.rpcs), (4096, 6), "a LOOKUP and five READs");
    });
}

#[test]
fn every_sink_gets_every_byte() {
    on_both(|choice| {
        let reactor = Reactor::open(choice).unwrap();
        let server = Server::start(obedient);
        for object in 0..4 {
            add_file(&server, object, 1_000_003);
        }
        for sink in [Sink::Buffer, Sink::Verify, Sink::Discard] {
            let session = open(&reactor, &server, &WorkerContext { sink, ..context(4) });
            for (offset, len) in [(0, 1_000_003), (5, 4096), (0, 0), (1_000_002, 1)] {
                for result in on_all_lanes(&reactor, &session, 4, OpKind::Read, offset, len).into_iter() {
                    assert_eq!(result.unwrap().bytes, len, "{sink:?}");
                }
            }
        }
    });
}

#[test]
fn writes_are_unstable_or_stable_as_asked() {
    let reactor = Reactor::open(reactor::BackendChoice::Auto).unwrap();
    let server = Server::start(obedient);
    for (stable, expected) in [(false, Stability::Unstable), (true, Stability::FileSync)] {
        let config = NfsConfig { stable, ..config(&server) };
        let session = open_with(&reactor, &server, &config, &context(1)).unwrap();
        let object = u64::from(stable);
        perform(&reactor, &session, op(OpKind::Create, 0, object, 0, 0)).unwrap();
        perform(&reactor, &session, op(OpKind::Write, 0, object, 0, 100)).unwrap();
        assert_eq!(server.state.writes.lock().unwrap().last(), Some(&(expected, 100)));
    }
}

#[test]
fn another_object_costs_a_lookup() {
    let reactor = Reactor::open(reactor::BackendChoice::Auto).unwrap();
    let server = Server::start(obedient);
    add_file(&server, 1, 10);
    add_file(&server, 2, 10);
    let session = open(&reactor, &server, &context(1));
    let rpcs = |kind, object| perform(&reactor, &session, op(kind, 0, object, 0, 10)).unwrap().rpcs;
    assert_eq!(rpcs(OpKind::Read, 1), 2);
    assert_eq!(rpcs(OpKind::Read, 1), 1);
    assert_eq!(rpcs(OpKind::Stat, 2), 1, "LOOKUP brings the attributes along");
    assert_eq!(rpcs(OpKind::Stat, 2), 1);
    assert_eq!(server.count(Procedure::Getattr), 1);
}

#[test]
fn a_file_with_all_its_content_is_one_operation() {
    use metrics::CallKind::{Commit, Create, Write};
    let reactor = Reactor::open(reactor::BackendChoice::Auto).unwrap();
    let server = Server::start(obedient);
    let session = open(&reactor, &server, &context(1));
    for (object, durable) in [(1, false), (2, true)] {
        let op = Op { durable, ..op(OpKind::WriteFile, 0, object, 0, 300_001) };
        let done = perform(&reactor, &session, op).unwrap();
        let mut calls = Vec::new();
        session.visit_procedures(0, |stats| calls.push((stats.procedure, stats.calls)));
        let expected = [(Create, 1), (Write, 1), (Commit, 1)];
        assert_eq!(calls, expected[..if durable { 3 } else { 2 }]);
        assert_eq!((done.bytes, done.rpcs as usize), (300_001, calls.len()));
        let mut expected = vec![0; 300_001];
        PAYLOAD.fill(object, 0, &mut expected);
        let nodes = server.state.nodes.lock().unwrap();
        let node = nodes.values().find(|node| node.name == format!("{object:016x}")).unwrap();
        assert!(node.data == expected, "object {object} was written as its payload says");
    }
    let size = |object: u64| {
        let nodes = server.state.nodes.lock().unwrap();
        nodes.values().find(|node| node.name == format!("{object:016x}")).unwrap().data.len()
    };
    use metrics::CallKind::Read;
    for (kind, len, durable, calls, left) in [
        (OpKind::ReadFile, 300_001, false, &[(Read, 1)][..], 300_001),
        (OpKind::Overwrite, 5000, false, &[(Write, 1)], 300_001),
        (OpKind::Overwrite, 5000, true, &[(Write, 1), (Commit, 1)], 300_001),
    ] {
        let done = perform(&reactor, &session, Op { durable, ..op(kind, 0, 2, 0, len) }).unwrap();
        let mut took = Vec::new();
        session.visit_procedures(0, |stats| took.push((stats.procedure, stats.calls)));
        assert_eq!((done.bytes, &took[..], size(2)), (len, calls, left), "{kind}");
    }
    let there = perform(&reactor, &session, op(OpKind::WriteFile, 0, 1, 0, 10)).unwrap_err();
    assert_eq!(there.kind, metrics::ErrorKind::AlreadyExists);
}

#[test]
fn steady_operations_do_not_allocate() {
    on_both(|choice| {
        let reactor = Reactor::open(choice).unwrap();
        let server = Server::start(obedient);
        add_file(&server, 0, 65_536);
        let session = open(&reactor, &server, &context(1));
        let round = |count: u64| {
            for _ in 0..count {
                for (kind, len) in [(OpKind::Stat, 0), (OpKind::Read, 65_536), (OpKind::Write, 65_536)] {
                    perform(&reactor, &session, op(kind, 0, 0, 0, len)).unwrap();
                }
                perform(&reactor, &session, op(OpKind::Readdir, 0, 0, 0, 0)).unwrap();
                for (kind, len) in [(OpKind::WriteFile, 4096), (OpKind::Append, 4096), (OpKind::Remove, 0)] {
                    perform(&reactor, &session, op(kind, 0, 9, 0, len)).unwrap();
                }
                perform(&reactor, &session, op(OpKind::Commit, 0, 0, 0, 0)).unwrap();
            }
        };
        round(50);
        let ((), seen) = allocated(|| round(250));
        assert!(seen.calls < 50, "{} allocations in 2000 operations", seen.calls);
    });
}
