//! Misleading responses: login pages, errors with status 200, redirects, servers without HEAD.

mod s3_support;

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use drivers::s3::S3Driver;
use drivers::{Session, Sink};
use metrics::{ErrorKind, OpKind};
use s3_support::{Conn, LONG, Received, Server, backends, content, context, op, perform, with_session};

const LEN: u64 = 1000;

/// Gives every request the same response.
fn always(status: &'static str, headers: &'static str, body: &'static str) -> Server {
    Server::start(move |mut conn| {
        while conn.request().is_some() {
            conn.answer(status, headers, body.as_bytes());
        }
    })
}

#[test]
fn a_login_page_has_stored_nothing() {
    for choice in backends() {
        for (headers, body, words) in [
            ("Content-Type: text/html\r\n", "<!DOCTYPE html><html>Log in</html>", "an HTML page"),
            ("ETag: \"page\"\r\n", " <HTML>Log in</HTML>", "an HTML page"),
            ("", "{\"login\": true}", "no ETag"),
        ] {
            let server = always("200 OK", headers, body);
            let error = perform(choice, &server, Sink::Buffer, op(OpKind::Put, 1, LEN), LONG).unwrap_err();
            assert_eq!((error.kind, error.retries), (ErrorKind::Protocol, 0), "{error}");
            assert!(error.detail.contains(words) && error.detail.contains("check the endpoint"), "{error}");
        }
        let server = always("200 OK", "", "<html>Log in</html>");
        let error = perform(choice, &server, Sink::Buffer, op(OpKind::Delete, 1, 0), LONG).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Protocol, "{error}");
    }
}

#[test]
fn an_error_with_status_200_is_an_error() {
    let server = always("200 OK", "", "<Error><Code>QuotaExceeded</Code></Error>");
    for choice in backends() {
        let error = perform(choice, &server, Sink::Buffer, op(OpKind::Put, 1, LEN), LONG).unwrap_err();
        assert_eq!(error.kind, ErrorKind::NoSpace, "{error}");
    }
}

#[test]
fn what_names_an_etag_or_has_no_body_is_acknowledged() {
    for (headers, body) in [("", ""), ("ETag: \"e\"\r\n", ""), ("ETag: \"e\"\r\n", "<PutObjectResult/>")] {
        let server = always("200 OK", headers, body);
        let done =
            perform(reactor::BackendChoice::Auto, &server, Sink::Buffer, op(OpKind::Put, 1, LEN), LONG)
                .unwrap();
        assert_eq!(done.bytes, LEN, "{headers}{body}");
    }
}

/// Redirects every request that is not below `/elsewhere` to there.
fn redirects(location: impl Fn(&Received) -> String + Send + Sync + 'static) -> Server {
    Server::start(move |mut conn: Conn| {
        while let Some(request) = conn.request() {
            if !request.target.starts_with("/elsewhere/") {
                let header = format!("Location: {}\r\n", location(&request));
                conn.answer("307 Temporary Redirect", &header, b"");
            } else if request.method == "PUT" {
                assert_eq!(request.body, content(1, 0, LEN as usize));
                conn.answer("200 OK", "ETag: \"e\"\r\n", b"");
            } else {
                conn.answer("200 OK", "", &content(1, 0, LEN as usize));
            }
        }
    })
}

#[test]
fn a_redirect_on_the_same_server_is_followed() {
    for choice in backends() {
        for whole in [true, false] {
            let server = redirects(move |request| {
                let host = request.header("host").unwrap();
                let origin = if whole { format!("http://{host}") } else { String::new() };
                format!("{origin}/elsewhere{}", request.target)
            });
            with_session(choice, server.config(), &context(Sink::Verify), async |session| {
                for kind in [OpKind::Put, OpKind::Get] {
                    let done = session.perform(&op(kind, 1, LEN)).await.unwrap();
                    assert_eq!((done.bytes, done.rpcs, done.retries), (LEN, 2, 0), "{kind}");
                }
            });
            assert_eq!(server.connections(), 1);
        }
    }
}

#[test]
fn redirects_without_end_and_to_other_hosts_are_refused() {
    let server = redirects(|request| request.target.clone());
    let error = perform(reactor::BackendChoice::Auto, &server, Sink::Buffer, op(OpKind::Get, 1, LEN), LONG)
        .unwrap_err();
    assert_eq!((error.kind, error.rpcs), (ErrorKind::Rejected, 4), "{error}");
    assert!(error.detail.contains("redirected more than 3 times"), "{error}");

    let server = redirects(|_| "https://login.example.org/realm?token=hunter2".to_owned());
    let error = perform(reactor::BackendChoice::Auto, &server, Sink::Buffer, op(OpKind::Put, 1, LEN), LONG)
        .unwrap_err();
    assert_eq!((error.kind, error.rpcs), (ErrorKind::Rejected, 1), "{error}");
    assert!(error.detail.contains("redirected to https://login.example.org;"), "{error}");
    assert!(!error.detail.contains("region") && !error.detail.contains("hunter2"), "{error}");
}

#[test]
fn a_server_without_head_of_a_bucket_is_asked_for_a_listing() {
    for (status, lists, right) in [
        ("405 Method Not Allowed", true, true),
        ("501 Not Implemented", true, true),
        ("405 Method Not Allowed", false, false),
        ("400 Bad Request", true, false),
    ] {
        let asked = Arc::new(AtomicU32::new(0));
        let count = Arc::clone(&asked);
        let server = Server::start(move |mut conn| {
            while let Some(request) = conn.request() {
                if request.method == "HEAD" {
                    conn.write(format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n"));
                } else if lists {
                    count.fetch_add(1, Ordering::SeqCst);
                    conn.answer("200 OK", "", b"<ListBucketResult></ListBucketResult>");
                } else {
                    conn.answer("404 Not Found", "", b"<Error><Code>NoSuchBucket</Code></Error>");
                }
            }
        });
        let checked = S3Driver::new(server.config()).unwrap().check_bucket();
        assert_eq!(checked.is_ok(), right, "{status} {lists}: {checked:?}");
        assert_eq!(asked.load(Ordering::SeqCst), u32::from(lists), "{status}");
    }
}
