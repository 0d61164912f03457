//! Temporary refusals: which requests are retried, when, and that each retry is counted.

mod s3_support;

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use drivers::s3::S3Driver;
use drivers::{Op, Session, Sink};
use metrics::{ErrorKind, OpKind};
use s3_support::{LONG, Received, Server, backends, content, context, op, perform, with_session};

const LEN: usize = 1000;
const SLOW_DOWN: &str =
    "<Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>";

fn get() -> Op {
    op(OpKind::Get, 1, LEN as u64)
}

fn put() -> Op {
    op(OpKind::Put, 1, LEN as u64)
}

/// A server that refuses its first requests and answers all others.
fn refuses_first(count: u32, status: &'static str, headers: &'static str, body: &'static str) -> Server {
    let asked = Arc::new(AtomicU32::new(0));
    Server::start(move |mut conn| {
        while let Some(request) = conn.request() {
            if asked.fetch_add(1, Ordering::SeqCst) < count {
                conn.answer(status, headers, body.as_bytes());
            } else {
                well(&mut conn, &request);
            }
        }
    })
}

fn well(conn: &mut s3_support::Conn, request: &Received) {
    match (request.method.as_str(), request.target.contains("list-type=2")) {
        ("GET", true) => conn.answer("200 OK", "", b"<ListBucketResult></ListBucketResult>"),
        ("GET", false) if request.target.contains("uploads") => {
            conn.answer("200 OK", "", b"<ListMultipartUploadsResult></ListMultipartUploadsResult>");
        }
        ("GET", false) => conn.answer("200 OK", "", &content(1, 0, LEN)),
        ("PUT", _) => conn.answer("200 OK", "ETag: \"e\"\r\n", b""),
        _ => conn.answer("200 OK", "", b""),
    }
}

#[test]
fn faults_of_the_server_that_may_pass_are_repeated_and_counted() {
    let internal = "<Error><Code>InternalError</Code></Error>";
    for (status, body) in [
        ("500 Internal Server Error", internal),
        ("500 Internal Server Error", ""),
        ("502 Bad Gateway", "<html>no gateway</html>"),
        ("504 Gateway Timeout", ""),
        ("200 OK", internal),
    ] {
        for choice in backends() {
            let server = refuses_first(2, status, "", body);
            with_session(choice, server.config(), &context(Sink::Verify), async |session| {
                let done = session.perform(&put()).await.unwrap();
                assert_eq!((done.rpcs, done.retries, session.facts().retries), (3, 2, 2), "{status} {body}");
            });
        }
        let server = refuses_first(u32::MAX, status, "", body);
        let error = perform(reactor::BackendChoice::Auto, &server, Sink::Buffer, put(), LONG).unwrap_err();
        assert_eq!((error.kind, error.rpcs, error.retries), (ErrorKind::ServerFault, 4, 3), "{error}");
        assert!(error.detail.contains("given up after 4 tries"), "{error}");
    }
}

/// Lists, checks and removals are requests like any other.
#[test]
fn one_internal_error_does_not_end_a_check_or_a_clean_up() {
    for refused in 1..=2 {
        let server = refuses_first(refused, "500 Internal Server Error", "", "");
        let driver = S3Driver::new(server.config()).unwrap();
        driver.check_bucket().unwrap();
        let server = refuses_first(refused, "500 Internal Server Error", "", "");
        S3Driver::new(server.config()).unwrap().remove_all().unwrap();
    }
}

#[test]
fn a_server_that_says_when_to_come_back_is_believed() {
    for choice in backends() {
        let server = refuses_first(5, "503 Slow Down", "Retry-After: 1\r\n", SLOW_DOWN);
        with_session(choice, server.config(), &context(Sink::Verify), async |session| {
            let before = reactor::clock::now_ns();
            let done = session.perform(&get()).await.unwrap();
            assert_eq!((done.rpcs, done.retries, session.facts().retries), (6, 5, 5));
            assert!(reactor::clock::now_ns() - before >= 5_000_000_000, "it was asked too soon");
        });
    }
}

#[test]
fn a_date_to_come_back_is_taken_by_the_servers_clock() {
    let headers = "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\nRetry-After: Sun, 06 Nov 1994 08:49:39 GMT\r\n";
    let server = refuses_first(4, "503 Service Unavailable", headers, "");
    let before = reactor::clock::now_ns();
    let done = perform(reactor::BackendChoice::Auto, &server, Sink::Verify, get(), LONG).unwrap();
    assert_eq!(done.retries, 4);
    assert!(reactor::clock::now_ns() - before >= 8_000_000_000, "it was asked too soon");
}

#[test]
fn a_time_beyond_the_deadline_is_not_waited_for() {
    let server = refuses_first(1, "503 Slow Down", "Retry-After: 60\r\n", SLOW_DOWN);
    let done = perform(reactor::BackendChoice::Auto, &server, Sink::Verify, get(), LONG).unwrap();
    assert_eq!(done.retries, 1);
    // The deadline holds when the server never recovers: its last response is in the message.
    let server = refuses_first(u32::MAX, "503 Slow Down", "Retry-After: 1\r\n", SLOW_DOWN);
    let patience = Duration::from_millis(2500);
    let error = perform(reactor::BackendChoice::Auto, &server, Sink::Verify, get(), patience).unwrap_err();
    assert_eq!(error.kind, ErrorKind::TimedOut, "{error}");
    assert!(error.retries >= 2 && error.detail.contains("SlowDown"), "{error}");
}
