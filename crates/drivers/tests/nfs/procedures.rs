//! RPCs by operation and procedure, compared with what the server counts.

use std::collections::BTreeMap;

use drivers::Session;
use drivers::nfs::{Lookup, NfsConfig};
use metrics::{CallKind, OpKind, ProcedureStats};
use reactor::Reactor;
use wire::nfs3::{Procedure, Status};

use crate::server::{Action, Server};
use crate::support::*;

const CYCLE: [(OpKind, u64, u64); 6] = [
    (OpKind::Create, 0, 0),
    (OpKind::Write, 0, 300_001),
    (OpKind::Commit, 0, 0),
    (OpKind::Read, 0, 300_001),
    (OpKind::Stat, 0, 0),
    (OpKind::Remove, 0, 0),
];

/// What each operation took; the sum over all equals what the server counted meanwhile.
fn costs(reactor: &Reactor, server: &Server, lookup: Lookup) -> BTreeMap<OpKind, Vec<(CallKind, u64)>> {
    let config = NfsConfig { lookup, ..config(server) };
    let session = open_with(reactor, server, &config, &context(1)).unwrap();
    let counted = || -> Vec<u64> {
        let procedures = (0..22).map(|number| Procedure::from_wire(number).unwrap());
        procedures.map(|procedure| u64::from(server.count(procedure))).collect()
    };
    let before = counted();
    let mut all: Vec<ProcedureStats> = Vec::new();
    let mut each = BTreeMap::new();
    for (kind, offset, len) in CYCLE {
        let done = perform(reactor, &session, op(kind, 0, 5, offset, len)).unwrap();
        let mut of_op = Vec::new();
        session.visit_procedures(0, |stats| {
            assert_eq!((stats.ok, stats.errors), (stats.calls, 0), "{kind}");
            assert!(stats.total_ns > 0 && stats.max_ns > 0);
            ProcedureStats::entry(&mut all, stats.procedure).merge(stats);
            of_op.push((stats.procedure, stats.calls));
        });
        assert_eq!(of_op.iter().map(|(_, calls)| calls).sum::<u64>(), u64::from(done.rpcs));
        each.insert(kind, of_op);
    }
    for (number, (before, after)) in before.into_iter().zip(counted()).enumerate() {
        let ours = all.iter().find(|stats| stats.procedure as usize == number).map_or(0, |stats| stats.calls);
        assert_eq!(ours, after - before, "{}", CallKind::ALL[number]);
    }
    each
}

#[test]
fn each_operation_is_charged_with_its_own_calls() {
    on_both(|choice| {
        let reactor = Reactor::open(choice).unwrap();
        let server = Server::start(obedient);
        let cached = costs(&reactor, &server, Lookup::Cached);
        assert_eq!(cached[&OpKind::Create], [(CallKind::Create, 1)]);
        assert_eq!(cached[&OpKind::Read], [(CallKind::Read, 1)]);
        assert_eq!(cached[&OpKind::Stat], [(CallKind::Getattr, 1)]);
        let walked = costs(&reactor, &server, Lookup::EachComponent);
        assert_eq!(walked[&OpKind::Create], [(CallKind::Lookup, 1), (CallKind::Create, 1)]);
        assert_eq!(walked[&OpKind::Read], [(CallKind::Lookup, 2), (CallKind::Read, 1)]);
        // The last LOOKUP returns the attributes.
        assert_eq!(walked[&OpKind::Stat], [(CallKind::Lookup, 2)]);
        assert_eq!(walked[&OpKind::Remove], [(CallKind::Lookup, 1), (CallKind::Remove, 1)]);
    });
}

#[test]
fn pieces_repetitions_and_errors_are_counted() {
    let reactor = Reactor::open(reactor::BackendChoice::Auto).unwrap();
    // The first CREATE is to be called again later; every REMOVE is refused.
    let server = Server::start(|call| match call.procedure {
        Procedure::Create if call.number == 0 => Action::Status(Status::JUKEBOX),
        Procedure::Remove => Action::Status(Status::ACCES),
        _ => Action::Answer,
    });
    let config = NfsConfig { write_size: Some(1000), ..config(&server) };
    let session = open_with(&reactor, &server, &config, &context(1)).unwrap();
    let of = |kind, len| {
        let result = perform(&reactor, &session, op(kind, 0, 5, 0, len));
        let mut all = Vec::new();
        session.visit_procedures(0, |stats| all.push((stats.procedure, stats.calls, stats.ok, stats.errors)));
        (result.is_ok(), all)
    };
    assert_eq!(of(OpKind::Create, 0), (true, vec![(CallKind::Create, 2, 1, 0)]));
    assert_eq!(of(OpKind::Write, 9500), (true, vec![(CallKind::Write, 10, 10, 0)]));
    assert_eq!(of(OpKind::Remove, 0), (false, vec![(CallKind::Remove, 1, 0, 1)]));
}
