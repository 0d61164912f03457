//! The operations, each as a sequence of system calls.

use std::io;

use content::TreeFile;
use metrics::{CallKind, ErrorKind};
use reactor::{Buffer, File, FileOptions, Space};

use super::config::{Fallocate, Place};
use super::errors::{advice, kind_of};
use super::names::write_path;
use super::session::{FileSession, Opened, device_file};
use super::steps::step;
use super::{devices, errors};
use crate::{CommitKind, Done, Op};

/// Maximum range moved by one call and held in one buffer; longer ones are split.
const PIECE_MAX: u64 = 64 << 20;

/// Why an operation failed. One pointer in size: successful results would otherwise be moved in pieces.
pub(super) struct Fault(pub(super) Box<(ErrorKind, Box<str>)>);

impl Fault {
    #[cold]
    pub(super) fn new(kind: ErrorKind, text: impl Into<Box<str>>) -> Self {
        Self(Box::new((kind, text.into())))
    }
}

/// Error for an operation that the kernel refused, naming the object's file if there is one.
#[cold]
pub(super) fn refused(session: &FileSession, op: &Op, error: &io::Error) -> Fault {
    let kind = kind_of(error);
    if let (ErrorKind::Stale | ErrorKind::NotFound, Opened::Directory { cache, .. }) = (kind, &session.opened)
    {
        cache.forget(op.object);
    }
    let more = match error.raw_os_error() {
        Some(libc::EINVAL) if session.config.direct => {
            "; past the page cache (direct) the device may want larger multiples"
        }
        Some(libc::EOPNOTSUPP) if session.reactor.polls_completions() => {
            "; this device or file system cannot be polled (iopoll): do without iopoll"
        }
        Some(libc::EOPNOTSUPP) => "; this file system or device does not have it",
        _ => advice(error),
    };
    Fault::new(kind, format!("{error}{more}"))
}

/// Maximum range moved by one call.
#[inline]
fn piece_max(session: &FileSession) -> u64 {
    match &session.config.place {
        Place::Tree(files) => files.record_bytes.clamp(1, PIECE_MAX),
        _ => PIECE_MAX,
    }
}

/// Checks a range before any system call.
#[inline]
fn check_range(session: &FileSession, op: &Op) -> Result<(), Fault> {
    if let Some(alignment) = session.alignment
        && !alignment.fits(op.offset, op.len)
    {
        return Err(Fault::new(ErrorKind::Rejected, devices::misaligned(alignment.offset_bytes)));
    }
    if let Opened::Device { bytes, .. } = session.opened
        && op.offset.checked_add(op.len).is_none_or(|end| end > bytes)
    {
        return Err(Fault::new(ErrorKind::Length, format!("the device ends at {bytes}")));
    }
    Ok(())
}

/// The operation's file, if it is open.
#[inline]
pub(super) fn opened(session: &FileSession, op: &Op, write: bool) -> Option<File> {
    match &session.opened {
        Opened::Directory { cache, .. } => cache.find(op.object, write),
        Opened::Device { reading, .. } if !write => Some(reading.clone()),
        Opened::Device { writing, .. } => writing.borrow().clone(),
    }
}

/// The operation's file, opened now if necessary.
macro_rules! file_of {
    ($session:expr, $op:expr, $write:expr) => {
        match opened($session, $op, $write) {
            Some(file) => file,
            None => open_file($session, $op, $write).await?,
        }
    };
}

#[cold]
pub(super) async fn open_file(session: &FileSession, op: &Op, write: bool) -> Result<File, Fault> {
    let Opened::Directory { cache, .. } = &session.opened else { return open_for_writing(session) };
    let file = open_existing(session, op, FileOptions { write, ..options(session) }).await?;
    cache.keep(op.object, &file);
    Ok(file)
}

/// Opens the operation's file, even if the cache has it open. The caller decides whether to keep it there.
async fn open_existing(session: &FileSession, op: &Op, mut options: FileOptions) -> Result<File, Fault> {
    if let Place::Named(named) = &session.config.place {
        options.write |= named.write;
        options.create = options.write && named.create;
    }
    let file = open_by_name(session, op, options).await?;
    if let Place::Named(named) = &session.config.place {
        named.opened(&file, &session.cleared_devices)?;
    }
    Ok(file)
}

pub(super) async fn open_by_name(
    session: &FileSession,
    op: &Op,
    options: FileOptions,
) -> Result<File, Fault> {
    let Opened::Directory { directory, .. } = &session.opened else {
        return Err(Fault::new(ErrorKind::Rejected, "a device has no files to open"));
    };
    let opening = directory.open_file(take_name(session, op)?, options);
    let (file, name) = step(session, op, CallKind::SysOpen, opening).await;
    session.lanes[op.lane as usize].name.set(Some(name));
    file.map_err(|e| refused(session, op, &e))
}

