//! Multipart upload: initiate, complete, list and abort.

use super::xml::{XmlError, escape_into, number, walk};
use super::{S3Error, parse_error};
use crate::http1::parse_decimal;

/// Maximum number of parts in one upload.
pub const MAX_PARTS: u32 = 10_000;

/// A part as listed in the request that completes an upload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompletedPart {
    /// Number from 1 to [`MAX_PARTS`].
    pub number: u32,
    /// The ETag returned by the server, quotes included.
    pub etag: String,
}

/// An upload that was neither completed nor aborted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Upload {
    /// The object's key.
    pub key: String,
    /// The upload's id.
    pub id: String,
}

/// One page of ListMultipartUploads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UploadPage {
    /// The uploads of this page.
    pub uploads: Vec<Upload>,
    /// `key-marker` and `upload-id-marker` of the next page, if there is one.
    pub next: Option<(String, String)>,
}

/// A part stored on the server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListedPart {
    /// Its number.
    pub number: u64,
    /// Its size in bytes.
    pub size: u64,
    /// Its ETag.
    pub etag: String,
}

/// One page of ListParts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PartPage {
    /// The parts of this page.
    pub parts: Vec<ListedPart>,
    /// `part-number-marker` of the next page, if there is one.
    pub next: Option<u64>,
}

/// Parses the upload id from the response to CreateMultipartUpload.
///
/// # Errors
/// If the body is malformed, a different document, or has no id.
pub fn parse_initiate(body: &[u8]) -> Result<String, XmlError> {
    let mut id = String::new();
    walk(body, "InitiateMultipartUploadResult", |path, text| {
        if path == "/InitiateMultipartUploadResult/UploadId" {
            text.clone_into(&mut id);
        }
        Ok(())
    })?;
    if id.is_empty() { Err(XmlError::Missing("UploadId")) } else { Ok(id) }
}

/// The body of CompleteMultipartUpload; `parts` are in ascending order.
pub fn complete_multipart(parts: &[CompletedPart]) -> String {
    let mut out = String::from("<CompleteMultipartUpload xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">");
    for part in parts {
        out.push_str("<Part><PartNumber>");
        out.push_str(&part.number.to_string());
        out.push_str("</PartNumber><ETag>");
        escape_into(&part.etag, &mut out);
        out.push_str("</ETag></Part>");
    }
    out.push_str("</CompleteMultipartUpload>");
    out
}

/// Parses the response to CompleteMultipartUpload and returns the object's ETag.
///
/// # Errors
/// If the body is malformed, or is an error despite status 200: S3 responds before it has finished.
pub fn parse_complete(body: &[u8]) -> Result<String, XmlError> {
    let mut etag = String::new();
    let walked = walk(body, "CompleteMultipartUploadResult", |path, text| {
        if path == "/CompleteMultipartUploadResult/ETag" {
            text.clone_into(&mut etag);
        }
        Ok(())
    });
    match walked {
        Ok(()) => Ok(etag),
        Err(XmlError::Unexpected { found, .. }) if &*found == "Error" => {
            let error: S3Error = parse_error(body)?;
            Err(XmlError::Server(Box::new(error)))
        }
        Err(error) => Err(error),
    }
}

/// Parses one page of ListMultipartUploads.
///
/// # Errors
/// If the body is malformed, or says that it is truncated but not where to continue.
pub fn parse_list_uploads(body: &[u8]) -> Result<UploadPage, XmlError> {
    let mut page = UploadPage::default();
    let mut upload = Upload::default();
    let mut truncated = false;
    let mut next = (String::new(), String::new());
    let mut url_encoded = false;
    walk(body, "ListMultipartUploadsResult", |path, text| {
        match path {
            "/ListMultipartUploadsResult/Upload/Key" => text.clone_into(&mut upload.key),
            "/ListMultipartUploadsResult/Upload/UploadId" => text.clone_into(&mut upload.id),
            "/ListMultipartUploadsResult/Upload" => page.uploads.push(std::mem::take(&mut upload)),
            "/ListMultipartUploadsResult/IsTruncated" => truncated = text.trim() == "true",
            "/ListMultipartUploadsResult/NextKeyMarker" => text.clone_into(&mut next.0),
            "/ListMultipartUploadsResult/NextUploadIdMarker" => text.clone_into(&mut next.1),
            "/ListMultipartUploadsResult/EncodingType" => url_encoded = text == "url",
            _ => {}
        }
        Ok(())
    })?;
    if page.uploads.iter().any(|upload| upload.key.is_empty() || upload.id.is_empty()) {
        return Err(XmlError::Missing("Key or UploadId"));
    }
    if url_encoded {
        for upload in &mut page.uploads {
            upload.key = super::list::decode_url(&upload.key)?;
        }
        next.0 = super::list::decode_url(&next.0)?;
    }
    if truncated && next.0.is_empty() {
        return Err(XmlError::Missing("NextKeyMarker"));
    }
    page.next = truncated.then_some(next);
    Ok(page)
}

/// Parses one page of ListParts.
///
/// # Errors
/// If the body is malformed, or says that it is truncated but not where to continue.
pub fn parse_list_parts(body: &[u8]) -> Result<PartPage, XmlError> {
    let mut page = PartPage::default();
    let mut part = ListedPart::default();
    let mut truncated = false;
    let mut next = None;
    walk(body, "ListPartsResult", |path, text| {
        match path {
            "/ListPartsResult/Part/PartNumber" => part.number = number(text, "PartNumber")?,
            "/ListPartsResult/Part/Size" => part.size = number(text, "Size")?,
            "/ListPartsResult/Part/ETag" => text.clone_into(&mut part.etag),
            "/ListPartsResult/Part" => page.parts.push(std::mem::take(&mut part)),
            "/ListPartsResult/IsTruncated" => truncated = text.trim() == "true",
            "/ListPartsResult/NextPartNumberMarker" => next = parse_decimal(text.as_bytes()),
            _ => {}
        }
        Ok(())
    })?;
    page.next = match (truncated, next) {
        (true, None) => return Err(XmlError::Missing("NextPartNumberMarker")),
        (true, next) => next,
        (false, _) => None,
    };
    Ok(page)
}
