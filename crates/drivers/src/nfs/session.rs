//! A worker's session: its connections, its lanes, and what it knows about the export.

use std::cell::{Cell, RefCell};
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;

use metrics::{ErrorKind, OpKind, ProcedureStats};
use reactor::Reactor;
use wire::nfs3::{FileHandle, PROGRAM, VERSION};
use wire::rpc::{AUTH_SYS, Auth, CallHeader, begin_record};
use wire::xdr::Encode;

use super::caller::{Caller, no_answer};
use super::config::{Lookup, NfsConfig, NfsVersion};
use super::connection::{Connection, SPARE_SLOTS, Settings, Way, serve};
use super::dial;
use super::handles::Handles;
use super::leaves::Leaves;
use super::named::{Directories, ExportFiles};
use super::operation::Operation;
use super::v41::{self, OpenFile, Renewal, SessionSlots};
use crate::deadlines::{Deadlines, Watching};
use crate::reconnecting::Served;
use crate::tree::DirectoryTree;
use crate::{Done, DriverError, Op, OpError, Session, SessionFacts, WorkerContext};

/// Total bytes of send and of receive buffers, divided among a worker's connections. For a receive buffer, half of that
/// is the maximum of any use; a send buffer should be small enough to stay in the core's own cache.
const SEND_BYTES: usize = 1 << 20;
const RECEIVE_BYTES: usize = 2 << 20;

/// One worker's connections to an export.
pub struct NfsSession {
    pub(super) version: NfsVersion,
    /// Ends before the connections.
    _renewal: Option<Renewal>,
    pub(super) reactor: Reactor,
    pub(super) connections: Vec<Served<Connection>>,
    pub(super) lanes: Vec<Lane>,
    /// Handles of the files seen by any lane.
    pub(super) handles: RefCell<Handles>,
    /// Our directory; with named files, the export's root.
    pub(super) directory: FileHandle,
    /// Where each operation starts to look up its path, and the name of our directory there; `None` if handles are
    /// cached.
    pub(super) walk: Option<(FileHandle, Box<str>)>,
    pub(super) named: Option<Arc<ExportFiles>>,
    /// Directories of named files.
    pub(super) directories: Directories,
    /// Directories of files with numbers.
    pub(super) leaves: Leaves,
    pub(super) read_size: u32,
    pub(super) write_size: u32,
    pub(super) stable: bool,
    /// Deadlines of the lanes' operations.
    pub(super) deadlines: Rc<Deadlines>,
    _watching: Watching,
    /// Server, export and directory as shown in messages.
    pub(super) label: String,
}

/// State of a lane.
#[derive(Default)]
pub(super) struct Lane {
    /// The number of its connection, and its own slot there.
    pub(super) connection: u32,
    pub(super) slot: u32,
    /// The leaf of the tree that it lists next.
    pub(super) leaf: Cell<u32>,
    /// The path of a named file.
    pub(super) path: Cell<String>,
    /// That of the second one, for operations on two.
    pub(super) other_path: Cell<String>,
    /// A block that arrives by several READs and is verified as a whole.
    pub(super) block: RefCell<Vec<u8>>,
    /// What it has opened and not closed yet, with version 4.1.
    pub(super) open: Cell<Option<OpenFile>>,
    /// The RPCs of its last operation.
    pub(super) procedures: RefCell<Vec<ProcedureStats>>,
}

