//! Inspects a directory before anything is created in it: is it one, who may write, how much space is free.

use std::fs;
use std::io;
use std::os::linux::fs::MetadataExt;
use std::path::Path;

use metrics::ErrorKind;
use rustix::fs::{Access, access, statvfs};

use super::errors::kind_of;
use super::manage::failed;
use super::{FileDriver, Place};
use crate::DriverError;

/// What was learned about the directory that is to hold the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DirectoryLook {
    /// It already exists; otherwise it will be created in its parent.
    pub exists: bool,
    /// Device number of its file system (stat(2)).
    pub file_system: u64,
    /// Bytes that this user may still write (statvfs(3)); `None` where the file system reports no block counts, like
    /// /proc and some FUSE file systems.
    pub available_bytes: Option<u64>,
}

impl FileDriver {
    /// Inspects the directory, or the parent that it will be created in; creates nothing. `None` for anything but a
    /// directory.
    ///
    /// # Errors
    /// Neither is a directory, or, with `writes`, this user may not write there.
    pub fn look_at_directory(&self, writes: bool) -> Result<Option<DirectoryLook>, DriverError> {
        let Place::Directory(path) = &self.config().place else { return Ok(None) };
        let exists = fs::symlink_metadata(path).is_ok();
        let there = if exists { path } else { path.parent().unwrap_or(path) };
        inspected(there, exists, writes).map(Some)
    }

    /// Checks that this user may read an existing named file, and with `writes` write it.
    ///
    /// # Errors
    /// It may not be read or written.
    pub fn check_access(&self, object: u64, writes: bool) -> Result<(), DriverError> {
        let path = self.path_of(object);
        let (wanted, verb) = match writes {
            true => (Access::READ_OK | Access::WRITE_OK, "read and write"),
            false => (Access::READ_OK, "read"),
        };
        access(&path, wanted).map_err(|errno| {
            let error = io::Error::from(errno);
            match kind_of(&error) {
                ErrorKind::AccessDenied | ErrorKind::ReadOnly => DriverError::new(
                    kind_of(&error),
                    format!(
                        "file {}: this user may not {verb} it; change its permissions, or name another",
                        path.display()
                    ),
                ),
                _ => failed("file", &path, &error),
            }
        })
    }

    /// Inspects the directory that a missing named file is to be created in, or that its missing directories are to
    /// be created in; creates nothing. `exists` says whether that is its own directory.
    ///
    /// # Errors
    /// It is no directory, or this user may not write there.
    pub fn look_at_parent(&self, object: u64) -> Result<DirectoryLook, DriverError> {
        let path = self.path_of(object);
        let parent = path.parent().unwrap_or(&path);
        let there = parent.ancestors().find(|path| path.exists()).unwrap_or(parent);
        inspected(there, there == parent, true)
    }
}

/// What is learned of an existing directory.
fn inspected(directory: &Path, exists: bool, writes: bool) -> Result<DirectoryLook, DriverError> {
    let found = fs::metadata(directory).map_err(|error| failed("directory", directory, &error))?;
    if !found.is_dir() {
        let text = format!("{} is a file, not a directory; name another, or remove it", directory.display());
        return Err(DriverError::new(ErrorKind::Rejected, text));
    }
    if writes {
        may_write(directory)?;
    }
    let space = statvfs(directory).map_err(|errno| failed("directory", directory, &errno.into()))?;
    let available_bytes = (space.f_blocks > 0).then(|| space.f_bavail.saturating_mul(space.f_frsize));
    Ok(DirectoryLook { exists, file_system: found.st_dev(), available_bytes })
}

/// Checks that this user may create files in a directory.
fn may_write(directory: &Path) -> Result<(), DriverError> {
    access(directory, Access::WRITE_OK | Access::EXEC_OK).map_err(|errno| {
        let error = io::Error::from(errno);
        match kind_of(&error) {
            ErrorKind::AccessDenied => {
                let text = format!(
                    "directory {}: this user may not write there; change its permissions, or name another",
                    directory.display()
                );
                DriverError::new(ErrorKind::AccessDenied, text)
            }
            _ => failed("directory", directory, &error),
        }
    })
}
