//! A parsed call, and its response.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::version::Version;
use crate::objects::ApiRefusal;

/// A call on a resource of a versioned API.
pub(super) struct Call {
    pub(super) version: Version,
    pub(super) method: String,
    /// The path after the version: `file-systems`, `object-store-users/object-store-access-policies`.
    pub(super) resource: String,
    pub(super) query: Query,
    /// The body, an empty object if there is none.
    pub(super) body: Value,
}

/// The parameters of a URL.
#[derive(Debug, Default)]
pub(super) struct Query(BTreeMap<String, String>);

impl Query {
    /// Parses the part of a URL after `?`.
    pub(super) fn parse(text: &str) -> Self {
        let pairs = text.split('&').filter(|pair| !pair.is_empty());
        Self(
            pairs
                .map(|pair| {
                    let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
                    (decode(name), decode(value))
                })
                .collect(),
        )
    }

    /// A parameter as text.
    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// A parameter with a list of values, separated by commas; absent and empty are the same.
    pub(super) fn list(&self, name: &str) -> Vec<String> {
        let text = self.text(name).unwrap_or_default();
        text.split(',').filter(|item| !item.is_empty()).map(str::to_owned).collect()
    }

    /// A parameter that is a number.
    pub(super) fn number(&self, name: &str) -> Result<Option<u64>, Failure> {
        self.text(name)
            .map(|text| text.parse().map_err(|_| Failure::bad(name, format!("Invalid value for {name}."))))
            .transpose()
    }

    /// A boolean parameter, in the spelling of any client.
    pub(super) fn truth(&self, name: &str) -> Result<Option<bool>, Failure> {
        match self.text(name).map(str::to_ascii_lowercase).as_deref() {
            None => Ok(None),
            Some("true") => Ok(Some(true)),
            Some("false") => Ok(Some(false)),
            Some(_) => Err(Failure::bad(name, format!("Invalid value for {name}."))),
        }
    }
}

/// Decodes percent-encoding, and `+` as a blank.
fn decode(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, tail)) = rest.split_first() {
        let hex = tail.get(..2).and_then(|two| std::str::from_utf8(two).ok());
        match (first, hex.and_then(|two| u8::from_str_radix(two, 16).ok())) {
            (b'%', Some(byte)) => {
                bytes.push(byte);
                rest = &tail[2..];
            }
            (b'+', _) => {
                bytes.push(b' ');
                rest = tail;
            }
            _ => {
                bytes.push(first);
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// A failed call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Failure {
    pub(super) status: u16,
    pub(super) context: Option<String>,
    pub(super) message: String,
}

impl Failure {
    /// 400: the call is invalid.
    pub(super) fn bad(context: &str, message: impl Into<String>) -> Self {
        Self { status: 400, context: Some(context.to_owned()), message: message.into() }
    }

    /// Any other status, without a context.
    pub(super) fn status(status: u16, message: &str) -> Self {
        Self { status, context: None, message: message.to_owned() }
    }

    /// The body of the response. The front end of the API itself answers 403 and 429, with another body.
    pub(super) fn body(&self) -> Value {
        match self.status {
            403 | 429 => json!({ "message": self.message }),
            _ => json!({ "errors": [{ "context": self.context, "message": self.message }] }),
        }
    }
}

impl From<ApiRefusal> for Failure {
    fn from(refusal: ApiRefusal) -> Self {
        Self { status: 400, context: Some(refusal.context), message: refusal.message }
    }
}

/// The response to a call: a body, or nothing for DELETE.
pub(super) type Outcome = Result<Option<Value>, Failure>;

impl Call {
    /// The names that a change applies to: `names`, or those looked up from `ids`; at least one.
    pub(super) fn targets(&self, id_of: impl Fn(&str) -> Option<String>) -> Result<Vec<String>, Failure> {
        let mut names = self.query.list("names");
        names.extend(self.query.list("name"));
        for id in self.query.list("ids") {
            names.push(id_of(&id).ok_or_else(|| Failure::bad(&id, "Resource does not exist."))?);
        }
        if names.is_empty() {
            return Err(Failure::bad("names", "Either ids or names must be specified."));
        }
        Ok(names)
    }

    /// Rejects a body with a field that the resource does not have: otherwise a client's mistake would go unnoticed.
    pub(super) fn only_fields(&self, known: &[&str]) -> Result<(), Failure> {
        let Some(body) = self.body.as_object() else {
            return Err(Failure::bad("body", "The body must be a JSON object."));
        };
        match body.keys().find(|key| !known.contains(&key.as_str())) {
            Some(unknown) => Err(Failure::bad(unknown, "Unrecognized field.")),
            None => Ok(()),
        }
    }

    /// A field of the body, `None` if absent or null.
    pub(super) fn field<T: serde::de::DeserializeOwned>(&self, pointer: &str) -> Result<Option<T>, Failure> {
        match self.body.pointer(pointer) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => serde_json::from_value(value.clone())
                .map(Some)
                .map_err(|_| Failure::bad(pointer.trim_start_matches('/'), "Invalid value.")),
        }
    }

    /// The response to a call that created or changed these.
    pub(super) fn changed(&self, items: Vec<Value>) -> Outcome {
        let total = items.len();
        Ok(Some(if self.version.is_2() {
            json!({ "items": items })
        } else {
            json!({ "pagination_info": { "total_item_count": total, "continuation_token": null }, "items": items })
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_are_decoded() {
        let query = Query::parse("names=a%2Fb,c&filter=name%3D%27x+y%27&destroyed=True&limit=5");
        assert_eq!(query.list("names"), ["a/b", "c"]);
        assert_eq!(query.text("filter"), Some("name='x y'"));
        assert_eq!(query.truth("destroyed").unwrap(), Some(true));
        assert_eq!(query.number("limit").unwrap(), Some(5));
        assert!(Query::parse("limit=x").number("limit").is_err());
        assert_eq!(decode("100%"), "100%");
    }
}
