//! Operations on names and attributes, each one system call.

use std::io;

use content::TreeFile;
use metrics::{CallKind, ErrorKind};
use reactor::{Buffer, Directory, FILE_MODE, FileOptions, SECOND_NAME_AT};

use super::cache::Cache;
use super::config::Place;
use super::names::write_path;
use super::operation::{Fault, open_file, opened, options, refused, take_name};
use super::session::{FileSession, Opened};
use super::steps::step;
use crate::tree::{DirectoryTree, MAX_DEPTH};
use crate::{Done, Op};

/// The directory of our files. Files that the user named are neither renamed nor linked.
fn directory(session: &FileSession) -> Result<(&Directory, &Cache), Fault> {
    match &session.opened {
        Opened::Directory { directory, cache } => Ok((directory, cache)),
        Opened::Device { .. } => Err(Fault::new(ErrorKind::Rejected, "a device has no names")),
    }
}

/// The lane's name buffer, with the names of both files.
fn take_names(session: &FileSession, op: &Op) -> Result<Buffer, Fault> {
    let mut names = take_name(session, op)?;
    match &session.config.place {
        Place::Directory(_) => put_second(&mut names, b"", &session.config.tree, op.other),
        Place::Tree(files) => {
            files.write_path(TreeFile::of(op.other), &mut names, SECOND_NAME_AT, false)?;
        }
        Place::Named(_) | Place::Device(_) => {
            return Err(Fault::new(ErrorKind::Rejected, "only files with numbers are renamed or linked"));
        }
    }
    Ok(names)
}

/// Whether the load may write its files: those of the user's may be only read.
fn may_write(session: &FileSession) -> bool {
    !matches!(&session.config.place, Place::Named(named) if !named.write)
}

/// Writes the second name: the path of a file, after a prefix.
fn put_second(names: &mut Buffer, prefix: &[u8], tree: &DirectoryTree, object: u64) {
    let at = SECOND_NAME_AT + prefix.len();
    names[SECOND_NAME_AT..at].copy_from_slice(prefix);
    let end = at + write_path(tree, object, &mut names[at..]);
    names[end] = 0;
}

/// Makes a system call, which returns the lane's name buffer.
async fn single<T>(
    session: &FileSession,
    op: &Op,
    call: CallKind,
    running: impl Future<Output = (io::Result<T>, Buffer)>,
) -> Result<Done, Fault> {
    let (result, name) = step(session, op, call, running).await;
    session.lanes[op.lane as usize].name.set(Some(name));
    result.map_err(|e| refused(session, op, &e))?;
    Ok(Done { rpcs: 1, ..Done::default() })
}

pub(super) async fn access(session: &FileSession, op: &Op) -> Result<Done, Fault> {
    let (directory, _) = directory(session)?;
    let asking = directory.access(take_name(session, op)?, may_write(session));
    single(session, op, CallKind::SysAccess, asking).await
}

/// Sets the permissions of new files, so that a file stays readable and writable; in a pass, those that it names.
pub(super) async fn chmod(session: &FileSession, op: &Op) -> Result<Done, Fault> {
    let (directory, _) = directory(session)?;
    let mode = match &session.config.place {
        Place::Tree(files) => files.mode,
        _ => FILE_MODE,
    };
    single(session, op, CallKind::SysChmod, directory.set_mode(take_name(session, op)?, mode)).await
}

pub(super) async fn truncate(session: &FileSession, op: &Op) -> Result<Done, Fault> {
    let file = match opened(session, op, true) {
        Some(file) => file,
        None => open_file(session, op, true).await?,
    };
    let setting = step(session, op, CallKind::SysFtruncate, file.set_len(op.len));
    setting.await.map_err(|e| refused(session, op, &e))?;
    Ok(Done { rpcs: 1, ..Done::default() })
}

pub(super) async fn rename(session: &FileSession, op: &Op) -> Result<Done, Fault> {
    let (directory, cache) = directory(session)?;
    cache.forget(op.object);
    cache.forget(op.other);
    single(session, op, CallKind::SysRename, directory.rename(take_names(session, op)?)).await
}

pub(super) async fn link(session: &FileSession, op: &Op) -> Result<Done, Fault> {
    let (directory, _) = directory(session)?;
    single(session, op, CallKind::SysLink, directory.link(take_names(session, op)?)).await
}

pub(super) async fn symlink(session: &FileSession, op: &Op) -> Result<Done, Fault> {
    let (directory, _) = directory(session)?;
    let mut names = take_names(session, op)?;
    // A link's text is relative to the link's own directory.
    if let Place::Tree(files) = &session.config.place {
        files.write_path(TreeFile::of(op.other), &mut names, SECOND_NAME_AT, true)?;
        return single(session, op, CallKind::SysSymlink, directory.symlink(names)).await;
    }
    let (up, tree) = ([*b"../"; MAX_DEPTH as usize], &session.config.tree);
    put_second(&mut names, up[..tree.depth() as usize].as_flattened(), tree, op.other);
    single(session, op, CallKind::SysSymlink, directory.symlink(names)).await
}

pub(super) async fn readlink(session: &FileSession, op: &Op) -> Result<Done, Fault> {
    let (directory, _) = directory(session)?;
    single(session, op, CallKind::SysReadlink, directory.read_link(take_name(session, op)?)).await
}

pub(super) async fn mkdir(session: &FileSession, op: &Op) -> Result<Done, Fault> {
    let (directory, _) = directory(session)?;
    single(session, op, CallKind::SysMkdir, directory.make_directory(take_name(session, op)?)).await
}

pub(super) async fn rmdir(session: &FileSession, op: &Op) -> Result<Done, Fault> {
    let (directory, _) = directory(session)?;
    single(session, op, CallKind::SysRmdir, directory.remove_directory(take_name(session, op)?)).await
}

/// Opens the file for reading, and for writing unless it is one of the user's that is only read. The lane keeps the descriptor until it closes it or opens another file.
pub(super) async fn open(session: &FileSession, op: &Op) -> Result<Done, Fault> {
    let (directory, _) = directory(session)?;
    let options = FileOptions { write: may_write(session), ..options(session) };
    let opening = directory.open_descriptor(take_name(session, op)?, options);
    let (opened, name) = step(session, op, CallKind::SysOpen, opening).await;
    let lane = &session.lanes[op.lane as usize];
    lane.name.set(Some(name));
    lane.descriptor.set(Some(opened.map_err(|e| refused(session, op, &e))?));
    Ok(Done { rpcs: 1, ..Done::default() })
}

pub(super) async fn close(session: &FileSession, op: &Op) -> Result<Done, Fault> {
    let Some(descriptor) = session.lanes[op.lane as usize].descriptor.take() else {
        return Err(Fault::new(ErrorKind::Rejected, "the lane has no open file"));
    };
    let closing = step(session, op, CallKind::SysClose, session.reactor.close(descriptor));
    closing.await.map_err(|e| refused(session, op, &e))?;
    Ok(Done { rpcs: 1, ..Done::default() })
}
