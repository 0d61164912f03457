//! An extended attribute of files: set, read, and whether the file system has any.

use std::ffi::CStr;
use std::fs;
use std::io;
use std::os::fd::AsFd;
use std::path::Path;

use metrics::{CallKind, ErrorKind};
use reactor::{Buffer, File};
use rustix::fs::{CWD, Mode, OFlags, XattrFlags, fremovexattr, fsetxattr, openat};
use rustix::io::Errno;

use super::names::{MARK, NAME_LEN, name_of};
use super::operation::{Fault, open_file, opened, refused, take_name};
use super::session::FileSession;
use super::steps::step;
use super::{FileDriver, Place};
use crate::{Done, DriverError, Op};

/// The attribute. Its value is the object's number, then a number that differs each time, both in 16 hexadecimal digits.
const ATTRIBUTE: &CStr = c"user.manometer";
const VALUE_LEN: usize = 2 * NAME_LEN;

/// The operation's file, and the lane's buffer.
async fn file_and_name(session: &FileSession, op: &Op) -> Result<(File, Buffer), Fault> {
    let of_tree = matches!(&session.config.place, Place::Named(named) if named.names.are_found());
    if !of_tree && !matches!(session.config.place, Place::Directory(_)) {
        return Err(Fault::new(ErrorKind::Rejected, "only files with numbers have attributes"));
    }
    let file = match opened(session, op, false) {
        Some(file) => file,
        None => open_file(session, op, false).await?,
    };
    Ok((file, take_name(session, op)?))
}

fn give_back(session: &FileSession, op: &Op, name: Buffer) {
    session.lanes[op.lane as usize].name.set(Some(name));
}

const DONE: Done = Done { bytes: 0, rpcs: 1, retries: 0, first_byte_ns: None };

pub(super) async fn set(session: &FileSession, op: &Op) -> Result<Done, Fault> {
    let (file, mut value) = file_and_name(session, op).await?;
    value[..NAME_LEN].copy_from_slice(&name_of(op.content()));
    value[NAME_LEN..VALUE_LEN].copy_from_slice(&name_of(session.reactor.now()));
    let setting = file.set_xattr(ATTRIBUTE, value, VALUE_LEN);
    let (set, value) = step(session, op, CallKind::SysSetxattr, setting).await;
    give_back(session, op, value);
    set.map_err(|e| refused(session, op, &e))?;
    Ok(DONE)
}

/// Succeeds if the attribute is not set yet, or names the object. In a tree that exists it is nobody's.
pub(super) async fn get(session: &FileSession, op: &Op) -> Result<Done, Fault> {
    let (file, buffer) = file_and_name(session, op).await?;
    let reading = file.xattr(ATTRIBUTE, buffer);
    let (read, value) = step(session, op, CallKind::SysGetxattr, reading).await;
    let of_tree = !matches!(session.config.place, Place::Directory(_));
    let ours = read
        .as_ref()
        .is_ok_and(|len| of_tree || *len == VALUE_LEN && value[..NAME_LEN] == name_of(op.content()));
    give_back(session, op, value);
    match read {
        Ok(_) if ours => Ok(DONE),
        Ok(_) => Err(Fault::new(ErrorKind::Corrupt, "the attribute is not what was set")),
        Err(error) if error.raw_os_error() == Some(libc::ENODATA) => Ok(DONE),
        Err(error) => Err(refused(session, op, &error)),
    }
}

impl FileDriver {
    /// Checks that files here can have extended attributes, if the load uses them; creates nothing that has a name. Before
    /// the directory exists, its parent is checked. File systems without unnamed files (`O_TMPFILE`) are checked when the
    /// directory is created.
    ///
    /// # Errors
    /// They cannot.
    pub fn check_xattrs(&self) -> Result<(), DriverError> {
        let (true, Place::Directory(path)) = (self.config().xattrs, &self.config().place) else {
            return Ok(());
        };
        let there = if path.exists() { path.as_path() } else { path.parent().unwrap_or(path) };
        let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
        match openat(CWD, there, flags, Mode::RUSR | Mode::WUSR) {
            Ok(fd) => attempt(fd, there),
            Err(_) => Ok(()),
        }
    }

    /// Checks the same in our directory, with the file that marks it.
    pub(super) fn check_xattrs_of_mark(&self, directory: &Path) -> Result<(), DriverError> {
        if !self.config().xattrs {
            return Ok(());
        }
        let mark = directory.join(MARK);
        let file = fs::File::open(&mark).map_err(|e| super::manage::failed("file", &mark, &e))?;
        attempt(file, directory)
    }
}

/// Sets and removes the attribute.
fn attempt(file: impl AsFd, place: &Path) -> Result<(), DriverError> {
    let set = fsetxattr(&file, ATTRIBUTE, b"0", XattrFlags::empty());
    set.and_then(|()| fremovexattr(&file, ATTRIBUTE)).map_err(|errno| match errno {
        Errno::OPNOTSUPP => {
            let text = format!(
                "directory {}: its file system has no extended attributes of users; take setxattr and getxattr out of \
                 ops, or name a directory of another file system",
                place.display()
            );
            DriverError::new(ErrorKind::Rejected, text)
        }
        errno => super::manage::failed("extended attributes in", place, &io::Error::from(errno)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_cannot_have_attributes_is_refused_in_one_line() {
        // Pipes and the like have none of users.
        let (pipe, _) = io::pipe().unwrap();
        let refused = attempt(pipe, Path::new("/mnt/data")).unwrap_err();
        assert!(refused.detail.contains("/mnt/data") && !refused.detail.contains('\n'), "{refused}");
    }
}
