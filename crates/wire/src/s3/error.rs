//! Error bodies.

use super::xml::{XmlError, walk};

/// The server's error. All texts come from the server and are truncated to a length suitable for a message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct S3Error {
    /// The code, such as `NoSuchBucket`; decisions are based on it.
    pub code: String,
    /// The human-readable message.
    pub message: String,
    /// The request's id, for the server's operator.
    pub request_id: String,
    /// The region of the bucket, if the error names it.
    pub region: String,
    /// The endpoint to use, if the error is a redirect.
    pub endpoint: String,
    /// The server's time, in RequestTimeTooSkewed.
    pub server_time: String,
}

impl std::fmt::Display for S3Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.code.is_empty() { "no error code" } else { &self.code })?;
        if !self.message.is_empty() {
            write!(f, " ({})", self.message)?;
        }
        if !self.request_id.is_empty() {
            write!(f, ", request {}", self.request_id)?;
        }
        Ok(())
    }
}

impl std::error::Error for S3Error {}

/// Parses an error body.
///
/// # Errors
/// If the body is not an S3 error: empty, truncated, or a proxy's HTML.
pub fn parse_error(body: &[u8]) -> Result<S3Error, XmlError> {
    let mut error = S3Error::default();
    walk(body, "Error", |path, text| {
        let (field, limit) = match path {
            "/Error/Code" => (&mut error.code, 80),
            "/Error/Message" => (&mut error.message, 300),
            "/Error/RequestId" => (&mut error.request_id, 120),
            "/Error/Region" => (&mut error.region, 80),
            "/Error/Endpoint" => (&mut error.endpoint, 300),
            "/Error/ServerTime" => (&mut error.server_time, 80),
            _ => return Ok(()),
        };
        // Control characters are replaced: the text becomes part of one line on a terminal.
        *field = text
            .trim()
            .chars()
            .take(limit)
            .map(|character| if character.is_control() { ' ' } else { character })
            .collect();
        Ok(())
    })?;
    if error.code.is_empty() {
        return Err(XmlError::Missing("Code"));
    }
    Ok(error)
}
