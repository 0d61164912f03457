//! Servers that stall, reset, lie and babble: each causes a named error in bounded time and memory, or a retry by the
//! documented rules, which is counted. Scripted servers on plain threads, both backends.

mod s3_support;

use std::io::Read;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use drivers::{Op, Session, Sink};
use metrics::{ErrorKind, OpKind};
use s3_support::{Conn, LONG, Server, backends, content, context, op, perform, whole, with_session};

const LEN: usize = 100_000;

fn get() -> Op {
    op(OpKind::Get, 1, LEN as u64)
}

/// Runs a GET against a script on both backends with every sink, and expects an error.
fn fails(script: impl Fn(Conn) + Send + Sync + Clone + 'static, kind: ErrorKind, words: &[&str]) {
    for choice in backends() {
        for sink in [Sink::Buffer, Sink::Verify, Sink::Discard] {
            let server = Server::start(script.clone());
            let error = perform(choice, &server, sink, get(), LONG).expect_err("the server is faulty");
            assert_eq!(error.kind, kind, "{choice} {sink:?}: {error}");
            for word in words {
                assert!(error.detail.contains(word), "{choice} {sink:?}: {error}");
            }
        }
    }
}

/// Answers each request with these bytes, then closes the connection properly.
fn says(bytes: Vec<u8>) -> impl Fn(Conn) + Send + Sync + Clone + 'static {
    move |mut conn| {
        if conn.request().is_some() {
            conn.write(&bytes);
        }
    }
}

#[test]
fn a_stalled_server_times_out() {
    for choice in backends() {
        for (before, word) in [
            ("", "no answer yet"),
            ("HTTP/1.1 200 OK\r\nContent-Le", "no answer yet"),
            ("HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\nabc", "the answer is not complete"),
        ] {
            for sink in [Sink::Buffer, Sink::Discard] {
                let server = Server::start(move |mut conn| {
                    conn.request();
                    conn.write(before);
                    conn.stall();
                });
                let error = perform(choice, &server, sink, get(), Duration::from_millis(200)).unwrap_err();
                assert_eq!(error.kind, ErrorKind::TimedOut, "{error}");
                assert!(error.detail.contains(word) && error.detail.contains("200ms"), "{error}");
                assert_eq!(error.rpcs, 1);
            }
        }
    }
}

#[test]
fn a_server_that_reads_nothing_times_out() {
    for choice in backends() {
        let server = Server::start(|mut conn| {
            conn.head();
            std::thread::sleep(Duration::from_secs(2));
        });
        let put = op(OpKind::Put, 1, 50_000_000);
        let error = perform(choice, &server, Sink::Buffer, put, Duration::from_millis(300)).unwrap_err();
        assert_eq!(error.kind, ErrorKind::TimedOut, "{error}");
        assert!(error.detail.contains("sending the request"), "{error}");
    }
}

#[test]
fn a_short_body_is_named_and_not_asked_for_again() {
    let bytes = whole("HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n", &content(1, 0, 60_000));
    fails(says(bytes), ErrorKind::Length, &["40000 bytes short"]);
    let bytes = whole("HTTP/1.1 200 OK\r\n\r\n", &content(1, 0, 60_000));
    fails(says(bytes), ErrorKind::Length, &["60000 bytes came where 100000"]);
    let bytes =
        whole("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n186A0\r\n", &content(1, 0, 60_000));
    fails(says(bytes), ErrorKind::Length, &["40000 bytes short"]);
}

#[test]
fn a_long_body_is_named_before_it_is_read() {
    let bytes = whole("HTTP/1.1 200 OK\r\nContent-Length: 100001\r\n\r\n", &content(1, 0, 5));
    fails(says(bytes), ErrorKind::Length, &["100001 bytes long where 100000"]);
    let bytes = whole("HTTP/1.1 200 OK\r\nContent-Length: 1000000000000000000\r\n\r\n", &content(1, 0, 5));
    fails(says(bytes), ErrorKind::Length, &["1000000000000000000 bytes long"]);
    let bytes = whole("HTTP/1.1 200 OK\r\n\r\n", &content(1, 0, LEN + 1));
    fails(says(bytes), ErrorKind::Length, &["longer than"]);
    let bytes = whole(
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffff\r\n",
        &content(1, 0, LEN),
    );
    fails(
        move |mut conn| {
            conn.request();
            let endless = [&bytes[..], &content(1, LEN as u64, 200_000)].concat();
            conn.write(endless);
            conn.stall();
        },
        ErrorKind::Length,
        &["longer than"],
    );
}

