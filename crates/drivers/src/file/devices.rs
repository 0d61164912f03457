//! Opening devices, and files that are used like devices.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use metrics::ErrorKind;
use reactor::Durable;
use rustix::fs::{CWD, FileType, Mode, OFlags, SeekFrom, fstat, openat, seek};

use super::errors::{kind_of, words};
use crate::DriverError;

/// Opens a device; for reading only unless it is to be written.
pub(super) fn open(path: &Path, direct: bool, write: bool) -> Result<OwnedFd, DriverError> {
    open_durable(path, direct, write, Durable::Nothing)
}

/// And writes to it are durable before they end.
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
    // Opened so only that a FIFO or a tape could not block; a ring does not wait on such descriptors.
    rustix::fs::fcntl_setfl(&fd, flags & OFlags::DIRECT)
        .map_err(|e| DriverError::new(ErrorKind::Local, format!("{}: {e}", path.display())))?;
    Ok(fd)
}

/// The size of an open device or file, in bytes.
pub(super) fn size_of(fd: &OwnedFd, path: &Path) -> Result<u64, DriverError> {
    // The end of a block device is its size (block/fops.c).
    seek(fd, SeekFrom::End(0)).map_err(|e| {
        let error = io::Error::from(e);
        DriverError::new(kind_of(&error), format!("size of {}: {}", path.display(), words(&error)))
    })
}

/// True for a block device.
pub(super) fn is_block(fd: impl AsFd) -> bool {
    fstat(fd).is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::BlockDevice)
}

/// `O_DIRECT` is not to be had.
pub(super) fn no_direct(path: &Path) -> DriverError {
    let text = format!(
        "{}: this file system or device has no way past the page cache (O_DIRECT): set direct to false",
        path.display()
    );
    DriverError::new(ErrorKind::Rejected, text)
}

/// There is nothing to poll.
pub(super) fn cannot_be_polled(path: &Path) -> DriverError {
    let text = format!(
        "{}: this device or file system cannot be polled for completions (iopoll): do without iopoll, or give the device \
         queues to poll (for NVMe the module's parameter poll_queues)",
        path.display()
    );
    DriverError::new(ErrorKind::Rejected, text)
}

/// The first operation on a ring that polls failed.
pub(super) fn not_polled(path: &Path, error: &io::Error) -> DriverError {
    if error.raw_os_error() == Some(libc::EOPNOTSUPP) {
        return cannot_be_polled(path);
    }
    DriverError::new(kind_of(error), format!("{}: a first transfer: {}", path.display(), words(error)))
}

/// What is said of a range that does not fit, past the page cache.
pub(super) fn misaligned(multiple: u32) -> String {
    format!(
        "past the page cache (direct) offsets and sizes must be multiples of {multiple} bytes: choose such a block size \
         and file size, or set direct to false"
    )
}
