//! Work before and after the load: create our directory, drop caches, discard content, remove.
//!
//! All of it blocks the calling thread.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use metrics::ErrorKind;
use rustix::fs::{Advice, FallocateFlags, Mode, OFlags, fadvise, fallocate, open, syncfs};

use super::align::Alignment;
use super::errors::{kind_of, words};
use super::names::{MARK, object_of};
use super::{FileDriver, NamedFiles, Place, TreeFiles, devices, facts, guard};
use crate::numbers::{is_directory, is_symlink};
use crate::own_directory::{self, MARK_TEXT};
use crate::tree::{DirectoryTree, MAX_LEAF_LEN};
use crate::{Announce, DriverError};

/// Begins the line of the mark file that describes the tree.
const TREE_LINE: &str = "tree: ";
/// `BLKFLSBUF` and `BLKDISCARD` of linux/fs.h.
pub(super) const BLKFLSBUF: libc::Ioctl = 0x1261;
const BLKDISCARD: libc::Ioctl = 0x1277;
/// Bytes discarded per request: a large device is discarded in steps, so that a signal can interrupt in time.
const DISCARD_STEP: u64 = 4 << 30;

impl FileDriver {
    /// Creates our directory, which must not exist; for a device, checks that it exists, and with `trim` discards all
    /// its data.
    ///
    /// # Errors
    /// When the directory exists or cannot be created; when the device cannot be opened, or is to be discarded before
    /// [`FileDriver::check_device`] has allowed it.
    pub fn prepare(&self) -> Result<(), DriverError> {
        self.prepare_announced(&mut || Ok(()))
    }

    /// As [`Self::prepare`]; calls `announce` right before mkdir(2). Without that call nothing was created.
    ///
    /// # Errors
    /// As [`Self::prepare`], and what `announce` returns: then no directory is created.
    pub fn prepare_announced(&self, announce: Announce<'_>) -> Result<(), DriverError> {
        match &self.config().place {
            Place::Directory(path) => {
                announce()?;
                fs::create_dir(path).map_err(|e| match e.kind() {
                    io::ErrorKind::AlreadyExists => DriverError::new(
                        ErrorKind::AlreadyExists,
                        own_directory::exists_already(path.display()),
                    ),
                    _ => failed("making directory", path, &e),
                })?;
                fs::write(path.join(MARK), mark_text(&self.config().tree)).map_err(|e| unmarked(path, &e))?;
                make_leaves(path, &self.config().tree)
                    .and_then(|()| self.check_xattrs_of_mark(path))
                    .inspect_err(|_| drop(self.remove_all()))
            }
            Place::Device(path) if self.config().trim => self.give_up(path),
            Place::Device(path) => devices::open(path, self.config().direct, false).map(drop),
            Place::Named(_) | Place::Tree(_) => Ok(()),
        }
    }

    /// Checks that the place created by an earlier run exists and is ours, to use it again.
    ///
    /// # Errors
    /// When it does not exist, or belongs to somebody else.
    pub fn adopt(&self) -> Result<(), DriverError> {
        match &self.config().place {
            Place::Directory(path) => {
                fs::read_dir(path).map_err(|e| failed("directory", path, &e))?;
                marked(path)?;
                self.check_tree(path)?;
                self.check_xattrs_of_mark(path)
            }
            Place::Device(path) => devices::open(path, self.config().direct, false).map(drop),
            Place::Named(_) | Place::Tree(_) => Ok(()),
        }
    }