/// Opens a device for writing once, when the first operation needs it: a device that is only read is never opened for
/// writing.
#[cold]
fn open_for_writing(session: &FileSession) -> Result<File, Fault> {
    let Opened::Device { writing, .. } = &session.opened else { unreachable!("only devices come here") };
    let path = session.config.place.path();
    if !session.may_write {
        let text = "nothing is written before the device was checked for what it holds: this is a fault of manometer's";
        return Err(Fault::new(ErrorKind::Rejected, text));
    }
    let opened = devices::open_durable(path, session.config.direct, true, session.config.durable);
    let fd = opened.map_err(|e| Fault::new(e.kind, e.detail))?;
    let file = device_file(&session.reactor, &session.config, fd, true);
    *writing.borrow_mut() = Some(file.clone());
    Ok(file)
}

pub(super) fn options(session: &FileSession) -> FileOptions {
    FileOptions {
        direct: session.config.direct,
        register: session.config.registered,
        durable: session.config.durable,
        ..FileOptions::default()
    }
}

/// The lane's name buffer.
pub(super) fn take_buffer(session: &FileSession, op: &Op) -> Buffer {
    let kept = session.lanes[op.lane as usize].name.take();
    // It is gone when the lane's last operation timed out: the kernel still owns it then.
    kept.unwrap_or_else(|| session.reactor.buffer(reactor::NAME_BUFFER))
}

/// The lane's name buffer, holding the object's name.
pub(super) fn take_name(session: &FileSession, op: &Op) -> Result<Buffer, Fault> {
    let mut buffer = take_buffer(session, op);
    match &session.config.place {
        Place::Named(named) => {
            named.write_path(op.object, &mut buffer)?;
            return Ok(buffer);
        }
        Place::Tree(files) => {
            files.write_path(TreeFile::of(op.object), &mut buffer, 0, false)?;
            return Ok(buffer);
        }
        Place::Directory(_) | Place::Device(_) => {}
    }
    let len = write_path(&session.config.tree, op.object, &mut buffer);
    buffer[len] = 0;
    Ok(buffer)
}

#[inline]
pub(super) async fn read(session: &FileSession, op: &Op) -> Result<Done, Fault> {
    check_range(session, op)?;
    let file = file_of!(session, op, false);
    read_range::<false>(session, op, &file).await
}

/// Reads the operation's range. `STEPS`: the calls are parts of a longer operation, and counted.
#[inline]
async fn read_range<const STEPS: bool>(session: &FileSession, op: &Op, file: &File) -> Result<Done, Fault> {
    // A checksum over the whole block cannot be verified piecewise.
    let longest = if session.verify && session.payload.whole_blocks() { op.len } else { piece_max(session) };
    let (mut done, mut buffer) = (Done::default(), session.buffers.take(op.len.min(longest) as usize));
    let mut result = Ok(());
    while done.bytes < op.len && result.is_ok() {
        let piece = (op.len - done.bytes).min(longest) as usize;
        let mut filled = 0;
        while filled < piece && result.is_ok() {
            let at = op.offset + done.bytes + filled as u64;
            let read;
            (read, buffer) = if STEPS {
                step(session, op, CallKind::SysRead, file.read_at(buffer, filled..piece, at)).await
            } else {
                file.read_at(buffer, filled..piece, at).await
            };
            done.rpcs += 1;
            match read {
                Ok(0) => result = Err(ends_early(at)),
                Ok(count) => filled += count,
                Err(e) => result = Err(refused_at(session, op, &e, at)),
            }
        }
        if session.verify && result.is_ok() {
            result = verify(session, op, done.bytes, &buffer[..piece]);
        }
        done.bytes += piece as u64;
    }
    session.buffers.put(buffer);
    result.map(|()| done)
}

#[inline]
pub(super) async fn write(session: &FileSession, op: &Op) -> Result<Done, Fault> {
    check_range(session, op)?;
    let file = file_of!(session, op, true);
    write_range::<false>(session, op, &file).await
}

