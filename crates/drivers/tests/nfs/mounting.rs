//! Opening an export: finding it, and errors when it cannot be opened.

use std::net::{Ipv4Addr, TcpListener};
use std::time::Duration;

use drivers::nfs::{NfsConfig, NfsDriver};
use drivers::{Driver, DriverError, WorkerContext};
use metrics::ErrorKind;
use reactor::{BackendChoice, Reactor};
use wire::mount::MountStatus;
use wire::nfs3::{Procedure, Status};
use wire::portmap::UniversalAddress;
use wire::rpc::{CallHeader, LAST_FRAGMENT, ReplyHeader};
use wire::xdr::{Decode, Encode, Reader};

use crate::server::{Action, Server};
use crate::support::*;

fn try_open(config: &NfsConfig, limit: Duration) -> Result<(), DriverError> {
    let reactor = Reactor::open(BackendChoice::Auto).unwrap();
    let context = WorkerContext { connect_timeout: limit, ..context(1) };
    let driver = NfsDriver::new(config.clone())?;
    let started = reactor.now();
    let result = reactor.block_on(driver.connect(&reactor, &context));
    assert!(reactor.now() - started < 10_000_000_000, "it ends in bounded time");
    result.map(|_| ())
}

const SHORT: Duration = Duration::from_millis(500);
const LONG: Duration = Duration::from_secs(20);

fn refused_by_mount(answer: Result<Vec<u32>, MountStatus>) -> DriverError {
    let server = Server::start(obedient);
    *server.state.mount.lock().unwrap() = answer;
    let error = try_open(&config(&server), LONG).unwrap_err();
    assert!(error.detail.starts_with("export 127.0.0.1:/export: "), "{error}");
    assert!(!error.detail.contains('\n'));
    error
}

#[test]
fn refused_exports_say_what_to_do() {
    let error = refused_by_mount(Err(MountStatus::ACCES));
    assert_eq!(error.kind, ErrorKind::AccessDenied);
    assert!(error.detail.contains("not allowed for this client: add"), "{error}");
    let error = refused_by_mount(Err(MountStatus::NOENT));
    assert_eq!(error.kind, ErrorKind::NotFound);
    assert!(error.detail.contains("there is no such export"), "{error}");
    let error = refused_by_mount(Err(MountStatus(4711)));
    assert_eq!(error.kind, ErrorKind::Rejected);
    let error = refused_by_mount(Ok(vec![390_003, 390_004]));
    assert_eq!(error.kind, ErrorKind::AccessDenied);
    assert!(error.detail.contains("390003") && error.detail.contains("sec=sys"), "{error}");
}

#[test]
fn a_directory_that_was_not_prepared_is_an_error() {
    let server = Server::start(obedient);
    let error = try_open(&config(&server), LONG).unwrap_err();
    assert_eq!(error.kind, ErrorKind::NotFound);
    assert!(error.detail.contains("must be prepared first"), "{error}");
    assert_eq!(server.count(Procedure::Mkdir), 0, "opening makes nothing");
}

#[test]
fn a_port_where_nobody_listens_is_named() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    let ports = NfsConfig {
        nfs_port: Some(port),
        mount_port: Some(port),
        ..NfsConfig::new(Ipv4Addr::LOCALHOST.into(), "/x", DIRECTORY)
    };
    let error = try_open(&ports, LONG).unwrap_err();
    assert_eq!(error.kind, ErrorKind::ConnectFailed);
    assert!(
        error.detail.contains(&format!("MOUNT service at 127.0.0.1:{port}, export /x: cannot connect")),
        "{error}"
    );
}

#[test]
fn a_stalled_server_is_given_up_in_time() {
    // Accepts through its backlog and never replies.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let ports = NfsConfig {
        nfs_port: Some(port),
        mount_port: Some(port),
        ..NfsConfig::new(Ipv4Addr::LOCALHOST.into(), "/x", DIRECTORY)
    };
    let error = try_open(&ports, SHORT).unwrap_err();
    assert_eq!(error.kind, ErrorKind::TimedOut);
    assert!(error.detail.contains("MNT: no answer within 0."), "{error}");
    // The portmapper stalls: the ports are guessed, in the remaining time.
    let guessed = NfsConfig { portmap_port: port, nfs_port: None, ..ports };
    let error = try_open(&guessed, SHORT).unwrap_err();
    assert_eq!(error.kind, ErrorKind::ConnectFailed);
    let expected = format!("neither from the portmapper (port {port}) nor from MOUNT (port {port}): check");
    assert!(error.detail.starts_with("export 127.0.0.1:/x: no answer within 0."), "{error}");
    assert!(error.detail.contains(&expected), "{error}");
}

