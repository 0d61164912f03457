//! A client that sends exactly what it is told: one blocking socket and the codecs.

use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use array::files::{Files, Options};
use array::nfs::{NfsEndpoint, NfsServer, NfsServerSettings};
use array::{Capacity, FaultHandle};
use wire::nfs3::{self, FileHandle, Procedure};
use wire::rpc::{AUTH_SYS, AcceptStatus, Auth, AuthSys, CallHeader, Gids, ReplyBody, ReplyHeader};
use wire::xdr::{Decode, Encode, Reader, decode_all};
use wire::{mount, portmap};

/// Guards against hanging forever; nothing here takes a second.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// Start time of a measurement.
#[derive(Clone, Copy)]
pub struct Begun(u64);

impl Begun {
    pub fn now() -> Self {
        Self(reactor::clock::now_ns())
    }

    pub fn elapsed(self) -> Duration {
        Duration::from_nanos(reactor::clock::now_ns() - self.0)
    }
}

/// A server with one file system `fs` on 127.0.0.1.
pub struct Fixture {
    pub files: Arc<Files>,
    pub faults: FaultHandle,
    pub capacity: Arc<Capacity>,
    pub server: NfsServer,
}

impl Fixture {
    pub fn new(reactor: reactor::BackendChoice) -> Self {
        Self::with_faults(reactor, FaultHandle::default())
    }

    pub fn with_faults(reactor: reactor::BackendChoice, faults: FaultHandle) -> Self {
        let capacity = Capacity::new(1 << 30);
        let files = Files::new(Arc::clone(&capacity));
        files.create("fs", Options::default()).unwrap();
        let endpoint =
            NfsEndpoint { ip: Ipv4Addr::LOCALHOST.into(), nfs_port: 0, mount_port: 0, portmap_port: 0 };
        let settings = NfsServerSettings { reactor, ..NfsServerSettings::default() };
        let server = NfsServer::start(&files, &faults, &[endpoint], settings).unwrap();
        Self { files, faults, capacity, server }
    }

    pub fn endpoint(&self) -> NfsEndpoint {
        self.server.endpoints()[0]
    }

    pub fn ip(&self) -> IpAddr {
        self.endpoint().ip
    }

    pub fn nfs_address(&self) -> SocketAddr {
        SocketAddr::new(self.ip(), self.endpoint().nfs_port)
    }

    pub fn connect(&self) -> Client {
        Client::connect(self.nfs_address())
    }

    /// A connection to NFS, and the root of `fs`.
    pub fn mounted(&self) -> (Client, FileHandle) {
        let mut client = self.connect();
        let root = client.mount(b"/fs").unwrap().root;
        (client, root)
    }
}

/// Runs a test on both reactors; where io_uring is not permitted, on epoll only.
pub fn on_both_reactors(test: impl Fn(&Fixture)) {
    test(&Fixture::new(reactor::BackendChoice::Epoll));
    if reactor::Reactor::open(reactor::BackendChoice::Uring).is_ok() {
        test(&Fixture::new(reactor::BackendChoice::Uring));
    }
}

pub struct Client {
    pub socket: TcpStream,
    next_xid: u32,
    pub uid: u32,
}

impl Client {
    pub fn connect(address: SocketAddr) -> Self {
        let socket = TcpStream::connect_timeout(&address, PATIENCE).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        socket.set_nodelay(true).unwrap();
        Self { socket, next_xid: 1, uid: 0 }
    }

    /// The record of a call, including the mark.
    pub fn record(
        &mut self,
        program: u32,
        version: u32,
        procedure: u32,
        arguments: &impl Encode,
    ) -> (u32, Vec<u8>) {
        let xid = self.next_xid;
        self.next_xid += 1;
        let mut credential = Vec::new();
        AuthSys { stamp: 0, machine: b"test", uid: self.uid, gid: 0, gids: Gids::default() }
            .encode(&mut credential);
        let auth = Auth { flavor: AUTH_SYS, body: &credential };
        let mut out = Vec::new();
        let at = wire::rpc::begin_record(&mut out);
        CallHeader::new(xid, program, version, procedure, auth).encode(&mut out);
        arguments.encode(&mut out);
        wire::rpc::end_record(&mut out, at, 0);
        (xid, out)
    }

