//! Tags of objects.

use s3s::dto::*;
use s3s::{S3Request, S3Result, s3_error};

use super::auth::open;
use super::backend::Backend;
use super::objects::{READ, WRITE, find};

/// Maximum number of tags of an object.
const MAX_TAGS: usize = 10;

pub(super) async fn get_object_tagging(
    backend: &Backend,
    request: S3Request<GetObjectTaggingInput>,
) -> S3Result<GetObjectTaggingOutput> {
    let input = request.input;
    let contents = open(&backend.objects, request.credentials.as_ref(), &input.bucket, READ)?;
    let found = find(&contents, &input.key)?;
    let tag_set = found.tags().clone();
    Ok(GetObjectTaggingOutput { tag_set, ..GetObjectTaggingOutput::default() })
}

pub(super) async fn put_object_tagging(
    backend: &Backend,
    request: S3Request<PutObjectTaggingInput>,
) -> S3Result<PutObjectTaggingOutput> {
    let input = request.input;
    let contents = open(&backend.objects, request.credentials.as_ref(), &input.bucket, WRITE)?;
    let found = find(&contents, &input.key)?;
    if input.tagging.tag_set.len() > MAX_TAGS {
        return Err(s3_error!(InvalidArgument, "Object tags cannot be greater than 10"));
    }
    *found.tags() = input.tagging.tag_set;
    Ok(PutObjectTaggingOutput::default())
}

pub(super) async fn delete_object_tagging(
    backend: &Backend,
    request: S3Request<DeleteObjectTaggingInput>,
) -> S3Result<DeleteObjectTaggingOutput> {
    let input = request.input;
    let contents = open(&backend.objects, request.credentials.as_ref(), &input.bucket, WRITE)?;
    find(&contents, &input.key)?.tags().clear();
    Ok(DeleteObjectTaggingOutput::default())
}
