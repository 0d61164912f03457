//! Connections from several addresses of this machine to several of the server.

use std::collections::BTreeMap;
use std::net::IpAddr;

use drivers::nfs::{NfsConfig, NfsDriver};
use drivers::paths::{DataAddress, Paths, sources};
use drivers::{Driver, Session};
use metrics::{ErrorKind, OpKind};
use reactor::Reactor;

use crate::server::Server;
use crate::support::*;

const LANES: u32 = 4;

/// The server listens on all addresses; two of them are data addresses, reached from two of ours.
fn spread(server: &Server) -> NfsConfig {
    let address = |last| DataAddress { ip: IpAddr::from([127, 0, 0, last]), port: None };
    let addresses = vec![address(4), address(5)];
    let ips: Vec<IpAddr> = addresses.iter().map(|address| address.ip).collect();
    let paths = Paths { sources: sources("127.0.0.2,127.0.0.3", &ips).unwrap(), ..Paths::default() };
    let port = Some(server.address.port());
    NfsConfig {
        nfs_port: port,
        mount_port: port,
        connections_per_worker: LANES,
        addresses,
        paths,
        ..NfsConfig::new(ips[0], "/export", DIRECTORY)
    }
}

#[test]
fn every_pair_of_addresses_has_a_connection_and_moves_data() {
    on_both(|choice| {
        let server = Server::start_on("0.0.0.0:0", obedient);
        let reactor = Reactor::open(choice).unwrap();
        let session = open_with(&reactor, &server, &spread(&server), &context(LANES)).unwrap();
        for result in on_all_lanes(&reactor, &session, LANES, OpKind::Create, 0, 0) {
            result.unwrap();
        }
        for result in on_all_lanes(&reactor, &session, LANES, OpKind::Write, 0, 100_000) {
            assert_eq!(result.unwrap().bytes, 100_000);
        }
        let facts = session.facts();
        let mut pairs: BTreeMap<(IpAddr, IpAddr), u64> = BTreeMap::new();
        for connection in &facts.connections {
            let pair = (connection.local.ip(), connection.remote.ip());
            *pairs.entry(pair).or_default() += connection.tcp.bytes_acknowledged;
            assert!(connection.tcp.bytes_received > 0 && !connection.congestion_control.is_empty());
        }
        assert_eq!(pairs.len(), 4, "{pairs:?}");
        assert!(pairs.values().all(|bytes| *bytes > 100_000), "{pairs:?}");
        let paths = drivers::connections::paths(&facts);
        assert_eq!(paths.len(), 4);
        let watched = drivers::connections::watch();
        let ours = watched.iter().filter(|now| now.facts.remote.port() == server.address.port());
        let numbers: Vec<u32> = ours.map(|now| now.number).collect();
        assert_eq!(numbers, [0, 1, 2, 3], "each is seen from outside");
    });
}

#[test]
fn workers_go_on_where_the_one_before_stopped() {
    on_both(|choice| {
        let server = Server::start_on("0.0.0.0:0", obedient);
        let reactor = Reactor::open(choice).unwrap();
        let config = NfsConfig { connections_per_worker: 1, ..spread(&server) };
        let mut pairs = Vec::new();
        let first = open_with(&reactor, &server, &config, &context(1)).unwrap();
        let driver = NfsDriver::new(config).unwrap();
        for worker in 1..4 {
            let mut context = context(1);
            context.worker = worker;
            let session = reactor.block_on(driver.connect(&reactor, &context)).unwrap();
            let facts = session.facts();
            pairs.push((facts.connections[0].local.ip(), facts.connections[0].remote.ip()));
        }
        let facts = first.facts();
        pairs.push((facts.connections[0].local.ip(), facts.connections[0].remote.ip()));
        pairs.sort_unstable();
        pairs.dedup();
        assert_eq!(pairs.len(), 4, "{pairs:?}");
    });
}

#[test]
fn addresses_and_further_exports_exclude_each_other() {
    let server = Server::start(obedient);
    let mut config = spread(&server);
    let more = drivers::nfs::NfsAddress {
        server: "127.0.0.6".parse().unwrap(),
        export: "/other".to_owned(),
        nfs_port: None,
        mount_port: None,
    };
    config.more.push(more);
    let error = NfsDriver::new(config).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Rejected);
    assert!(error.detail.starts_with("addresses and further URLs exclude each other"), "{error}");
}
