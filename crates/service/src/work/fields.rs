//! Work that is described by the fields of a JSON object: reading them, and naming the one that is wrong.

use std::time::Duration;

use provision::Trust;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use units::{Size, Span};

use crate::problem::Problem;

/// Maximum time that a request may ask for.
const LONGEST: Duration = Duration::from_secs(24 * 3600);

/// A field that cannot be used. Neither part repeats a secret.
#[derive(Debug, thiserror::Error)]
#[error("{why}")]
pub(crate) struct FieldFault {
    /// Its path, such as `array.management`; empty for the whole body.
    pub field: String,
    /// One line: the field, what is wrong with it, and what to do next.
    pub why: String,
}

impl FieldFault {
    /// A fault of a field; `why` follows its name.
    pub(crate) fn of(field: &str, why: impl std::fmt::Display) -> Self {
        Self { field: field.to_owned(), why: format!("{field}: {why}") }
    }

    /// A stored text cannot be read.
    pub(crate) fn damaged() -> Self {
        Self { field: String::new(), why: "the stored request is damaged; next: post it again".to_owned() }
    }
}

impl From<FieldFault> for Problem {
    fn from(fault: FieldFault) -> Self {
        Self::field(fault.field, fault.why)
    }
}

/// The object that a body consists of.
///
/// # Errors
/// It is malformed, or is something else. An error names the position; a value may be a secret.
pub(crate) fn object(body: &[u8], example: &str) -> Result<Map<String, Value>, Problem> {
    serde_json::from_slice(body).map_err(|error| {
        let (line, column) = (error.line(), error.column());
        let detail = format!(
            "line {line}, column {column} of the body: not the expected JSON; next: send an object, such as {example}"
        );
        Problem::bad_request("json", detail)
    })
}

/// The fields of a form.
///
/// # Errors
/// One is unknown, missing, or of another type.
pub(crate) fn read<T: DeserializeOwned>(value: &Value) -> Result<T, FieldFault> {
    serde_path_to_error::deserialize(value).map_err(|error| {
        let field = match error.path().to_string() {
            root if root == "." => String::new(),
            path => path,
        };
        let why = without_value(&error.inner().to_string());
        let shown = if field.is_empty() { "the body" } else { &field };
        FieldFault { why: format!("{shown}: {why}; next: see /docs for the fields"), field }
    })
}

/// What an error of serde says without the value that it quotes, which may be a secret.
fn without_value(said: &str) -> String {
    let said = said.split(" at line ").next().unwrap_or_default();
    if said.starts_with("unknown field") || said.starts_with("missing field") {
        return said.to_owned();
    }
    match said.rsplit_once(", expected ") {
        Some((_, expected)) if expected.starts_with("struct ") => "it must be an object".to_owned(),
        Some((_, "u8" | "u16" | "u32" | "u64")) => "it must be a whole number within its bounds".to_owned(),
        Some((_, expected)) => format!("it must be {expected}"),
        None => "it cannot be read".to_owned(),
    }
}

/// A time; `usual` if it is absent.
///
/// # Errors
/// It is none, or longer than a day.
pub(crate) fn time(field: &str, given: Option<&str>, usual: Duration) -> Result<Duration, FieldFault> {
    let Some(text) = given else { return Ok(usual) };
    match text.parse() {
        Ok(Span(time)) if time <= LONGEST => Ok(time),
        Ok(time) => Err(FieldFault::of(field, format_args!("{time} is longer than {}", Span(LONGEST)))),
        Err(error) => Err(FieldFault::of(field, error)),
    }
}

/// Which certificate of a management API is trusted; `None` if nothing says so. `within` is the path of the object that
/// holds the fields, with a dot; or empty.
///
/// # Errors
/// The fingerprint is none, or the fields contradict each other.
pub(crate) fn trust(
    within: &str,
    fingerprint: Option<&str>,
    insecure: bool,
) -> Result<Option<Trust>, FieldFault> {
    let field = |name: &str| format!("{within}{name}");
    match (fingerprint, insecure) {
        (Some(_), true) => {
            let why = format!("it contradicts {}; next: leave one of them out", field("tls_fingerprint"));
            Err(FieldFault::of(&field("tls_insecure"), why))
        }
        (Some(text), false) => {
            let pinned = text.parse().map_err(|error| FieldFault::of(&field("tls_fingerprint"), error))?;
            Ok(Some(Trust::Fingerprint(pinned)))
        }
        (None, true) => Ok(Some(Trust::Insecure)),
        (None, false) => Ok(None),
    }
}

/// A size; `usual` if it is absent.
///
/// # Errors
/// It is none.
pub(crate) fn size(field: &str, given: Option<&str>, usual: Size) -> Result<Size, FieldFault> {
    given.map_or(Ok(usual), |text| text.parse().map_err(|error| FieldFault::of(field, error)))
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::json;

    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Outer {
        #[serde(default)]
        inner: Option<Inner>,
        #[serde(default)]
        count: Option<u8>,
    }

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Inner {
        token: String,
    }

    #[test]
    fn the_wrong_field_is_named_and_its_value_is_not() {
        for (value, field, said) in [
            (json!({ "inner": "canary" }), "inner", "it must be an object"),
            (json!({ "inner": { "token": ["canary"] } }), "inner.token", "it must be a string"),
            (json!({ "inner": { "tokn": "canary" } }), "inner.tokn", "unknown field `tokn`"),
            (json!({ "inner": {} }), "inner", "missing field `token`"),
            (json!({ "count": 256 }), "count", "whole number"),
            (json!({ "canary": 1 }), "canary", "unknown field"),
            (json!("canary"), "", "the body"),
        ] {
            let fault = read::<Outer>(&value).unwrap_err();
            assert_eq!(fault.field, field, "{fault:?}");
            assert!(fault.why.contains(said), "{fault:?}");
            assert!(field == "canary" || !fault.why.contains("canary"), "{fault:?}");
        }
        let read = read::<Outer>(&json!({ "inner": { "token": "x" }, "count": 7 })).unwrap();
        assert_eq!((read.inner.unwrap().token, read.count), ("x".to_owned(), Some(7)));
    }

    #[test]
    fn times_and_sizes_have_units_and_bounds() {
        let minute = Duration::from_secs(60);
        assert_eq!(time("t", None, minute).unwrap(), minute);
        assert_eq!(time("t", Some("10s"), minute).unwrap(), Duration::from_secs(10));
        for (text, said) in [("10", "t: "), ("25h", "longer than"), ("soon", "30s")] {
            let why = time("t", Some(text), minute).unwrap_err().why;
            assert!(why.contains(said) && why.starts_with("t: "), "{why}");
        }
        assert_eq!(size("s", Some("4KiB"), Size(1)).unwrap(), Size(4096));
        assert!(size("s", Some("much"), Size(1)).unwrap_err().why.starts_with("s: "));
    }
}
