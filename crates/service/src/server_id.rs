//! Which service this is, among those that share a database.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use provision::RunId;

/// Name of the file in the service's directory.
const FILE: &str = "server-id";

/// The id of a service cannot be read or stored.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ServerIdError {
    /// The file cannot be used.
    #[error("{}: {error}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The system's error.
        error: std::io::Error,
    },
    /// It holds something else.
    #[error("{}: it holds no id of a service; next: restore it, or remove it to begin as a new service, which leaves this \
             one's unfinished runs as they are", .0.display())]
    Damaged(PathBuf),
}

/// The id of the service in `directory`: random, and stored at its first start.
///
/// # Errors
/// The file cannot be read or written, or holds something else.
pub(crate) fn server_id(directory: &Path) -> Result<String, ServerIdError> {
    let path = directory.join(FILE);
    let failed = |error| ServerIdError::File { path: path.clone(), error };
    match std::fs::read_to_string(&path) {
        Ok(text) => match text.trim().parse::<RunId>() {
            Ok(id) => Ok(id.to_string()),
            Err(_) => Err(ServerIdError::Damaged(path)),
        },
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let id = RunId::random().to_string();
            let mut file =
                OpenOptions::new().create_new(true).write(true).mode(0o600).open(&path).map_err(failed)?;
            file.write_all(format!("{id}\n").as_bytes()).and_then(|()| file.sync_all()).map_err(failed)?;
            Ok(id)
        }
        Err(error) => Err(failed(error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_keeps_its_id_and_a_damaged_one_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let id = server_id(directory.path()).unwrap();
        assert_eq!(server_id(directory.path()).unwrap(), id);
        assert_ne!(server_id(tempfile::tempdir().unwrap().path()).unwrap(), id);
        std::fs::write(directory.path().join(FILE), "").unwrap();
        assert!(matches!(server_id(directory.path()), Err(ServerIdError::Damaged(_))));
    }
}
