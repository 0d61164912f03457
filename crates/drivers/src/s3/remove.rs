//! Cleanup after a run: everything under our prefix, and nothing else.

use metrics::ErrorKind;
use wire::s3::{
    ListedObject, MAX_DELETE_KEYS, delete_objects, parse_delete_result, parse_list_uploads, parse_list_v2,
};
use wire::sigv4::canonical_query;

use super::admin::{Control, ours};
use super::driver::S3Driver;
use super::exchange::Expect;
use super::failure::Failure;
use super::multi::unreadable;
use super::request::{Body, Request, Subject};
use crate::DriverError;

/// What [`S3Driver::remove_all`] removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Removed {
    /// Objects deleted.
    pub objects: u64,
    /// Unfinished uploads aborted.
    pub uploads: u64,
}

impl S3Driver {
    /// Deletes every object under our prefix, then aborts every unfinished upload there. Touches nothing else,
    /// whatever the server lists.
    ///
    /// Access keys without permission to list uploads suffice if [`S3Config::may_put_parts`](super::S3Config) is false.
    ///
    /// # Errors
    /// The first object or upload that could not be removed, and why.
    pub fn remove_all(&self) -> Result<Removed, DriverError> {
        self.remove_all_of(self.shared.config.may_put_parts)
    }

    /// As [`S3Driver::remove_all`], where an earlier user of the prefix determines whether uploads may be unfinished.
    ///
    /// # Errors
    /// As [`S3Driver::remove_all`].
    pub fn remove_all_of(&self, may_have_parts: bool) -> Result<Removed, DriverError> {
        self.control("cleaning up in", async |control| {
            let objects = delete_all(control).await?;
            let uploads = match abort_uploads(control).await {
                // There are none: nothing was large enough for a multipart upload.
                Err(failure) if failure.kind == ErrorKind::AccessDenied && !may_have_parts => 0,
                uploads => uploads?,
            };
            Ok(Removed { objects, uploads })
        })
    }
}

fn check_ours(control: &Control, key: &str) -> Result<(), Failure> {
    let prefix = &control.session.shared.addressing.prefix;
    if key.starts_with(prefix) {
        return Ok(());
    }
    let detail = format!(
        "asked for keys under {prefix}, the server listed \"{}\"; nothing of it was removed",
        key.escape_debug()
    );
    Err(Failure::new(ErrorKind::Protocol, detail))
}

async fn delete_all(control: &mut Control) -> Result<u64, Failure> {
    let mut removed = 0;
    let mut last: Vec<ListedObject> = Vec::new();
    let mut batches_work = true;
    loop {
        // Always from the beginning: the listed objects are gone by then.
        let query = ours(control, &[("list-type", "2")]);
        let list = Request { query: &query, ..Request::new("GET", Subject::Bucket) };
        let listed = control.request(&list, Expect::Document).await;
        listed.map_err(|failure| needs(failure, "ListObjectsV2", "s3:ListBucket"))?;
        let page = parse_list_v2(&control.lane.document).map_err(unreadable)?;
        if page.objects.is_empty() {
            return Ok(removed);
        }
        if page.objects == last {
            let detail = format!(
                "\"{}\" and {} more are listed although they were deleted",
                last[0].key,
                last.len() - 1
            );
            return Err(Failure::new(ErrorKind::ServerFault, detail));
        }
        for object in &page.objects {
            check_ours(control, &object.key)?;
        }
        for batch in page.objects.chunks(MAX_DELETE_KEYS) {
            if batches_work {
                match delete_batch(control, batch).await {
                    Ok(()) => {}
                    // Some servers do not support batch delete.
                    Err(failure) if failure.kind == ErrorKind::Rejected => batches_work = false,
                    Err(failure) => return Err(needs(failure, "DeleteObjects", "s3:DeleteObject")),
                }
            }
            if !batches_work {
                for object in batch {
                    let request = Request::new("DELETE", Subject::Key(&object.key));
                    let deleted = control.request(&request, Expect::Nothing).await;
                    deleted.map_err(|failure| needs(failure, "DeleteObject", "s3:DeleteObject"))?;
                }
            }
            removed += batch.len() as u64;
        }
        last = page.objects;
    }
}

async fn delete_batch(control: &mut Control, batch: &[ListedObject]) -> Result<(), Failure> {
    let document = delete_objects(batch.iter().map(|object| object.key.as_str()));
    let request = Request {
        query: "delete=",
        body: Body::Bytes(document.as_bytes()),
        md5: true,
        ..Request::new("POST", Subject::Bucket)
    };
    control.request(&request, Expect::Document).await?;
    match parse_delete_result(&control.lane.document).map_err(unreadable)?.first() {
        None => Ok(()),
        Some(failure) => {
            let kind =
                if failure.code == "AccessDenied" { ErrorKind::AccessDenied } else { ErrorKind::ServerFault };
            let detail =
                format!("\"{}\" could not be deleted: {} ({})", failure.key, failure.code, failure.message);
            Err(Failure::new(kind, detail))
        }
    }
}

async fn abort_uploads(control: &mut Control) -> Result<u64, Failure> {
    let mut aborted = 0;
    let mut last = Vec::new();
    loop {
        let query = ours(control, &[("uploads", "")]);
        let list = Request { query: &query, ..Request::new("GET", Subject::Bucket) };
        match control.request(&list, Expect::Document).await {
            Ok(()) => {}
            // A server without multipart uploads has none to abort.
            Err(failure) if failure.kind == ErrorKind::Rejected => return Ok(aborted),
            Err(failure) => {
                return Err(needs(failure, "ListMultipartUploads", "s3:ListBucketMultipartUploads"));
            }
        }
        let page = parse_list_uploads(&control.lane.document).map_err(unreadable)?;
        if page.uploads.is_empty() {
            return Ok(aborted);
        }
        if page.uploads == last {
            let detail =
                format!("the upload of \"{}\" is listed although it was aborted", page.uploads[0].key);
            return Err(Failure::new(ErrorKind::ServerFault, detail));
        }
        for upload in &page.uploads {
            check_ours(control, &upload.key)?;
            let query = canonical_query(&[("uploadId", &upload.id)]);
            let request = Request { query: &query, ..Request::new("DELETE", Subject::Key(&upload.key)) };
            match control.request(&request, Expect::Nothing).await {
                Ok(()) => {}
                Err(failure) if failure.kind == ErrorKind::NotFound => {}
                Err(failure) => {
                    return Err(needs(failure, "AbortMultipartUpload", "s3:AbortMultipartUpload"));
                }
            }
            aborted += 1;
        }
        last = page.uploads;
    }
}

/// Adds the refused request and the permission that it needs.
fn needs(failure: Failure, request: &str, permission: &str) -> Failure {
    let detail = match failure.kind {
        ErrorKind::AccessDenied => format!("{request} needs {permission}: {}", failure.detail),
        _ => format!("{request}: {}", failure.detail),
    };
    Failure { detail, ..failure }
}
