//! Files of a pass, in a tree of the user's: their paths, and the operations that only passes have.

use std::ffi::CStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use content::{FileTree, TreeFile, TreeRole};
use metrics::{CallKind, ErrorKind};
use reactor::{Buffer, Directory, FileOptions};

use super::list::entries;
use super::named::Text;
use super::operation::{Fault, finish_file, open_by_name, options, refused, take_buffer, write_range};
use super::session::{FileSession, Opened};
use super::steps::step;
use crate::{Done, Op};

/// Maximum path length in bytes; the rest of the name buffer has other uses.
const LONGEST: usize = 2047;
/// Files of a pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeFiles {
    /// The target's directory, where relative paths begin.
    pub directory: PathBuf,
    /// The tree.
    pub tree: FileTree,
    /// Files of each worker.
    pub files: u32,
    /// Maximum number of bytes of a read or write call.
    pub record_bytes: u64,
    /// Number of extended attributes of each file.
    pub attributes: u32,
    /// Bytes of each attribute's value.
    pub attribute_bytes: u32,
    /// The permissions that chmod sets.
    pub mode: u32,
}

impl TreeFiles {
    /// The path of an object.
    pub fn path_of(&self, object: u64) -> PathBuf {
        self.directory.join(self.tree.path(TreeFile::of(object), self.files))
    }

    /// Writes a path into a buffer from `at` on, followed by a zero byte; `absolute` puts the target's directory before it.
    pub(super) fn write_path(
        &self,
        of: TreeFile,
        buffer: &mut Buffer,
        at: usize,
        absolute: bool,
    ) -> Result<(), Fault> {
        self.write(buffer, at, absolute, |text| self.tree.write_path(of, self.files, text))
    }

    fn write(
        &self,
        buffer: &mut Buffer,
        at: usize,
        absolute: bool,
        path: impl FnOnce(&mut Text<'_>) -> std::fmt::Result,
    ) -> Result<(), Fault> {
        let relative = self.tree.directories.first().is_none_or(|top| !top.starts_with('/'));
        let mut text = Text { room: &mut buffer[at..at + LONGEST], len: 0 };
        let mut written = Ok(());
        if absolute && relative {
            written =
                text.write_bytes(self.directory.as_os_str().as_bytes()).and_then(|()| text.write_bytes(b"/"));
        }
        let written = written.and_then(|()| path(&mut text));
        let end = at + text.len;
        if written.is_err() || buffer[at..end].contains(&0) {
            let text =
                format!("a path has at most {LONGEST} bytes, none of them zero: choose a shorter directory");
            return Err(Fault::new(ErrorKind::Rejected, text));
        }
        buffer[end] = 0;
        Ok(())
    }
}

fn directory(session: &FileSession) -> Result<&Directory, Fault> {
    match &session.opened {
        Opened::Directory { directory, .. } => Ok(directory),
        Opened::Device { .. } => Err(Fault::new(ErrorKind::Rejected, "a device has no directories")),
    }
}

/// The lane's name buffer, holding a path.
fn named(session: &FileSession, files: &TreeFiles, op: &Op, of: TreeFile) -> Result<Buffer, Fault> {
    let mut name = take_buffer(session, op);
    files.write_path(of, &mut name, 0, false)?;
    Ok(name)
}

/// Returns the name buffer to its lane.
fn give_back<T>(session: &FileSession, op: &Op, (result, name): (io::Result<T>, Buffer)) -> io::Result<T> {
    session.lanes[op.lane as usize].name.set(Some(name));
    result
}

/// Appends to a file at its end.
pub(super) async fn append(session: &FileSession, op: &Op, files: &TreeFiles) -> Result<Done, Fault> {
    let name = named(session, files, op, TreeFile::of(op.object))?;
    let asking = directory(session)?.size_of(name);
    let size = give_back(session, op, step(session, op, CallKind::SysStat, asking).await);
    let offset = size.map_err(|e| refused(session, op, &e))?;
    let at_end = Op { offset, ..*op };
    let file = open_by_name(session, op, FileOptions { write: true, ..options(session) }).await?;
    let mut done = write_range::<true>(session, &at_end, &file).await?;
    done.rpcs += 2;
    finish_file(session, op, file, done).await
}

/// Removes everything that a pass may have made of a file; what is not there needs no removal.
pub(super) async fn clean_up(session: &FileSession, op: &Op, files: &TreeFiles) -> Result<Done, Fault> {
    let (directory, of) = (directory(session)?, TreeFile::of(op.object));
    let mut rpcs = 0;
    for role in TreeRole::PATHS {
        let name = named(session, files, op, TreeFile { role, ..of })?;
        let removed = match role {
            TreeRole::Directory => {
                step(session, op, CallKind::SysRmdir, directory.remove_directory(name)).await
            }
            _ => step(session, op, CallKind::SysUnlink, directory.remove(name)).await,
        };
        rpcs += 1;
        match give_back(session, op, removed) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(refused(session, op, &error));
            }
            _ => {}
        }
    }
    Ok(Done { rpcs, ..Done::default() })
}

