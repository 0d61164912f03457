//! Files and devices that the user named: from an operation's object to its path, and how they are opened.

use std::fmt;
use std::path::PathBuf;

use content::FileNames;
use metrics::ErrorKind;
use reactor::{Buffer, File, Reactor};
use rustix::fs::{Advice, FileType, fadvise, fstat};

use super::cache::Cache;
use super::config::FileConfig;
use super::errors::{kind_of, words};
use super::operation::Fault;
use super::session::Opened;
use crate::DriverError;

/// The longest path, in bytes: the buffer that it travels in has other uses behind.
const LONGEST: usize = 2047;

/// Files and devices that the user named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedFiles {
    /// Names that do not begin with `/` begin here.
    pub directory: PathBuf,
    /// What `$jobname` stands for in their names.
    pub job: String,
    /// How files are named. The file of object `n` is the one that [`FileNames::file_of`] says.
    pub names: FileNames,
    /// The load writes, or trims: files are opened for that from the beginning.
    pub write: bool,
    /// Those are made when they are missing.
    pub create: bool,
    /// What the kernel is told of the order of reads (posix_fadvise(2)).
    pub hint: Hint,
}

/// What the kernel is told of the order in which a file will be read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Hint {
    /// Nothing.
    #[default]
    None,
    /// One block after the other.
    Sequential,
    /// By chance.
    Random,
}

impl NamedFiles {
    /// The path of an object's file, below the directory unless it is absolute.
    pub fn path_of(&self, object: u64) -> PathBuf {
        let (number, file) = FileNames::file_of(object);
        self.directory.join(self.names.path(&self.job, number, file))
    }

    /// Writes the path into a buffer, with a zero byte behind it.
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

    /// What is done with a file that was just opened: a device that was not looked at is not written; the kernel learns
    /// how it will be read.
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
        // Advice: where it is not taken, nothing is lost.
        let _ = fadvise(file, 0, None, advice);
        Ok(())
    }
}

/// Text in a given place.
struct Text<'a> {
    room: &'a mut [u8],
    len: usize,
}

impl fmt::Write for Text<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let place = self.room.get_mut(self.len..self.len + text.len()).ok_or(fmt::Error)?;
        place.copy_from_slice(text.as_bytes());
        self.len += text.len();
        Ok(())
    }
}

/// The directory that relative names begin in; the files are opened by the operations that need them.
pub(super) fn open(
    reactor: &Reactor,
    config: &FileConfig,
    named: &NamedFiles,
) -> Result<Opened, DriverError> {
    let path = &named.directory;
    let directory = reactor
        .directory(path)
        .map_err(|e| DriverError::new(kind_of(&e), format!("directory {}: {}", path.display(), words(&e))))?;
    Ok(Opened::Directory { directory, cache: Cache::new(config.open_files) })
}
