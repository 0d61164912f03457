//! A scripted NFS server in threads: MOUNT and NFS on one port, files in memory.
//!
//! A script inspects every NFS call and determines its reply.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};
use std::sync::{Arc, Mutex};

use wire::mount::{self, DirPath, MountResult, MountStatus, Mounted};
use wire::nfs3::*;
use wire::rpc::{AcceptStatus, CallHeader, LAST_FRAGMENT, ReplyHeader};
use wire::xdr::{Decode, Encode, Reader};

/// What to do with a reply.
pub enum Action {
    /// Send it.
    Answer,
    /// Never send it.
    Silence,
    /// Send it after the reply to the next call on the same connection.
    AfterNext,
    /// Send only this many of its bytes, then reset the connection.
    CutAndReset(usize),
    /// Send these bytes instead.
    Raw(Vec<u8>),
    /// Send it in fragments of this many bytes.
    Fragments(usize),
    /// Fail the procedure with this status.
    Status(Status),
    /// Move at most this many bytes in a READ or WRITE, and report that.
    Short(u32),
    /// Change the results (after the RPC header) before sending.
    Alter(Change),
}

/// Changes the results of a reply.
pub type Change = Box<dyn FnOnce(&mut Vec<u8>)>;

/// A call, as the script sees it.
#[derive(Clone, Copy, Debug)]
pub struct Call {
    pub procedure: Procedure,
    /// Number of earlier calls of this procedure, on all connections.
    pub number: u32,
    pub xid: u32,
}

pub type Script = dyn Fn(&Call) -> Action + Send + Sync;

/// The server's state.
pub struct State {
    script: Box<Script>,
    counts: Mutex<BTreeMap<u32, u32>>,
    /// Files and directories by id; the export's root is 1, its parent 0.
    pub nodes: Mutex<BTreeMap<u64, Node>>,
    next_id: Mutex<u64>,
    pub connections: AtomicU32,
    stop: AtomicBool,
    /// The reply to MNT.
    pub mount: Mutex<Result<Vec<u32>, MountStatus>>,
    pub write_verifier: Mutex<Verifier>,
    /// Stability and length of each WRITE.
    pub writes: Mutex<Vec<(Stability, u32)>>,
    /// The cookie of each READDIR.
    pub names_from: Mutex<Vec<u64>>,
    /// Maximum READ and WRITE reported by FSINFO.
    pub transfer_max: AtomicU32,
    pub last_uid: AtomicU32,
}

#[derive(Clone, Default)]
pub struct Node {
    pub parent: u64,
    pub name: String,
    pub directory: bool,
    pub data: Vec<u8>,
}

pub struct Server {
    pub address: SocketAddr,
    pub state: Arc<State>,
}

impl Server {
    pub fn start(script: impl Fn(&Call) -> Action + Send + Sync + 'static) -> Server {
        Self::start_on("127.0.0.1:0", script)
    }

    pub fn start_on(on: &str, script: impl Fn(&Call) -> Action + Send + Sync + 'static) -> Server {
        let listener = TcpListener::bind(on).unwrap();
        let address = listener.local_addr().unwrap();
        let root = Node { directory: true, ..Node::default() };
        let state = Arc::new(State {
            script: Box::new(script),
            counts: Mutex::default(),
            nodes: Mutex::new(BTreeMap::from([(1, root)])),
            next_id: Mutex::new(2),
            connections: AtomicU32::new(0),
            stop: AtomicBool::new(false),
            mount: Mutex::new(Ok(vec![1])),
            write_verifier: Mutex::new([7; 8]),
            writes: Mutex::default(),
            names_from: Mutex::default(),
            transfer_max: AtomicU32::new(1 << 20),
            last_uid: AtomicU32::new(u32::MAX),
        });
        let shared = Arc::clone(&state);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                if shared.stop.load(SeqCst) {
                    return;
                }
                let Ok(stream) = stream else { continue };
                shared.connections.fetch_add(1, SeqCst);
                let shared = Arc::clone(&shared);
                std::thread::spawn(move || serve(&shared, stream));
            }
        });
        Server { address, state }
    }

    /// Number of calls of a procedure received.
    pub fn count(&self, procedure: Procedure) -> u32 {
        self.state.counts.lock().unwrap().get(&(procedure as u32)).copied().unwrap_or(0)
    }

    /// Adds a file or directory.
    pub fn add(&self, parent: u64, name: &str, directory: bool, data: &[u8]) -> u64 {
        let mut next = self.state.next_id.lock().unwrap();
        let id = *next;
        *next += 1;
        let node = Node { parent, name: name.into(), directory, data: data.into() };
        self.state.nodes.lock().unwrap().insert(id, node);
        id
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.state.stop.store(true, SeqCst);
        let _ = TcpStream::connect(self.address);
    }
}

