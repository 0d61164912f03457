//! A worker's session: its open files, its buffers, and its deadlines.

use std::cell::{Cell, RefCell};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::pin::pin;

use content::{TreeFile, TreeRole};
use metrics::{ErrorKind, OpKind, ProcedureStats};
use reactor::{Buffer, Directory, File, FileOptions, NAME_BUFFER, Reactor};
use rustix::fs::{CWD, Mode, OFlags, openat};

use super::align::Alignment;
use super::buffers::Buffers;
use super::config::{FileConfig, Place};
use super::errors::{kind_of, words};
use super::operation::{self, Fault};
use super::steps::Steps;
use super::{FileDriver, devices, facts, list, metadata, named, tree_files, xattr};
use crate::deadlines::TimeLimits;
use crate::open_files::Cache;
use crate::{Done, DriverError, Op, OpError, Payload, Session, SessionFacts, Sink, WorkerContext};

/// What a session has open: a directory, device or named files.
pub(super) enum Opened {
    Directory { directory: Directory, cache: Cache<File> },
    Device { reading: File, writing: RefCell<Option<File>>, bytes: u64, block: bool },
}

/// State of a lane.
#[derive(Default)]
pub(super) struct Lane {
    /// The buffer for file names.
    pub(super) name: Cell<Option<Buffer>>,
    /// The leaf of the tree that it lists next.
    pub(super) leaf: Cell<u32>,
    /// What it has opened and not closed yet.
    pub(super) descriptor: Cell<Option<OwnedFd>>,
    /// The system calls of its operation.
    pub(super) steps: Steps,
}

/// One worker's side of a directory or device.
pub struct FileSession {
    pub(super) reactor: Reactor,
    pub(super) opened: Opened,
    pub(super) lanes: Vec<Lane>,
    pub(super) buffers: Buffers,
    pub(super) config: FileConfig,
    pub(super) payload: Payload,
    pub(super) verify: bool,
    /// Alignment that direct I/O requires.
    pub(super) alignment: Option<Alignment>,
    pub(super) may_write: bool,
    /// The numbers of named devices that may be written.
    pub(super) cleared_devices: Vec<u64>,
    limits: TimeLimits,
    /// Deadline of an operation in seconds, for messages.
    op_timeout_s: f64,
}

impl FileSession {
    pub(super) async fn open(
        reactor: &Reactor,
        driver: &FileDriver,
        context: &WorkerContext,
    ) -> Result<Self, DriverError> {
        let config = driver.config().clone();
        if reactor.polls_completions() && !config.direct {
            let text = format!(
                "{}: polling the device for completions (iopoll) works past the page cache only: set direct to true, \
                 or do without iopoll",
                config.place.path().display()
            );
            return Err(DriverError::new(ErrorKind::Rejected, text));
        }
        let one = !matches!(config.place, Place::Named(_) | Place::Tree(_));
        if one && reactor.polls_completions() && facts::polls(config.place.path()) == Some(false) {
            return Err(devices::cannot_be_polled(config.place.path()));
        }
        let (opened, alignment) = match &config.place {
            Place::Directory(path) => open_directory(reactor, &config, path).await?,
            Place::Device(path) => open_device(reactor, &config, path).await?,
            Place::Named(named) => (named::open(reactor, &config, &named.directory)?, None),
            Place::Tree(files) => (named::open(reactor, &config, &files.directory)?, None),
        };
        let lanes = context.lanes.max(1) as usize;
        // Lanes begin to list in different leaves.
        let first = u64::from(context.worker) * lanes as u64;
        let lane = |lane: usize| {
            let name = Cell::new(Some(reactor.buffer(NAME_BUFFER)));
            let leaf = (first + lane as u64) % u64::from(config.tree.leaves());
            Lane { name, leaf: Cell::new(leaf as u32), ..Lane::default() }
        };
        Ok(Self {
            reactor: reactor.clone(),
            opened,
            lanes: (0..lanes).map(lane).collect(),
            buffers: Buffers::new(reactor, config.registered, lanes),
            payload: context.payload,
            verify: context.sink == Sink::Verify,
            alignment: if config.direct { alignment } else { None },
            may_write: driver.may_write(),
            cleared_devices: driver.cleared_devices(),
            limits: TimeLimits::start(reactor, lanes, context.op_timeout),
            op_timeout_s: context.op_timeout.as_secs_f64(),
            config,
        })
    }