impl NfsSession {
    pub(super) async fn open(
        reactor: &Reactor,
        config: &NfsConfig,
        context: &WorkerContext,
    ) -> Result<Self, DriverError> {
        let started = reactor.now();
        let deadline_ns = started + context.connect_timeout.as_nanos() as u64;
        let count = config.connections_per_worker.min(context.lanes.max(1));
        let first = config.first_connection(context.worker, count);
        let lanes_each = context.lanes.max(1).div_ceil(count);
        let mut opened = match config.version {
            NfsVersion::V3 => dial::open(reactor, config, first, deadline_ns).await?,
            NfsVersion::V4_1 => {
                let slots = context.lanes.max(1) + SPARE_SLOTS;
                v41::open_session(reactor, config, first, deadline_ns, slots).await?
            }
        };
        let directory = match config.named {
            Some(_) => opened.root,
            None => {
                let found = dial::lookup(&mut opened.caller, config, opened.root, &config.directory).await?;
                found.ok_or_else(|| dial::not_there(config))?
            }
        };
        let retries = opened.caller.retries();
        let joined = opened.caller.take_session();
        let lease_s = joined.as_ref().map_or(0, |joined| joined.lease_s);
        let session = joined.map(|joined| Rc::new(SessionSlots::new(joined)));
        let credential = dial::credential(config);
        let settings = Rc::new(Settings {
            worker: context.worker,
            payload: context.payload,
            sink: context.sink,
            op_timeout: context.op_timeout,
            connect_timeout: context.connect_timeout,
            read_size: opened.read_size,
            send_bytes: (SEND_BYTES / count as usize).clamp(SEND_BYTES / 16, SEND_BYTES / 4),
            receive_bytes: (RECEIVE_BYTES / count as usize).clamp(RECEIVE_BYTES / 8, RECEIVE_BYTES / 2),
            template: match config.version {
                NfsVersion::V3 => template(&credential),
                NfsVersion::V4_1 => v41::template(&credential),
            },
            credential,
            session: session.clone(),
        });
        let begin = |number: usize, way, stream| serve(reactor, &settings, (number, way), stream, lanes_each);
        let mut connections = vec![begin(0, opened.way, opened.caller.into_stream())];
        connections[0].connection.transport.count_retries(retries);
        for number in 1..count as usize {
            let (place, options) = config.at(first + number as u64);
            let port = if config.addresses.is_empty() { None } else { place.nfs_port };
            let port = port.unwrap_or(opened.way.remote.port());
            let way = Way { remote: SocketAddr::new(place.server, port), options };
            let attempt = reactor.connect(way.remote, &way.options);
            let failed = |text: String| {
                let from = options.bind.map(|local| format!(" from {}", local.ip())).unwrap_or_default();
                let text = format!("NFS server at {}{from}: {text}", way.remote);
                DriverError::new(ErrorKind::ConnectFailed, text)
            };
            let stream = match reactor.timeout_at(deadline_ns, attempt).await {
                Ok(Ok(stream)) => stream,
                Ok(Err(e)) => return Err(failed(format!("cannot connect: {e}"))),
                Err(_) => return Err(failed(no_answer(started, deadline_ns))),
            };
            let stream = match &session {
                None => stream,
                Some(session) => {
                    let peer = format!("NFS server at {}", way.remote);
                    let mut caller =
                        Caller::over(reactor, stream, way, peer, &settings.credential, deadline_ns);
                    session.rejoin(&mut caller, &way).await?;
                    caller.into_stream()
                }
            };
            connections.push(begin(number, way, stream));
        }
        let deadlines = Deadlines::new(reactor, context.lanes.max(1) as usize, context.op_timeout);
        let watched: Vec<_> = connections.iter().map(|served| Rc::clone(&served.connection)).collect();
        let watching = deadlines
            .watch(move |now_ns| watched.iter().for_each(|connection| connection.end_overdue(now_ns)));
        // Lanes begin to list in different leaves.
        let first_lane = u64::from(context.worker) * u64::from(context.lanes.max(1));
        let lane = |lane: u32| {
            let leaf = (first_lane + u64::from(lane)) % u64::from(config.tree.leaves());
            let (connection, slot) = (lane % count, lane / count);
            Lane { connection, slot, leaf: Cell::new(leaf as u32), ..Lane::default() }
        };
        let tree = config.named.as_ref().and_then(|named| named.tree());
        let record = tree.map_or(u32::MAX, |tree| tree.record_bytes.max(1));
        let renewal = session.map(|_| Renewal::start(reactor, &connections[0].connection, lease_s));
        Ok(Self {
            version: config.version,
            _renewal: renewal,
            reactor: reactor.clone(),
            connections,
            lanes: (0..context.lanes.max(1)).map(lane).collect(),
            handles: RefCell::new(Handles::new(config.named.as_ref().map_or(0, |named| named.files))),
            directory,
            walk: (config.lookup == Lookup::EachComponent)
                .then(|| (opened.root, config.directory.as_str().into())),
            named: config.named.clone(),
            directories: Directories::default(),
            leaves: Leaves::new(config.tree),
            read_size: opened.read_size.min(record),
            write_size: opened.write_size.min(record),
            stable: config.stable,
            deadlines,
            _watching: watching,
            label: match config.named {
                Some(_) => config.label().trim_end_matches('/').to_owned(),
                None => format!("{}/{}", config.label().trim_end_matches('/'), config.directory),
            },
        })
    }

