//! The values that both engines store: five types, as in SQLite.

use bytes::BytesMut;
use postgres::types::{FromSql, IsNull, ToSql, Type, to_sql_checked};
use rusqlite::types::{ToSqlOutput, ValueRef};

/// A value in a parameter or a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    /// `NULL`.
    Null,
    /// `INTEGER` (SQLite), `BIGINT` (PostgreSQL); also a boolean: 0 or 1.
    Integer(i64),
    /// `REAL` (SQLite), `DOUBLE PRECISION` (PostgreSQL).
    Real(f64),
    /// `TEXT`. PostgreSQL cannot hold NUL in a text; it stores U+FFFD instead.
    Text(&'a str),
    /// `BLOB` (SQLite), `BYTEA` (PostgreSQL).
    Blob(&'a [u8]),
}

/// What can be a parameter of a statement; see [`params`](crate::params).
pub trait ToValue {
    /// The parameter.
    fn to_value(&self) -> Value<'_>;
}

/// What can be read from a column.
pub trait FromValue: Sized {
    /// The value of this type; `None` if the column holds something else.
    fn from_value(value: Value<'_>) -> Option<Self>;
}

impl<T: ToValue + ?Sized> ToValue for &T {
    fn to_value(&self) -> Value<'_> {
        (**self).to_value()
    }
}

impl<T: ToValue> ToValue for Option<T> {
    fn to_value(&self) -> Value<'_> {
        self.as_ref().map_or(Value::Null, ToValue::to_value)
    }
}

impl ToValue for str {
    fn to_value(&self) -> Value<'_> {
        Value::Text(self)
    }
}

impl ToValue for String {
    fn to_value(&self) -> Value<'_> {
        Value::Text(self)
    }
}

impl ToValue for [u8] {
    fn to_value(&self) -> Value<'_> {
        Value::Blob(self)
    }
}

impl ToValue for Vec<u8> {
    fn to_value(&self) -> Value<'_> {
        Value::Blob(self)
    }
}

impl ToValue for f64 {
    fn to_value(&self) -> Value<'_> {
        Value::Real(*self)
    }
}

macro_rules! integers {
    ($($integer:ty),*) => {$(
        impl ToValue for $integer {
            fn to_value(&self) -> Value<'_> {
                Value::Integer(i64::from(*self))
            }
        }
    )*};
}
integers!(i64, i32, u32, u8, bool);

macro_rules! from_integers {
    ($($integer:ty),*) => {$(
        impl FromValue for $integer {
            fn from_value(value: Value<'_>) -> Option<Self> {
                match value {
                    Value::Integer(value) => value.try_into().ok(),
                    _ => None,
                }
            }
        }
    )*};
}
from_integers!(i64, u32, u8);

impl FromValue for bool {
    fn from_value(value: Value<'_>) -> Option<Self> {
        i64::from_value(value).map(|value| value != 0)
    }
}

impl FromValue for f64 {
    fn from_value(value: Value<'_>) -> Option<Self> {
        match value {
            Value::Real(value) => Some(value),
            Value::Integer(value) => Some(value as Self),
            _ => None,
        }
    }
}

impl FromValue for String {
    fn from_value(value: Value<'_>) -> Option<Self> {
        match value {
            Value::Text(value) => Some(value.to_owned()),
            _ => None,
        }
    }
}

impl FromValue for Vec<u8> {
    fn from_value(value: Value<'_>) -> Option<Self> {
        match value {
            Value::Blob(value) => Some(value.to_owned()),
            _ => None,
        }
    }
}

impl<T: FromValue> FromValue for Option<T> {
    fn from_value(value: Value<'_>) -> Option<Self> {
        match value {
            Value::Null => Some(None),
            value => T::from_value(value).map(Some),
        }
    }
}

impl rusqlite::ToSql for Value<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match *self {
            Self::Null => ValueRef::Null,
            Self::Integer(value) => ValueRef::Integer(value),
            Self::Real(value) => ValueRef::Real(value),
            Self::Text(value) => ValueRef::Text(value.as_bytes()),
            Self::Blob(value) => ValueRef::Blob(value),
        }))
    }
}

impl ToSql for Value<'_> {
    /// Encodes the value as the type that the server expects for this parameter.
    fn to_sql(
        &self,
        expected: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn std::error::Error + Sync + Send>> {
        match *self {
            Self::Null => Ok(IsNull::Yes),
            Self::Integer(value) => match *expected {
                Type::INT2 => i16::try_from(value)?.to_sql(expected, out),
                Type::INT4 => i32::try_from(value)?.to_sql(expected, out),
                Type::INT8 => value.to_sql(expected, out),
                Type::BOOL => (value != 0).to_sql(expected, out),
                Type::FLOAT8 => (value as f64).to_sql(expected, out),
                _ => Err(format!("an integer was given for a parameter of type {expected}").into()),
            },
            Self::Real(value) => value.to_sql_checked(expected, out),
            Self::Text(value) if value.contains('\0') => {
                value.replace('\0', "\u{fffd}").to_sql_checked(expected, out)
            }
            Self::Text(value) => value.to_sql_checked(expected, out),
            Self::Blob(value) => value.to_sql_checked(expected, out),
        }
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

impl<'a> FromSql<'a> for Value<'a> {
    fn from_sql(found: &Type, raw: &'a [u8]) -> Result<Self, Box<dyn std::error::Error + Sync + Send>> {
        Ok(match *found {
            Type::INT2 => Self::Integer(i16::from_sql(found, raw)?.into()),
            Type::INT4 => Self::Integer(i32::from_sql(found, raw)?.into()),
            Type::INT8 => Self::Integer(i64::from_sql(found, raw)?),
            Type::BOOL => Self::Integer(bool::from_sql(found, raw)?.into()),
            Type::FLOAT8 => Self::Real(f64::from_sql(found, raw)?),
            Type::BYTEA => Self::Blob(<&[u8]>::from_sql(found, raw)?),
            _ => Self::Text(<&str>::from_sql(found, raw)?),
        })
    }

    fn from_sql_null(_: &Type) -> Result<Self, Box<dyn std::error::Error + Sync + Send>> {
        Ok(Self::Null)
    }

    fn accepts(found: &Type) -> bool {
        matches!(*found, Type::INT2 | Type::INT4 | Type::INT8 | Type::BOOL | Type::FLOAT8 | Type::BYTEA)
            || <&str as FromSql>::accepts(found)
    }
}
