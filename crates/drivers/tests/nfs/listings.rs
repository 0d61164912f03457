//! Listings of whole directories, page by page.

use drivers::Session;
use metrics::{CallKind, ErrorKind, OpKind, ProcedureStats};
use reactor::Reactor;
use wire::nfs3::Procedure;

use crate::alloc::allocated;
use crate::server::{Action, Server};
use crate::support::*;

fn calls(session: &impl Session) -> Vec<ProcedureStats> {
    let mut calls = Vec::new();
    session.visit_procedures(0, |stats| calls.push(*stats));
    calls
}

/// The server returns 100 entries at a time.
#[test]
fn each_listing_goes_through_all_pages_and_counts_their_entries() {
    on_both(|choice| {
        let reactor = Reactor::open(choice).unwrap();
        let server = Server::start(obedient);
        (0..250).for_each(|object| add_file(&server, object, 0));
        let session = open(&reactor, &server, &context(1));
        for (kind, procedure) in
            [(OpKind::Readdir, CallKind::Readdir), (OpKind::List, CallKind::Readdirplus)].repeat(2)
        {
            assert_eq!(perform(&reactor, &session, op(kind, 0, 0, 0, 0)).unwrap().rpcs, 3);
            let [stats] = calls(&session)[..] else { panic!("{kind} calls one procedure") };
            let listing = stats.listing.unwrap();
            assert_eq!((stats.procedure, stats.calls, stats.ok), (procedure, 3, 3));
            assert_eq!((listing.entries, listing.started), (250, 1));
            // The first page includes its call, and the slowest page is one of three.
            assert!(listing.first_total_ns > 0 && listing.first_max_ns == listing.first_total_ns);
            assert!(stats.max_ns <= stats.total_ns && stats.max_ns >= stats.total_ns / 3);
        }
        let cookies = server.state.names_from.lock().unwrap().clone();
        let [0, second, third, 0, ..] = cookies[..] else { panic!("{cookies:?}") };
        assert!(cookies.len() == 6 && second > 0 && third > second, "{cookies:?}");
        let stat = perform(&reactor, &session, op(OpKind::Stat, 0, 0, 0, 0));
        stat.unwrap();
        assert!(calls(&session).iter().all(|stats| stats.listing.is_none()), "of the last operation only");
    });
}

#[test]
fn the_memory_of_a_listing_does_not_grow_with_the_directory() {
    let reactor = Reactor::open(reactor::BackendChoice::Auto).unwrap();
    let server = Server::start(obedient);
    let directory = server.add(1, DIRECTORY, true, &[]);
    for kind in [OpKind::Readdir, OpKind::List] {
        let mut had = server.state.nodes.lock().unwrap().len();
        let mut peaks = Vec::new();
        let session = open(&reactor, &server, &context(1));
        for files in [1000, 20_000] {
            for number in had..files {
                server.add(directory, &format!("{number:016x}"), false, &[]);
            }
            had = had.max(files);
            // Once to warm its buffers.
            perform(&reactor, &session, op(kind, 0, 0, 0, 0)).unwrap();
            let (done, seen) = allocated(|| perform(&reactor, &session, op(kind, 0, 0, 0, 0)));
            done.unwrap();
            peaks.push(seen.peak);
        }
        assert!(peaks[1] <= peaks[0].max(64 << 10), "{kind}: {peaks:?}");
    }
}

/// A page whose list is empty although the directory goes on, or that leads back to where it began.
#[test]
fn a_listing_that_leads_nowhere_ends_with_an_error() {
    let empty = |results: &mut Vec<u8>| {
        // The status, no attributes, and the verifier; then no entry, and no end of the directory.
        results.truncate(16);
        results.extend([0; 8]);
    };
    let server = Server::start(move |call| match call.procedure {
        Procedure::Readdir => Action::Alter(Box::new(empty)),
        _ => Action::Answer,
    });
    let reactor = Reactor::open(reactor::BackendChoice::Auto).unwrap();
    add_file(&server, 1, 0);
    let session = open(&reactor, &server, &context(1));
    let error = perform(&reactor, &session, op(OpKind::Readdir, 0, 0, 0, 0)).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Protocol, "{error}");
    assert!(error.detail.contains("leads no further"), "{error}");
}
