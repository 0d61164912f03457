//! Version 4.1 after the server has forgotten the client or its session: recovered, or a named error in bounded time.

use std::time::Duration;

use drivers::{Session, WorkerContext};
use metrics::{ErrorKind, OpKind};
use reactor::{BackendChoice, Reactor};
use wire::nfs4::{Nfs4Status, Operation};

use crate::server41::{Act, Server41};
use crate::support::{context, on_all_lanes, on_both, op, perform};
use crate::v41::{LIMIT, driver, first, open};

#[test]
fn an_expired_lease_is_followed_by_one_new_client() {
    on_both(|choice| {
        let server = Server41::start(8, |_| Act::Answer);
        let driver = driver(&server, 2);
        driver.prepare(LIMIT).unwrap();
        let reactor = Reactor::open(choice).unwrap();
        let session = open(&reactor, &driver, &context(16));
        let all = |kind, len| {
            let results = on_all_lanes(&reactor, &session, 16, kind, 0, len);
            assert!(results.iter().all(Result::is_ok), "{kind}: {results:?}");
        };
        all(OpKind::Create, 0);
        all(OpKind::Write, 5000);
        let before = server.state().reclaims;
        server.expire();
        all(OpKind::Read, 5000);
        all(OpKind::Chmod, 0);
        assert_eq!(server.state().reclaims, before + 1, "one connection replaces it for both");
        let facts = session.facts();
        // The other one notices if its calls had slots.
        assert!((1..=2).contains(&facts.reconnects), "{}", facts.reconnects);
        let reason = &facts.reconnect_reasons[0].text;
        assert!(reason.contains("NFS4ERR_BADSESSION"), "{reason}");
        all(OpKind::Remove, 0);
        drop(session);
        assert!(server.is_empty());
    });
}

#[test]
fn a_server_that_admits_nobody_any_more_is_named_until_it_does() {
    for (status, kind) in [
        (Nfs4Status::STALE_CLIENTID, "NFS4ERR_STALE_CLIENTID"),
        (Nfs4Status::EXPIRED, "NFS4ERR_EXPIRED"),
        (Nfs4Status::SERVERFAULT, "NFS4ERR_SERVERFAULT"),
    ] {
        let server = Server41::start(8, |_| Act::Answer);
        let driver = driver(&server, 1);
        driver.prepare(LIMIT).unwrap();
        let reactor = Reactor::open(BackendChoice::Auto).unwrap();
        let context = WorkerContext { op_timeout: Duration::from_millis(600), ..context(1) };
        let session = open(&reactor, &driver, &context);
        perform(&reactor, &session, op(OpKind::Create, 0, 1, 0, 0)).unwrap();
        server.expire();
        server.state().admits_none = Some(status);
        let error = perform(&reactor, &session, op(OpKind::Stat, 0, 1, 0, 0)).unwrap_err();
        assert_eq!(error.kind, ErrorKind::ConnectionLost, "{error}");
        assert!(error.detail.contains("the session could not be continued"), "{error}");
        assert!(error.detail.contains("within 0.6 s"), "{error}");
        assert!(error.detail.contains(kind), "{error}");
        server.state().admits_none = None;
        // The wait before the next attempt may outlast one operation.
        let again = (0..10).any(|_| perform(&reactor, &session, op(OpKind::Stat, 0, 1, 0, 0)).is_ok());
        assert!(again, "{status}: it is used again as soon as it admits us");
        // And an export that is opened meanwhile says so at once.
        server.state().admits_none = Some(status);
        let error = driver.list(LIMIT).unwrap_err();
        assert!(error.detail.contains("EXCHANGE_ID") && error.detail.contains(kind), "{error}");
        server.state().admits_none = None;
    }
}

/// A state that has gone is an error of the operation: no other operation depends on it.
#[test]
fn a_state_that_is_gone_is_an_error_of_one_operation() {
    for status in [Nfs4Status::EXPIRED, Nfs4Status::BAD_STATEID, Nfs4Status::STALE_CLIENTID] {
        for (operation, kind) in [(Operation::Read, OpKind::Read), (Operation::Write, OpKind::Write)] {
            let server = Server41::start(8, first(operation, move || Act::Fail(status)));
            let driver = driver(&server, 1);
            driver.prepare(LIMIT).unwrap();
            let reactor = Reactor::open(BackendChoice::Auto).unwrap();
            let session = open(&reactor, &driver, &context(1));
            perform(&reactor, &session, op(OpKind::Create, 0, 1, 0, 0)).unwrap();
            let error = perform(&reactor, &session, op(kind, 0, 1, 0, 10)).unwrap_err();
            assert!(error.detail.contains(&status.to_string()), "{error}");
            perform(&reactor, &session, op(OpKind::Write, 0, 1, 0, 10)).unwrap();
            perform(&reactor, &session, op(OpKind::Read, 0, 1, 0, 10)).unwrap();
            assert_eq!(session.facts().reconnects, 0);
        }
    }
}

#[test]
fn work_around_the_load_replaces_its_session_a_few_times() {
    for status in [Nfs4Status::BADSESSION, Nfs4Status::STALE_CLIENTID, Nfs4Status::EXPIRED] {
        let server = Server41::start(8, first(Operation::ReadDir, move || Act::Refuse(status)));
        let once = driver(&server, 1);
        once.prepare(LIMIT).unwrap();
        assert_eq!(once.list(LIMIT).unwrap(), [], "{status}");
        let server = Server41::start(8, move |seen| match seen.last {
            Operation::ReadDir => Act::Refuse(status),
            _ => Act::Answer,
        });
        let always = driver(&server, 1);
        always.prepare(LIMIT).unwrap();
        let error = always.list(LIMIT).unwrap_err();
        assert!(error.detail.contains(&status.to_string()), "{error}");
    }
}
