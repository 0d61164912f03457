//! A row of a result.

use std::sync::Arc;

use crate::error::{DatabaseCause, DatabaseError};
use crate::value::{FromValue, Value};

/// A row of a result; columns are numbered from 0.
pub struct Row<'a> {
    place: &'a Arc<str>,
    columns: Columns<'a>,
}

enum Columns<'a> {
    Sqlite(&'a rusqlite::Row<'a>),
    Postgres(&'a postgres::Row),
}

impl<'a> Row<'a> {
    pub(crate) fn of_sqlite(place: &'a Arc<str>, row: &'a rusqlite::Row<'a>) -> Self {
        Self { place, columns: Columns::Sqlite(row) }
    }

    pub(crate) fn of_postgres(place: &'a Arc<str>, row: &'a postgres::Row) -> Self {
        Self { place, columns: Columns::Postgres(row) }
    }

    /// The value of a column.
    ///
    /// # Errors
    /// There is no such column, or it holds a value of another type.
    pub fn get<T: FromValue>(&self, column: usize) -> Result<T, DatabaseError> {
        let value = self.value(column)?;
        T::from_value(value).ok_or_else(|| {
            let kind = match value {
                Value::Null => "nothing",
                Value::Integer(_) => "an integer",
                Value::Real(_) => "a real number",
                Value::Text(_) => "a text",
                Value::Blob(_) => "bytes",
            };
            self.bad(format!("column {column} holds {kind}"))
        })
    }

    /// Whether a column holds nothing.
    ///
    /// # Errors
    /// There is no such column.
    pub fn is_null(&self, column: usize) -> Result<bool, DatabaseError> {
        Ok(self.value(column)? == Value::Null)
    }

    /// The error for a row that this program does not write.
    pub fn bad(&self, why: impl std::fmt::Display) -> DatabaseError {
        DatabaseError { place: Arc::clone(self.place), cause: DatabaseCause::Value(why.to_string()) }
    }

    fn value(&self, column: usize) -> Result<Value<'a>, DatabaseError> {
        use rusqlite::types::ValueRef;
        match self.columns {
            Columns::Sqlite(row) => {
                let value = row.get_ref(column).map_err(|error| DatabaseError {
                    place: Arc::clone(self.place),
                    cause: DatabaseCause::Sqlite(error),
                })?;
                Ok(match value {
                    ValueRef::Null => Value::Null,
                    ValueRef::Integer(value) => Value::Integer(value),
                    ValueRef::Real(value) => Value::Real(value),
                    ValueRef::Text(text) => Value::Text(
                        std::str::from_utf8(text)
                            .map_err(|_| self.bad(format!("column {column} holds text that is not UTF-8")))?,
                    ),
                    ValueRef::Blob(value) => Value::Blob(value),
                })
            }
            Columns::Postgres(row) => row.try_get(column).map_err(|error| self.bad(error)),
        }
    }
}
