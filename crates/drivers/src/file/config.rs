//! What the driver must know of its target.

use std::path::{Path, PathBuf};

use metrics::ErrorKind;
use reactor::Durable;

use super::NamedFiles;
use crate::DriverError;

/// Where the bytes lie.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// A directory of our own, which [`FileDriver::prepare`](super::FileDriver::prepare) makes. Object `n` is the file
    /// in it whose name is `n` as 16 hexadecimal digits.
    Directory(PathBuf),
    /// A block device, or a regular file that is used like one. It exists already and keeps its size; there is one,
    /// whatever object an operation names.
    Device(PathBuf),
    /// Files and devices that the user named, each by a path of its own.
    Named(NamedFiles),
}

impl Place {
    /// The path, as it was given; of named files the directory that their names begin in.
    pub fn path(&self) -> &Path {
        match self {
            Place::Directory(path) | Place::Device(path) => path,
            Place::Named(named) => &named.directory,
        }
    }
}

/// What is done to a new file before it is filled (fallocate(2)).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fallocate {
    /// Nothing: the file grows as it is written.
    #[default]
    None,
    /// Its space is reserved (mode 0), which costs little and writes nothing.
    Allocate,
    /// Its space is reserved and reads as zeros (`FALLOC_FL_ZERO_RANGE`; mode 0 where the file system has no such mode).
    Zero,
}

impl std::str::FromStr for Fallocate {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "none" => Ok(Fallocate::None),
            "reserve" => Ok(Fallocate::Allocate),
            "zero" => Ok(Fallocate::Zero),
            other => Err(format!("\"{other}\" is no way to allocate: write none, reserve or zero")),
        }
    }
}

impl std::fmt::Display for Fallocate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Fallocate::None => "none",
            Fallocate::Allocate => "reserve",
            Fallocate::Zero => "zero",
        })
    }
}

/// A directory, block device or file, and how to use it.
///
/// Which system interface moves the bytes is not said here but by [`reactor::BackendChoice`]: io_uring, io_uring that polls,
/// or threads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileConfig {
    /// Where the bytes lie.
    pub place: Place,
    /// Past the page cache (`O_DIRECT`). Offsets and sizes must then be multiples of [`FileDriver::alignment`](
    /// super::FileDriver::alignment).
    pub direct: bool,
    /// Tell io_uring files and buffers beforehand (`IORING_REGISTER_FILES`, `IORING_REGISTER_BUFFERS`), which spares it
    /// looking them up for each operation. Without effect on threads.
    pub registered: bool,
    /// A commit is an fdatasync(2) instead of an fsync(2): only the metadata needed to read the data back.
    pub fdatasync: bool,
    /// What is done to a new file before it is filled.
    pub fallocate: Fallocate,
    /// Size of a file, in bytes, for `fallocate`; 0 when unknown.
    pub file_bytes: u64,
    /// Before a device is filled, give up all that it holds (`BLKDISCARD`; for a file, a hole over its whole length).
    pub trim: bool,
    /// Files that each worker keeps open; others are opened and closed again as operations need them.
    pub open_files: u32,
    /// What each write makes durable before it ends (`O_DSYNC`, `O_SYNC`).
    pub durable: Durable,
}

/// Files that each worker keeps open unless told otherwise. The customary limit of a process is 1024 at least.
pub const OPEN_FILES: u32 = 256;

impl FileConfig {
    /// The place with the customary values for everything else: through the page cache, registered, fsync, nothing
    /// allocated or given up beforehand.
    pub fn new(place: Place) -> Self {
        Self {
            place,
            direct: false,
            registered: true,
            fdatasync: false,
            fallocate: Fallocate::None,
            file_bytes: 0,
            trim: false,
            open_files: OPEN_FILES,
            durable: Durable::Nothing,
        }
    }

    /// Checks what would otherwise be found out in the middle of things.
    pub(super) fn check(&self) -> Result<(), DriverError> {
        let wrong = |what: String| Err(DriverError::new(ErrorKind::Rejected, what));
        if !self.place.path().is_absolute() {
            return wrong(format!(
                "path \"{}\": an absolute path, from / on, is needed",
                self.place.path().display()
            ));
        }
        if self.open_files == 0 {
            return wrong("files kept open: at least 1 is needed".into());
        }
        if self.fallocate != Fallocate::None && self.file_bytes == 0 {
            return wrong("allocating files beforehand needs their size".into());
        }
        Ok(())
    }
}
