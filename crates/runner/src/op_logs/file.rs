//! A file that grows by whole lines.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Buffered bytes that trigger a write.
const ENOUGH: usize = 1 << 16;

/// A file that grows by whole lines; several may append to one file.
#[derive(Debug)]
pub(super) struct LineFile {
    path: PathBuf,
    file: File,
    waiting: String,
}

impl LineFile {
    /// Creates the file, replacing any existing one.
    pub(super) fn create(path: &Path) -> io::Result<LineFile> {
        Self::open(path, OpenOptions::new().write(true).create(true).truncate(true))
    }

    /// Appends to the file, creating it if needed.
    pub(super) fn append(path: &Path) -> io::Result<LineFile> {
        Self::open(path, OpenOptions::new().append(true).create(true))
    }

    fn open(path: &Path, options: &OpenOptions) -> io::Result<LineFile> {
        let named = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
        let file = options.open(path).map_err(named)?;
        Ok(LineFile { path: path.to_owned(), file, waiting: String::new() })
    }

    /// True when the file is empty.
    pub(super) fn is_empty(&self) -> io::Result<bool> {
        Ok(self.waiting.is_empty() && self.file.metadata()?.len() == 0)
    }

    /// The buffer for new lines, each with its line end.
    pub(super) fn lines(&mut self) -> &mut String {
        &mut self.waiting
    }

    /// Writes out the buffer if it is large, or if `all` is set.
    pub(super) fn write(&mut self, all: bool) -> io::Result<()> {
        if self.waiting.len() >= ENOUGH || all && !self.waiting.is_empty() {
            let path = &self.path;
            self.file
                .write_all(self.waiting.as_bytes())
                .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", path.display())))?;
            self.waiting.clear();
        }
        Ok(())
    }

    /// Its path.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}