/// Writes the operation's range. `STEPS`: the calls are parts of a longer operation, and counted.
#[inline]
pub(super) async fn write_range<const STEPS: bool>(
    session: &FileSession,
    op: &Op,
    file: &File,
) -> Result<Done, Fault> {
    let longest = piece_max(session);
    let of_file;
    let content = match &session.config.place {
        Place::Tree(_) => {
            of_file = Op { object: TreeFile::first_name(op.object), ..*op };
            &of_file
        }
        _ => op,
    };
    let (mut done, mut buffer) = (Done::default(), session.buffers.take(op.len.min(longest) as usize));
    let mut result = Ok(());
    while done.bytes < op.len && result.is_ok() {
        let piece = (op.len - done.bytes).min(longest) as usize;
        session.payload.fill_op(content, done.bytes, &mut buffer[..piece]);
        let mut written = 0;
        while written < piece && result.is_ok() {
            let at = op.offset + done.bytes + written as u64;
            let wrote;
            (wrote, buffer) = if STEPS {
                step(session, op, CallKind::SysWrite, file.write_at(buffer, written..piece, at)).await
            } else {
                file.write_at(buffer, written..piece, at).await
            };
            done.rpcs += 1;
            match wrote {
                Ok(0) => {
                    result = Err(Fault::new(ErrorKind::Length, format!("the kernel takes nothing at {at}")))
                }
                Ok(count) => written += count,
                Err(e) => result = Err(refused_at(session, op, &e, at)),
            }
        }
        done.bytes += piece as u64;
    }
    session.buffers.put(buffer);
    result.map(|()| done)
}

#[cold]
fn ends_early(at: u64) -> Fault {
    Fault::new(ErrorKind::Length, format!("the file ends at {at}"))
}

/// As [`refused`], with the offset when it differs from where the operation began.
#[cold]
fn refused_at(session: &FileSession, op: &Op, error: &io::Error, at: u64) -> Fault {
    let fault = refused(session, op, error);
    if at == op.offset {
        return fault;
    }
    let Fault(fault) = fault;
    Fault::new(fault.0, format!("at {at}: {}", fault.1))
}

#[inline]
fn verify(session: &FileSession, op: &Op, skip: u64, data: &[u8]) -> Result<(), Fault> {
    let found = session.payload.verify_op(op, skip, data);
    found.map_err(|text| Fault::new(ErrorKind::Corrupt, format!("not what was written: {text}")))
}

pub(super) async fn create(session: &FileSession, op: &Op) -> Result<Done, Fault> {
    let (file, rpcs) = create_file(session, op).await?;
    if let Opened::Directory { cache, .. } = &session.opened {
        cache.keep(op.object, &file);
    }
    Ok(Done { rpcs, ..Done::default() })
}

/// Creates the file with all its content, and closes it.
pub(super) async fn write_file(session: &FileSession, op: &Op) -> Result<Done, Fault> {
    check_range(session, op)?;
    let (file, rpcs) = create_file(session, op).await?;
    let mut done = write_range::<true>(session, op, &file).await?;
    done.rpcs += rpcs;
    finish_file(session, op, file, done).await
}

/// Opens the file, reads all of it, and closes it.
pub(super) async fn read_file(session: &FileSession, op: &Op) -> Result<Done, Fault> {
    check_range(session, op)?;
    let file = open_existing(session, op, options(session)).await?;
    let mut done = read_range::<true>(session, op, &file).await?;
    done.rpcs += 1;
    finish_file(session, op, file, done).await
}

/// Opens the file, empties it if asked, writes all of it, and closes it.
pub(super) async fn overwrite(session: &FileSession, op: &Op, truncate: bool) -> Result<Done, Fault> {
    check_range(session, op)?;
    let options = FileOptions { write: true, truncate, ..options(session) };
    let file = open_existing(session, op, options).await?;
    let mut done = write_range::<true>(session, op, &file).await?;
    done.rpcs += 1;
    finish_file(session, op, file, done).await
}

/// Commits a file if asked, and closes it.
pub(super) async fn finish_file(
    session: &FileSession,
    op: &Op,
    file: File,
    mut done: Done,
) -> Result<Done, Fault> {
    if op.durable {
        let data_only = session.config.fdatasync;
        let synced = step(session, op, sync_call(data_only), file.sync(data_only)).await;
        synced.map_err(|e| refused(session, op, &e))?;
        done.rpcs += 1;
    }
    step(session, op, CallKind::SysClose, file.close()).await.map_err(|e| refused(session, op, &e))?;
    done.rpcs += 1;
    Ok(done)
}

const fn sync_call(data_only: bool) -> CallKind {
    if data_only { CallKind::SysFdatasync } else { CallKind::SysFsync }
}

