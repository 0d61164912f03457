//! The operations that libgfapi has asynchronous calls for: reads, writes, syncs, truncates and discards of open files.

use std::ffi::{c_int, c_void};
use std::rc::Rc;

use metrics::ErrorKind;

use super::api::{Callback, FdHandle, Gfapi};
use super::calls::Work;
use super::errors::{errno, failure};
use super::operation::opened;
use super::session::GlusterSession;
use super::volume::OpenFile;
use crate::failure::{Failure, compared};
use crate::flights::{self, AsyncLibrary, FlightMemory, TakenFlight};
use crate::{CommitKind, Done, Op};

/// Maximum range moved by one call and held in one buffer; longer ones are split.
const PIECE_MAX: u64 = 64 << 20;

/// libgfapi.
pub(super) struct GfapiCalls(pub(super) &'static Gfapi);

impl AsyncLibrary for GfapiCalls {
    const NAME: &'static str = "libgfapi";

    /// The file: libgfapi does not call back for operations on a file that is closed.
    type Call = Rc<OpenFile>;
    type Extra = ();

    fn result(&self, _: &Rc<OpenFile>, code: i64) -> Result<i64, Failure> {
        match c_int::try_from(-code) {
            Ok(number) if code < 0 => Err(failure(number)),
            _ => Ok(code),
        }
    }

    fn cancel(&self, _: &Rc<OpenFile>) {
        // There is no call for that.
    }
}

/// libgfapi calls this on one of its threads.
unsafe extern "C" fn done(
    _: FdHandle,
    result: isize,
    _before: *mut c_void,
    _after: *mut c_void,
    argument: *mut c_void,
) {
    let code = if result < 0 { -i64::from(errno()) } else { result as i64 };
    // SAFETY: it is the argument of the flight whose operation is complete.
    unsafe { flights::land(argument, code) };
}

impl TakenFlight<'_, GfapiCalls> {
    /// Starts an operation on a file and waits for its result. `start` passes the callback with its argument and the memory
    /// to libgfapi.
    async fn fly(
        &mut self,
        file: &Rc<OpenFile>,
        start: impl FnOnce(&Gfapi, FdHandle, &mut FlightMemory<()>, Callback, *mut c_void) -> c_int,
    ) -> Result<i64, Failure> {
        self.start(|calls, argument, memory| match start(calls.0, file.fd, memory, done, argument) {
            code if code < 0 => Err(failure(errno())),
            _ => Ok(Rc::clone(file)),
        })
        .await
    }
}

/// The operation's file, opened now if necessary.
#[inline]
async fn file_of(session: &GlusterSession, op: &Op, write: bool) -> Result<Rc<OpenFile>, Failure> {
    match session.files.find(op.object, write) {
        Some(file) => Ok(file),
        None => open_file(session, op, write).await,
    }
}

/// The flags of an open file.
pub(super) fn flags(session: &GlusterSession, write: bool) -> c_int {
    let direct = if session.config.direct { libc::O_DIRECT } else { 0 };
    direct | if write { libc::O_RDWR } else { libc::O_RDONLY }
}

/// Opens the operation's file for all lanes, and creates it if that is wanted.
#[cold]
async fn open_file(session: &GlusterSession, op: &Op, write: bool) -> Result<Rc<OpenFile>, Failure> {
    // Lanes that begin together want the same few files: one opens, and the others find it open. Besides, libgfapi 10.3
    // sometimes waits forever for the answer to a LOOKUP while several threads create the same file.
    let _turn = session.turn_to_open(op).await;
    if let Some(file) = session.files.find(op.object, write) {
        return Ok(file);
    }
    let flags = flags(session, write);
    let file = match opened(session, op, Work::Open(flags)).await {
        Err(failure)
            if write
                && failure.kind == ErrorKind::NotFound
                && !session.config.named.is_empty()
                && session.config.create =>
        {
            opened(session, op, Work::Create(flags)).await?
        }
        opened => opened?,
    };
    session.files.keep(op.object, &file);
    Ok(file)
}

pub(super) async fn read(session: &GlusterSession, op: &Op) -> Result<Done, Failure> {
    let file = file_of(session, op, false).await?;
    read_range(session, op, &file).await
}

/// Reads the operation's range.
pub(super) async fn read_range(
    session: &GlusterSession,
    op: &Op,
    file: &Rc<OpenFile>,
) -> Result<Done, Failure> {
    // A checksum over the whole block cannot be verified piecewise.
    let longest = if session.verify && session.payload.whole_blocks() { op.len } else { PIECE_MAX };
    let mut flight = session.flights.take(op.lane as usize).await;
    let mut done = Done::default();
    while done.bytes < op.len {
        let piece = (op.len - done.bytes).min(longest) as usize;
        flight.room(piece);
        let mut filled = 0;
        while filled < piece {
            let at = op.offset + done.bytes + filled as u64;
            let came = flight
                .fly(file, |api, fd, memory, callback, argument| {
                    let out = memory.buffer[filled..piece].as_mut_ptr().cast();
                    // SAFETY: what libgfapi writes to is the flight's, which keeps it until libgfapi is done.
                    unsafe {
                        let (len, offset) = (piece - filled, at as libc::off_t);
                        (api.glfs_pread_async)(fd, out, len, offset, 0, callback, argument)
                    }
                })
                .await?;
            done.rpcs += 1;
            if came == 0 {
                return Err(Failure::new(ErrorKind::Length, format!("the file ends at {at}")));
            }
            filled += came as usize;
        }
        if session.verify {
            compared(&session.payload, op, done.bytes, &flight.memory().buffer[..piece])?;
        }
        done.bytes += piece as u64;
    }
    Ok(done)
}

