//! A scripted server of NFSv4.1 in threads: one client, one session, files in memory.
//!
//! Slots are checked as RFC 8881, 2.10.6.1 wants it, and replies kept where the client asks for it; a script may make a
//! reply wrong, lose it, or forget the session.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Mutex, MutexGuard};

use wire::nfs3::{FileHandle, FileType};
use wire::nfs4::*;
use wire::rpc::{CallHeader, LAST_FRAGMENT, ReplyHeader};
use wire::xdr::{Decode, Encode, Reader};

use crate::nodes41::Opens;

/// What to do with a COMPOUND that has a session.
pub enum Act {
    /// Answer it.
    Answer,
    /// Execute it, then reset the connection instead of answering.
    Lose,
    /// Execute it and never answer.
    Silence,
    /// Fail its SEQUENCE with this status.
    Refuse(Nfs4Status),
    /// Fail its last operation with this status.
    Fail(Nfs4Status),
    /// The session is gone, and with `true` the client too.
    Forget(bool),
    /// Change the COMPOUND's reply (after the RPC header).
    Alter(fn(&mut Vec<u8>)),
}

/// A COMPOUND, as the script sees it.
pub struct Seen {
    /// Its last operation.
    pub last: Operation,
    /// Number of earlier COMPOUNDs that end with this operation.
    pub number: u32,
}

type Script = dyn Fn(&Seen) -> Act + Send + Sync;

/// A slot: the sequence number of its last call, and the kept reply.
#[derive(Clone, Default)]
struct Slot {
    sequence: u32,
    kept: Option<Vec<u8>>,
}

#[derive(Default)]
pub struct State {
    client: u64,
    session: Option<SessionId>,
    sessions: u8,
    slots: Vec<Slot>,
    create_sequence: u32,
    /// New clients and sessions fail with this status.
    pub admits_none: Option<Nfs4Status>,
    /// The saved file.
    pub saved: u64,
    /// Parent, name, directory, content; the root is 1, the export 2.
    pub nodes: BTreeMap<u64, (u64, String, bool, Vec<u8>)>,
    pub opens: Opens,
    counts: BTreeMap<u32, u32>,
    /// Executions of operations, retransmissions excluded.
    pub executed: BTreeMap<u32, u32>,
    /// COMPOUNDs that succeeded, by the operation that they exist for.
    pub compounds: BTreeMap<&'static str, u64>,
    /// The highest slot used.
    pub highest: u32,
    pub reclaims: u32,
}

pub struct Server41 {
    pub address: SocketAddr,
    state: Arc<Mutex<State>>,
    stop: Arc<AtomicBool>,
}

impl Server41 {
    pub fn start(slots: usize, script: impl Fn(&Seen) -> Act + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let export = (1, "export".to_owned(), true, Vec::new());
        let nodes = BTreeMap::from([(1, (0, String::new(), true, Vec::new())), (2, export)]);
        let state =
            Arc::new(Mutex::new(State { nodes, slots: vec![Slot::default(); slots], ..State::default() }));
        let stop = Arc::new(AtomicBool::new(false));
        let script: Arc<Script> = Arc::new(script);
        let (shared, stopped) = (Arc::clone(&state), Arc::clone(&stop));
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                if stopped.load(SeqCst) {
                    return;
                }
                let Ok(stream) = stream else { continue };
                let (state, script) = (Arc::clone(&shared), Arc::clone(&script));
                std::thread::spawn(move || serve(&state, &*script, stream));
            }
        });
        Self { address, state, stop }
    }

    pub fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    /// How often an operation was executed.
    pub fn executed(&self, operation: Operation) -> u32 {
        self.state().executed.get(&(operation as u32)).copied().unwrap_or(0)
    }

    /// How often SEQUENCE came alone.
    pub fn renewals(&self) -> u32 {
        self.state().counts.get(&(Operation::Sequence as u32)).copied().unwrap_or(0)
    }

    /// Forgets the client and its session, as when its lease has expired.
    pub fn expire(&self) {
        let mut state = self.state();
        (state.session, state.client) = (None, 0);
        state.opens.forget();
    }

    /// Whether no client or a session is left.
    pub fn is_empty(&self) -> bool {
        let state = self.state();
        state.session.is_none() && state.client == 0
    }
}

impl Drop for Server41 {
    fn drop(&mut self) {
        self.stop.store(true, SeqCst);
        let _ = TcpStream::connect(self.address);
    }
}