fn read_record(stream: &mut TcpStream) -> Option<Vec<u8>> {
    let mut record = Vec::new();
    loop {
        let mut header = [0; 4];
        stream.read_exact(&mut header).ok()?;
        let word = u32::from_be_bytes(header);
        let at = record.len();
        record.resize(at + (word & !LAST_FRAGMENT) as usize, 0);
        stream.read_exact(&mut record[at..]).ok()?;
        if word & LAST_FRAGMENT != 0 {
            return Some(record);
        }
    }
}

fn marked(record: &[u8]) -> Vec<u8> {
    [&(record.len() as u32 | LAST_FRAGMENT).to_be_bytes()[..], record].concat()
}

fn fragmented(record: &[u8], len: usize) -> Vec<u8> {
    let mut out = Vec::new();
    for (index, piece) in record.chunks(len).enumerate() {
        let last = if (index + 1) * len >= record.len() { LAST_FRAGMENT } else { 0 };
        out.extend((piece.len() as u32 | last).to_be_bytes());
        out.extend(piece);
    }
    out
}

fn serve(state: &State, mut stream: TcpStream) {
    stream.set_nodelay(true).unwrap();
    let mut held: Option<Vec<u8>> = None;
    while let Some(record) = read_record(&mut stream) {
        let mut reader = Reader::new(&record);
        let Ok(header) = CallHeader::decode(&mut reader) else { return };
        let mut reply = Vec::new();
        ReplyHeader::success(header.xid).encode(&mut reply);
        let mut late = held.take();
        if header.program == mount::PROGRAM {
            answer_mount(state, header.procedure, &mut reply);
        } else if header.program != PROGRAM {
            reply.clear();
            ReplyHeader::accepted(header.xid, AcceptStatus::ProgramUnavailable).encode(&mut reply);
        } else {
            let auth = wire::xdr::decode_all::<wire::rpc::AuthSys>(header.credential.body).unwrap();
            state.last_uid.store(auth.uid, SeqCst);
            let procedure = Procedure::from_wire(header.procedure).unwrap();
            let number = {
                let mut counts = state.counts.lock().unwrap();
                let count = counts.entry(header.procedure).or_default();
                *count += 1;
                *count - 1
            };
            let action = (state.script)(&Call { procedure, number, xid: header.xid });
            let head = reply.len();
            if let Action::Status(status) = action {
                fail(procedure, status, &mut reply);
            } else {
                let most = if let Action::Short(most) = action { most } else { u32::MAX };
                answer(state, procedure, &mut reader, &mut reply, most);
            }
            match action {
                Action::Answer | Action::Status(_) | Action::Short(_) => {}
                Action::Silence => continue,
                Action::AfterNext => {
                    held = Some(marked(&reply));
                    continue;
                }
                Action::CutAndReset(len) => {
                    let _ = stream.write_all(&marked(&reply)[..len]);
                    let _ = rustix::net::sockopt::set_socket_linger(&stream, Some(std::time::Duration::ZERO));
                    return;
                }
                Action::Raw(bytes) => {
                    let _ = stream.write_all(&bytes);
                    continue;
                }
                Action::Fragments(len) => {
                    let _ = stream.write_all(&fragmented(&reply, len));
                    continue;
                }
                Action::Alter(change) => {
                    let mut results = reply.split_off(head);
                    change(&mut results);
                    reply.extend(results);
                }
            }
        }
        if stream.write_all(&marked(&reply)).is_err() {
            return;
        }
        if let Some(late) = late.take() {
            let _ = stream.write_all(&late);
        }
    }
    let _ = stream.shutdown(Shutdown::Both);
}

