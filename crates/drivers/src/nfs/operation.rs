//! The operations, each as the calls it takes.

use metrics::ErrorKind;
use wire::nfs3::{
    CommitArgs, CreateArgs, CreateHow, DirArgs, FileHandle, Name, Procedure, ReadArgs, ReaddirplusArgs,
    SetAttributes, Stability, Status, WriteHead,
};
use wire::xdr::Encode;

use super::connection::{Connection, LISTING_BYTES, Ticket};
use super::errors::{advice, kind_of};
use super::lane::{LaneFile, LaneListing, name_of};
use super::session::NfsSession;
use super::slots::{Answer, Expect, Piece, Reply};
use crate::{Done, Op, OpError};

/// Calls of one operation in flight at once when it is larger than the server's limit.
const SPLIT_DEPTH: usize = 16;
/// First wait after `NFS3ERR_JUKEBOX`; it doubles up to the last.
const LATER_FIRST_NS: u64 = 50_000_000;
const LATER_LAST_NS: u64 = 1_000_000_000;

/// Why a call did not succeed.
pub(super) struct Fault {
    procedure: Procedure,
    kind: ErrorKind,
    status: Option<Status>,
    /// The call was sent more than once, so that its own first execution may be in the way.
    repeated: bool,
    text: Box<str>,
}

/// One operation under way.
pub(super) struct Operation<'a> {
    session: &'a NfsSession,
    op: &'a Op,
    connection: &'a Connection,
    /// The lane's own slot.
    slot: u32,
    deadline_ns: u64,
    done: Done,
}

impl<'a> Operation<'a> {
    #[inline]
    pub(super) fn new(session: &'a NfsSession, op: &'a Op) -> Self {
        let (connection, slot) = session.place_of(op.lane);
        let deadline_ns = session.reactor.now() + session.op_timeout_ns;
        Self { session, op, connection, slot, deadline_ns, done: Done::default() }
    }

    /// The seam's result.
    #[inline]
    pub(super) fn result(self, result: Result<(), Fault>) -> Result<Done, OpError> {
        match result {
            Ok(()) => Ok(self.done),
            Err(fault) => Err(self.error(fault)),
        }
    }

    #[cold]
    fn error(self, fault: Fault) -> OpError {
        let Op { object, offset, len, .. } = self.op;
        let range = match fault.procedure {
            Procedure::Read | Procedure::Write => format!(" of {len} bytes at {offset}"),
            _ => String::new(),
        };
        let file = match fault.procedure {
            Procedure::Readdirplus => String::new(),
            _ => format!("/{object:016x}"),
        };
        let name = fault.procedure.name();
        let detail = format!("{name}{range}, {}{file}: {}", self.session.label, fault.text);
        OpError { retries: self.done.retries, rpcs: self.done.rpcs, ..OpError::new(fault.kind, detail) }
    }