#[test]
fn bytes_after_the_announced_body_are_an_error_and_cost_the_connection() {
    for choice in backends() {
        let server = Server::start(|mut conn| {
            while conn.request().is_some() {
                if conn.number == 0 {
                    let mut body = content(1, 0, 1000);
                    body.extend_from_slice(b"stray");
                    conn.write(whole("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n", &body));
                } else {
                    conn.answer("200 OK", "", &content(1, 0, 1000));
                }
            }
        });
        with_session(choice, server.config(), &context(Sink::Verify), async |session| {
            let get = op(OpKind::Get, 1, 1000);
            // Stray bytes that arrive later than the body spoil the next response instead.
            let kinds = match session.perform(&get).await {
                Err(error) => vec![error.kind],
                Ok(_) => vec![session.perform(&get).await.unwrap_err().kind],
            };
            assert!(kinds == [ErrorKind::Length] || kinds == [ErrorKind::Protocol], "{kinds:?}");
            session.perform(&get).await.unwrap();
        });
    }
}

#[test]
fn a_head_of_a_mebibyte_is_refused() {
    let head = format!("HTTP/1.1 200 OK\r\nx: {}\r\n\r\n", "a".repeat(1 << 20));
    fails(says(head.into_bytes()), ErrorKind::Protocol, &["64 KiB"]);
    let head = format!("HTTP/1.1 200 OK\r\n{}\r\n", "a: b\r\n".repeat(10_000));
    fails(says(head.into_bytes()), ErrorKind::Protocol, &["header lines"]);
}