fn answer_mount(state: &State, procedure: u32, reply: &mut Vec<u8>) {
    if procedure == mount::PROC_MNT {
        let result: MountResult =
            state.mount.lock().unwrap().clone().map(|flavors| Mounted { root: handle(1), flavors });
        result.encode(reply);
    }
    let _ = DirPath(b"");
}

fn handle(id: u64) -> FileHandle {
    FileHandle::new(&id.to_be_bytes()).unwrap()
}

fn id_of(file: FileHandle) -> u64 {
    u64::from_be_bytes(file.as_bytes().try_into().unwrap())
}

fn attributes(id: u64, node: &Node) -> Attributes {
    Attributes {
        kind: if node.directory { FileType::Directory } else { FileType::Regular },
        mode: 0o644,
        links: 1,
        uid: 0,
        gid: 0,
        size: node.data.len() as u64,
        used: node.data.len() as u64,
        device: Device::default(),
        fsid: 1,
        file_id: id,
        accessed: Time::default(),
        modified: Time::default(),
        changed: Time::default(),
    }
}

fn ok<T: Encode>(reply: &mut Vec<u8>, result: T) {
    Status::OK.0.encode(reply);
    result.encode(reply);
}

/// A failure with the procedure's kind of detail.
fn fail(procedure: Procedure, status: Status, reply: &mut Vec<u8>) {
    status.0.encode(reply);
    match procedure {
        Procedure::Getattr => {}
        Procedure::Lookup
        | Procedure::Read
        | Procedure::Readdir
        | Procedure::Readdirplus
        | Procedure::Fsinfo => None::<Attributes>.encode(reply),
        _ => WccData::default().encode(reply),
    }
}

fn answer(state: &State, procedure: Procedure, from: &mut Reader<'_>, reply: &mut Vec<u8>, most: u32) {
    if let Err(status) = execute(state, procedure, from, reply, most as usize) {
        fail(procedure, status, reply);
    }
}

