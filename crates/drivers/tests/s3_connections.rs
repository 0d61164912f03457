//! Connections that are lost, reopened, refused and found elsewhere; retries are counted.

mod s3_support;

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use drivers::s3::S3Driver;
use drivers::{Op, Session, Sink};
use metrics::{ErrorKind, OpKind};
use s3_support::{Conn, LONG, Server, backends, content, context, op, perform, whole, with_session};

const LEN: usize = 100_000;

fn get() -> Op {
    op(OpKind::Get, 1, LEN as u64)
}

#[test]
fn after_a_timeout_the_lane_works_again_on_a_new_connection() {
    for choice in backends() {
        let server = Server::start(|mut conn| {
            if conn.number == 0 {
                conn.request();
                conn.stall();
            }
            while conn.request().is_some() {
                conn.answer("200 OK", "", &content(1, 0, LEN));
            }
        });
        let mut context = context(Sink::Verify);
        context.op_timeout = Duration::from_millis(300);
        with_session(choice, server.config(), &context, async |session| {
            assert_eq!(session.perform(&get()).await.unwrap_err().kind, ErrorKind::TimedOut);
            session.perform(&get()).await.unwrap();
            session.perform(&get()).await.unwrap();
            assert_eq!((session.facts().reconnects, session.facts().connections.len()), (1, 1));
            let reasons = session.facts().reconnect_reasons;
            assert!(reasons.len() == 1 && reasons[0].text.contains("timed out"), "{reasons:?}");
        });
        assert_eq!(server.connections(), 2);
    }
}

#[test]
fn resets_are_retried_and_counted_and_given_up() {
    for choice in backends() {
        for sink in [Sink::Buffer, Sink::Discard] {
            // Before the response, inside its head, inside its body; on the fourth connection all is well.
            let server = Server::start(|mut conn| {
                while conn.request().is_some() {
                    match conn.number {
                        0 => return conn.reset(),
                        1 => {
                            conn.write("HTTP/1.1 200 OK\r\nContent");
                            return conn.reset();
                        }
                        2 => {
                            conn.write(whole(
                                "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n",
                                &[0; 5000],
                            ));
                            // The reset must not overtake the sent data.
                            std::thread::sleep(Duration::from_millis(50));
                            return conn.reset();
                        }
                        _ => conn.answer("200 OK", "", &content(1, 0, LEN)),
                    }
                }
            });
            let done = perform(choice, &server, sink, get(), LONG).unwrap();
            assert_eq!((done.bytes, done.rpcs, done.retries), (LEN as u64, 4, 3));

            let server = Server::start(|mut conn| {
                conn.request();
                conn.reset();
            });
            let error = perform(choice, &server, sink, get(), LONG).unwrap_err();
            assert_eq!((error.kind, error.rpcs, error.retries), (ErrorKind::ConnectionLost, 4, 3), "{error}");
            assert!(error.detail.contains("given up after 4 tries"), "{error}");
        }
    }
}

#[test]
fn busy_answers_are_retried_and_counted_and_given_up() {
    let busy = b"<Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>";
    for choice in backends() {
        let asked = AtomicU32::new(0);
        let server = Server::start(move |mut conn| {
            while conn.request().is_some() {
                if asked.fetch_add(1, Ordering::SeqCst) < 2 {
                    conn.answer("503 Slow Down", "", busy);
                } else {
                    conn.answer("200 OK", "", b"");
                }
            }
        });
        with_session(choice, server.config(), &context(Sink::Buffer), async |session| {
            let before = reactor::clock::now_ns();
            let done = session.perform(&op(OpKind::Put, 1, 300_000)).await.unwrap();
            assert_eq!((done.rpcs, done.retries, session.facts().retries), (3, 2, 2));
            // There were pauses: random parts of one second and of two, the same in each run.
            assert!(reactor::clock::now_ns() - before >= 75_000_000);
        });
        assert_eq!(server.connections(), 1);

        let server = Server::start(move |mut conn| {
            while conn.request().is_some() {
                conn.answer("503 Service Unavailable", "", b"");
            }
        });
        let error = perform(choice, &server, Sink::Buffer, get(), LONG).unwrap_err();
        assert_eq!((error.kind, error.rpcs, error.retries), (ErrorKind::Busy, 4, 3), "{error}");
        // The deadline includes the retries.
        let error = perform(choice, &server, Sink::Buffer, get(), Duration::from_millis(120)).unwrap_err();
        assert_eq!(error.kind, ErrorKind::TimedOut, "{error}");
        assert!(error.retries >= 1 && error.detail.contains("pausing"), "{error}");
    }
}

