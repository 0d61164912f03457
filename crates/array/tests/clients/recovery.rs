//! Lost connections, sessions, leases and replies: recovered, or a named error.

use std::time::Duration;

use array::faults::{FaultPlan, LatencyDistribution, NfsError, PathRule};
use drivers::Session;
use drivers::nfs::{NfsSession, NfsVersion};
use metrics::OpKind;
use reactor::Reactor;

use crate::fixture::*;

const LANES: u32 = 8;

/// Files are created, written, renamed, read and removed; each must succeed, and be done once.
fn cycle(reactor: &Reactor, session: &NfsSession) {
    all_ok(reactor, session, LANES, OpKind::Create, 0);
    all_ok(reactor, session, LANES, OpKind::Write, 20_000);
    all_ok(reactor, session, LANES, OpKind::Commit, 0);
    for lane in 0..u64::from(LANES) {
        let there = op(OpKind::Rename, lane, 0, 0).other(lane + 1000);
        let back = op(OpKind::Rename, lane + 1000, 0, 0).other(lane);
        perform(reactor, session, there).unwrap();
        perform(reactor, session, back).unwrap();
    }
    all_ok(reactor, session, LANES, OpKind::Read, 20_000);
    all_ok(reactor, session, LANES, OpKind::Remove, 0);
}

#[test]
fn errors_that_pass_are_waited_for() {
    for version in BOTH {
        let (fixture, driver, reactor, session) = started(version, 2, LANES);
        fixture.strike(PathRule { error_share: Some(0.2), ..PathRule::default() });
        cycle(&reactor, &session);
        let rule =
            PathRule { error_share: Some(1.0), nfs_error: Some(NfsError::Nospc), ..PathRule::default() };
        fixture.strike(rule);
        let error = perform(&reactor, &session, op(OpKind::Create, 1, 0, 0)).unwrap_err();
        assert_eq!(error.kind, metrics::ErrorKind::NoSpace, "{version:?}: {error}");
        fixture.faults.set(FaultPlan::default());
        finished(&fixture, &driver, session);
    }
}

#[test]
fn lost_connections_are_replaced_and_nothing_is_done_twice() {
    for version in BOTH {
        let (fixture, driver, reactor, session) = started(version, 2, LANES);
        fixture.strike(PathRule { reset_share: Some(0.05), ..PathRule::default() });
        let rounds = (0..50).take_while(|round| *round < 3 || session.facts().reconnects == 0);
        rounds.for_each(|_| cycle(&reactor, &session));
        assert!(session.facts().reconnects > 0, "{version:?}");
        fixture.faults.set(FaultPlan::default());
        finished(&fixture, &driver, session);
    }
}

#[test]
fn latency_and_bandwidth_change_nothing_but_time() {
    for version in BOTH {
        let (fixture, driver, reactor, session) = started(version, 2, LANES);
        let latency = Some(LatencyDistribution::Fixed(Duration::from_millis(3)));
        fixture.strike(PathRule { latency, bandwidth_bytes_per_s: Some(100 << 20), ..PathRule::default() });
        // Other than this, times are tested where latencies are measured.
        let begun = reactor::clock::now_ns();
        cycle(&reactor, &session);
        assert!(reactor::clock::now_ns() - begun > 3_000_000 * 20, "{version:?}");
        finished(&fixture, &driver, session);
    }
}

/// Ends something that clients have from the server.
type End = fn(&mut FaultPlan);

/// What happens to all clients of the server at once.
fn happens(fixture: &Fixture, what: impl Fn(&mut FaultPlan)) {
    fixture.faults.update(what);
    // The servers look for changes every 10 ms.
    std::thread::sleep(Duration::from_millis(300));
}

#[test]
fn sessions_leases_and_servers_that_end_are_replaced() {
    let ends: [(&str, End); 3] = [
        ("sessions", |plan| plan.nfs_session_losses += 1),
        ("leases", |plan| plan.nfs_lease_expiries += 1),
        ("the server", |plan| plan.nfs_restarts += 1),
    ];
    for (name, end) in ends {
        let (fixture, driver, reactor, session) = started(NfsVersion::V4_1, 2, LANES);
        for round in 1..4 {
            cycle(&reactor, &session);
            let before = session.facts().reconnects;
            happens(&fixture, end);
            // On a busy machine the servers look later.
            let replaced = (0..100).any(|_| {
                cycle(&reactor, &session);
                session.facts().reconnects > before
            });
            assert!(replaced, "{name}, round {round}");
            let facts = session.facts();
            let reason = &facts.reconnect_reasons[0].text;
            assert!(reason.contains("NFS4ERR_BADSESSION"), "{name}: {reason}");
        }
        finished(&fixture, &driver, session);
    }
}

/// An open ends with the lease, and the lane goes on.
#[test]
fn what_was_open_when_the_lease_ended_is_closed() {
    let (fixture, driver, reactor, session) = started(NfsVersion::V4_1, 1, 1);
    perform(&reactor, &session, op(OpKind::Create, 1, 0, 0)).unwrap();
    // A lost session leaves the client and its opens.
    perform(&reactor, &session, op(OpKind::Open, 1, 0, 0)).unwrap();
    happens(&fixture, |plan| plan.nfs_session_losses += 1);
    perform(&reactor, &session, op(OpKind::Close, 1, 0, 0)).unwrap();
    perform(&reactor, &session, op(OpKind::Open, 1, 0, 0)).unwrap();
    happens(&fixture, |plan| plan.nfs_lease_expiries += 1);
    // A repeated CLOSE that finds no open is one that has been done.
    assert_eq!(perform(&reactor, &session, op(OpKind::Close, 1, 0, 0)).unwrap().retries, 1);
    perform(&reactor, &session, op(OpKind::Open, 1, 0, 0)).unwrap();
    perform(&reactor, &session, op(OpKind::Close, 1, 0, 0)).unwrap();
    finished(&fixture, &driver, session);
}

/// Renames that are acknowledged and not done, and old data, are found in either version.
#[test]
fn lies_are_found_out() {
    for version in BOTH {
        let (fixture, driver, reactor, session) = started(version, 1, 1);
        perform(&reactor, &session, op(OpKind::Create, 1, 0, 0)).unwrap();
        fixture.strike(PathRule { lost_rename_share: Some(1.0), ..PathRule::default() });
        perform(&reactor, &session, op(OpKind::Rename, 1, 0, 0).other(2)).unwrap();
        // Another session does not know the handle under its new name.
        let other = open(&reactor, &driver, 1);
        let error = perform(&reactor, &other, op(OpKind::Stat, 2, 0, 0)).unwrap_err();
        drop(other);
        assert_eq!(error.kind, metrics::ErrorKind::NotFound, "{version:?}: {error}");
        fixture.strike(PathRule { stale_read_share: Some(1.0), ..PathRule::default() });
        perform(&reactor, &session, op(OpKind::Create, 3, 0, 0)).unwrap();
        perform(&reactor, &session, op(OpKind::Write, 3, 0, 5000)).unwrap();
        perform(&reactor, &session, op(OpKind::Read, 3, 0, 5000)).unwrap_err();
        fixture.faults.set(FaultPlan::default());
        perform(&reactor, &session, op(OpKind::Read, 3, 0, 5000)).unwrap();
        finished(&fixture, &driver, session);
    }
}
