//! The `file:` and `block:` targets: files in a directory of our own, block devices, files used like devices, and
//! anything that the user names.
//!
//! | operation | in a directory | on a device |
//! |---|---|---|
//! | read, write | a range of an object's file | a range of the device |
//! | create | the file is created and must be new; its space is reserved on request | – |
//! | commit | fsync(2) or fdatasync(2) of the file | of the device |
//! | stat | statx(2) by name | its size |
//! | remove | unlinkat(2) | – |
//! | write-file | as create, write, commit if asked, close | – |
//! | read-file | openat(2), read, close(2) | – |
//! | overwrite, truncate-overwrite | openat(2), with `O_TRUNC` to truncate; write, commit if asked, close(2) | – |
//! | open, close | openat(2); close(2) of what the lane opened | – |
//! | list | all of the directory | – |
//! | setxattr, getxattr | fsetxattr(2), fgetxattr(2) | – |
//! | write-zeroes | zeroes in allocated space (`FALLOC_FL_ZERO_RANGE`) | the same |
//! | trim | a hole (`FALLOC_FL_PUNCH_HOLE`) | `BLKDISCARD`, or a hole in a file |
//!
//! Only files with our names in a directory with our mark are removed. A device is written only after
//! [`FileDriver::check_device`] found nothing on it, or the user named it.

mod align;
mod buffers;
mod config;
mod devices;
pub(crate) mod errors;
mod facts;
mod guard;
mod lay_out;
mod list;
mod look;
mod manage;
mod metadata;
mod named;
pub(crate) mod names;
mod operation;
mod session;
pub(crate) mod signatures;
mod steps;
mod tree_files;
mod walk;
mod xattr;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use reactor::Reactor;

pub use self::align::Alignment;
pub use self::config::{Fallocate, FileConfig, OPEN_FILES, Place, UnknownFallocate};
pub use self::lay_out::{FileKind, Fill, Looked};
pub use self::look::DirectoryLook;
pub use self::manage::drop_caches;
pub use self::named::{Hint, NamedFiles};
pub use self::session::FileSession;
pub use self::tree_files::{MAX_TREE_ATTRIBUTES, TreeFiles};
pub use self::walk::walk_tree;
use crate::{Driver, DriverError, WorkerContext};

/// A directory of files, or a device.
#[derive(Debug)]
pub struct FileDriver {
    config: FileConfig,
    /// The device was checked and may be written.
    cleared: AtomicBool,
    /// Numbers of named devices that were checked and may be written.
    cleared_devices: Mutex<Vec<u64>>,
}

impl FileDriver {
    /// Creates a driver with this configuration.
    ///
    /// # Errors
    /// When the configuration is invalid. Nothing is opened yet.
    pub fn new(config: FileConfig) -> Result<Self, DriverError> {
        config.check()?;
        Ok(Self { config, cleared: AtomicBool::new(false), cleared_devices: Mutex::default() })
    }

    /// The configuration.
    pub fn config(&self) -> &FileConfig {
        &self.config
    }

    /// True when operations may write: always in a directory of our own and to files that the user named; on a device,
    /// once it was checked.
    pub(self) fn may_write(&self) -> bool {
        !matches!(self.config.place, Place::Device(_)) || self.cleared.load(Ordering::Relaxed)
    }

    /// The numbers of named devices that may be written.
    pub(self) fn cleared_devices(&self) -> Vec<u64> {
        self.cleared_devices.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Driver for FileDriver {
    type Session = FileSession;

    async fn connect(&self, reactor: &Reactor, context: &WorkerContext) -> Result<FileSession, DriverError> {
        FileSession::open(reactor, self, context).await
    }
}