/// Lists the whole directory of a file, which must contain at least `len` names.
pub(super) async fn list(session: &FileSession, op: &Op, files: &TreeFiles) -> Result<Done, Fault> {
    let start_ns = session.reactor.now();
    let directory = directory(session)?;
    let mut name = take_buffer(session, op);
    let of = TreeFile::of(op.object);
    files.write(&mut name, 0, false, |text| files.tree.write_directory(of, files.files, text))?;
    let opening = directory.open_file(name, FileOptions::default());
    let listing = give_back(session, op, step(session, op, CallKind::SysOpen, opening).await);
    let listing = listing.map_err(|e| refused(session, op, &e))?;
    let (names, rpcs) = entries(session, op, listing, start_ns).await?;
    if names < op.len {
        let text = format!("its directory contains {names} names and not {}", op.len);
        return Err(Fault::new(ErrorKind::NotFound, text));
    }
    Ok(Done { rpcs, ..Done::default() })
}

/// The names of the first attributes; files with more have to do with fewer names.
const NAMES: [&CStr; 16] = [
    c"user.smallfile-0",
    c"user.smallfile-1",
    c"user.smallfile-2",
    c"user.smallfile-3",
    c"user.smallfile-4",
    c"user.smallfile-5",
    c"user.smallfile-6",
    c"user.smallfile-7",
    c"user.smallfile-8",
    c"user.smallfile-9",
    c"user.smallfile-10",
    c"user.smallfile-11",
    c"user.smallfile-12",
    c"user.smallfile-13",
    c"user.smallfile-14",
    c"user.smallfile-15",
];
/// Maximum number of attributes.
pub const MAX_TREE_ATTRIBUTES: u32 = NAMES.len() as u32;

/// The value of an attribute: the file and the attribute determine every byte.
fn put_value(object: u64, attribute: usize, value: &mut [u8]) {
    let seed =
        TreeFile::first_name(object).wrapping_add(attribute as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    for (at, byte) in value.iter_mut().enumerate() {
        *byte = b'a' + (seed.rotate_left(at as u32 * 7) % 26) as u8;
    }
}

/// Sets the attributes of a file.
pub(super) async fn set_attributes(session: &FileSession, op: &Op, files: &TreeFiles) -> Result<Done, Fault> {
    let file = open_by_name(session, op, FileOptions { write: true, ..options(session) }).await?;
    let len = files.attribute_bytes as usize;
    let mut buffer = take_buffer(session, op);
    let mut result = Ok(());
    for (attribute, name) in NAMES.iter().enumerate().take(files.attributes as usize) {
        put_value(op.object, attribute, &mut buffer[..len]);
        let setting = file.set_xattr(name, buffer, len);
        (result, buffer) = step(session, op, CallKind::SysSetxattr, setting).await;
        if result.is_err() {
            break;
        }
    }
    session.lanes[op.lane as usize].name.set(Some(buffer));
    result.map_err(|e| refused(session, op, &e))?;
    finish_file(session, op, file, Done { rpcs: 1 + files.attributes, ..Done::default() }).await
}

/// Reads the attributes of a file, and compares those that are set.
pub(super) async fn get_attributes(session: &FileSession, op: &Op, files: &TreeFiles) -> Result<Done, Fault> {
    let file = open_by_name(session, op, options(session)).await?;
    let (mut buffer, mut result) = (take_buffer(session, op), Ok(()));
    let mut expected = [0; LONGEST + 1];
    let expected = &mut expected[..files.attribute_bytes as usize];
    for (attribute, name) in NAMES.iter().enumerate().take(files.attributes as usize) {
        let read;
        (read, buffer) = step(session, op, CallKind::SysGetxattr, file.xattr(name, buffer)).await;
        put_value(op.object, attribute, expected);
        result = match read {
            Ok(len) if buffer.get(..len) == Some(&*expected) => Ok(()),
            Ok(_) => Err(Fault::new(ErrorKind::Corrupt, "an attribute is not what was set")),
            Err(error) if error.raw_os_error() == Some(libc::ENODATA) => Ok(()),
            Err(error) => Err(refused(session, op, &error)),
        };
        if result.is_err() {
            break;
        }
    }
    session.lanes[op.lane as usize].name.set(Some(buffer));
    result?;
    finish_file(session, op, file, Done { rpcs: 1 + files.attributes, ..Done::default() }).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_belongs_to_the_file_not_to_its_name() {
        let object = |role| TreeFile { role, host: 1, worker: 2, file: 3 }.object();
        let value = |object, attribute| {
            let mut value = [0; 32];
            put_value(object, attribute, &mut value);
            value
        };
        assert_eq!(value(object(TreeRole::Temporary), 0), value(object(TreeRole::File), 0));
        assert_ne!(value(object(TreeRole::File), 1), value(object(TreeRole::File), 0));
    }
}
