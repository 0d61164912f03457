//! Work on named files before and after a load: inspect, create, drop from the page cache, remove.
//!
//! All of it blocks the calling thread.

use std::fs;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::linux::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::PoisonError;

use metrics::ErrorKind;
use rustix::fs::{Advice, CWD, FallocateFlags, FileType, Mode, OFlags, fadvise, fallocate, openat};

use super::align::Alignment;
use super::manage::{BLKFLSBUF, failed};
use super::{FileDriver, Place, devices, guard};
use crate::DriverError;

/// What a name refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// Nothing yet.
    Missing,
    /// A regular file.
    Regular,
    /// A block device.
    Block,
    /// A character device, such as /dev/null.
    Character,
}

/// A named file as found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Looked {
    /// What it is.
    pub kind: FileKind,
    /// Its size, or the device's, in bytes; 0 when it has none.
    pub bytes: u64,
    /// Number of the device that it lies on, or is; 0 when it is missing.
    pub device: u64,
}

/// How the space of a new file is allocated (fallocate(2)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fill {
    /// Nothing.
    None,
    /// Reserved where the file system can do that.
    Reserve,
    /// Reserved by posix_fallocate(3), which writes zeros where the file system cannot reserve.
    Posix,
    /// Reserved beyond the end of the file; the file size does not change.
    Behind,
    /// A hole.
    Hole,
}

impl FileDriver {
    /// The path of an object: of a named file, or of the place itself.
    pub fn path_of(&self, object: u64) -> PathBuf {
        match &self.config().place {
            Place::Named(named) => named.path_of(object),
            Place::Tree(files) => files.path_of(object),
            place => place.path().to_owned(),
        }
    }

    /// Inspects a named file.
    ///
    /// # Errors
    /// When it cannot be inspected, or is neither a file nor a device.
    pub fn look(&self, object: u64) -> Result<Looked, DriverError> {
        let path = self.path_of(object);
        let metadata = match fs::metadata(&path) {
            Ok(metadata) => metadata,
            Err(e) if e.kind() == io::ErrorKind::NotFound => {
                return Ok(Looked { kind: FileKind::Missing, bytes: 0, device: 0 });
            }
            Err(e) => return Err(failed("file", &path, &e)),
        };
        let (kind, bytes, device) = match FileType::from_raw_mode(metadata.st_mode()) {
            FileType::RegularFile => (FileKind::Regular, metadata.len(), metadata.st_dev()),
            FileType::CharacterDevice => (FileKind::Character, 0, metadata.st_rdev()),
            FileType::BlockDevice => {
                let fd = devices::open(&path, false, false)?;
                (FileKind::Block, devices::size_of(&fd, &path)?, metadata.st_rdev())
            }
            _ => {
                let text = format!("{}: neither a file nor a device: name another", path.display());
                return Err(DriverError::new(ErrorKind::Rejected, text));
            }
        };
        Ok(Looked { kind, bytes, device })
    }

    /// The number of the device that the place lies on, or is; `None` when it does not exist.
    pub fn device_number(&self) -> Option<u64> {
        let metadata = fs::metadata(self.config().place.path()).ok()?;
        let block = FileType::from_raw_mode(metadata.st_mode()) == FileType::BlockDevice;
        Some(if block { metadata.st_rdev() } else { metadata.st_dev() })
    }

    /// Creates a named file from scratch, with its parent directories, and reserves its space. An existing file of that
    /// name is removed, unless it is to be `kept` and grow.
    ///
    /// # Errors
    /// The directories or the file cannot be created, or there is no space.
    pub fn make(&self, object: u64, bytes: u64, fill: Fill, kept: bool) -> Result<(), DriverError> {
        let path = self.path_of(object);
        if !kept {
            match fs::remove_file(&path) {
                Err(e) if !matches!(e.kind(), io::ErrorKind::NotFound) => {
                    return Err(failed("making anew", &path, &e));
                }
                _ => {}
            }
        }
        self.make_directories(&path)?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::CLOEXEC;
        let mode = Mode::RUSR | Mode::WUSR | Mode::RGRP | Mode::ROTH;
        let fd = openat(CWD, &path, flags, mode).map_err(|e| failed("making", &path, &e.into()))?;
        reserve(&fd, bytes, fill).map_err(|e| failed(&format!("reserving {bytes} bytes of"), &path, &e))
    }

    /// Creates a named file's missing parent directories, accessible to this user only.
    ///
    /// # Errors
    /// One cannot be created.
    pub fn make_directories(&self, path: &Path) -> Result<(), DriverError> {
        let Some(parent) = path.parent().filter(|parent| !parent.is_dir()) else { return Ok(()) };
        use std::os::unix::fs::DirBuilderExt;
        let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(parent);
        made.map_err(|e| failed("making directory", parent, &e))
    }

    /// Checks what a named block device holds before it is written, and remembers that it may be written. `destroy`
    /// lists the devices that the user allowed to be overwritten whatever they hold; a mounted one passes only with
    /// `mounted_too`.
    ///
    /// # Errors
    /// As [`FileDriver::check_device`].
    pub fn check_named(
        &self,
        object: u64,
        destroy: &[PathBuf],
        mounted_too: bool,
    ) -> Result<(), DriverError> {
        let number = guard::check_named(&self.path_of(object), destroy, mounted_too)?;
        self.cleared_devices.lock().unwrap_or_else(PoisonError::into_inner).push(number);
        Ok(())
    }

