//! DeleteObjects: up to a thousand keys in one request.

use super::root::{contains, root};
use super::xml::{XmlError, escape_into, walk};

const BEGIN: &str = "<Delete xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><Quiet>true</Quiet>";

/// Maximum number of keys in one request.
pub const MAX_DELETE_KEYS: usize = 1000;

/// A key that was not deleted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeleteFailure {
    /// The key.
    pub key: String,
    /// The error's code.
    pub code: String,
    /// The error's message.
    pub message: String,
}

/// The body that deletes these keys and asks for failures only to be reported.
pub fn delete_objects<'a>(keys: impl IntoIterator<Item = &'a str>) -> String {
    let mut out = String::from(BEGIN);
    for key in keys {
        out.push_str("<Object><Key>");
        escape_into(key, &mut out);
        out.push_str("</Key></Object>");
    }
    out.push_str("</Delete>");
    out
}

/// As [`delete_objects`], of keys that have a prefix in common, into the caller's buffer. `write` appends the rest of a
/// key, which needs no escaping.
pub fn delete_objects_in<K>(
    prefix: &str,
    keys: impl IntoIterator<Item = K>,
    write: impl Fn(K, &mut String),
    out: &mut String,
) {
    out.clear();
    out.push_str(BEGIN);
    for key in keys {
        out.push_str("<Object><Key>");
        escape_into(prefix, out);
        write(key, out);
        out.push_str("</Key></Object>");
    }
    out.push_str("</Delete>");
}

/// Whether the response certainly reports no failure; found without an allocation.
pub fn all_deleted(body: &[u8]) -> bool {
    root(body) == Some("DeleteResult") && !contains(body, b"Error")
}

/// Parses the response: the keys that were not deleted.
///
/// # Errors
/// If the body is malformed or a different document.
pub fn parse_delete_result(body: &[u8]) -> Result<Vec<DeleteFailure>, XmlError> {
    let mut failures = Vec::new();
    let mut failure = DeleteFailure::default();
    walk(body, "DeleteResult", |path, text| {
        match path {
            "/DeleteResult/Error/Key" => text.clone_into(&mut failure.key),
            "/DeleteResult/Error/Code" => text.clone_into(&mut failure.code),
            "/DeleteResult/Error/Message" => text.clone_into(&mut failure.message),
            "/DeleteResult/Error" => failures.push(std::mem::take(&mut failure)),
            _ => {}
        }
        Ok(())
    })?;
    Ok(failures)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_to_write_a_batch_agree() {
        let mut written = "old".to_owned();
        delete_objects_in("a&b/", 1..=3, |key, out| out.push_str(&format!("k{key}")), &mut written);
        assert_eq!(written, delete_objects(["a&b/k1", "a&b/k2", "a&b/k3"]));
    }

    #[test]
    fn an_error_among_the_deleted_is_found() {
        for (body, sure) in [
            ("<?xml version=\"1.0\"?><DeleteResult/>", true),
            ("<DeleteResult><Deleted><Key>a</Key></Deleted></DeleteResult>", true),
            ("<DeleteResult><Error><Key>a</Key><Code>C</Code></Error></DeleteResult>", false),
            ("<html/>", false),
            ("", false),
        ] {
            assert_eq!(all_deleted(body.as_bytes()), sure, "{body}");
        }
    }
}