    /// Removes our directory and the files in it that have our names; returns their number. A missing directory is no
    /// error. On a device, nothing is removed.
    ///
    /// # Errors
    /// When the directory lacks our mark, a file cannot be removed, or it contains anything else.
    pub fn remove_all(&self) -> Result<u64, DriverError> {
        let Place::Directory(path) = &self.config().place else { return Ok(0) };
        match fs::symlink_metadata(path) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(0),
            Err(e) => return Err(failed("directory", path, &e)),
            Ok(metadata) if !metadata.is_dir() => return Err(not_ours(path)),
            Ok(_) => {}
        }
        if marked(path).is_err() {
            // Killed between creating the directory and marking it: an empty one is removed, any other stays.
            return fs::remove_dir(path).map(|()| 0).map_err(|_| not_ours(path));
        }
        let mut removed = 0;
        let mut directories = Vec::new();
        let tree = tree_of(path);
        each_file(path, &tree, tree.depth(), &mut directories, &mut |file| {
            let result = match named_object(file).is_some_and(is_directory) {
                true => fs::remove_dir(file),
                false => fs::remove_file(file),
            };
            match result {
                Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(failed("removing", file, &e)),
                Err(_) => {}
                Ok(()) => removed += 1,
            }
            Ok(())
        })?;
        for directory in &directories {
            // One that holds files of others stays, and is found below.
            match fs::remove_dir(directory) {
                Err(e) if !matches!(e.kind(), io::ErrorKind::NotFound | io::ErrorKind::DirectoryNotEmpty) => {
                    return Err(failed("removing directory", directory, &e));
                }
                _ => {}
            }
        }
        let others = fs::read_dir(path).map_err(|e| failed("directory", path, &e))?;
        if others.flatten().any(|entry| entry.file_name().as_bytes() != MARK.as_bytes()) {
            let text = own_directory::holds_others(path.display());
            return Err(DriverError::new(ErrorKind::AlreadyExists, text));
        }
        fs::remove_file(path.join(MARK)).map_err(|e| failed("removing", &path.join(MARK), &e))?;
        fs::remove_dir(path).map_err(|e| failed("removing directory", path, &e))?;
        Ok(removed)
    }

    /// Numbers and sizes of the files with our names, in no particular order. For a device, its size as object 0; for
    /// named files, nothing.
    ///
    /// # Errors
    /// When the directory or device cannot be read.
    pub fn files(&self) -> Result<Vec<(u64, u64)>, DriverError> {
        if let Place::Device(_) = &self.config().place {
            return Ok(vec![(0, self.device_size()?)]);
        }
        if let Place::Named(_) | Place::Tree(_) = &self.config().place {
            return Ok(Vec::new());
        }
        let mut files = Vec::new();
        self.each_file(|path| {
            let size = fs::symlink_metadata(path).map_err(|e| failed("file", path, &e))?.len();
            files.extend(named_object(path).map(|object| (object, size)));
            Ok(())
        })?;
        Ok(files)
    }

    /// Size of the device, or of the file used as one, in bytes.
    ///
    /// # Errors
    /// When it cannot be opened, or the place is a directory.
    pub fn device_size(&self) -> Result<u64, DriverError> {
        let path = self.config().place.path();
        devices::size_of(&devices::open(path, false, false)?, path)
    }

    /// Drops the data set from the page cache after writing back dirty pages; returns what was done.
    ///
    /// # Errors
    /// When something cannot be opened or written back.
    pub fn invalidate(&self) -> Result<String, DriverError> {
        match &self.config().place {
            Place::Directory(path) => {
                let directory =
                    open(path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
                        .map_err(|e| failed("directory", path, &e.into()))?;
                syncfs(&directory).map_err(|e| failed("writing back", path, &e.into()))?;
                let mut files = 0_u64;
                self.each_file(|file| {
                    if named_object(file).is_some_and(|object| is_directory(object) || is_symlink(object)) {
                        return Ok(());
                    }
                    let fd = fs::File::open(file).map_err(|e| failed("file", file, &e))?;
                    fadvise(&fd, 0, None, Advice::DontNeed).map_err(|e| failed("file", file, &e.into()))?;
                    files += 1;
                    Ok(())
                })?;
                Ok(format!("pages of {files} files given up (sync, posix_fadvise DONTNEED)"))
            }
            Place::Device(path) => {
                let fd = devices::open(path, false, false)?;
                rustix::fs::fsync(&fd).map_err(|e| failed("writing back", path, &e.into()))?;
                // SAFETY: this request takes no argument.
                if devices::is_block(&fd) && unsafe { libc::ioctl(fd.as_raw_fd(), BLKFLSBUF, 0) } == 0 {
                    return Ok("pages of the device given up (fsync, BLKFLSBUF)".into());
                }
                fadvise(&fd, 0, None, Advice::DontNeed).map_err(|e| failed("device", path, &e.into()))?;
                Ok("pages of the device given up (fsync, posix_fadvise DONTNEED)".into())
            }
            Place::Named(_) => Ok("as the job says (invalidate)".into()),
            Place::Tree(_) => Ok("kept: the files of a pass are not looked for".into()),
        }
    }

    /// The alignment that direct I/O requires; `None` for buffered I/O.
    ///
    /// # Errors
    /// When `O_DIRECT` is requested but not available.
    pub fn alignment(&self) -> Result<Option<Alignment>, DriverError> {
        if !self.config().direct {
            return Ok(None);
        }
        let found = match &self.config().place {
            Place::Device(path) => Alignment::of(devices::open(path, true, false)?),
            Place::Directory(path)
            | Place::Named(NamedFiles { directory: path, .. })
            | Place::Tree(TreeFiles { directory: path, .. }) => {
                // Before the directory is created, its parent gives the answer.
                let there = if path.exists() { path.as_path() } else { path.parent().unwrap_or(path) };
                let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::DIRECT | OFlags::CLOEXEC;
                match open(there, flags, Mode::RUSR | Mode::WUSR) {
                    Ok(fd) => Alignment::of(fd),
                    Err(rustix::io::Errno::INVAL) => None,
                    // The file system has no unnamed files (`O_TMPFILE`): the first operation finds out.
                    Err(_) => return Ok(None),
                }
            }
        };
        found.map(Some).ok_or_else(|| devices::no_direct(self.config().place.path()))
    }

    /// Checks that blocks of this size are possible.
    ///
    /// # Errors
    /// When direct I/O is requested and the size is not a multiple of what the device requires.
    pub fn check_block_bytes(&self, bytes: u64) -> Result<(), DriverError> {
        match self.alignment()? {
            Some(alignment) if !alignment.fits(0, bytes) => {
                let place = self.config().place.path().display();
                let text = format!(
                    "blocks of {bytes} bytes on {place}: {}",
                    devices::misaligned(alignment.offset_bytes)
                );
                Err(DriverError::new(ErrorKind::Rejected, text))
            }
            _ => Ok(()),
        }
    }

    /// Facts about the place for the result: file system, device, alignment.
    pub fn facts(&self) -> std::collections::BTreeMap<String, String> {
        facts::of(self)
    }

    /// Checks what a device holds before it is written, and remembers that it may be written. `destroy` lists
    /// what the user allowed to be overwritten whatever it holds. A directory needs no such check.
    ///
    /// # Errors
    /// When it is mounted or otherwise in use, or holds a file system, a partition table or the like, or, for a regular
    /// file, any data, and `destroy` does not list it. One line that says what was found and what to do.
    pub fn check_device(&self, destroy: &[PathBuf]) -> Result<(), DriverError> {
        if let Place::Device(path) = &self.config().place {
            guard::check(path, destroy)?;
            self.cleared.store(true, std::sync::atomic::Ordering::Relaxed);
        }
        Ok(())
    }

    fn give_up(&self, path: &Path) -> Result<(), DriverError> {
        if !self.may_write() {
            let text = format!("{}: nothing is given up before it was checked what it holds", path.display());
            return Err(DriverError::new(ErrorKind::Rejected, text));
        }
        let fd = devices::open(path, false, true)?;
        let size = devices::size_of(&fd, path)?;
        let failed = |e: io::Error| match e.raw_os_error() {
            Some(libc::EOPNOTSUPP) => {
                let text = format!("{}: it cannot give up content (trim): set trim to false", path.display());
                DriverError::new(ErrorKind::Rejected, text)
            }
            _ => failed("giving up the content of", path, &e),
        };
        if !devices::is_block(&fd) {
            let punch = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
            return fallocate(&fd, punch, 0, size.max(1)).map_err(|e| failed(e.into()));
        }
        let mut at = 0;
        while at < size {
            let len = (size - at).min(DISCARD_STEP);
            discard(&fd, at, len).map_err(failed)?;
            at += len;
        }
        Ok(())
    }

    fn each_file(&self, mut action: impl FnMut(&Path) -> Result<(), DriverError>) -> Result<(), DriverError> {
        let path = self.config().place.path();
        let tree = tree_of(path);
        each_file(path, &tree, tree.depth(), &mut Vec::new(), &mut action)
    }

    /// Files of another tree would not be found.
    fn check_tree(&self, path: &Path) -> Result<(), DriverError> {
        let (there, wanted) = (tree_of(path), self.config().tree);
        if there == wanted {
            return Ok(());
        }
        let text = format!(
            "directory {} was made with {there}, and the target has {wanted}: give the target the same, or name \
             another directory",
            path.display()
        );
        Err(DriverError::new(ErrorKind::Rejected, text))
    }
}