    /// Starts a call in a slot.
    #[inline]
    fn begin(&self, slot: u32, procedure: Procedure, expect: Expect, arguments: &impl Encode) -> Ticket<'a> {
        self.connection.call(slot, procedure, expect, self.deadline_ns, |out| arguments.encode(out))
    }

    /// A call in the lane's own slot, to its end.
    #[inline]
    async fn call(
        &mut self,
        procedure: Procedure,
        expect: Expect,
        arguments: &impl Encode,
    ) -> Result<Reply, Fault> {
        let ticket = self.begin(self.slot, procedure, expect, arguments);
        self.settle(&ticket, procedure).await
    }

    /// Waits for a call's end, calling again when the server asks for that.
    async fn settle(&mut self, ticket: &Ticket<'a>, procedure: Procedure) -> Result<Reply, Fault> {
        let mut wait_ns = LATER_FIRST_NS;
        loop {
            let ended = ticket.ended().await;
            if self.done.first_byte_ns.is_none() {
                self.done.first_byte_ns = ended.first_byte_ns;
            }
            let status = match ended.answer {
                Answer::Status(Status::JUKEBOX) => {
                    let next_ns = self.session.reactor.now() + wait_ns;
                    if next_ns < self.deadline_ns {
                        self.session.reactor.sleep_until(next_ns).await;
                        wait_ns = (2 * wait_ns).min(LATER_LAST_NS);
                        ticket.again();
                        continue;
                    }
                    Some(Status::JUKEBOX)
                }
                Answer::Status(status) => Some(status),
                _ => None,
            };
            self.done.rpcs += ended.sends;
            self.done.retries += ended.sends.saturating_sub(1);
            let (kind, text) = match ended.answer {
                Answer::Reply(reply) => return Ok(reply),
                Answer::Status(status) => {
                    (kind_of(status), format!("the server answers {status}{}", advice(status)).into())
                }
                Answer::Failed(kind, text) => (kind, text),
            };
            if kind == ErrorKind::Stale {
                self.lane_file(None);
            }
            return Err(Fault { procedure, kind, status, repeated: ended.sends > 1, text });
        }
    }

    fn lane_file(&self, file: Option<LaneFile>) {
        self.session.lanes[self.op.lane as usize].file.set(file);
    }

    /// What the lane knows of the operation's file, if that is the file it is at.
    #[inline]
    fn current(&self) -> Option<LaneFile> {
        self.session.lanes[self.op.lane as usize].file.get().filter(|at| at.object == self.op.object)
    }

    /// The lane's file becomes the operation's; a LOOKUP when it was another. Says its size when that came along.
    async fn open(&mut self) -> Result<(LaneFile, Option<u64>), Fault> {
        if let Some(current) = self.current() {
            return Ok((current, None));
        }
        let name = name_of(self.op.object);
        let place = DirArgs { directory: self.session.directory, name: Name(&name) };
        match self.call(Procedure::Lookup, Expect::Lookup, &place).await? {
            Reply::Found { file, size } => {
                let at = LaneFile::new(self.op.object, file);
                self.lane_file(Some(at));
                Ok((at, size))
            }
            other => unreachable!("LOOKUP was answered by {other:?}"),
        }
    }

    pub(super) async fn create(&mut self) -> Result<(), Fault> {
        let name = name_of(self.op.object);
        let place = DirArgs { directory: self.session.directory, name: Name(&name) };
        let attributes = SetAttributes { mode: Some(0o644), ..SetAttributes::default() };
        let arguments = CreateArgs { place, how: CreateHow::Guarded(attributes) };
        self.lane_file(None);
        let file = match self.call(Procedure::Create, Expect::Create, &arguments).await {
            Ok(Reply::Created { file }) => file,
            Ok(other) => unreachable!("CREATE was answered by {other:?}"),
            // Made by the first of several sends, whose answer was lost.
            Err(fault) if fault.repeated && fault.status == Some(Status::EXIST) => None,
            Err(fault) => return Err(fault),
        };
        match file {
            Some(file) => self.lane_file(Some(LaneFile::new(self.op.object, file))),
            None => {
                self.open().await?;
            }
        }
        Ok(())
    }

    pub(super) async fn read(&mut self) -> Result<(), Fault> {
        let (at, _) = self.open().await?;
        self.transfer(at.file, false).await?;
        if self.done.bytes == 0 && self.op.len > 0 {
            let text = "the file ends before this offset: nothing came".into();
            return Err(self.fault(Procedure::Read, ErrorKind::Length, text));
        }
        Ok(())
    }

    pub(super) async fn write(&mut self) -> Result<(), Fault> {
        let (at, _) = self.open().await?;
        self.transfer(at.file, true).await
    }

    pub(super) async fn commit(&mut self) -> Result<(), Fault> {
        let (at, _) = self.open().await?;
        let arguments = CommitArgs { file: at.file, offset: 0, count: 0 };
        let Reply::Committed { verifier } = self.call(Procedure::Commit, Expect::Commit, &arguments).await?
        else {
            unreachable!("COMMIT has its own reply")
        };
        let Some(mut at) = self.current() else { return Ok(()) };
        let kept = at.commit(verifier);
        self.lane_file(Some(at));
        if kept {
            return Ok(());
        }
        let text = "the write verifier changed: the server lost its memory (a restart or a failover) between \
                    WRITE and COMMIT, and data that it had acknowledged may be lost";
        Err(self.fault(Procedure::Commit, ErrorKind::VerifierChanged, text.into()))
    }

    pub(super) async fn stat(&mut self) -> Result<(), Fault> {
        let (at, size) = self.open().await?;
        if size.is_none() {
            self.call(Procedure::Getattr, Expect::Getattr, &at.file).await?;
        }
        Ok(())
    }

    pub(super) async fn remove(&mut self) -> Result<(), Fault> {
        let name = name_of(self.op.object);
        let place = DirArgs { directory: self.session.directory, name: Name(&name) };
        if self.current().is_some() {
            self.lane_file(None);
        }
        match self.call(Procedure::Remove, Expect::Remove, &place).await {
            // Removed by the first of several sends, whose answer was lost.
            Err(fault) if !(fault.repeated && fault.status == Some(Status::NOENT)) => Err(fault),
            _ => Ok(()),
        }
    }

    /// One page of our directory: it goes on where the lane's last one ended, and begins anew after the end.
    pub(super) async fn list(&mut self) -> Result<(), Fault> {
        let listing = &self.session.lanes[self.op.lane as usize].listing;
        let LaneListing { cookie, verifier } = listing.get();
        let arguments = ReaddirplusArgs {
            directory: self.session.directory,
            cookie,
            verifier,
            dir_count: LISTING_BYTES / 4,
            max_count: LISTING_BYTES,
        };
        listing.set(LaneListing::default());
        match self.call(Procedure::Readdirplus, Expect::Readdirplus, &arguments).await? {
            Reply::Listed { entries, cookie, verifier, eof } => {
                if !eof && entries > 0 {
                    listing.set(LaneListing { cookie, verifier });
                }
                Ok(())
            }
            other => unreachable!("READDIRPLUS was answered by {other:?}"),
        }
    }

    /// Reads or writes the operation's range, in as many calls as the server's limit asks for.
    async fn transfer(&mut self, file: FileHandle, write: bool) -> Result<(), Fault> {
        let size = u64::from(if write { self.session.write_size } else { self.session.read_size });
        let procedure = if write { Procedure::Write } else { Procedure::Read };
        let len = self.op.len;
        if len <= size {
            let piece = Piece { object: self.op.object, offset: self.op.offset, len: len as u32 };
            let ticket = self.begin_piece(self.slot, file, piece, write);
            let reply = self.settle(&ticket, procedure).await?;
            return self.account(piece, reply);
        }
        let mut tickets: [Option<(Ticket<'a>, Piece)>; SPLIT_DEPTH] = [const { None }; SPLIT_DEPTH];
        let (mut begun, mut ended) = (0usize, 0usize);
        let mut issued = 0;
        let mut fault = None;
        loop {
            while fault.is_none() && issued < len && begun - ended < SPLIT_DEPTH {
                let spare = self.connection.table.borrow_mut().take_spare();
                let slot = match spare {
                    Some(slot) => slot,
                    // Nobody else uses the lane's own slot, so that there is always one way on.
                    None if begun == ended => self.slot,
                    None => break,
                };
                let part = (len - issued).min(size);
                let piece =
                    Piece { object: self.op.object, offset: self.op.offset + issued, len: part as u32 };
                tickets[begun % SPLIT_DEPTH] = Some((self.begin_piece(slot, file, piece, write), piece));
                begun += 1;
                issued += part;
            }
            if begun == ended {
                return fault.map_or(Ok(()), Err);
            }
            // Every call that was begun is waited for, also after a fault: nothing is left behind.
            let oldest = tickets[ended % SPLIT_DEPTH].take();
            let (ticket, piece) = oldest.expect("begun and not ended");
            ended += 1;
            let result = self.settle(&ticket, procedure).await;
            if let Err(error) = result.and_then(|reply| self.account(piece, reply)) {
                fault.get_or_insert(error);
            }
        }
    }

    #[inline]
    fn begin_piece(&self, slot: u32, file: FileHandle, piece: Piece, write: bool) -> Ticket<'a> {
        let Piece { offset, len, .. } = piece;
        if write {
            let stable = if self.session.stable { Stability::FileSync } else { Stability::Unstable };
            let head = WriteHead { file, offset, count: len, stable, data_len: len };
            return self.begin(slot, Procedure::Write, Expect::Write(piece), &head);
        }
        self.begin(slot, Procedure::Read, Expect::Read(piece), &ReadArgs { file, offset, count: len })
    }

    /// Checks and counts what a READ or WRITE brought.
    fn account(&mut self, piece: Piece, reply: Reply) -> Result<(), Fault> {
        match reply {
            Reply::Read { bytes, eof } => {
                debug_assert!(eof || bytes == piece.len, "checked on arrival");
                self.done.bytes += u64::from(bytes);
            }
            Reply::Written { bytes, committed, verifier } => {
                if bytes != piece.len {
                    let text =
                        format!("the server wrote {bytes} of {} bytes at offset {}", piece.len, piece.offset);
                    return Err(self.fault(Procedure::Write, ErrorKind::Length, text));
                }
                if committed == Stability::Unstable {
                    if self.session.stable {
                        let text = "the server answers UNSTABLE although FILE_SYNC was asked for".into();
                        return Err(self.fault(Procedure::Write, ErrorKind::Protocol, text));
                    }
                    if let Some(mut at) = self.current() {
                        at.wrote(verifier);
                        self.lane_file(Some(at));
                    }
                }
                self.done.bytes += u64::from(bytes);
            }
            other => unreachable!("READ or WRITE was answered by {other:?}"),
        }
        Ok(())
    }

    fn fault(&self, procedure: Procedure, kind: ErrorKind, text: String) -> Fault {
        Fault { procedure, kind, status: None, repeated: false, text: text.into() }
    }
}