    async fn run(&self, op: &Op) -> Result<Done, Fault> {
        if let Place::Tree(files) = &self.config.place {
            match op.kind {
                OpKind::Append => return tree_files::append(self, op, files).await,
                OpKind::Readdir => return tree_files::list(self, op, files).await,
                OpKind::Setxattr => return tree_files::set_attributes(self, op, files).await,
                OpKind::Getxattr => return tree_files::get_attributes(self, op, files).await,
                OpKind::Remove if TreeFile::of(op.object).role == TreeRole::All => {
                    return tree_files::clean_up(self, op, files).await;
                }
                _ => {}
            }
        }
        match op.kind {
            OpKind::Read => operation::read(self, op).await,
            OpKind::Write | OpKind::Append => operation::write(self, op).await,
            OpKind::Create => operation::create(self, op).await,
            OpKind::Commit => operation::commit(self, op).await,
            OpKind::Stat => operation::stat(self, op).await,
            OpKind::Remove => operation::remove(self, op).await,
            OpKind::List | OpKind::Readdir => list::list(self, op).await,
            OpKind::Trim => operation::trim(self, op).await,
            OpKind::WriteZeroes => operation::write_zeroes(self, op).await,
            OpKind::Access => metadata::access(self, op).await,
            OpKind::Chmod => metadata::chmod(self, op).await,
            OpKind::Truncate => metadata::truncate(self, op).await,
            OpKind::Rename => metadata::rename(self, op).await,
            OpKind::Link => metadata::link(self, op).await,
            OpKind::Symlink => metadata::symlink(self, op).await,
            OpKind::Readlink => metadata::readlink(self, op).await,
            OpKind::Mkdir => metadata::mkdir(self, op).await,
            OpKind::Rmdir => metadata::rmdir(self, op).await,
            OpKind::WriteFile => operation::write_file(self, op).await,
            OpKind::ReadFile => operation::read_file(self, op).await,
            OpKind::Overwrite => operation::overwrite(self, op, false).await,
            OpKind::TruncateOverwrite => operation::overwrite(self, op, true).await,
            OpKind::Open => metadata::open(self, op).await,
            OpKind::Close => metadata::close(self, op).await,
            OpKind::Setxattr => xattr::set(self, op).await,
            OpKind::Getxattr => xattr::get(self, op).await,
            OpKind::Put
            | OpKind::Get
            | OpKind::Delete
            | OpKind::Copy
            | OpKind::PutTagging
            | OpKind::GetTagging
            | OpKind::BatchDelete
            | OpKind::ListPrefixes
            | OpKind::OmapSet
            | OpKind::OmapGet
            | OpKind::Exec => {
                Err(Fault::new(ErrorKind::Rejected, "files and devices have no such operation"))
            }
        }
    }

    #[cold]
    fn error(&self, op: &Op, fault: Fault) -> OpError {
        let Op { kind, object, .. } = *op;
        let path = self.config.place.path().display();
        let file = match &self.config.place {
            Place::Directory(_) if !matches!(kind, OpKind::List | OpKind::Readdir) => {
                format!("{path}/{object:016x}")
            }
            Place::Named(named) => named.path_of(object).display().to_string(),
            Place::Tree(files) => files.path_of(object).display().to_string(),
            _ => path.to_string(),
        };
        let (error, text) = *fault.0;
        OpError::new(error, format!("{kind}{}, {file}: {text}", op.range_words()))
    }
}