/// Calls `action` for each file with one of our names, in the last of `levels` levels of a tree; adds its directories,
/// each after those in it. Nothing behind a link or with another name is entered.
fn each_file(
    path: &Path,
    tree: &DirectoryTree,
    levels: u32,
    directories: &mut Vec<PathBuf>,
    action: &mut dyn FnMut(&Path) -> Result<(), DriverError>,
) -> Result<(), DriverError> {
    for entry in fs::read_dir(path).map_err(|e| failed("directory", path, &e))? {
        let entry = entry.map_err(|e| failed("directory", path, &e))?;
        if levels == 0 {
            if object_of(entry.file_name().as_bytes()).is_some() {
                action(&entry.path())?;
            }
            continue;
        }
        let is_ours = tree.names_directory(entry.file_name().as_bytes());
        if is_ours && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            each_file(&entry.path(), tree, levels - 1, directories, action)?;
            directories.push(entry.path());
        }
    }
    Ok(())
}

/// The text of the mark file, which describes the tree for whoever removes or uses it later.
fn mark_text(tree: &DirectoryTree) -> String {
    if tree.is_flat() { MARK_TEXT.to_owned() } else { format!("{MARK_TEXT}{TREE_LINE}{tree}\n") }
}

/// The tree that the mark file describes: flat unless it says otherwise.
fn tree_of(path: &Path) -> DirectoryTree {
    let text = fs::read_to_string(path.join(MARK)).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(TREE_LINE));
    line.and_then(|line| line.parse().ok()).unwrap_or_default()
}

