//! Files and devices that the user named: mapping an operation's object to its path, and opening it.

use std::fmt;
use std::path::{Path, PathBuf};

use content::FileNames;
use metrics::ErrorKind;
use reactor::{Buffer, File, Reactor};
use rustix::fs::{Advice, FileType, fadvise, fstat};

use super::config::FileConfig;
use super::errors::{kind_of, words};
use super::operation::Fault;
use super::session::Opened;
use crate::DriverError;
use crate::open_files::Cache;

/// Maximum path length in bytes; the rest of the name buffer has other uses.
const LONGEST: usize = 2047;

/// Files and devices that the user named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedFiles {
    /// Base directory of names that do not begin with `/`.
    pub directory: PathBuf,
    /// Value of `$jobname` in their names.
    pub job: String,
    /// How files are named. Object `n` is the file that [`FileNames::file_of`] gives for it.
    pub names: FileNames,
    /// The load writes or trims: files are opened for writing from the start.
    pub write: bool,
    /// Creates missing files.
    pub create: bool,
    /// Hint to the kernel about the order of reads (posix_fadvise(2)).
    pub hint: Hint,
}

/// Hint to the kernel about the order in which a file will be read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Hint {
    /// Nothing.
    #[default]
    None,
    /// One block after another.
    Sequential,
    /// At random.
    Random,
}

impl NamedFiles {
    /// The path of an object's file, relative to the directory unless it is absolute.
    pub fn path_of(&self, object: u64) -> PathBuf {
        let (number, file) = FileNames::file_of(object);
        self.directory.join(self.names.path(&self.job, number, file))
    }

    /// Writes the path into a buffer, followed by a zero byte.
    pub(super) fn write_path(&self, object: u64, buffer: &mut Buffer) -> Result<(), Fault> {
        let (number, file) = FileNames::file_of(object);
        let mut text = Text { room: &mut buffer[..LONGEST], len: 0 };
        let written = self.names.write_path(&self.job, number, file, &mut text);
        let len = text.len;
        if written.is_err() || len == 0 || buffer[..len].contains(&0) {
            let text = format!("a path has 1 to {LONGEST} bytes, none of them zero: choose another name");
            return Err(Fault::new(ErrorKind::Rejected, text));
        }
        buffer[len] = 0;
        Ok(())
    }

    /// Handles a newly opened file: rejects writing to a device that was not checked, and tells the kernel how the file
    /// will be read.
    pub(super) fn opened(&self, file: &File, cleared: &[u64]) -> Result<(), Fault> {
        let stat = fstat(file).map_err(|e| Fault::new(ErrorKind::Local, e.to_string()))?;
        let block = FileType::from_raw_mode(stat.st_mode) == FileType::BlockDevice;
        if block && file.options().write && !cleared.contains(&stat.st_rdev) {
            let text = "nothing is written before the device was checked for what it holds: this is a fault of manometer's";
            return Err(Fault::new(ErrorKind::Rejected, text));
        }
        let advice = match self.hint {
            Hint::None => return Ok(()),
            Hint::Sequential => Advice::Sequential,
            Hint::Random => Advice::Random,
        };
        // Only a hint: failure costs nothing.
        let _ = fadvise(file, 0, None, advice);
        Ok(())
    }
}

/// Text written to a fixed space.
pub(super) struct Text<'a> {
    pub(super) room: &'a mut [u8],
    pub(super) len: usize,
}

impl Text<'_> {
    /// Adds bytes, as long as there is room.
    pub(super) fn write_bytes(&mut self, bytes: &[u8]) -> fmt::Result {
        let place = self.room.get_mut(self.len..self.len + bytes.len()).ok_or(fmt::Error)?;
        place.copy_from_slice(bytes);
        self.len += bytes.len();
        Ok(())
    }
}

impl fmt::Write for Text<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.write_bytes(text.as_bytes())
    }
}

/// Opens the base directory of relative names; operations open the files when they need them.
pub(super) fn open(reactor: &Reactor, config: &FileConfig, path: &Path) -> Result<Opened, DriverError> {
    let directory = reactor
        .directory(path)
        .map_err(|e| DriverError::new(kind_of(&e), format!("directory {}: {}", path.display(), words(&e))))?;
    Ok(Opened::Directory { directory, cache: Cache::new(config.open_files) })
}
