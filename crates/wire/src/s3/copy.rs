//! CopyObject.

use super::root::{contains, root};
use super::xml::{XmlError, walk};
use super::{S3Error, parse_error};

/// Maximum size of an object that one request copies, in bytes (5 GiB).
pub const MAX_COPY_BYTES: u64 = 5 << 30;

/// Checks that the body reports a completed copy. Allocates only to say what is wrong.
///
/// # Errors
/// If the body is malformed, has no ETag, or is an error despite status 200: S3 responds before it has finished.
pub fn parse_copy(body: &[u8]) -> Result<(), XmlError> {
    if root(body) == Some("CopyObjectResult") && contains(body, b"ETag>") {
        return Ok(());
    }
    let mut etag = false;
    let walked = walk(body, "CopyObjectResult", |path, _| {
        etag |= path == "/CopyObjectResult/ETag";
        Ok(())
    });
    match walked {
        Ok(()) if etag => Ok(()),
        Ok(()) => Err(XmlError::Missing("ETag")),
        Err(XmlError::Unexpected { found, .. }) if &*found == "Error" => {
            let error: S3Error = parse_error(body)?;
            Err(XmlError::Server(Box::new(error)))
        }
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_complete_result_is_a_copy() {
        let head = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n  \n";
        let result = "<CopyObjectResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><ETag>&quot;e&quot;</ETag></CopyObjectResult>";
        assert_eq!(parse_copy(format!("{head}{result}").as_bytes()), Ok(()));
        // White space keeps the connection alive until the outcome is known.
        assert_eq!(parse_copy(format!("   \n{result}").as_bytes()), Ok(()));
        let error = format!("{head}<Error><Code>SlowDown</Code><Message>later</Message></Error>");
        let Err(XmlError::Server(error)) = parse_copy(error.as_bytes()) else { panic!("{error}") };
        assert_eq!(error.code, "SlowDown");
        assert_eq!(parse_copy(b"<CopyObjectResult/>"), Err(XmlError::Missing("ETag")));
        assert!(matches!(parse_copy(b"<html>ETag></html>"), Err(XmlError::Unexpected { .. })));
        assert!(matches!(parse_copy(b""), Err(XmlError::Malformed(_))));
    }
}
