//! Locates, identifies and opens the file: a file that is not ours is never changed.

use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, OpenFlags};

use crate::error::StoreError;
use crate::schema;

/// Timeout for another process's transaction. Transactions here take milliseconds.
const BUSY: Duration = Duration::from_secs(10);

/// `$XDG_DATA_HOME/manometer/results.sqlite`, or `~/.local/share/manometer/results.sqlite`
/// (XDG Base Directory Specification).
///
/// # Errors
/// Neither `XDG_DATA_HOME` nor `HOME` is set.
pub fn default_path() -> Result<PathBuf, StoreError> {
    let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    absolute("XDG_DATA_HOME")
        .or_else(|| absolute("HOME").map(|home| home.join(".local/share")))
        .map(|data| data.join("manometer/results.sqlite"))
        .ok_or(StoreError::NoHome)
}

/// What exists at a path.
#[derive(Debug, PartialEq, Eq)]
enum Found {
    Nothing,
    /// An empty file (`mktemp`), or a database without contents (an interrupted creation).
    Empty,
    Results,
}

/// Opens for reading and writing; creates the file and its directory (for its owner only) if absent.
pub(crate) fn open(path: &Path) -> Result<(PathBuf, Connection), StoreError> {
    let path = absolute(path)?;
    if look(&path)? == Found::Nothing
        && let Some(directory) = path.parent()
    {
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(directory).map_err(|error| {
            StoreError::NotOpened {
                path: path.clone(),
                why: format!("its directory cannot be made: {error}"),
            }
        })?;
    }
    let connection = connect(&path, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE)?;
    Ok((path, connection))
}

/// Opens an existing file. A file on a read-only location is read as it is.
pub(crate) fn open_existing(path: &Path) -> Result<(PathBuf, Connection), StoreError> {
    let path = absolute(path)?;
    if look(&path)? != Found::Results {
        return Err(StoreError::Missing(path));
    }
    match connect(&path, OpenFlags::SQLITE_OPEN_READ_WRITE) {
        Err(StoreError::ReadOnly(_) | StoreError::NotOpened { .. }) => {
            // Without its journal the file would lack the newest results, or mix two states.
            let mut journal = path.clone().into_os_string();
            journal.push("-wal");
            if std::fs::metadata(&journal).is_ok_and(|journal| journal.len() > 0) {
                return Err(StoreError::ReadOnly(path));
            }
            let connection = as_it_lies(&path).map_err(|error| StoreError::from_sqlite(&path, error))?;
            Ok((path, connection))
        }
        other => other.map(|connection| (path, connection)),
    }
}

/// An absolute path, which SQLite never mistakes for a URI.
fn absolute(path: &Path) -> Result<PathBuf, StoreError> {
    std::path::absolute(path)
        .map_err(|error| StoreError::NotOpened { path: path.to_path_buf(), why: error.to_string() })
}

/// Inspects the file without side effects: no lock, no journal, no extra file. (The file is only ever opened through
/// SQLite: closing a second descriptor would release this process's locks.)
fn look(path: &Path) -> Result<Found, StoreError> {
    let foreign = |what| StoreError::Foreign { path: path.to_path_buf(), what };
    match std::fs::metadata(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Found::Nothing),
        Err(error) => {
            return Err(StoreError::NotOpened { path: path.to_path_buf(), why: error.to_string() });
        }
        Ok(facts) if facts.is_dir() => return Err(foreign("a directory")),
        Ok(facts) if !facts.is_file() => return Err(foreign("a device or socket")),
        Ok(facts) if facts.len() == 0 => return Ok(Found::Empty),
        Ok(_) => {}
    }
    let read = || -> rusqlite::Result<(i32, i64, i64, bool)> {
        let connection = immutable(path)?;
        // While a checkpoint is under way, or after a process was killed during one, the file can be shorter than its
        // first page says. That is for the journal to fix, and no damage.
        connection.pragma_update(None, "writable_schema", true)?;
        let pages = connection.query_row("PRAGMA page_count", [], |row| row.get(0))?;
        let id = schema::application_id(&connection)?;
        Ok((id, schema::version(&connection)?, pages, schema::is_blank(&connection)?))
    };
    match read() {
        Ok((schema::APPLICATION_ID, found, ..)) if found > schema::VERSION => {
            Err(StoreError::Newer { path: path.to_path_buf(), found, known: schema::VERSION })
        }
        Ok((schema::APPLICATION_ID, ..)) => Ok(Found::Results),
        // SQLite treats a file shorter than a page as blank, whatever it contains.
        Ok((_, _, 0, _)) => Err(foreign("something else")),
        Ok((_, _, _, true)) => Ok(Found::Empty),
        Ok(_) => Err(foreign("a database of another program")),
        Err(error) if error.sqlite_error_code() == Some(ErrorCode::NotADatabase) => {
            Err(foreign("something else"))
        }
        Err(error) => Err(StoreError::from_sqlite(path, error)),
    }
}

/// Opens a file that cannot be written, of any version.
pub(crate) fn as_it_lies(path: &Path) -> rusqlite::Result<Connection> {
    let connection = immutable(path)?;
    schema::shown_as_newest(&connection)?;
    Ok(connection)
}

/// Reads the main file alone, as immutable (<https://sqlite.org/uri.html>, `immutable`).
fn immutable(path: &Path) -> rusqlite::Result<Connection> {
    let mut uri = String::from("file://");
    for byte in path.as_os_str().as_bytes() {
        match byte {
            b'/' | b'-' | b'.' | b'_' | b'~' | b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => {
                uri.push(char::from(*byte));
            }
            other => write!(uri, "%{other:02X}").expect("writing to memory cannot fail"),
        }
    }
    uri.push_str("?immutable=1");
    let flags =
        OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    Connection::open_with_flags(uri, flags)
}

/// A connection that is ready: migrated, in write-ahead mode, with a busy timeout.
fn connect(path: &Path, flags: OpenFlags) -> Result<Connection, StoreError> {
    let mut connection = Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)
        .map_err(|error| StoreError::from_sqlite(path, error))?;
    if !prepare(&mut connection).map_err(|error| StoreError::from_sqlite(path, error))? {
        return Err(StoreError::Foreign { path: path.to_path_buf(), what: "a database of another program" });
    }
    let found = schema::version(&connection).map_err(|error| StoreError::from_sqlite(path, error))?;
    if found > schema::VERSION {
        return Err(StoreError::Newer { path: path.to_path_buf(), found, known: schema::VERSION });
    }
    Ok(connection)
}

/// False if the file belongs to another program; nothing was done to it then.
fn prepare(connection: &mut Connection) -> rusqlite::Result<bool> {
    connection.busy_timeout(BUSY)?;
    // What the store itself writes (runs, cells, results) is on disk when the call returns.
    connection.pragma_update(None, "synchronous", "FULL")?;
    let ours = schema::migrate(connection)?;
    connection.pragma_update(None, "foreign_keys", true)?;
    if ours {
        write_ahead(connection)?;
    }
    Ok(ours)
}

/// Switches to the write-ahead journal, if necessary. SQLite does not itself wait for another process that is switching
/// at this moment. Where the file system does not support it, the classic journal stays: slower, but as safe.
fn write_ahead(connection: &Connection) -> rusqlite::Result<()> {
    let mut attempts = 200;
    loop {
        let switched = connection.query_row("PRAGMA journal_mode = WAL", [], |row| row.get::<_, String>(0));
        match switched {
            Err(error) if attempts > 0 && error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) => {
                attempts -= 1;
                std::thread::sleep(Duration::from_millis(50));
            }
            other => return other.map(|_| ()),
        }
    }
}