fn execute(
    state: &State,
    procedure: Procedure,
    from: &mut Reader<'_>,
    reply: &mut Vec<u8>,
    most: usize,
) -> Result<(), Status> {
    let mut nodes = state.nodes.lock().unwrap();
    let child = |nodes: &BTreeMap<u64, Node>, place: &DirArgs<'_>| {
        let (parent, name) = (id_of(place.directory), String::from_utf8(place.name.0.to_vec()).unwrap());
        nodes.iter().find(|(_, node)| node.parent == parent && node.name == name).map(|(id, _)| *id)
    };
    let wcc = WccData::default();
    match procedure {
        Procedure::Getattr => {
            let id = id_of(FileHandle::decode(from).unwrap());
            let node = nodes.get(&id).ok_or(Status::STALE)?;
            ok(reply, attributes(id, node));
        }
        Procedure::Lookup => {
            let id = child(&nodes, &DirArgs::decode(from).unwrap()).ok_or(Status::NOENT)?;
            let attributes = Some(attributes(id, &nodes[&id]));
            ok(reply, LookupOk { file: handle(id), attributes, directory: None });
        }
        Procedure::Create | Procedure::Mkdir => {
            let place = DirArgs::decode(from).unwrap();
            if child(&nodes, &place).is_some() {
                return Err(Status::EXIST);
            }
            let mut next = state.next_id.lock().unwrap();
            let node = Node {
                parent: id_of(place.directory),
                name: String::from_utf8(place.name.0.to_vec()).unwrap(),
                directory: procedure == Procedure::Mkdir,
                data: Vec::new(),
            };
            nodes.insert(*next, node);
            ok(reply, CreateOk { file: Some(handle(*next)), attributes: None, directory: wcc });
            *next += 1;
        }
        Procedure::Remove | Procedure::Rmdir => {
            let id = child(&nodes, &DirArgs::decode(from).unwrap()).ok_or(Status::NOENT)?;
            if nodes.values().any(|node| node.parent == id) {
                return Err(Status::NOTEMPTY);
            }
            nodes.remove(&id);
            ok(reply, wcc);
        }
        Procedure::Read => {
            let args = ReadArgs::decode(from).unwrap();
            let node = nodes.get(&id_of(args.file)).ok_or(Status::STALE)?;
            let start = (args.offset as usize).min(node.data.len());
            let end = (start + most.min(args.count as usize)).min(node.data.len());
            let eof = end == node.data.len();
            ok(
                reply,
                ReadOk { attributes: None, count: (end - start) as u32, eof, data: &node.data[start..end] },
            );
        }
        Procedure::Write => {
            let args = WriteArgs::decode(from).unwrap();
            let node = nodes.get_mut(&id_of(args.file)).ok_or(Status::STALE)?;
            let data = &args.data[..most.min(args.data.len())];
            let end = args.offset as usize + data.len();
            if node.data.len() < end {
                node.data.resize(end, 0);
            }
            node.data[args.offset as usize..end].copy_from_slice(data);
            state.writes.lock().unwrap().push((args.stable, args.count));
            let verifier = *state.write_verifier.lock().unwrap();
            let count = data.len() as u32;
            ok(reply, WriteOk { attributes: wcc, count, committed: args.stable, verifier });
        }
        Procedure::Commit => {
            let verifier = *state.write_verifier.lock().unwrap();
            ok(reply, CommitOk { attributes: wcc, verifier });
        }
        Procedure::Fsinfo => {
            let max = state.transfer_max.load(SeqCst);
            let info = FsinfoOk {
                attributes: None,
                read_max: max,
                read_preferred: max,
                read_multiple: 1,
                write_max: max,
                write_preferred: max,
                write_multiple: 1,
                readdir_preferred: 65_536,
                file_size_max: u64::MAX,
                time_delta: Time::default(),
                properties: 0,
            };
            ok(reply, info);
        }
        Procedure::Readdir | Procedure::Readdirplus => {
            let directory = id_of(FileHandle::decode(from).unwrap());
            if !nodes.get(&directory).ok_or(Status::STALE)?.directory {
                return Err(Status::NOTDIR);
            }
            list(state, &nodes, (directory, procedure), from, reply);
        }
        _ => return Err(Status::NOTSUPP),
    }
    Ok(())
}

/// A page of at most 100 entries; cookies are ids.
fn list(
    state: &State,
    nodes: &BTreeMap<u64, Node>,
    (directory, procedure): (u64, Procedure),
    from: &mut Reader<'_>,
    reply: &mut Vec<u8>,
) {
    let cookie = u64::decode(from).unwrap();
    if procedure == Procedure::Readdir {
        state.names_from.lock().unwrap().push(cookie);
    }
    let mut entries = nodes.range(cookie + 1..).filter(|(_, node)| node.parent == directory);
    ok(reply, None::<Attributes>);
    [0u8; 8].encode(reply);
    for (&id, node) in entries.by_ref().take(100) {
        let name = Name(node.name.as_bytes());
        if procedure == Procedure::Readdir {
            put_dir_entry(reply, &ReaddirEntry { file_id: id, name, cookie: id });
        } else {
            let attributes = Some(attributes(id, node));
            let file = Some(handle(id));
            put_dir_entry(reply, &ReaddirplusEntry { file_id: id, name, cookie: id, attributes, file });
        }
    }
    put_dir_end(reply, entries.next().is_none());
}