#[test]
fn garbage_is_refused() {
    fails(says(b"SSH-2.0-OpenSSH_9.9\r\n".to_vec()), ErrorKind::Protocol, &["not HTTP/1.1"]);
    fails(says(vec![0; 100]), ErrorKind::Protocol, &["not HTTP/1.1"]);
    fails(says(b"HTTP/1.1 2xx OK\r\n\r\n".to_vec()), ErrorKind::Protocol, &["bad status"]);
    fails(
        says(b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n".to_vec()),
        ErrorKind::Protocol,
        &["Content-Length"],
    );
    fails(says(b"HTTP/1.1 101 Switching\r\n\r\n".to_vec()), ErrorKind::Protocol, &["101"]);
    fails(says(b"HTTP/1.1 206 Partial\r\n\r\n".to_vec()), ErrorKind::Protocol, &["206"]);
    let chunks = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nnothex\r\n".to_vec();
    fails(says(chunks), ErrorKind::Protocol, &["chunked"]);
    let endless = "HTTP/1.1 100 Continue\r\n\r\n".repeat(100);
    fails(says(endless.into_bytes()), ErrorKind::Protocol, &["100"]);
}

#[test]
fn chunked_and_interim_answers_and_ends_by_closing_are_understood() {
    let content = content(1, 0, LEN);
    let mut chunked = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec();
    for chunk in content.chunks(33_333) {
        chunked.extend_from_slice(format!("{:X};x=y\r\n", chunk.len()).as_bytes());
        chunked.extend_from_slice(chunk);
        chunked.extend_from_slice(b"\r\n");
    }
    chunked.extend_from_slice(b"0\r\nx-amz-checksum-crc32c: AAAAAA==\r\n\r\n");
    let closing = whole("HTTP/1.0 200 OK\r\n\r\n", &content);
    for (bytes, keeps) in [(chunked, true), (closing, false)] {
        for choice in backends() {
            for sink in [Sink::Verify, Sink::Discard] {
                let bytes = bytes.clone();
                let server = Server::start(move |mut conn| {
                    while conn.request().is_some() {
                        conn.write(&bytes);
                        if !keeps {
                            return;
                        }
                    }
                });
                with_session(choice, server.config(), &context(sink), async |session| {
                    for _ in 0..2 {
                        let done = session.perform(&get()).await.unwrap();
                        assert_eq!((done.bytes, done.retries), (LEN as u64, 0));
                    }
                });
                assert_eq!(server.connections(), if keeps { 1 } else { 2 });
            }
        }
    }
}

#[test]
fn other_refusals_are_not_retried() {
    let cases: [(&str, &str, &str, ErrorKind, &str); 8] = [
        ("507 Insufficient Storage", "", "", ErrorKind::NoSpace, "507"),
        ("403 Forbidden", "", "QuotaExceeded", ErrorKind::NoSpace, "QuotaExceeded"),
        ("403 Forbidden", "", "InvalidAccessKeyId", ErrorKind::AccessDenied, "does not know this access key"),
        ("404 Not Found", "", "NoSuchBucket", ErrorKind::NotFound, "does not exist"),
        (
            "301 Moved",
            "x-amz-bucket-region: eu-west-3\r\n",
            "PermanentRedirect",
            ErrorKind::Rejected,
            "region eu-west-3",
        ),
        ("307 Temporary Redirect", "", "", ErrorKind::Rejected, "another region"),
        (
            "400 Bad Request",
            "",
            "AuthorizationHeaderMalformed",
            ErrorKind::Rejected,
            "AuthorizationHeaderMalformed",
        ),
        ("501 Not Implemented", "", "NotImplemented", ErrorKind::Rejected, "does not support"),
    ];
    for choice in backends() {
        for (status, headers, code, kind, word) in cases {
            let body =
                if code.is_empty() { String::new() } else { format!("<Error><Code>{code}</Code></Error>") };
            let server = Server::start(move |mut conn| {
                while conn.request().is_some() {
                    conn.answer(status, headers, body.as_bytes());
                }
            });
            let error = perform(choice, &server, Sink::Discard, get(), LONG).unwrap_err();
            assert_eq!((error.kind, error.rpcs, error.retries), (kind, 1, 0), "{error}");
            assert!(error.detail.contains(word), "{error}");
        }
    }
}

#[test]
fn clocks_that_differ_are_told_by_how_much() {
    let server = Server::start(|mut conn| {
        while conn.request().is_some() {
            let body = b"<Error><Code>RequestTimeTooSkewed</Code><Message>m</Message></Error>";
            conn.answer("403 Forbidden", "Date: Thu, 01 Jan 1970 00:00:00 GMT\r\n", body);
        }
    });
    let error = perform(reactor::BackendChoice::Auto, &server, Sink::Buffer, get(), LONG).unwrap_err();
    assert_eq!(error.kind, ErrorKind::AccessDenied);
    assert!(error.detail.contains(" s ahead of the server's"), "{error}");
}

#[test]
fn a_refusal_before_the_body_was_read_is_understood() {
    for choice in backends() {
        let server = Server::start(|mut conn| {
            conn.head();
            // Part of the body is read, so that the response is in flight before the close resets the connection.
            let mut some = vec![0; 100_000];
            conn.pipe.read_exact(&mut some).unwrap();
            let body = b"<Error><Code>AccessDenied</Code><Message>read-only</Message></Error>";
            conn.answer("403 Forbidden", "Connection: close\r\n", body);
            conn.stall();
        });
        let error = perform(choice, &server, Sink::Buffer, op(OpKind::Put, 1, 30_000_000), LONG).unwrap_err();
        assert_eq!(error.kind, ErrorKind::AccessDenied, "{error}");
    }
}

#[test]
fn a_failed_upload_is_aborted() {
    for choice in backends() {
        let (sent, aborted) =
            (std::sync::Arc::new(AtomicU32::new(0)), std::sync::Arc::new(AtomicU32::new(0)));
        let (sends, aborts) = (sent.clone(), aborted.clone());
        let server = Server::start(move |mut conn| {
            while let Some(request) = conn.request() {
                match (request.method.as_str(), request.target.contains("uploadId=id%2F1")) {
                    ("POST", false) => conn.answer(
                        "200 OK",
                        "",
                        b"<InitiateMultipartUploadResult><UploadId>id/1</UploadId></InitiateMultipartUploadResult>",
                    ),
                    ("PUT", true) if sends.fetch_add(1, Ordering::SeqCst) == 0 => {
                        conn.answer("200 OK", "ETag: \"e\"\r\n", b"");
                    }
                    ("PUT", true) => conn.answer("507 Insufficient Storage", "", b""),
                    ("DELETE", true) => {
                        aborts.fetch_add(1, Ordering::SeqCst);
                        conn.answer("204 No Content", "", b"");
                    }
                    _ => conn.answer("400 Bad Request", "", b""),
                }
            }
        });
        let mut config = server.config();
        config.part_size = 5 << 20;
        with_session(choice, config, &context(Sink::Buffer), async |session| {
            let error = session.perform(&op(OpKind::Put, 1, 12 << 20)).await.unwrap_err();
            assert_eq!((error.kind, error.rpcs), (ErrorKind::NoSpace, 4), "{error}");
        });
        assert_eq!((sent.load(Ordering::SeqCst), aborted.load(Ordering::SeqCst)), (2, 1));
    }
}
