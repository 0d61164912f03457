//! Databases behind one interface: an SQLite file, or a PostgreSQL server that several services share.
//!
//! ```
//! use database::{Connection, TableLayout, Migration, params};
//!
//! const LAYOUT: TableLayout = TableLayout {
//!     schema: "example",
//!     migrations: &[Migration::Both("CREATE TABLE notes (number INTEGER PRIMARY KEY, text TEXT NOT NULL)")],
//! };
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let directory = tempfile::tempdir()?;
//! # let path = directory.path().join("notes.sqlite");
//! let connection = Connection::open_file(&path, "notes.sqlite")?;   // or open_server
//! connection.migrate(&LAYOUT)?;
//! connection.execute("INSERT INTO notes (text) VALUES (?1)", params!["first"])?;
//! let notes: Vec<String> = connection.rows("SELECT text FROM notes", params![], |row| row.get(0))?;
//! # assert_eq!(notes, ["first"]);
//! # Ok(())
//! # }
//! ```

mod connection;
mod dialect;
mod error;
mod layout;
mod row;
mod server;
mod session;
mod tls;
mod value;

pub use connection::Connection;
pub use error::{DatabaseCause, DatabaseError};
pub use layout::{Migration, TableLayout};
pub use row::Row;
pub use server::{DatabaseServer, DatabaseUrlError, OutageNotes};
pub use value::{FromValue, ToValue, Value};

/// The parameters of a statement: `params![id, 3_i64, name]`.
#[macro_export]
macro_rules! params {
    ($($value:expr),* $(,)?) => { &[$($crate::ToValue::to_value(&$value)),*][..] };
}