#[test]
fn a_server_that_closes_after_each_answer_loses_nothing_and_its_path_stays_known() {
    for choice in backends() {
        let server = Server::start(|mut conn| {
            conn.request();
            conn.answer("200 OK", "Connection: close\r\n", &content(1, 0, LEN));
        });
        with_session(choice, server.config(), &context(Sink::Verify), async |session| {
            for _ in 0..4 {
                assert_eq!(session.perform(&get()).await.unwrap().retries, 0);
            }
            let facts = session.facts();
            assert_eq!((facts.reconnects, facts.retries, facts.connections.len()), (0, 0, 0));
            let paths = drivers::connections::paths(&facts);
            assert_eq!(paths.len(), 1);
            let path = &paths[0];
            assert_eq!((path.remote, path.local), (server.address, server.address.ip()));
            assert_eq!((path.closed, path.connections), (4, 0));
            assert!(path.mss_bytes > 0 && path.bytes_received >= 4 * LEN as u64, "{path:?}");
        });
        assert_eq!(server.connections(), 4);
    }
}

#[test]
fn an_idle_connection_that_the_server_closed_is_replaced_without_a_pause() {
    for choice in backends() {
        let server = Server::start(|mut conn| {
            conn.request();
            // Without Connection: close, but closed nevertheless.
            conn.answer("200 OK", "", &content(1, 0, LEN));
        });
        with_session(choice, server.config(), &context(Sink::Verify), async |session| {
            for round in 0..4 {
                let done = session.perform(&get()).await.unwrap();
                assert_eq!(done.retries, u32::from(round > 0), "the lost request is counted");
            }
            assert_eq!((session.facts().reconnects, session.facts().retries), (3, 3));
            let reasons = session.facts().reconnect_reasons;
            assert_eq!(reasons.iter().map(|reason| reason.count).sum::<u64>(), 3);
            // The request crosses with the close, or gets a reset in response.
            assert!(reasons.iter().all(|reason| reason.text.contains("connection")), "{reasons:?}");
        });
    }
}

#[test]
fn an_address_where_nobody_listens_is_named() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let server = Server::start(|_| {});
    let mut config = server.config();
    config.connect_to = Some(free);
    let error = S3Driver::new(config).unwrap().check_bucket().unwrap_err();
    assert_eq!(error.kind, ErrorKind::ConnectFailed);
    assert!(
        error.detail.contains(&free.to_string()) && error.detail.contains(&server.address.to_string()),
        "{error}"
    );
}

#[test]
fn the_host_name_stays_when_another_address_is_connected_to() {
    let server = Server::start(|mut conn| {
        while let Some(request) = conn.request() {
            assert_eq!(request.header("host"), Some("bucket.s3.example.org:8080"));
            assert!(request.target.starts_with("/manometer-test/"));
            conn.answer("200 OK", "", b"");
        }
    });
    let mut config = server.config();
    config.endpoint = "http://s3.example.org:8080".parse().unwrap();
    config.connect_to = Some(server.address);
    config.path_style = false;
    with_session(reactor::BackendChoice::Auto, config, &context(Sink::Buffer), async |session| {
        session.perform(&op(OpKind::Put, 1, 10)).await.unwrap();
    });
}

#[test]
fn errors_name_the_address_behind_the_endpoint() {
    let server = Server::start(|mut conn| {
        while conn.request().is_some() {
            conn.answer("500 Internal Server Error", "", b"");
        }
    });
    let mut config = server.config();
    config.endpoint = "http://s3.example.org".parse().unwrap();
    config.connect_to = Some(server.address);
    let words = format!("at http://s3.example.org through {}: ", server.address);
    let error = S3Driver::new(config.clone()).unwrap().check_bucket().unwrap_err();
    assert!(error.detail.contains(&words), "{error}");
    with_session(reactor::BackendChoice::Auto, config, &context(Sink::Buffer), async |session| {
        let error = session.perform(&get()).await.unwrap_err();
        assert!(error.detail.contains(&words), "{error}");
    });
}

#[test]
fn a_name_with_several_addresses_is_reached_through_the_one_that_answers() {
    // `localhost` is ::1 and 127.0.0.1 on most machines; the server is at the latter only.
    let server = Server::start(|mut conn| {
        while conn.request().is_some() {
            conn.answer("200 OK", "", b"");
        }
    });
    let mut config = server.config();
    config.endpoint = format!("http://localhost:{}", server.address.port()).parse().unwrap();
    let mut context = context(Sink::Buffer);
    context.lanes = 4;
    for choice in backends() {
        with_session(choice, config.clone(), &context, async |session| {
            assert_eq!(session.facts().connections.len(), 4);
            session.perform(&op(OpKind::Put, 1, 10)).await.unwrap();
        });
    }
}

#[test]
fn ipv6_addresses_are_spoken_to() {
    // A machine without IPv6 cannot test it.
    let Ok(listener) = std::net::TcpListener::bind("[::1]:0") else { return };
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        let socket = listener.accept().unwrap().0;
        let handle = socket.try_clone().unwrap();
        let mut conn = Conn { pipe: Box::new(socket), socket: handle, number: 0 };
        while let Some(request) = conn.request() {
            assert_eq!(request.header("host"), Some(address.to_string().as_str()));
            conn.answer("200 OK", "", b"");
        }
    });
    let server = Server::start(|_| {});
    let mut config = server.config();
    config.endpoint = format!("http://{address}").parse().unwrap();
    with_session(reactor::BackendChoice::Auto, config, &context(Sink::Buffer), async |session| {
        session.perform(&op(OpKind::Put, 1, 10)).await.unwrap();
    });
}
