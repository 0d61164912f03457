//! One worker's operations on a volume.

use std::cell::Cell;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;

use metrics::{ErrorKind, OpKind};
use reactor::{Reactor, Signal};

use super::calls::{FileCall, Work};
use super::config::GlusterConfig;
use super::errors::failure;
use super::operation;
use super::transfer::{self, GfapiCalls};
use super::volume::{OpenFile, Volume};
use crate::blocking_open::on_thread;
use crate::deadlines::TimeLimits;
use crate::failure::Failure;
use crate::flights::{AsyncLibrary, FlightDeck};
use crate::open_files::{Cache, CachedFile};
use crate::shared_clients::SharedClients;
use crate::turns::{Turn, Turns};
use crate::{Done, DriverError, Op, OpError, Payload, Session, SessionFacts, Sink, WorkerContext};

impl CachedFile for Rc<OpenFile> {
    #[inline]
    fn writes(&self) -> bool {
        self.write
    }
}

/// State of a lane.
pub(super) struct Lane {
    /// Its blocking call, while no thread has it.
    call: Cell<Option<Box<FileCall>>>,
    /// The leaf of the tree that it lists next.
    pub(super) leaf: Cell<u32>,
    /// What it has opened and not closed yet.
    pub(super) opened: Cell<Option<OpenFile>>,
}

/// One worker's side of a volume.
pub struct GlusterSession {
    reactor: Reactor,
    pub(super) config: Arc<GlusterConfig>,
    /// What stands before the name or leaf of every file.
    pub(super) prefix: Box<[u8]>,
    pub(super) lanes: Vec<Lane>,
    pub(super) files: Cache<Rc<OpenFile>>,
    /// Turns to open a file; an object's are those at its number modulo their count.
    opening: Box<[Turns]>,
    /// One per lane, for its turn to open a file.
    signals: Box<[Signal]>,
    pub(super) flights: FlightDeck<GfapiCalls>,
    pub(super) payload: Payload,
    pub(super) verify: bool,
    limits: TimeLimits,
    /// Deadline of an operation in seconds, for messages.
    op_timeout_s: f64,
    // It ends after all that uses it.
    volume: Arc<Volume>,
}

impl GlusterSession {
    /// Opens the volume as the worker's client sees it.
    pub(super) async fn open(
        reactor: &Reactor,
        config: Arc<GlusterConfig>,
        clients: Arc<SharedClients<Volume>>,
        context: &WorkerContext,
    ) -> Result<Self, DriverError> {
        let lanes = context.lanes.max(1) as usize;
        let (own, worker, limit) = (Arc::clone(&config), context.worker as usize, context.connect_timeout);
        let connect = move || clients.get(worker, || Volume::connect(&own, limit));
        let volume =
            on_thread(reactor, ("gluster-open", GfapiCalls::NAME), connect).await?.map_err(|failure| {
                DriverError::new(failure.kind, format!("Gluster, {}: {}", config.location(), failure.detail))
            })?;
        // Lanes begin to list in different leaves.
        let first = u64::from(context.worker) * lanes as u64;
        let lane = |lane: usize| {
            let leaf = (first + lane as u64) % u64::from(config.tree.leaves());
            let call = Cell::new(Some(FileCall::new(&volume)));
            Lane { call, leaf: Cell::new(leaf as u32), opened: Cell::new(None) }
        };
        Ok(Self {
            reactor: reactor.clone(),
            prefix: config.prefix(),
            lanes: (0..lanes).map(lane).collect(),
            files: Cache::new(config.open_files),
            opening: (0..lanes).map(|_| Turns::new(lanes)).collect(),
            signals: (0..lanes).map(|_| reactor.signal()).collect(),
            flights: FlightDeck::open(reactor, GfapiCalls(volume.api), lanes)?,
            payload: context.payload,
            verify: context.sink == Sink::Verify,
            limits: TimeLimits::start(reactor, lanes, context.op_timeout),
            op_timeout_s: context.op_timeout.as_secs_f64(),
            volume,
            config,
        })
    }

