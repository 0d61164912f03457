//! The operations, each as a sequence of calls.

use metrics::{CallKind, ErrorKind, ProcedureStats};
use wire::nfs3::{CommitArgs, CreateArgs, CreateHow, DirArgs, FileHandle, Name, SetAttributes, Status};

use super::calls::{Call, Commit, Create, Getattr, Read, Remove, Write};
use super::connection::Connection;
use super::errors::{advice, kind_of};
use super::later::asks_for_later;
use super::session::{Lane, NfsSession};
use super::slots::Answer;
use super::ticket::{Ended, Ticket};
use super::transfer::Mover;
use crate::deadlines::Running;
use crate::later::Later;
use crate::{Done, Op, OpError};

/// Why a call failed.
pub(super) struct Fault {
    call: CallKind,
    kind: ErrorKind,
    pub(super) status: Option<Status>,
    /// The call was sent more than once, so its own first execution may have caused the error.
    pub(super) repeated: bool,
    text: Box<str>,
}

/// A file ready for I/O.
#[derive(Clone, Copy)]
pub(super) struct Opened {
    pub(super) file: FileHandle,
    /// Its size, if the server returned it.
    pub(super) size: Option<u64>,
    /// The handle comes from the cache and may be stale.
    pub(super) known: bool,
}

/// An operation in progress.
pub(super) struct Operation<'a> {
    pub(super) session: &'a NfsSession,
    pub(super) op: &'a Op,
    pub(super) lane: &'a Lane,
    pub(super) connection: &'a Connection,
    /// The operation's deadline.
    running: Running<'a>,
    /// Where its range begins.
    pub(super) offset: u64,
    pub(super) done: Done,
}

impl<'a> Operation<'a> {
    #[inline]
    pub(super) fn new(session: &'a NfsSession, op: &'a Op) -> Self {
        let lane = &session.lanes[op.lane as usize];
        let connection = &session.connections[lane.connection as usize].connection;
        let running = session.deadlines.begin(op.lane);
        lane.procedures.borrow_mut().clear();
        Self { session, op, lane, connection, running, offset: op.offset, done: Done::default() }
    }

    /// Converts to the result that the engine expects.
    #[inline]
    pub(super) fn result(self, result: Result<(), Fault>) -> Result<Done, OpError> {
        match result {
            Ok(()) => Ok(self.done),
            Err(fault) => Err(self.error(fault)),
        }
    }

    #[cold]
    fn error(self, fault: Fault) -> OpError {
        let (offset, Op { object, len, .. }) = (self.offset, self.op);
        let range = match fault.call {
            CallKind::Read | CallKind::Write => format!(" of {len} bytes at {offset}"),
            _ => String::new(),
        };
        let file = match fault.call {
            CallKind::Readdir | CallKind::Readdirplus if self.session.named.is_none() => String::new(),
            _ => match &self.session.named {
                Some(named) => format!("/{}", named.path(*object)),
                None => format!("/{}", self.session.leaves.tree.path_of(*object).display()),
            },
        };
        let name = fault.call.name();
        let detail = format!("{name}{range}, {}{file}: {}", self.session.label, fault.text);
        OpError { retries: self.done.retries, rpcs: self.done.rpcs, ..OpError::new(fault.kind, detail) }
    }

