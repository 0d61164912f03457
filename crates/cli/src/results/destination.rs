//! Destination of machine-readable output: standard output, or a file.

use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::path::Path;

use anyhow::Result;

use super::WrongInput;

/// A buffered writer.
pub struct BufferedOutput {
    out: BufWriter<Box<dyn Write>>,
    file: Option<File>,
}

impl BufferedOutput {
    /// Opens a file, or standard output. `keep` is a file that must not be overwritten: the one being read.
    ///
    /// # Errors
    /// The file cannot be created, or is the one to keep.
    pub fn open(path: Option<&Path>, keep: &Path) -> Result<Self> {
        let Some(path) = path else {
            return Ok(Self { out: BufWriter::new(Box::new(io::stdout().lock())), file: None });
        };
        if super::same_file(path, keep) {
            let line = format!(
                "--output-file {}: is the results file itself; next: name another file",
                path.display()
            );
            return Err(WrongInput(line).into());
        }
        if begins_like_sqlite(path) {
            let line = format!(
                "--output-file {}: is a results file or database; next: name another",
                path.display()
            );
            return Err(WrongInput(line).into());
        }
        let file = File::create(path).and_then(|file| Ok((file.try_clone()?, file)));
        let (file, clone) = file.map_err(|error| {
            // Not reported as an output error: this one has its own hint.
            WrongInput(format!(
                "--output-file {}: cannot be made: {error}; next: name a file where you may write",
                path.display()
            ))
        })?;
        Ok(Self { out: BufWriter::new(Box::new(clone)), file: Some(file) })
    }

    /// Flushes the buffer; a file is on disk afterwards.
    ///
    /// # Errors
    /// The system's error.
    pub fn finish(mut self) -> io::Result<()> {
        self.out.flush()?;
        match self.file {
            // A pipe or terminal given as a file cannot be synced, and need not be.
            Some(file) if file.metadata()?.is_file() => file.sync_all(),
            _ => Ok(()),
        }
    }
}

/// Writes a file atomically: if writing fails, as on a full disk, no partial file appears and an existing one stays.
/// Anything but a plain file, such as a pipe, is written directly.
///
/// # Errors
/// The system's error.
pub fn write_whole(path: &Path, text: &str) -> io::Result<()> {
    // Resolves a link, so that the link stays.
    let path = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    if path.exists() && !path.is_file() {
        return std::fs::write(path, text);
    }
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".unfinished");
    let draft = path.with_file_name(name);
    let written = File::create(&draft)
        .and_then(|mut file| file.write_all(text.as_bytes()).and_then(|()| file.sync_all()))
        .and_then(|()| std::fs::rename(&draft, &path));
    if written.is_err() {
        // It may not exist; the first error is the cause.
        let _ = std::fs::remove_file(&draft);
    }
    written
}

/// Keeps results files from being overwritten by mistake.
pub fn begins_like_sqlite(path: &Path) -> bool {
    let mut head = [0; 15];
    // Only for a plain file: opening a pipe or device may block, or have side effects.
    path.is_file()
        && File::open(path).and_then(|mut file| file.read_exact(&mut head)).is_ok()
        && &head == b"SQLite format 3"
}

impl Write for BufferedOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