    /// Checks what a named file or device holds before it is written, as [`FileDriver::check_named`] and
    /// [`FileDriver::check_device`] do. A missing file holds nothing.
    ///
    /// # Errors
    /// It is in use or holds data, and `destroy` does not list it; it cannot be inspected.
    pub fn check_overwriting(&self, object: u64, destroy: &[PathBuf]) -> Result<(), DriverError> {
        match self.look(object)?.kind {
            FileKind::Missing => Ok(()),
            FileKind::Block => self.check_named(object, destroy, false),
            FileKind::Regular | FileKind::Character => guard::check(&self.path_of(object), destroy),
        }
    }

    /// Writes a named file's dirty pages back, then drops it from the page cache.
    ///
    /// # Errors
    /// When it cannot be opened or written back.
    pub fn invalidate_named(&self, object: u64) -> Result<(), DriverError> {
        let path = self.path_of(object);
        let fd = fs::File::open(&path).map_err(|e| failed("file", &path, &e))?;
        fd.sync_all().map_err(|e| failed("writing back", &path, &e))?;
        self.forget_pages(object, 0, 0)
    }

    /// Alignment that direct I/O requires in a named file or, where it is missing, in a new file of its directory.
    /// `None` where unknown.
    ///
    /// # Errors
    /// When direct I/O is not available.
    pub fn alignment_at(&self, object: u64) -> Result<Option<Alignment>, DriverError> {
        let path = self.path_of(object);
        let (place, flags) = match path.exists() {
            true => (path.as_path(), OFlags::RDONLY | OFlags::NONBLOCK),
            false => {
                (path.ancestors().find(|path| path.is_dir()).unwrap_or(&path), OFlags::TMPFILE | OFlags::RDWR)
            }
        };
        match openat(CWD, place, flags | OFlags::DIRECT | OFlags::CLOEXEC, Mode::RUSR | Mode::WUSR) {
            Ok(fd) => Alignment::of(&fd).map(Some).ok_or_else(|| devices::no_direct(&path)),
            Err(rustix::io::Errno::INVAL) => Err(devices::no_direct(&path)),
            // If it cannot be opened now, the first operation reports it.
            Err(_) => Ok(None),
        }
    }

    /// Drops part of a named file from the page cache; dirty pages stay.
    ///
    /// # Errors
    /// When it cannot be opened. A missing file is no error.
    pub fn forget_pages(&self, object: u64, start: u64, length: u64) -> Result<(), DriverError> {
        let path = self.path_of(object);
        let fd = match openat(CWD, &path, OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK, Mode::empty())
        {
            Ok(fd) => fd,
            Err(rustix::io::Errno::NOENT) => return Ok(()),
            Err(e) => return Err(failed("file", &path, &e.into())),
        };
        if devices::is_block(&fd) {
            // SAFETY: this request takes no argument. It needs root; without root, the run only loses its cold start.
            let _ = unsafe { libc::ioctl(fd.as_raw_fd(), BLKFLSBUF, 0) };
        }
        // Character devices have no pages.
        let _ = fadvise(&fd, start, std::num::NonZeroU64::new(length), Advice::DontNeed);
        Ok(())
    }

    /// Removes a named regular file; a device stays, and a missing file is no error.
    ///
    /// # Errors
    /// When it cannot be removed.
    pub fn remove_named(&self, object: u64) -> Result<(), DriverError> {
        let path = self.path_of(object);
        if self.look(object)?.kind != FileKind::Regular {
            return Ok(());
        }
        match fs::remove_file(&path) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => Err(failed("removing", &path, &e)),
            _ => Ok(()),
        }
    }
}

/// Reserves the space of a new file.
fn reserve(fd: &OwnedFd, bytes: u64, fill: Fill) -> io::Result<()> {
    let by = |mode: FallocateFlags| match fallocate(fd, mode, 0, bytes) {
        // The file system cannot reserve: the file grows as it is written.
        Err(rustix::io::Errno::OPNOTSUPP | rustix::io::Errno::NOSYS) => Ok(()),
        other => other.map_err(io::Error::from),
    };
    match fill {
        Fill::None => Ok(()),
        _ if bytes == 0 => Ok(()),
        Fill::Reserve => by(FallocateFlags::empty()),
        Fill::Behind => by(FallocateFlags::KEEP_SIZE),
        Fill::Hole => Ok(rustix::fs::ftruncate(fd, bytes)?),
        Fill::Posix => {
            let bytes = i64::try_from(bytes).map_err(|_| io::Error::from_raw_os_error(libc::EFBIG))?;
            // SAFETY: the descriptor is open.
            match unsafe { libc::posix_fallocate64(fd.as_raw_fd(), 0, bytes) } {
                0 => Ok(()),
                error => Err(io::Error::from_raw_os_error(error)),
            }
        }
    }
}
