//! The `file:` and `block:` targets: files in a directory of our own, block devices, and files used like devices.
//!
//! | operation | in a directory | on a device |
//! |---|---|---|
//! | read, write | a range of an object's file | a range of the device |
//! | create | the file is made and must be new; its space is reserved when that is asked for | – |
//! | commit | fsync(2) or fdatasync(2) of the file | of the device |
//! | stat | statx(2) by name | its size |
//! | remove | unlinkat(2) | – |
//! | list | one page of the directory | – |
//! | trim | a hole (`FALLOC_FL_PUNCH_HOLE`) | `BLKDISCARD`, or a hole in a file |
//!
//! Nothing is removed that does not carry our names in a directory that carries our mark. A device is written only
//! after [`FileDriver::check_device`] found nothing on it, or the user named it.

mod align;
mod buffers;
mod cache;
mod config;
mod devices;
mod errors;
mod facts;
mod guard;
mod manage;
mod names;
mod operation;
mod session;
mod signatures;
mod watch;

use std::sync::atomic::{AtomicBool, Ordering};

use reactor::Reactor;

pub use self::align::Alignment;
pub use self::config::{Fallocate, FileConfig, OPEN_FILES, Place};
pub use self::manage::drop_caches;
pub use self::session::FileSession;
use crate::{Driver, DriverError, WorkerContext};

/// Files of a directory, or a device.
#[derive(Debug)]
pub struct FileDriver {
    config: FileConfig,
    /// The device was looked at and may be written.
    cleared: AtomicBool,
}

impl FileDriver {
    /// A target with this configuration.
    ///
    /// # Errors
    /// When the configuration makes no sense. Nothing is opened yet.
    pub fn new(config: FileConfig) -> Result<Self, DriverError> {
        config.check()?;
        Ok(Self { config, cleared: AtomicBool::new(false) })
    }

    /// What it was made with.
    pub fn config(&self) -> &FileConfig {
        &self.config
    }

    /// True when operations may write: always in a directory of our own, on a device once it was checked.
    pub(self) fn may_write(&self) -> bool {
        matches!(self.config.place, Place::Directory(_)) || self.cleared.load(Ordering::Relaxed)
    }
}

impl Driver for FileDriver {
    type Session = FileSession;

    async fn connect(&self, reactor: &Reactor, context: &WorkerContext) -> Result<FileSession, DriverError> {
        FileSession::open(reactor, self, context).await
    }
}