    pub fn send(&mut self, bytes: &[u8]) {
        self.socket.write_all(bytes).unwrap();
    }

    /// The next record; `None` at the end of the stream.
    pub fn receive(&mut self) -> std::io::Result<Option<Vec<u8>>> {
        let mut mark = [0; 4];
        match self.socket.read_exact(&mut mark) {
            Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => return Ok(None),
            other => other?,
        }
        let mark = u32::from_be_bytes(mark);
        assert!(mark & wire::rpc::LAST_FRAGMENT != 0, "the server sends whole records");
        let mut record = vec![0; (mark & !wire::rpc::LAST_FRAGMENT) as usize];
        self.socket.read_exact(&mut record)?;
        Ok(Some(record))
    }

    /// The next reply: transaction id, header, results.
    pub fn reply(&mut self) -> (u32, ReplyBody<'static>, Vec<u8>) {
        let record = self.receive().unwrap().expect("a reply");
        let mut reader = Reader::new(&record);
        let header = ReplyHeader::decode(&mut reader).unwrap();
        let body = match header.body {
            ReplyBody::Accepted { status, .. } => ReplyBody::Accepted { verifier: Auth::NONE, status },
            ReplyBody::RpcMismatch { low, high } => ReplyBody::RpcMismatch { low, high },
            ReplyBody::AuthError(status) => ReplyBody::AuthError(status),
        };
        (header.xid, body, reader.rest().to_vec())
    }

    /// Calls and waits for the results.
    pub fn call(&mut self, program: u32, version: u32, procedure: u32, arguments: &impl Encode) -> Vec<u8> {
        let (xid, record) = self.record(program, version, procedure, arguments);
        self.send(&record);
        let (answered, body, results) = self.reply();
        assert_eq!(answered, xid);
        assert_eq!(body, ReplyBody::Accepted { verifier: Auth::NONE, status: AcceptStatus::Success });
        results
    }

    pub fn nfs_record(&mut self, procedure: Procedure, arguments: &impl Encode) -> (u32, Vec<u8>) {
        self.record(nfs3::PROGRAM, nfs3::VERSION, procedure as u32, arguments)
    }

    /// Calls a procedure of NFS and returns the encoded outcome.
    pub fn nfs(&mut self, procedure: Procedure, arguments: &impl Encode) -> Vec<u8> {
        self.call(nfs3::PROGRAM, nfs3::VERSION, procedure as u32, arguments)
    }

    pub fn mount(&mut self, path: &[u8]) -> mount::MountResult {
        let results = self.call(mount::PROGRAM, mount::VERSION, mount::PROC_MNT, &mount::DirPath(path));
        decode_all(&results).unwrap()
    }

    pub fn port_of(&mut self, program: u32, version: u32) -> u16 {
        let wanted = portmap::Mapping { program, version, protocol: portmap::PROTOCOL_TCP, port: 0 };
        let results = self.call(portmap::PROGRAM, portmap::VERSION, portmap::PROC_GETPORT, &wanted);
        decode_all::<u32>(&results).unwrap() as u16
    }
}

/// Decodes an outcome that must be a success: `ok!(ResultType, FailureDetail, bytes)`.
macro_rules! ok {
    ($result:ty, $detail:ty, $bytes:expr) => {
        wire::xdr::decode_all::<wire::nfs3::ProcedureResult<$result, $detail>>(&$bytes).unwrap().unwrap()
    };
}

/// Decodes an outcome that must be a failure, and yields its status.
macro_rules! failed {
    ($result:ty, $detail:ty, $bytes:expr) => {
        wire::xdr::decode_all::<wire::nfs3::ProcedureResult<$result, $detail>>(&$bytes)
            .unwrap()
            .unwrap_err()
            .status
    };
}

pub(crate) use {failed, ok};
