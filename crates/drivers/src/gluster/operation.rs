//! The operations that take blocking calls, alone or around reads and writes.

use std::rc::Rc;

use metrics::ErrorKind;

use super::calls::{FileCall, VALUE_LEN, Work};
use super::session::GlusterSession;
use super::transfer::{flags, read_range, sync, write_range};
use super::volume::OpenFile;
use crate::failure::Failure;
use crate::file::names::{NAME_LEN, name_of};
use crate::tree::{MAX_DEPTH, MAX_LEAF_LEN};
use crate::{Done, Op};

const DONE: Done = Done { bytes: 0, rpcs: 1, retries: 0, first_byte_ns: None };

/// Opens the operation's file anew.
pub(super) async fn opened(session: &GlusterSession, op: &Op, work: Work) -> Result<Rc<OpenFile>, Failure> {
    let (mut call, result) = session.made(session.call(op), work).await?;
    let file = call.file.take();
    session.keep(op, call);
    result?;
    file.map(Rc::new).ok_or_else(|| Failure::new(ErrorKind::Local, "no file was opened"))
}

/// The file is created, and must be new.
async fn created(session: &GlusterSession, op: &Op) -> Result<Rc<OpenFile>, Failure> {
    let new = if session.config.named.is_empty() { libc::O_EXCL } else { 0 };
    opened(session, op, Work::Create(flags(session, true) | libc::O_CREAT | new)).await
}

pub(super) async fn create(session: &GlusterSession, op: &Op) -> Result<Done, Failure> {
    let file = created(session, op).await?;
    session.files.keep(op.object, &file);
    Ok(DONE)
}

/// Commits a file if asked, and closes it.
async fn finish(
    session: &GlusterSession,
    op: &Op,
    file: Rc<OpenFile>,
    mut done: Done,
) -> Result<Done, Failure> {
    if op.durable {
        done.rpcs += sync(session, op, &file, session.config.fdatasync).await?.rpcs;
    }
    // The operation had it alone.
    if let Some(file) = Rc::into_inner(file) {
        done.rpcs += closed(session, op, file).await?.rpcs;
    }
    Ok(done)
}

async fn closed(session: &GlusterSession, op: &Op, file: OpenFile) -> Result<Done, Failure> {
    let mut call = session.call(op);
    call.file = Some(file);
    session.single(op, call, Work::Close).await
}

/// Creates the file with all its content, and closes it.
pub(super) async fn write_file(session: &GlusterSession, op: &Op) -> Result<Done, Failure> {
    let file = created(session, op).await?;
    let mut done = write_range(session, op, &file).await?;
    done.rpcs += 1;
    finish(session, op, file, done).await
}

/// Opens the file, reads all of it, and closes it.
pub(super) async fn read_file(session: &GlusterSession, op: &Op) -> Result<Done, Failure> {
    let file = opened(session, op, Work::Open(flags(session, false))).await?;
    let mut done = read_range(session, op, &file).await?;
    done.rpcs += 1;
    finish(session, op, file, done).await
}

/// Opens the file, empties it if asked, writes all of it, and closes it.
pub(super) async fn overwrite(session: &GlusterSession, op: &Op, truncate: bool) -> Result<Done, Failure> {
    let truncate = if truncate { libc::O_TRUNC } else { 0 };
    let file = opened(session, op, Work::Open(flags(session, true) | truncate)).await?;
    let mut done = write_range(session, op, &file).await?;
    done.rpcs += 1;
    finish(session, op, file, done).await
}

/// Opens the file for reading and writing. The lane keeps it until it closes it or opens another.
pub(super) async fn open(session: &GlusterSession, op: &Op) -> Result<Done, Failure> {
    let file = opened(session, op, Work::Open(flags(session, true))).await?;
    session.lanes[op.lane as usize].opened.set(Rc::into_inner(file));
    Ok(DONE)
}

pub(super) async fn close(session: &GlusterSession, op: &Op) -> Result<Done, Failure> {
    let Some(file) = session.lanes[op.lane as usize].opened.take() else {
        return Err(Failure::new(ErrorKind::Rejected, "the lane has no open file"));
    };
    closed(session, op, file).await
}

/// The lane's call with the paths of both files.
pub(super) fn two_paths(session: &GlusterSession, op: &Op) -> Box<FileCall> {
    let mut call = session.call(op);
    call.other.set_object(&session.prefix, &session.config, op.other);
    call
}

/// The lane's call with the path of a symbolic link, and the path of its target relative to the link's directory.
pub(super) fn link_text(session: &GlusterSession, op: &Op) -> Box<FileCall> {
    let mut call = session.call(op);
    let up = [*b"../"; MAX_DEPTH as usize];
    let up = up[..session.config.tree.depth() as usize].as_flattened();
    call.other.set_object(up, &session.config, op.other);
    call
}

pub(super) async fn set_attribute(session: &GlusterSession, op: &Op) -> Result<Done, Failure> {
    let mut call = session.call(op);
    call.value[..NAME_LEN].copy_from_slice(&name_of(op.content()));
    call.value[NAME_LEN..].copy_from_slice(&name_of(session.now()));
    session.single(op, call, Work::SetXattr).await
}

/// Succeeds if the attribute is not set yet, or names the object.
pub(super) async fn get_attribute(session: &GlusterSession, op: &Op) -> Result<Done, Failure> {
    let (call, result) = session.made(session.call(op), Work::GetXattr).await?;
    let ours = call.value[..NAME_LEN] == name_of(op.content());
    let missing = call.result == Err(libc::ENODATA);
    session.keep(op, call);
    match result {
        Ok(len) if len == VALUE_LEN as u64 && ours => Ok(DONE),
        Ok(_) => Err(Failure::new(ErrorKind::Corrupt, "the attribute is not what was set")),
        Err(_) if missing => Ok(DONE),
        Err(failure) => Err(failure),
    }
}

/// Lists all of our directory, or of the lane's next leaf of the tree.
pub(super) async fn list(session: &GlusterSession, op: &Op) -> Result<Done, Failure> {
    let mut call = session.call(op);
    let (lane, tree) = (&session.lanes[op.lane as usize], &session.config.tree);
    let leaf = lane.leaf.get();
    lane.leaf.set((leaf + 1) % tree.leaves());
    let mut path = [0; MAX_LEAF_LEN];
    let len = tree.write_leaf(leaf, &mut path);
    call.path.set(&[&session.prefix, &path[..len]]);
    let mut rpcs = 0;
    let mut work = Work::OpenDirectory;
    loop {
        let (made, result) = session.made(call, work).await?;
        rpcs += 1;
        let more = made.lists_on();
        call = made;
        if result.is_err() || !more {
            session.keep(op, call);
            result?;
            return Ok(Done { rpcs, ..Done::default() });
        }
        work = Work::NextNames;
    }
}