fn serve(state: &Mutex<State>, script: &Script, mut stream: TcpStream) {
    stream.set_nodelay(true).unwrap();
    loop {
        let mut mark = [0; 4];
        if stream.read_exact(&mut mark).is_err() {
            return;
        }
        let word = u32::from_be_bytes(mark);
        assert!(word & LAST_FRAGMENT != 0, "our client sends whole records");
        let mut record = vec![0; (word & !LAST_FRAGMENT) as usize];
        if stream.read_exact(&mut record).is_err() {
            return;
        }
        let mut from = Reader::new(&record);
        let header = CallHeader::decode(&mut from).unwrap();
        assert_eq!((header.program, header.version, header.procedure), (PROGRAM, VERSION, PROC_COMPOUND));
        let Some(body) = compound(&mut state.lock().unwrap(), script, &mut from) else { continue };
        let Ok(body) = body else {
            let _ = rustix::net::sockopt::set_socket_linger(&stream, Some(std::time::Duration::ZERO));
            return;
        };
        let mut reply = Vec::new();
        ReplyHeader::success(header.xid).encode(&mut reply);
        reply.extend(body);
        let marked = [&(reply.len() as u32 | LAST_FRAGMENT).to_be_bytes()[..], &reply].concat();
        if stream.write_all(&marked).is_err() {
            return;
        }
    }
}

/// The reply, `Err` for a reset, or nothing.
fn compound(state: &mut State, script: &Script, from: &mut Reader<'_>) -> Option<Result<Vec<u8>, ()>> {
    let head = CallHead::decode(from).unwrap();
    assert_eq!(head.minor_version, 1);
    let operations: Vec<OpArgument<'_>> =
        (0..head.count).map(|_| OpArgument::decode(from).unwrap()).collect();
    from.finish().unwrap();
    let OpArgument::Sequence(sequence) = operations[0] else {
        let mut out = Vec::new();
        let status = alone(state, &operations[0], &mut out);
        return Some(Ok(replied(status, 1, &out)));
    };
    let last = operations[operations.len() - 1].operation();
    let count = state.counts.entry(last as u32).or_default();
    *count += 1;
    let act = script(&Seen { last, number: *count - 1 });
    if let Act::Forget(client) = act {
        state.session = None;
        if client {
            state.client = 0;
            state.opens.forget();
        }
    }
    let refused = |status: Nfs4Status| {
        let mut out = Vec::new();
        OpOutcome::Sequence(Err(status)).encode(&mut out);
        Some(Ok(replied(status, 1, &out)))
    };
    if let Act::Refuse(status) = act {
        return refused(status);
    }
    if state.session != Some(sequence.session) {
        return refused(Nfs4Status::BADSESSION);
    }
    state.highest = state.highest.max(sequence.slot);
    let Some(slot) = state.slots.get(sequence.slot as usize).cloned() else {
        return refused(Nfs4Status::BADSLOT);
    };
    if sequence.sequence == slot.sequence && sequence.sequence > 0 {
        return match slot.kept {
            Some(kept) => Some(Ok(kept)),
            None => refused(Nfs4Status::RETRY_UNCACHED_REP),
        };
    }
    if sequence.sequence != slot.sequence + 1 {
        return refused(Nfs4Status::SEQ_MISORDERED);
    }
    let failed = if let Act::Fail(status) = act { Some(status) } else { None };
    let (status, done, out) = execute(state, &operations, &sequence, failed);
    let mut body = replied(status, done, &out);
    let kept = sequence.cache.then(|| body.clone());
    state.slots[sequence.slot as usize] = Slot { sequence: sequence.sequence, kept };
    match act {
        Act::Lose => return Some(Err(())),
        Act::Silence => return None,
        Act::Alter(change) => change(&mut body),
        _ => {}
    }
    Some(Ok(body))
}

fn replied(status: Nfs4Status, count: u32, outcomes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    ReplyHead { status, tag: Tag(b""), count }.encode(&mut out);
    out.extend(outcomes);
    out
}

