//! Configuration of a file target.

use std::path::{Path, PathBuf};

use metrics::ErrorKind;
use reactor::Durable;

use super::{NamedFiles, TreeFiles};
use crate::DriverError;
use crate::tree::DirectoryTree;

/// Where the data lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// A directory of our own, which [`FileDriver::prepare`](super::FileDriver::prepare) creates. Object `n` is the
    /// file whose name is `n` as 16 hexadecimal digits, in it or in the [`FileConfig::tree`] below it.
    Directory(PathBuf),
    /// A block device, or a regular file used like one. It already exists and keeps its size; all object numbers refer
    /// to it.
    Device(PathBuf),
    /// Files and devices that the user named, each with its own path.
    Named(NamedFiles),
    /// Files of a pass, in a tree below a directory of the user's.
    Tree(TreeFiles),
}

impl Place {
    /// The path as given; for files of the user's, the directory that relative names start from.
    pub fn path(&self) -> &Path {
        match self {
            Place::Directory(path) | Place::Device(path) => path,
            Place::Named(named) => &named.directory,
            Place::Tree(files) => &files.directory,
        }
    }
}

/// Preallocation of a new file before it is filled (fallocate(2)).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fallocate {
    /// Nothing: the file grows as it is written.
    #[default]
    None,
    /// Its space is reserved (mode 0), which is cheap and writes nothing.
    Allocate,
    /// Its space is reserved and reads as zeros (`FALLOC_FL_ZERO_RANGE`; mode 0 where the file system has no such mode).
    Zero,
}

/// The name that is none of a [`Fallocate`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("\"{0}\" is no way to allocate: write none, reserve or zero")]
pub struct UnknownFallocate(pub String);

impl std::str::FromStr for Fallocate {
    type Err = UnknownFallocate;

    fn from_str(text: &str) -> Result<Self, UnknownFallocate> {
        match text {
            "none" => Ok(Fallocate::None),
            "reserve" => Ok(Fallocate::Allocate),
            "zero" => Ok(Fallocate::Zero),
            other => Err(UnknownFallocate(other.to_owned())),
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
/// The system interface that moves the bytes is chosen by [`reactor::BackendChoice`] instead: io_uring, polled
/// io_uring, or threads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileConfig {
    /// Where the data lies.
    pub place: Place,
    /// Bypass the page cache (`O_DIRECT`). Offsets and sizes must then be multiples of
    /// [`FileDriver::alignment`](super::FileDriver::alignment).
    pub direct: bool,
    /// Register files and buffers with io_uring (`IORING_REGISTER_FILES`, `IORING_REGISTER_BUFFERS`), which saves a
    /// lookup per operation. No effect with threads.
    pub registered: bool,
    /// A commit is an fdatasync(2) instead of an fsync(2): only the metadata needed to read the data back.
    pub fdatasync: bool,
    /// Preallocation of a new file before it is filled.
    pub fallocate: Fallocate,
    /// Size of a file, in bytes, for `fallocate`; 0 when unknown.
    pub file_bytes: u64,
    /// Discard all of a device's data before it is filled (`BLKDISCARD`; for a file, a hole over its whole length).
    pub trim: bool,
    /// Files that each worker keeps open; others are opened and closed as operations need them.
    pub open_files: u32,
    /// What each write makes durable before it completes (`O_DSYNC`, `O_SYNC`).
    pub durable: Durable,
    /// The load uses extended attributes: the directory must be on a file system that has them.
    pub xattrs: bool,
    /// Directories of the files with numbers.
    pub tree: DirectoryTree,
}

/// Default number of files that each worker keeps open. The usual limit of a process is at least 1024.
pub const OPEN_FILES: u32 = 256;

impl FileConfig {
    /// The place with default values for everything else: through the page cache, registered, fsync, nothing
    /// preallocated or discarded.
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
            xattrs: false,
            tree: DirectoryTree::default(),
        }
    }

    /// Rejects settings that would otherwise fail only later.
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
        if !self.tree.is_flat() && !matches!(self.place, Place::Directory(_)) {
            return wrong("only files with numbers are spread over a tree of directories".into());
        }
        if self.fallocate != Fallocate::None && self.file_bytes == 0 {
            return wrong("allocating files beforehand needs their size".into());
        }
        Ok(())
    }
}