    /// Whether the load may write its files: those of a tree that exists are only read.
    pub(super) fn may_write(&self) -> bool {
        self.named.as_ref().is_none_or(|named| !named.are_found())
    }

    /// Uses this directory instead of ours and its tree from here on. Nothing may be in flight.
    pub(super) fn enter(&mut self, directory: FileHandle) {
        (self.directory, self.walk, self.leaves) = (directory, None, Leaves::new(DirectoryTree::default()));
    }

    /// Our directory, if all files with numbers are in it and its handle is kept.
    #[inline]
    pub(super) fn only_directory(&self) -> Option<&FileHandle> {
        (self.walk.is_none() && self.leaves.tree.is_flat()).then_some(&self.directory)
    }
}

/// The part shared by all calls.
fn template(credential: &[u8]) -> Vec<u8> {
    let mut template = Vec::new();
    begin_record(&mut template);
    CallHeader::new(0, PROGRAM, VERSION, 0, Auth { flavor: AUTH_SYS, body: credential })
        .encode(&mut template);
    template
}

impl Drop for NfsSession {
    fn drop(&mut self) {
        if let Some(session) =
            self.connections.first().and_then(|served| served.connection.settings.session.clone())
        {
            session.leave(self.lanes.iter().filter_map(|lane| lane.open.take()).collect());
        }
    }
}

impl Session for NfsSession {
    async fn perform(&self, op: &Op) -> Result<Done, OpError> {
        if op.lane as usize >= self.lanes.len() {
            let text = format!("lane {} of a session with {} lanes", op.lane, self.lanes.len());
            return Err(OpError::new(ErrorKind::Local, text));
        }
        let mut operation = Operation::new(self, op);
        let result = match op.kind {
            OpKind::Create => operation.create().await,
            OpKind::Append if operation.tree().is_some() => operation.append_at_end().await,
            OpKind::Write | OpKind::Append => operation.write().await,
            OpKind::WriteFile => operation.write_file().await,
            OpKind::Read | OpKind::ReadFile => operation.read().await,
            OpKind::Overwrite => operation.overwrite().await,
            OpKind::TruncateOverwrite => operation.truncate_overwrite().await,
            OpKind::Commit => operation.commit().await,
            OpKind::Stat => operation.stat().await,
            OpKind::Remove if operation.removes_all() => operation.remove_all_of_file().await,
            OpKind::Remove => operation.remove().await,
            OpKind::List => operation.list().await,
            OpKind::Readdir => operation.readdir().await,
            OpKind::Access => operation.access().await,
            OpKind::Chmod => operation.chmod().await,
            OpKind::Truncate => operation.truncate().await,
            OpKind::Rename => operation.rename().await,
            OpKind::Link => operation.link().await,
            OpKind::Symlink => operation.symlink().await,
            OpKind::Readlink => operation.readlink().await,
            OpKind::Mkdir => operation.mkdir().await,
            OpKind::Rmdir => operation.rmdir().await,
            OpKind::Open | OpKind::Close if self.version == NfsVersion::V3 => {
                let text = format!("NFS version 3 has no operation \"{}\"", op.kind);
                return Err(OpError::new(ErrorKind::Rejected, text));
            }
            OpKind::Open => operation.open_named().await,
            OpKind::Close => operation.close().await,
            OpKind::Put
            | OpKind::Get
            | OpKind::Delete
            | OpKind::Trim
            | OpKind::Copy
            | OpKind::PutTagging
            | OpKind::GetTagging
            | OpKind::BatchDelete
            | OpKind::ListPrefixes
            | OpKind::OmapSet
            | OpKind::OmapGet
            | OpKind::Exec
            | OpKind::Setxattr
            | OpKind::Getxattr
            | OpKind::WriteZeroes => {
                let text = format!("NFS has no operation \"{}\"", op.kind);
                return Err(OpError::new(ErrorKind::Rejected, text));
            }
        };
        operation.result(result)
    }

    #[inline]
    fn visit_procedures(&self, lane: u32, visit: impl FnMut(&ProcedureStats)) {
        if let Some(lane) = self.lanes.get(lane as usize) {
            lane.procedures.borrow().iter().for_each(visit);
        }
    }

    fn facts(&self) -> SessionFacts {
        let mut facts = SessionFacts::default();
        for served in &self.connections {
            let connection = &served.connection;
            connection.transport.add_to(&mut facts);
            facts.short_answers += connection.short_answers.get();
            facts.late_replies += connection.table.borrow().late_replies;
        }
        facts
    }
}