/// Creates the tree's directories.
fn make_leaves(path: &Path, tree: &DirectoryTree) -> Result<(), DriverError> {
    if tree.is_flat() {
        return Ok(());
    }
    let mut leaf = [0; MAX_LEAF_LEN];
    for number in 0..tree.leaves() {
        let len = tree.write_leaf(number, &mut leaf);
        let directory = path.join(OsStr::from_bytes(&leaf[..len]));
        fs::create_dir_all(&directory).map_err(|e| failed("making directory", &directory, &e))?;
    }
    Ok(())
}

/// Makes the kernel drop all clean pages and cached directory entries, after writing everything back
/// (`/proc/sys/vm/drop_caches`, proc_sys_vm(5)). Needs root, and affects the whole machine.
///
/// # Errors
/// When that is not permitted.
pub fn drop_caches() -> Result<(), DriverError> {
    rustix::fs::sync();
    let path = Path::new("/proc/sys/vm/drop_caches");
    fs::write(path, "3").map_err(|e| failed("dropping the kernel's caches by", path, &e))
}

/// The object whose name this path ends with, if it is one of ours.
fn named_object(path: &Path) -> Option<u64> {
    path.file_name().and_then(|name| object_of(name.as_bytes()))
}

fn discard(fd: &OwnedFd, at: u64, len: u64) -> io::Result<()> {
    let range = [at, len];
    // SAFETY: the request takes a pointer to two numbers.
    match unsafe { libc::ioctl(fd.as_raw_fd(), BLKDISCARD, range.as_ptr()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

fn marked(path: &Path) -> Result<(), DriverError> {
    if path.join(MARK).is_file() { Ok(()) } else { Err(not_ours(path)) }
}

/// Error when our directory was created but could not be marked: it is removed again, and the kind of the error says
/// so.
fn unmarked(path: &Path, error: &io::Error) -> DriverError {
    let _ = fs::remove_file(path.join(MARK));
    match fs::remove_dir(path) {
        Ok(()) => failed("marking directory", path, error),
        Err(e) => {
            let text = format!(
                "marking directory {}: {}; it could not be removed either: {e}",
                path.display(),
                words(error)
            );
            DriverError::new(ErrorKind::ServerFault, text)
        }
    }
}

fn not_ours(path: &Path) -> DriverError {
    DriverError::new(ErrorKind::AlreadyExists, own_directory::not_ours(path.display()))
}

pub(super) fn failed(what: &str, path: &Path, error: &io::Error) -> DriverError {
    DriverError::new(kind_of(error), format!("{what} {}: {}", path.display(), words(error)))
}
