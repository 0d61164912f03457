//! Opening devices, and files used like devices.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use metrics::ErrorKind;
use reactor::Durable;
use rustix::fs::{CWD, FileType, Mode, OFlags, SeekFrom, fstat, openat, seek};

use super::errors::{kind_of, words};
use crate::DriverError;

/// Opens a device, read-only unless `write`.
pub(super) fn open(path: &Path, direct: bool, write: bool) -> Result<OwnedFd, DriverError> {
    open_durable(path, direct, write, Durable::Nothing)
}

/// Opens a device whose writes are durable before they complete.
pub(super) fn open_durable(
    path: &Path,
    direct: bool,
    write: bool,
    durable: Durable,
) -> Result<OwnedFd, DriverError> {
    let mut flags = OFlags::CLOEXEC | OFlags::NOCTTY | OFlags::NONBLOCK;
    flags |= if write { OFlags::RDWR } else { OFlags::RDONLY };
    flags.set(OFlags::DIRECT, direct);
    let durable = match durable {
        Durable::Nothing => 0,
        Durable::Data => libc::O_DSYNC,
        Durable::All => libc::O_SYNC,
    };
    flags |= OFlags::from_bits_retain(durable as u32);
    let fd = match openat(CWD, path, flags, Mode::empty()) {
        Ok(fd) => fd,
        Err(rustix::io::Errno::INVAL) if direct => return Err(no_direct(path)),
        Err(e) => {
            let error = io::Error::from(e);
            let hint = match error.kind() {
                io::ErrorKind::NotFound => {
                    ": it must exist; a file for this is made by, for example, truncate --size=1G"
                }
                _ => "",
            };
            return Err(DriverError::new(
                kind_of(&error),
                format!("{}: {}{hint}", path.display(), words(&error)),
            ));
        }
    };
    let kind = fstat(&fd).map(|stat| FileType::from_raw_mode(stat.st_mode));
    if !matches!(kind, Ok(FileType::BlockDevice | FileType::RegularFile)) {
        let text = format!("{}: neither a block device nor a regular file", path.display());
        return Err(DriverError::new(ErrorKind::Rejected, text));
    }
    // The non-blocking flag only kept the open from blocking on a FIFO or a tape; a ring does not wait on such
    // descriptors.
    rustix::fs::fcntl_setfl(&fd, flags & OFlags::DIRECT)
        .map_err(|e| DriverError::new(ErrorKind::Local, format!("{}: {e}", path.display())))?;
    Ok(fd)
}

/// The size of an open device or file, in bytes.
pub(super) fn size_of(fd: &OwnedFd, path: &Path) -> Result<u64, DriverError> {
    // Seeking to the end of a block device yields its size (block/fops.c).
    seek(fd, SeekFrom::End(0)).map_err(|e| {
        let error = io::Error::from(e);
        DriverError::new(kind_of(&error), format!("size of {}: {}", path.display(), words(&error)))
    })
}

/// True for a block device.
pub(super) fn is_block(fd: impl AsFd) -> bool {
    fstat(fd).is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::BlockDevice)
}

/// The error when `O_DIRECT` is not available.
pub(super) fn no_direct(path: &Path) -> DriverError {
    let text = format!(
        "{}: this file system or device does not support direct I/O (O_DIRECT): set direct to false",
        path.display()
    );
    DriverError::new(ErrorKind::Rejected, text)
}

/// The error when a device has no queues that can be polled.
pub(super) fn cannot_be_polled(path: &Path) -> DriverError {
    let text = format!(
        "{}: this device or file system cannot be polled for completions (iopoll): do without iopoll, or give the device \
         queues to poll (for NVMe the module's parameter poll_queues)",
        path.display()
    );
    DriverError::new(ErrorKind::Rejected, text)
}

/// The error when the first operation on a polled ring failed.
pub(super) fn not_polled(path: &Path, error: &io::Error) -> DriverError {
    if error.raw_os_error() == Some(libc::EOPNOTSUPP) {
        return cannot_be_polled(path);
    }
    DriverError::new(kind_of(error), format!("{}: a first transfer: {}", path.display(), words(error)))
}

/// The message for a misaligned range in direct I/O.
pub(super) fn misaligned(multiple: u32) -> String {
    format!(
        "direct I/O needs offsets and sizes that are multiples of {multiple} bytes: choose such a block size \
         and file size, or set direct to false"
    )
}