    /// Waits for the lane's turn to open the operation's file.
    pub(super) async fn turn_to_open(&self, op: &Op) -> Turn<'_> {
        let at = op.object % self.opening.len() as u64;
        self.opening[at as usize].take(op.lane, &self.signals).await
    }

    /// The lane's blocking call, for the operation's file.
    pub(super) fn call(&self, op: &Op) -> Box<FileCall> {
        // It is gone when the lane's last operation timed out: a thread still has it then.
        let mut call =
            self.lanes[op.lane as usize].call.take().unwrap_or_else(|| FileCall::new(&self.volume));
        call.path.set_object(&self.prefix, &self.config, op.object);
        call
    }

    /// Has a thread make the call; returns it with its result.
    pub(super) async fn made(
        &self,
        mut call: Box<FileCall>,
        work: Work,
    ) -> Result<(Box<FileCall>, Result<u64, Failure>), Failure> {
        call.work = work;
        let made = self.reactor.call_blocking(call).await;
        let call = made.map_err(|error| {
            Failure::new(ErrorKind::Local, format!("no thread makes the calls of libgfapi: {error}"))
        })?;
        let result = call.result.map_err(failure);
        Ok((call, result))
    }

    /// Keeps the call for the lane's next operation.
    pub(super) fn keep(&self, op: &Op, call: Box<FileCall>) {
        self.lanes[op.lane as usize].call.set(Some(call));
    }

    /// Makes the only call of an operation.
    pub(super) async fn single(&self, op: &Op, call: Box<FileCall>, work: Work) -> Result<Done, Failure> {
        let (call, result) = self.made(call, work).await?;
        self.keep(op, call);
        result?;
        Ok(Done { rpcs: 1, ..Done::default() })
    }

    async fn run(&self, op: &Op) -> Result<Done, Failure> {
        match op.kind {
            OpKind::Read => transfer::read(self, op).await,
            OpKind::Write | OpKind::Append => transfer::write(self, op).await,
            OpKind::Commit => transfer::commit(self, op).await,
            OpKind::Truncate => transfer::truncate(self, op).await,
            OpKind::Trim => transfer::trim(self, op).await,
            OpKind::WriteZeroes => transfer::write_zeroes(self, op).await,
            OpKind::Create => operation::create(self, op).await,
            OpKind::WriteFile => operation::write_file(self, op).await,
            OpKind::ReadFile => operation::read_file(self, op).await,
            OpKind::Overwrite => operation::overwrite(self, op, false).await,
            OpKind::TruncateOverwrite => operation::overwrite(self, op, true).await,
            OpKind::Stat => self.single(op, self.call(op), Work::Stat).await,
            OpKind::Access => self.single(op, self.call(op), Work::Access).await,
            OpKind::Chmod => self.single(op, self.call(op), Work::Chmod).await,
            OpKind::Readlink => self.single(op, self.call(op), Work::Readlink).await,
            OpKind::Mkdir => self.single(op, self.call(op), Work::Mkdir).await,
            OpKind::Rmdir => self.single(op, self.call(op), Work::Rmdir).await,
            OpKind::Remove => {
                self.files.forget(op.object);
                self.single(op, self.call(op), Work::Unlink).await
            }
            OpKind::Rename => {
                self.files.forget(op.object);
                self.files.forget(op.other);
                self.single(op, operation::two_paths(self, op), Work::Rename).await
            }
            OpKind::Link => self.single(op, operation::two_paths(self, op), Work::Link).await,
            OpKind::Symlink => self.single(op, operation::link_text(self, op), Work::Symlink).await,
            OpKind::Setxattr => operation::set_attribute(self, op).await,
            OpKind::Getxattr => operation::get_attribute(self, op).await,
            OpKind::Open => operation::open(self, op).await,
            OpKind::Close => operation::close(self, op).await,
            OpKind::List | OpKind::Readdir => operation::list(self, op).await,
            other => Err(Failure::new(ErrorKind::Rejected, format!("Gluster has no operation {other}"))),
        }
    }

    /// Nanoseconds on the reactor's clock.
    pub(super) fn now(&self) -> u64 {
        self.reactor.now()
    }

    #[cold]
    fn error(&self, op: &Op, failure: &Failure) -> OpError {
        if matches!(failure.kind, ErrorKind::Stale | ErrorKind::NotFound) {
            self.files.forget(op.object);
        }
        let Op { kind, object, .. } = *op;
        let file = match kind {
            OpKind::List | OpKind::Readdir => self.config.own_path(),
            _ => self.config.shown(object),
        };
        let (range, location) = (op.range_words(), self.config.location());
        let text = format!("{kind}{range}, {file} in {location}: {}", failure.detail);
        OpError::new(failure.kind, text)
    }
}

impl Session for GlusterSession {
    async fn perform(&self, op: &Op) -> Result<Done, OpError> {
        if op.lane as usize >= self.lanes.len() {
            let text = format!("lane {} of a session with {} lanes", op.lane, self.lanes.len());
            return Err(OpError::new(ErrorKind::Local, text));
        }
        // Pinned where it is created: moving it would copy it whole.
        let running = pin!(self.run(op));
        match self.limits.wait(op.lane, running).await {
            Ok(Ok(done)) => Ok(done),
            Ok(Err(failure)) => Err(self.error(op, &failure)),
            Err(_) => {
                let text = format!("no answer within {} s", self.op_timeout_s);
                Err(self.error(op, &Failure::new(ErrorKind::TimedOut, text)))
            }
        }
    }

    fn facts(&self) -> SessionFacts {
        SessionFacts { late_replies: self.flights.late(), ..SessionFacts::default() }
    }
}
