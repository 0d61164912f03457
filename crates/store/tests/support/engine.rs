//! Results on either engine: in a file, or, if `MANOMETER_TEST_DATABASE` is the URL of a PostgreSQL database whose user
//! may create others, on that server. Each test has results of its own.

use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

use database::{Connection, DatabaseServer, params};
use store::Store;
use tempfile::TempDir;

/// New results.
pub struct Results {
    directory: TempDir,
    server: Option<DatabaseServer>,
}

impl Results {
    pub fn new() -> Self {
        Self { directory: tempfile::tempdir().unwrap(), server: shared().then(new_database) }
    }

    pub fn open(&self) -> Store {
        match &self.server {
            Some(server) => Store::open_server(server).unwrap(),
            None => Store::open(&self.file()).unwrap(),
        }
    }

    /// The same with what [`super::fill`] writes.
    pub fn sample(&self) -> Store {
        let store = self.open();
        super::fill(&store);
        store
    }

    /// The only value of a query.
    pub fn count(&self, sql: &str) -> i64 {
        let connection = match &self.server {
            Some(server) => Connection::open_server(server, "manometer_results"),
            None => Connection::open_file(&self.file(), "the test's results"),
        };
        connection.unwrap().row(sql, params![], |row| row.get(0)).unwrap()
    }

    fn file(&self) -> PathBuf {
        self.directory.path().join("results.sqlite")
    }
}

/// Whether the tests run on PostgreSQL.
pub fn shared() -> bool {
    std::env::var_os("MANOMETER_TEST_DATABASE").is_some()
}

/// Databases that no test uses now. They are used again: each takes megabytes.
static FREE: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// A database on the tests' server, without results.
fn new_database() -> DatabaseServer {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let url = std::env::var("MANOMETER_TEST_DATABASE").unwrap();
    let password = std::fs::read_to_string(std::env::var("MANOMETER_TEST_PASSWORD_FILE").unwrap()).unwrap();
    let server = |url: &str| DatabaseServer::new(url, Some(password.trim()), None).unwrap();
    let free = FREE.lock().unwrap().pop();
    let name = free.unwrap_or_else(|| {
        let name = format!("test_{}_{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
        // A database is created outside transactions.
        let admin = Connection::open_server(&server(&url), "public").unwrap();
        admin.rows(&format!("CREATE DATABASE {name} TEMPLATE template0"), params![], |_| Ok(())).unwrap();
        name
    });
    let server = server(&format!("{}/{name}", url.rsplit_once('/').unwrap().0));
    let connection = Connection::open_server(&server, "public").unwrap();
    connection.execute("DROP SCHEMA IF EXISTS manometer_results CASCADE", params![]).unwrap();
    server
}

impl Drop for Results {
    fn drop(&mut self) {
        if let Some(server) = &self.server {
            let url = server.to_string();
            FREE.lock().unwrap().push(url.rsplit_once('/').unwrap().1.to_owned());
        }
    }
}