impl Session for FileSession {
    #[inline]
    async fn perform(&self, op: &Op) -> Result<Done, OpError> {
        if op.lane as usize >= self.lanes.len() {
            let text = format!("lane {} of a session with {} lanes", op.lane, self.lanes.len());
            return Err(OpError::new(ErrorKind::Local, text));
        }
        // Pinned where it is created: moving it would copy it whole.
        let running = pin!(self.run(op));
        match self.limits.wait(op.lane, running).await {
            Ok(Ok(done)) => Ok(done),
            Ok(Err(fault)) => Err(self.error(op, fault)),
            Err(_) => {
                let text = format!("no answer within {} s", self.op_timeout_s);
                Err(self.error(op, Fault::new(ErrorKind::TimedOut, text)))
            }
        }
    }

    fn facts(&self) -> SessionFacts {
        SessionFacts::default()
    }

    #[inline]
    fn visit_procedures(&self, lane: u32, visit: impl FnMut(&ProcedureStats)) {
        if let Some(lane) = self.lanes.get(lane as usize) {
            lane.steps.visit(visit);
        }
    }
}

type Found = (Opened, Option<Alignment>);

async fn open_directory(reactor: &Reactor, config: &FileConfig, path: &Path) -> Result<Found, DriverError> {
    // Ours: all that is below it was made by operations.
    let directory = reactor.plain_directory(path).map_err(|e| {
        let hint = if e.kind() == std::io::ErrorKind::NotFound { ": it must be prepared first" } else { "" };
        DriverError::new(kind_of(&e), format!("directory {}: {}{hint}", path.display(), words(&e)))
    })?;
    let alignment = if config.direct { Some(probe(reactor, path).await?) } else { None };
    Ok((Opened::Directory { directory, cache: Cache::new(config.open_files) }, alignment))
}

/// Determines the alignment that `O_DIRECT` requires here, using an unnamed file, and whether the device can be polled.
async fn probe(reactor: &Reactor, path: &Path) -> Result<Alignment, DriverError> {
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::DIRECT | OFlags::CLOEXEC;
    let fd = match openat(CWD, path, flags, Mode::RUSR | Mode::WUSR) {
        Ok(fd) => fd,
        Err(rustix::io::Errno::INVAL) => return Err(devices::no_direct(path)),
        // Not every file system has unnamed files; then the first operation finds out.
        Err(_) => return Ok(Alignment { offset_bytes: 1, memory_bytes: 1 }),
    };
    let alignment = Alignment::of(&fd).ok_or_else(|| devices::no_direct(path))?;
    if reactor.polls_completions() {
        let file = reactor.file(fd, FileOptions { write: true, direct: true, ..FileOptions::default() });
        let len = (alignment.offset_bytes as usize).max(4096);
        let (written, _) = file.write_at(reactor.buffer(len), 0..len, 0).await;
        written.map_err(|e| devices::not_polled(path, &e))?;
    }
    Ok(alignment)
}

async fn open_device(reactor: &Reactor, config: &FileConfig, path: &Path) -> Result<Found, DriverError> {
    let fd = devices::open(path, config.direct, false)?;
    let bytes = devices::size_of(&fd, path)?;
    let block = devices::is_block(&fd);
    let alignment =
        if config.direct { Some(Alignment::of(&fd).ok_or_else(|| devices::no_direct(path))?) } else { None };
    let reading = device_file(reactor, config, fd, false);
    if reactor.polls_completions() && bytes > 0 {
        let len = alignment.map_or(4096, |alignment| alignment.offset_bytes as usize).max(4096);
        let (read, _) = reading.read_at(reactor.buffer(len), 0..len, 0).await;
        read.map_err(|e| devices::not_polled(path, &e))?;
    }
    Ok((Opened::Device { reading, writing: RefCell::new(None), bytes, block }, alignment))
}

/// Registers a device's descriptor with the reactor.
pub(super) fn device_file(reactor: &Reactor, config: &FileConfig, fd: OwnedFd, write: bool) -> File {
    let options =
        FileOptions { write, direct: config.direct, register: config.registered, ..FileOptions::default() };
    reactor.file(fd, options)
}
