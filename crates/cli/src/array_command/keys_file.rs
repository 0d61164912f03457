//! The file with the S3 keys of a simulated array, in the format of the AWS tools. Only its owner can read it, and it
//! is removed with the array.

use std::fs::{DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use array::S3Key;

/// A file in its own directory. Dropping it removes both.
pub struct KeysFile {
    directory: PathBuf,
    path: PathBuf,
}

impl KeysFile {
    /// Writes a key to a new file of mode 0600.
    ///
    /// # Errors
    /// The directory for temporary files cannot be written.
    pub fn write(key: &S3Key) -> io::Result<Self> {
        let name: String = (0..8).map(|_| fastrand::lowercase()).collect();
        let directory = std::env::temp_dir().join(format!("manometer-array-{name}"));
        DirBuilder::new().mode(0o700).create(&directory)?;
        // From here on, drop removes whatever exists.
        let made = Self { path: directory.join("credentials"), directory };
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&made.path)?;
        writeln!(file, "[default]\naws_access_key_id = {}", key.id())?;
        writeln!(file, "aws_secret_access_key = {}", key.reveal_secret())?;
        Ok(made)
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for KeysFile {
    fn drop(&mut self) {
        // If somebody else removed it meanwhile, nothing is left to do.
        let _ = std::fs::remove_file(&self.path);
        let _ = std::fs::remove_dir(&self.directory);
    }
}