    /// Starts a call in a slot.
    #[inline]
    pub(super) fn begin<C: Call>(&self, slot: u32, call: C, arguments: &C::Arguments<'_>) -> Ticket<'a, C> {
        self.connection.call(slot, call, self.running.due_ns, arguments)
    }

    /// Makes a call in the lane's own slot and waits for its end.
    #[inline]
    pub(super) async fn call<C: Call>(
        &mut self,
        call: C,
        arguments: &C::Arguments<'_>,
    ) -> Result<C::Reply, Fault> {
        let ticket = self.begin(self.lane.slot, call, arguments);
        let result = self.settle(&ticket).await;
        // It has ended, and its slot stays the lane's: nothing is to be released.
        ticket.into_slot();
        result
    }

    /// Waits for a call's end, repeating it when the server asks for that.
    pub(super) async fn settle<C: Call>(&mut self, ticket: &Ticket<'a, C>) -> Result<C::Reply, Fault> {
        let mut later = Later::new();
        loop {
            let ended = ticket.ended().await;
            if self.done.first_byte_ns.is_none() {
                self.done.first_byte_ns = ended.first_byte_ns;
            }
            let status = match ended.answer {
                Answer::Status(status) if asks_for_later(status) => {
                    let reactor = &self.session.reactor;
                    if let Some(next_ns) = later.next_ns(reactor.now(), self.running.due_ns) {
                        reactor.sleep_until(next_ns).await;
                        ticket.again();
                        continue;
                    }
                    Some(status)
                }
                Answer::Status(status) => Some(status),
                _ => None,
            };
            let call = C::kind(self.session.version);
            self.note_call(call, &ended);
            self.done.rpcs += ended.sends;
            self.done.retries += ended.sends.saturating_sub(1);
            let (kind, text) = match ended.answer {
                Answer::Reply(reply) => {
                    return Ok(ticket.reply(reply).expect("a reply is decoded as what its slot waits for"));
                }
                Answer::Status(status) => {
                    let answer = self.session.version.shown(status);
                    (kind_of(status), format!("the server answers {answer}{}", advice(status)).into())
                }
                Answer::Failed(kind, text) => (kind, text),
            };
            if kind == ErrorKind::Stale {
                self.forget();
                self.session.directories.forget();
                self.session.leaves.forget();
            }
            return Err(Fault { call, kind, status, repeated: ended.sends > 1, text });
        }
    }

    /// Counts a call for the operation.
    #[inline]
    fn note_call(&self, call: CallKind, ended: &Ended) {
        let mut procedures = self.lane.procedures.borrow_mut();
        let latency_ns = matches!(ended.answer, Answer::Reply(_)).then_some(ended.latency_ns);
        ProcedureStats::entry(&mut procedures, call).count(ended.sends, latency_ns);
    }

    /// Drops the operation's file from the handle cache.
    fn forget(&self) {
        self.session.handles.borrow_mut().forget(self.op.object);
    }

    /// The operation's file, if its handle is cached. Frequent operations ask for it before they await [`Self::look_up`]:
    /// awaiting [`Self::open`] would copy the handle twice more.
    #[inline]
    fn known(&self) -> Option<Opened> {
        if self.session.walk.is_some() {
            return None;
        }
        let file = *self.session.handles.borrow().get(self.op.object)?;
        Some(Opened { file, size: None, known: true })
    }

    /// Opens the operation's file, with a LOOKUP when its handle is not cached.
    #[inline]
    pub(super) async fn open(&mut self) -> Result<Opened, Fault> {
        match self.known() {
            Some(opened) => Ok(opened),
            None => self.look_up().await,
        }
    }

    /// Looks the file up again after its cached handle turned out to be stale: another worker may have removed and
    /// recreated it. The repetition is counted.
    async fn open_again(&mut self, opened: &Opened, fault: Fault) -> Result<FileHandle, Fault> {
        if !opened.known || fault.kind != ErrorKind::Stale {
            return Err(fault);
        }
        self.done.bytes = 0;
        self.done.retries += 1;
        self.connection.count_retry();
        Ok(self.look_up().await?.file)
    }

    pub(super) async fn create(&mut self) -> Result<(), Fault> {
        self.create_file().await.map(drop)
    }

    /// Creates the file with all its content. Handles are known from here on, so the path is looked up once.
    pub(super) async fn write_file(&mut self) -> Result<(), Fault> {
        let file = self.create_file().await?;
        self.transfer::<Write>(&file).await?;
        self.finish_file(file).await
    }

    /// Writes all of an existing file.
    pub(super) async fn overwrite(&mut self) -> Result<(), Fault> {
        let file = self.range::<Write>().await?;
        self.finish_file(file).await
    }

    /// Empties an existing file and writes all of it, like a client that opens it with `O_TRUNC`.
    pub(super) async fn truncate_overwrite(&mut self) -> Result<(), Fault> {
        let file = self.set_size(0).await?;
        self.transfer::<Write>(&file).await?;
        self.finish_file(file).await
    }

    /// Commits a file written as a whole, if asked.
    pub(super) async fn finish_file(&mut self, file: FileHandle) -> Result<(), Fault> {
        if self.op.durable { self.commit_file(file).await } else { Ok(()) }
    }

    async fn create_file(&mut self) -> Result<FileHandle, Fault> {
        let (directory, name) = self.place().await?;
        let place = DirArgs { directory, name: Name(name.as_bytes()) };
        let attributes = SetAttributes { mode: Some(reactor::FILE_MODE), ..SetAttributes::default() };
        let arguments = CreateArgs { place, how: CreateHow::Guarded(attributes) };
        self.forget();
        let file = match self.call(Create, &arguments).await {
            Ok(file) => file,
            // Created by an earlier transmission, whose reply was lost.
            Err(fault) if fault.repeated && fault.status == Some(Status::EXIST) => None,
            Err(fault) => return Err(fault),
        };
        match file {
            Some(file) => {
                self.session.handles.borrow_mut().insert(self.op.object, file);
                Ok(file)
            }
            None => Ok(self.open().await?.file),
        }
    }

    pub(super) async fn read(&mut self) -> Result<(), Fault> {
        self.range::<Read>().await.map(drop)
    }

    pub(super) async fn write(&mut self) -> Result<(), Fault> {
        self.range::<Write>().await.map(drop)
    }

    /// Moves the operation's range; returns the file's handle.
    async fn range<M: Mover>(&mut self) -> Result<FileHandle, Fault> {
        let opened = match self.known() {
            Some(opened) => opened,
            None if M::MAKES_FILES && self.session.named.is_some() => self.look_up_or_make().await?,
            None => self.look_up().await?,
        };
        match self.transfer::<M>(&opened.file).await {
            Ok(()) => Ok(opened.file),
            Err(fault) => {
                let file = self.open_again(&opened, fault).await?;
                self.transfer::<M>(&file).await.map(|()| file)
            }
        }
    }

    pub(super) async fn commit(&mut self) -> Result<(), Fault> {
        let file = self.open().await?.file;
        self.commit_file(file).await
    }

    async fn commit_file(&mut self, file: FileHandle) -> Result<(), Fault> {
        let object = self.op.object;
        let arguments = CommitArgs { file, offset: 0, count: 0 };
        let covered = self.session.handles.borrow_mut().take_uncommitted(object);
        let verifier = match self.call(Commit, &arguments).await {
            Ok(verifier) => verifier,
            Err(fault) => {
                self.session.handles.borrow_mut().restore_uncommitted(object, covered);
                return Err(fault);
            }
        };
        if covered.kept(verifier) {
            return Ok(());
        }
        let text = "the write verifier changed: the server lost its memory (a restart or a failover) between \
                    WRITE and COMMIT, and data that it had acknowledged may be lost";
        Err(self.fault(CallKind::Commit, ErrorKind::VerifierChanged, text.into()))
    }

    pub(super) async fn stat(&mut self) -> Result<(), Fault> {
        let mut opened = match self.known() {
            Some(opened) => opened,
            None => self.look_up().await?,
        };
        self.ask_size(&mut opened).await
    }

    /// Completes an opened file with its size: LOOKUP returned it, or else GETATTR does.
    pub(super) async fn ask_size(&mut self, opened: &mut Opened) -> Result<(), Fault> {
        if opened.size.is_some() {
            return Ok(());
        }
        opened.size = match self.call(Getattr, &opened.file).await {
            Ok(size) => size,
            Err(fault) => {
                opened.file = self.open_again(opened, fault).await?;
                self.call(Getattr, &opened.file).await?
            }
        };
        Ok(())
    }

    pub(super) async fn remove(&mut self) -> Result<(), Fault> {
        let (directory, name) = self.place().await?;
        let place = DirArgs { directory, name: Name(name.as_bytes()) };
        self.forget();
        match self.call(Remove, &place).await {
            // Removed by an earlier transmission, whose reply was lost.
            Err(fault) if !(fault.repeated && fault.status == Some(Status::NOENT)) => Err(fault),
            _ => Ok(()),
        }
    }

    pub(super) fn fault(&self, call: CallKind, kind: ErrorKind, text: String) -> Fault {
        Fault { call, kind, status: None, repeated: false, text: text.into() }
    }
}
