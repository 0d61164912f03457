//! Reads the fields of a body as `StorPerf`'s clients write them: numbers may be texts, lists may be texts with commas.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::{Map, Value};

use crate::problem::Problem;

/// A body's fields.
#[derive(Debug)]
pub(crate) struct Fields {
    all: Map<String, Value>,
    /// `workloads` in the order of the body, in which they run.
    workloads: Option<Vec<(String, Value)>>,
}

/// The part of a body whose order counts.
#[derive(Deserialize)]
struct InOrder {
    #[serde(default, deserialize_with = "entries")]
    workloads: Option<Vec<(String, Value)>>,
}

/// The entries of a map in their order; `None` for anything else.
fn entries<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Vec<(String, Value)>>, D::Error> {
    struct Entries;

    impl<'de> Visitor<'de> for Entries {
        type Value = Vec<(String, Value)>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a map")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut entries = Vec::new();
            while let Some(entry) = map.next_entry()? {
                entries.push(entry);
            }
            Ok(entries)
        }
    }

    from.deserialize_map(Entries).map(Some)
}

/// A field that cannot be used.
pub(crate) fn refused(detail: impl Into<String>) -> Problem {
    Problem::bad_request("storperf", detail)
}

/// A value as text, if it is a text or a number.
pub(crate) fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.trim().to_owned()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

impl Fields {
    /// The fields of a body; an empty body has none.
    ///
    /// # Errors
    /// It is no JSON object.
    pub(crate) fn of(bytes: &[u8]) -> Result<Self, Problem> {
        if bytes.iter().all(u8::is_ascii_whitespace) {
            return Ok(Self { all: Map::new(), workloads: None });
        }
        match serde_json::from_slice(bytes) {
            Ok(Value::Object(all)) => {
                let in_order = serde_json::from_slice(bytes).ok();
                Ok(Self { all, workloads: in_order.and_then(|body: InOrder| body.workloads) })
            }
            Ok(_) => Err(refused("the body is not a JSON object; next: send {\"target\": …}")),
            Err(error) => {
                // The message may quote a value, so a secret.
                let (line, column) = (error.line(), error.column());
                Err(refused(format!("line {line}, column {column} of the body: this is not JSON")))
            }
        }
    }

    /// No field is given.
    pub(crate) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// The entries of `workloads` in their order, if it is a map.
    pub(crate) fn workloads(&self) -> Option<&[(String, Value)]> {
        self.workloads.as_deref()
    }

    /// The name of a field with a value that is not in `known`.
    pub(crate) fn first_unknown(&self, known: &[&str]) -> Option<&str> {
        self.all.keys().map(String::as_str).find(|name| !known.contains(name) && self.value(name).is_some())
    }

    /// A field that is not null.
    pub(crate) fn value(&self, name: &str) -> Option<&Value> {
        self.all.get(name).filter(|value| !value.is_null())
    }

    /// A text.
    ///
    /// # Errors
    /// The field is something else.
    pub(crate) fn text(&self, name: &str) -> Result<Option<String>, Problem> {
        let read = |value| text_of(value).ok_or_else(|| refused(format!("{name} is not text")));
        self.value(name).map(read).transpose()
    }

    /// A whole number from `min` to `max`.
    ///
    /// # Errors
    /// The field is something else.
    pub(crate) fn number(&self, name: &str, min: u32, max: u32) -> Result<Option<u32>, Problem> {
        let Some(text) = self.text(name)? else { return Ok(None) };
        match text.parse() {
            Ok(number) if (min..=max).contains(&number) => Ok(Some(number)),
            _ => Err(refused(format!("{name}: {text:?} is not a whole number from {min} to {max}"))),
        }
    }

    /// A list, or a text with commas.
    ///
    /// # Errors
    /// The field is something else, or has more than `most` entries.
    pub(crate) fn list(&self, name: &str, most: usize) -> Result<Option<Vec<String>>, Problem> {
        let Some(value) = self.value(name) else { return Ok(None) };
        let entries = match value {
            Value::Array(items) => items.iter().map(text_of).collect(),
            other => text_of(other).map(|text| text.split(',').map(|part| part.trim().to_owned()).collect()),
        };
        let entries: Vec<String> =
            entries.ok_or_else(|| refused(format!("{name} is neither a list nor a text with commas")))?;
        match entries.iter().any(String::is_empty) {
            true => Err(refused(format!("{name} has an empty entry; next: remove a comma"))),
            false if entries.len() > most => Err(refused(format!("{name} has more than {most} entries"))),
            false => Ok(Some(entries)),
        }
    }
}