pub(super) async fn write(session: &GlusterSession, op: &Op) -> Result<Done, Failure> {
    let file = file_of(session, op, true).await?;
    write_range(session, op, &file).await
}

/// Writes the operation's range.
pub(super) async fn write_range(
    session: &GlusterSession,
    op: &Op,
    file: &Rc<OpenFile>,
) -> Result<Done, Failure> {
    let mut flight = session.flights.take(op.lane as usize).await;
    let mut done = Done::default();
    while done.bytes < op.len {
        let piece = (op.len - done.bytes).min(PIECE_MAX) as usize;
        session.payload.fill_op(op, done.bytes, flight.room(piece));
        let mut written = 0;
        while written < piece {
            let at = op.offset + done.bytes + written as u64;
            let took = flight
                .fly(file, |api, fd, memory, callback, argument| {
                    let data = memory.buffer[written..piece].as_ptr().cast();
                    // SAFETY: as for reads.
                    unsafe {
                        let (len, offset) = (piece - written, at as libc::off_t);
                        (api.glfs_pwrite_async)(fd, data, len, offset, 0, callback, argument)
                    }
                })
                .await?;
            done.rpcs += 1;
            if took == 0 {
                return Err(Failure::new(ErrorKind::Length, format!("the volume takes nothing at {at}")));
            }
            written += took as usize;
        }
        done.bytes += piece as u64;
    }
    Ok(done)
}

/// Makes what was written to a file durable.
pub(super) async fn sync(
    session: &GlusterSession,
    op: &Op,
    file: &Rc<OpenFile>,
    data_only: bool,
) -> Result<Done, Failure> {
    let mut flight = session.flights.take(op.lane as usize).await;
    let fly = flight.fly(file, |api, fd, _, callback, argument| {
        let call = if data_only { api.glfs_fdatasync_async } else { api.glfs_fsync_async };
        // SAFETY: the file is open.
        unsafe { call(fd, callback, argument) }
    });
    fly.await?;
    Ok(Done { rpcs: 1, ..Done::default() })
}

pub(super) async fn commit(session: &GlusterSession, op: &Op) -> Result<Done, Failure> {
    // Writes may wait in the file that was open for them.
    let file = match session.files.find(op.object, true) {
        Some(file) => file,
        None => file_of(session, op, false).await?,
    };
    let data_only = match op.commit {
        CommitKind::Usual => session.config.fdatasync,
        CommitKind::Data => true,
        CommitKind::Full | CommitKind::Range(_) => false,
    };
    sync(session, op, &file, data_only).await
}

/// A call that changes the operation's file, and moves no data.
async fn change(
    session: &GlusterSession,
    op: &Op,
    call: impl FnOnce(&Gfapi, FdHandle, Callback, *mut c_void) -> c_int,
) -> Result<Done, Failure> {
    let file = file_of(session, op, true).await?;
    let mut flight = session.flights.take(op.lane as usize).await;
    flight.fly(&file, |api, fd, _, callback, argument| call(api, fd, callback, argument)).await?;
    Ok(Done { rpcs: 1, ..Done::default() })
}

pub(super) async fn truncate(session: &GlusterSession, op: &Op) -> Result<Done, Failure> {
    change(session, op, |api, fd, callback, argument| {
        // SAFETY: the file is open.
        unsafe { (api.glfs_ftruncate_async)(fd, op.len as libc::off_t, callback, argument) }
    })
    .await
}

pub(super) async fn trim(session: &GlusterSession, op: &Op) -> Result<Done, Failure> {
    change(session, op, |api, fd, callback, argument| {
        // SAFETY: the file is open.
        unsafe { (api.glfs_discard_async)(fd, op.offset as libc::off_t, op.len as usize, callback, argument) }
    })
    .await
}

/// Has the bricks make the range read as zeroes, with its space kept.
pub(super) async fn write_zeroes(session: &GlusterSession, op: &Op) -> Result<Done, Failure> {
    change(session, op, |api, fd, callback, argument| {
        let (offset, len) = (op.offset as libc::off_t, op.len as libc::off_t);
        // SAFETY: the file is open.
        unsafe { (api.glfs_zerofill_async)(fd, offset, len, callback, argument) }
    })
    .await
}
