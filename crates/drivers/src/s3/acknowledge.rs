//! Checks that successful responses without expected content really come from S3.

use metrics::ErrorKind;

use super::answer::Head;
use super::failure::Failure;
use super::request::{Request, Subject};

/// Checks the body of a 2xx response to a PUT or DELETE. S3 sends none; AWS, MinIO, Ceph and versitygw return the ETag
/// of the stored object. A login page that answers everything with 200 has stored nothing.
///
/// # Errors
/// There is unexpected content, and nothing shows that S3 sent it.
pub(super) fn check(request: &Request<'_>, head: &Head, body: &[u8]) -> Result<(), Failure> {
    if body.is_empty() {
        return Ok(());
    }
    let object = !matches!(request.subject, Subject::Bucket);
    let put = request.method == "PUT" && object;
    if !(put && !head.has_etag || is_html(body)) {
        return Ok(());
    }
    let what = if is_html(body) { "an HTML page" } else { "content" };
    let missing = if put && !head.has_etag { " and no ETag" } else { "" };
    let detail = format!(
        "HTTP status {} with {what} of {} bytes{missing} in answer to a {}: that is not S3 but perhaps a proxy or a login page; check the endpoint",
        head.status,
        body.len(),
        request.method
    );
    Err(Failure::new(ErrorKind::Protocol, detail))
}

fn is_html(body: &[u8]) -> bool {
    let start = body.trim_ascii_start();
    ["<!doctype html", "<html"]
        .iter()
        .any(|mark| start.get(..mark.len()).is_some_and(|found| found.eq_ignore_ascii_case(mark.as_bytes())))
}
