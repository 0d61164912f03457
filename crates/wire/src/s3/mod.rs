//! The XML bodies of the S3 REST API (API version 2006-03-01): listings, copies, batch delete, tags,
//! multipart, errors.
//!
//! Requests are written by hand with escaping; responses are read with a bounded pull parser that keeps only the
//! requested elements and ignores unknown ones.

mod copy;
mod delete;
mod error;
mod list;
mod multipart;
mod root;
mod tagging;
mod xml;

pub use copy::{MAX_COPY_BYTES, parse_copy};
pub use delete::{
    DeleteFailure, MAX_DELETE_KEYS, all_deleted, delete_objects, delete_objects_in, parse_delete_result,
};
pub use error::{S3Error, parse_error};
pub use list::{ListPage, ListedObject, parse_list_v2};
pub use multipart::{
    CompletedPart, ListedPart, MAX_PARTS, PartPage, Upload, UploadPage, complete_multipart, parse_complete,
    parse_initiate, parse_list_parts, parse_list_uploads,
};
pub use root::{has_value, root};
pub use tagging::{Tag, parse_tags, tagging};
pub use xml::{MAX_DEPTH, MAX_TEXT_BYTES, XmlError};

/// The body of CreateBucket in a region, or empty for `us-east-1`, which must not be named.
pub fn create_bucket_configuration(region: &str) -> String {
    if region.is_empty() || region == "us-east-1" {
        return String::new();
    }
    let mut out = String::from(
        "<CreateBucketConfiguration xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><LocationConstraint>",
    );
    xml::escape_into(region, &mut out);
    out.push_str("</LocationConstraint></CreateBucketConfiguration>");
    out
}

/// The region in the response to GetBucketLocation; S3 leaves it empty for `us-east-1`.
///
/// # Errors
/// If the body is not well-formed or a different document.
pub fn parse_location(body: &[u8]) -> Result<String, XmlError> {
    let mut region = String::from("us-east-1");
    xml::walk(body, "LocationConstraint", |path, text| {
        if path == "/LocationConstraint" && !text.is_empty() {
            text.clone_into(&mut region);
        }
        Ok(())
    })?;
    Ok(region)
}