#[test]
fn every_port_that_was_tried_is_named() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    let guessed = NfsConfig {
        portmap_port: port,
        mount_port: Some(port),
        ..NfsConfig::new(Ipv4Addr::LOCALHOST.into(), "/x", DIRECTORY)
    };
    let error = try_open(&guessed, LONG).unwrap_err();
    assert_eq!(error.kind, ErrorKind::ConnectFailed);
    for expected in
        [format!("portmapper on port {port}: cannot connect"), format!("MOUNT on port {port}: cannot")]
    {
        assert!(error.detail.contains(&expected), "{error}");
    }
}

#[test]
fn an_export_that_denies_our_user_says_so() {
    let server = Server::start(|call| match call.procedure {
        Procedure::Lookup => Action::Status(Status::ACCES),
        _ => Action::Answer,
    });
    let error = try_open(&NfsConfig { uid: 501, gid: 20, ..config(&server) }, LONG).unwrap_err();
    assert_eq!(error.kind, ErrorKind::AccessDenied);
    assert!(error.detail.contains("for uid 501 gid 20"), "{error}");
}

/// A portmapper that returns the same port for every program; over IPv6 it is asked for an address.
fn portmapper(on: &str, answer: u16) -> u16 {
    use std::io::{Read, Write};
    let listener = TcpListener::bind(on).unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut header = [0; 4];
        while stream.read_exact(&mut header).is_ok() {
            let mut call = vec![0; (u32::from_be_bytes(header) & !LAST_FRAGMENT) as usize];
            stream.read_exact(&mut call).unwrap();
            let call = CallHeader::decode(&mut Reader::new(&call)).unwrap();
            assert_eq!((call.program, call.procedure), (wire::portmap::PROGRAM, 3));
            assert_eq!(call.version, if address.is_ipv6() { 4 } else { 2 });
            let mut reply = Vec::new();
            ReplyHeader::success(call.xid).encode(&mut reply);
            match (address.is_ipv6(), answer) {
                (false, _) => u32::from(answer).encode(&mut reply),
                (true, 0) => UniversalAddress(b"").encode(&mut reply),
                (true, _) => UniversalAddress(format!("::.{}.{}", answer >> 8, answer & 255).as_bytes())
                    .encode(&mut reply),
            }
            stream.write_all(&(reply.len() as u32 | LAST_FRAGMENT).to_be_bytes()).unwrap();
            stream.write_all(&reply).unwrap();
        }
    });
    address.port()
}

#[test]
fn the_portmapper_is_asked() {
    for on in ["127.0.0.1:0", "[::1]:0"] {
        let server = Server::start_on(on, obedient);
        server.add(1, DIRECTORY, true, &[]);
        let asked = |answer| NfsConfig {
            portmap_port: portmapper(on, answer),
            nfs_port: None,
            mount_port: None,
            ..config(&server)
        };
        try_open(&asked(server.address.port()), LONG).unwrap();
        let error = try_open(&asked(0), LONG).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Rejected);
        assert!(error.detail.contains("NFS version 3 over TCP is not registered"), "{error}");
    }
}

#[test]
fn wrong_configurations_are_refused_before_anything_is_done() {
    let good = NfsConfig::new(Ipv4Addr::LOCALHOST.into(), "/x", DIRECTORY);
    for (config, expected) in [
        (NfsConfig { export: "x".into(), ..good.clone() }, "export \"x\""),
        (NfsConfig { directory: String::new(), ..good.clone() }, "directory \"\""),
        (NfsConfig { directory: "..".into(), ..good.clone() }, "directory \"..\""),
        (NfsConfig { directory: "a/b".into(), ..good.clone() }, "directory \"a/b\""),
        (NfsConfig { connections_per_worker: 0, ..good.clone() }, "connections per worker"),
        (NfsConfig { read_size: Some(0), ..good.clone() }, "read and write size"),
    ] {
        let error = NfsDriver::new(config).unwrap_err();
        assert!(error.detail.starts_with(expected), "{error}");
    }
}