/// An operation outside of a session.
fn alone(state: &mut State, operation: &OpArgument<'_>, out: &mut Vec<u8>) -> Nfs4Status {
    if let (OpArgument::ExchangeId(_) | OpArgument::CreateSession(_), Some(status)) =
        (operation, state.admits_none)
    {
        (operation.operation() as u32).encode(out);
        status.encode(out);
        return status;
    }
    let status = |ok: bool, status| if ok { Ok(()) } else { Err(status) };
    let (outcome, status) = match operation {
        OpArgument::ExchangeId(_) => {
            state.client = state.client.max(u64::from(state.sessions)) + 1;
            state.create_sequence = 1;
            let server_owner = ServerOwner { minor_id: 0, major_id: ServerLabel(b"test") };
            (
                OpOutcome::ExchangeId(Ok(ExchangeIdOk {
                    client: state.client,
                    sequence: 1,
                    flags: ExchangeIdArgs::NOT_PNFS,
                    protection: Protection::None,
                    server_owner,
                    scope: ServerLabel(b"test"),
                    implementation: None,
                })),
                Ok(()),
            )
        }
        OpArgument::CreateSession(wanted) => {
            if wanted.client != state.client || state.client == 0 {
                OpOutcome::CreateSession(Err(Nfs4Status::STALE_CLIENTID)).encode(out);
                return Nfs4Status::STALE_CLIENTID;
            }
            assert_eq!(wanted.sequence, state.create_sequence);
            state.create_sequence += 1;
            state.sessions += 1;
            let session = [state.sessions; 16];
            state.session = Some(session);
            state.slots.fill(Slot::default());
            let requests_max = wanted.fore.requests_max.min(state.slots.len() as u32);
            let fore = ChannelAttributes { requests_max, ..wanted.fore };
            let (sequence, flags, back) = (wanted.sequence, 0, wanted.back);
            (OpOutcome::CreateSession(Ok(CreateSessionOk { session, sequence, flags, fore, back })), Ok(()))
        }
        OpArgument::BindConnToSession(bound) => {
            let result = status(state.session == Some(bound.session), Nfs4Status::BADSESSION);
            let BindArgs { session, direction, rdma } = *bound;
            (OpOutcome::BindConnToSession(result.map(|()| BindOk { session, direction, rdma })), result)
        }
        OpArgument::DestroySession(session) => {
            let result = status(state.session == Some(*session), Nfs4Status::BADSESSION);
            if result.is_ok() {
                state.session = None;
            }
            (OpOutcome::DestroySession(result), result)
        }
        OpArgument::DestroyClientId(client) => {
            let result = status(state.client == *client, Nfs4Status::STALE_CLIENTID)
                .and(status(state.session.is_none() && state.opens.count() == 0, Nfs4Status::CLIENTID_BUSY));
            if result.is_ok() {
                state.client = 0;
            }
            (OpOutcome::DestroyClientId(result), result)
        }
        other => panic!("{other:?} needs a session"),
    };
    outcome.encode(out);
    status.err().unwrap_or(Nfs4Status::OK)
}

/// Executes a COMPOUND: status, number of outcomes, the outcomes.
fn execute(
    state: &mut State,
    operations: &[OpArgument<'_>],
    sequence: &SequenceArgs,
    failed: Option<Nfs4Status>,
) -> (Nfs4Status, u32, Vec<u8>) {
    let mut out = Vec::new();
    let highest = state.slots.len() as u32 - 1;
    let SequenceArgs { session, sequence: number, slot, .. } = *sequence;
    let answered = SequenceOk {
        session,
        sequence: number,
        slot,
        highest_slot: highest,
        target_highest_slot: highest,
        flags: 0,
    };
    OpOutcome::Sequence(Ok(answered)).encode(&mut out);
    let mut current = 0;
    for (index, operation) in operations.iter().enumerate().skip(1) {
        let done = match failed.filter(|_| index + 1 == operations.len()) {
            Some(status) => Err(status),
            None => super::nodes41::run(state, &mut current, operation, &mut out),
        };
        if let Err(status) = done {
            (operation.operation() as u32).encode(&mut out);
            status.encode(&mut out);
            if let OpArgument::SetAttr(_) = operation {
                Bitmap::EMPTY.encode(&mut out);
            }
            return (status, index as u32 + 1, out);
        }
        *state.executed.entry(operation.operation() as u32).or_default() += 1;
        if index + 1 == operations.len() {
            *state.compounds.entry(named(operations)).or_default() += 1;
        }
    }
    (Nfs4Status::OK, operations.len() as u32, out)
}

/// The operation that a COMPOUND exists for: the first that does more than choose the file.
fn named(operations: &[OpArgument<'_>]) -> &'static str {
    let chooses = |operation: Operation| {
        matches!(operation, Operation::Sequence | Operation::PutFh | Operation::PutRootFh | Operation::SaveFh)
    };
    let mut all = operations.iter().map(OpArgument::operation);
    all.find(|operation| !chooses(*operation)).map_or("SEQUENCE", Operation::name)
}

pub fn handle(id: u64) -> Handle {
    Handle(FileHandle::new(&[&[0x41; 72][..], &id.to_be_bytes()].concat()).unwrap())
}

/// Values of the attributes that were asked for.
pub fn attributes(id: u64, node: &(u64, String, bool, Vec<u8>), wanted: &Bitmap) -> (Bitmap, Vec<u8>) {
    let kind = if node.2 { FileType::Directory } else { FileType::Regular };
    let has = |number| wanted.has(number).then_some(());
    let values = Attributes4 {
        kind: has(Attribute::TYPE).map(|()| kind),
        size: has(Attribute::SIZE).map(|()| node.3.len() as u64),
        file_system: has(Attribute::FSID).map(|()| (1, 0)),
        lease_s: has(Attribute::LEASE_TIME).map(|()| 3),
        file_id: has(Attribute::FILE_ID).map(|()| id),
        read_max: has(Attribute::MAX_READ).map(|()| 1 << 20),
        write_max: has(Attribute::MAX_WRITE).map(|()| 1 << 20),
        mode: has(Attribute::MODE).map(|()| 0o644),
        available_bytes: has(Attribute::SPACE_AVAILABLE).map(|()| 1 << 30),
        ..Attributes4::default()
    };
    let mut bytes = Vec::new();
    (values.put(&mut bytes), bytes)
}