/// Creates the file, which must be new, and reserves its space if asked; returns the number of system calls.
async fn create_file(session: &FileSession, op: &Op) -> Result<(File, u32), Fault> {
    let named = matches!(session.config.place, Place::Named(_));
    let options = FileOptions { write: true, create_new: !named, create: named, ..options(session) };
    let file = open_by_name(session, op, options).await?;
    let bytes = if op.len > 0 { op.len } else { session.config.file_bytes };
    let space = match session.config.fallocate {
        Fallocate::None => None,
        Fallocate::Allocate => Some(Space::Reserve),
        Fallocate::Zero => Some(Space::Zero),
    };
    let mut rpcs = 1;
    if let Some(space) = space {
        let mut result = step(session, op, CallKind::SysFallocate, file.allocate(space, 0, bytes)).await;
        rpcs += 1;
        if space == Space::Zero && result.as_ref().is_err_and(|e| e.raw_os_error() == Some(libc::EOPNOTSUPP))
        {
            let reserving = file.allocate(Space::Reserve, 0, bytes);
            result = step(session, op, CallKind::SysFallocate, reserving).await;
            rpcs += 1;
        }
        result.map_err(|e| {
            let text = format!("reserving {bytes} bytes: {}", errors::words(&e));
            Fault::new(kind_of(&e), text)
        })?;
    }
    Ok((file, rpcs))
}

pub(super) async fn commit(session: &FileSession, op: &Op) -> Result<Done, Fault> {
    // fsync covers the file, whichever way its descriptor was opened. A device is synced through the descriptor used
    // for writing.
    let write = matches!(&session.opened, Opened::Device { writing, .. } if writing.borrow().is_some());
    let file = file_of!(session, op, write);
    let data_only = match op.commit {
        CommitKind::Usual => session.config.fdatasync,
        CommitKind::Data => true,
        CommitKind::Full | CommitKind::Range(_) => false,
    };
    let done = match op.commit {
        CommitKind::Range(flags) => {
            let syncing = file.sync_range(op.offset, 0, flags.into());
            step(session, op, CallKind::SysSyncFileRange, syncing).await
        }
        _ => step(session, op, sync_call(data_only), file.sync(data_only)).await,
    };
    done.map_err(|e| refused(session, op, &e))?;
    Ok(Done { rpcs: 1, ..Done::default() })
}

pub(super) async fn stat(session: &FileSession, op: &Op) -> Result<Done, Fault> {
    if let Opened::Directory { directory, .. } = &session.opened {
        let asking = directory.size_of(take_name(session, op)?);
        let (size, name) = step(session, op, CallKind::SysStat, asking).await;
        session.lanes[op.lane as usize].name.set(Some(name));
        size.map_err(|e| refused(session, op, &e))?;
    } else {
        let file = file_of!(session, op, false);
        let asking = async { rustix::fs::fstat(&file).map_err(io::Error::from) };
        step(session, op, CallKind::SysStat, asking).await.map_err(|e| refused(session, op, &e))?;
        session.reactor.yield_now().await;
    }
    Ok(Done { rpcs: 1, ..Done::default() })
}

pub(super) async fn remove(session: &FileSession, op: &Op) -> Result<Done, Fault> {
    let Opened::Directory { directory, cache } = &session.opened else {
        return Err(Fault::new(ErrorKind::Rejected, "a device is not removed"));
    };
    cache.forget(op.object);
    let removing = directory.remove(take_name(session, op)?);
    let (removed, name) = step(session, op, CallKind::SysUnlink, removing).await;
    session.lanes[op.lane as usize].name.set(Some(name));
    removed.map_err(|e| refused(session, op, &e))?;
    Ok(Done { rpcs: 1, ..Done::default() })
}

pub(super) async fn trim(session: &FileSession, op: &Op) -> Result<Done, Fault> {
    check_range(session, op)?;
    let file = file_of!(session, op, true);
    let blocks = match (&session.opened, &session.config.place) {
        (Opened::Device { block, .. }, Place::Device(_)) => *block,
        (_, Place::Named(_)) => devices::is_block(&file),
        _ => false,
    };
    let result = if blocks {
        step(session, op, CallKind::SysDiscard, file.discard_blocks(op.offset, op.len)).await
    } else {
        step(session, op, CallKind::SysFallocate, file.allocate(Space::Punch, op.offset, op.len)).await
    };
    result.map_err(|e| refused(session, op, &e))?;
    Ok(Done { rpcs: 1, ..Done::default() })
}

/// Has the file system or the device make the range read as zeroes, with its space kept.
pub(super) async fn write_zeroes(session: &FileSession, op: &Op) -> Result<Done, Fault> {
    check_range(session, op)?;
    let file = file_of!(session, op, true);
    let zeroing = file.allocate(Space::Zero, op.offset, op.len);
    step(session, op, CallKind::SysFallocate, zeroing).await.map_err(|e| refused(session, op, &e))?;
    Ok(Done { rpcs: 1, ..Done::default() })
}
