//! DeleteObjects: up to a thousand keys in one request.

use super::xml::{XmlError, escape_into, walk};

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
    let mut out =
        String::from("<Delete xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><Quiet>true</Quiet>");
    for key in keys {
        out.push_str("<Object><Key>");
        escape_into(key, &mut out);
        out.push_str("</Key></Object>");
    }
    out.push_str("</Delete>");
    out
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
