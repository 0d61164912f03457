//! Where machine output goes: standard output, or a file.

use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::path::Path;

use anyhow::Result;

use super::WrongInput;

/// Writes through a buffer, whatever is behind it.
pub struct BufferedOutput {
    out: BufWriter<Box<dyn Write>>,
    file: Option<File>,
}

impl BufferedOutput {
    /// A file, or standard output. `keep` is a file that must not be written over: the one that is read.
    ///
    /// # Errors
    /// When the file cannot be made, or is the one to keep.
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
            // Not as an error of the output: this one has a hint of its own.
            WrongInput(format!(
                "--output-file {}: cannot be made: {error}; next: name a file where you may write",
                path.display()
            ))
        })?;
        Ok(Self { out: BufWriter::new(Box::new(clone)), file: Some(file) })
    }

    /// Hands on what is buffered; a file is on the disk then.
    ///
    /// # Errors
    /// What the system says.
    pub fn finish(mut self) -> io::Result<()> {
        self.out.flush()?;
        match self.file {
            // A pipe or terminal that was named as a file cannot be synced, and needs not.
            Some(file) if file.metadata()?.is_file() => file.sync_all(),
            _ => Ok(()),
        }
    }
}

/// Writes a file as a whole: one that cannot be written to its end, as on a full disk, is not there, and what was there before stays. What
/// is no plain file, such as a pipe, is written as it is.
///
/// # Errors
/// What the system says.
pub fn write_whole(path: &Path, text: &str) -> io::Result<()> {
    // Behind a link, so that the link stays.
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
        // It may not have come to be; the first error is the cause.
        let _ = std::fs::remove_file(&draft);
    }
    written
}

/// Results are not written over by mistake.
pub fn begins_like_sqlite(path: &Path) -> bool {
    let mut head = [0; 15];
    // Only of a plain file: to open a pipe or device may block, or have effects.
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
