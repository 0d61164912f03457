//! Connections from several local addresses to several data addresses of a service, which keeps its name.
#![allow(clippy::unwrap_used)]

mod s3_support;

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr, TcpListener};

use drivers::paths::{Paths, sources};
use drivers::{Session, Sink};
use metrics::OpKind;
use s3_support::*;

/// A service on all addresses that accepts objects only for a host of this name.
fn service(host: &'static str) -> u16 {
    let listener = TcpListener::bind("0.0.0.0:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for socket in listener.incoming().flatten() {
            let handle = socket.try_clone().unwrap();
            let mut conn = Conn { pipe: Box::new(socket), socket: handle, number: 0 };
            std::thread::spawn(move || {
                while let Some(request) = conn.request() {
                    let right = request.header("host") == Some(host);
                    conn.answer(if right { "200 OK" } else { "400 Bad Request" }, "", b"");
                }
            });
        }
    });
    port
}

#[test]
fn every_pair_has_a_connection_and_the_host_name_stays() {
    for choice in backends() {
        let port = service("s3.example.org");
        let server = Server::start(|_| {});
        let mut config = server.config();
        config.endpoint = "http://s3.example.org".parse().unwrap();
        config.addresses = [4, 5].map(|last| SocketAddr::from(([127, 0, 0, last], port))).to_vec();
        let ips: Vec<IpAddr> = config.addresses.iter().map(SocketAddr::ip).collect();
        config.paths = Paths { sources: sources("127.0.0.2,127.0.0.3", &ips).unwrap(), ..Paths::default() };
        let mut context = context(Sink::Buffer);
        context.lanes = 4;
        with_session(choice, config, &context, async |session| {
            for lane in 0..4 {
                let mut op = op(OpKind::Put, 1, 100_000);
                op.lane = lane;
                assert_eq!(session.perform(&op).await.unwrap().retries, 0);
            }
            let facts = session.facts();
            let mut pairs: BTreeMap<(IpAddr, IpAddr), u64> = BTreeMap::new();
            for connection in &facts.connections {
                let pair = (connection.local.ip(), connection.remote.ip());
                *pairs.entry(pair).or_default() += connection.tcp.bytes_acknowledged;
            }
            assert_eq!(pairs.len(), 4, "{pairs:?}");
            assert!(pairs.values().all(|bytes| *bytes > 100_000), "{pairs:?}");
        });
    }
}

#[test]
fn an_address_that_does_not_answer_is_named_and_not_replaced_by_another() {
    let port = service("s3.example.org");
    let nobody = TcpListener::bind("127.0.0.6:0").unwrap().local_addr().unwrap();
    let server = Server::start(|_| {});
    let mut config = server.config();
    config.endpoint = "http://s3.example.org".parse().unwrap();
    config.addresses = vec![SocketAddr::from(([127, 0, 0, 4], port)), nobody];
    let driver = drivers::s3::S3Driver::new(config).unwrap();
    let reactor = reactor::Reactor::open(reactor::BackendChoice::Auto).unwrap();
    let mut context = context(Sink::Buffer);
    context.lanes = 2;
    let error = reactor.block_on(drivers::Driver::connect(&driver, &reactor, &context)).err().unwrap();
    assert!(error.detail.starts_with(&format!("S3 endpoint http://s3.example.org at {nobody}: ")), "{error}");
}
