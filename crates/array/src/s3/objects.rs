//! Objects: put, get, head, copy, delete.

use std::ops::Range;
use std::sync::{Arc, Mutex};

use s3s::dto::*;
use s3s::{S3Error, S3ErrorCode, S3Request, S3Result, s3_error};

use super::auth::open;
use super::backend::Backend;
use super::body::{Receiving, full, opaque_etag, stream};
use super::checks::Checks;
use super::contents::{Attributes, Contents, Object as Stored};

pub(super) const READ: &[&str] = &["pure:policy/object-read"];
pub(super) const WRITE: &[&str] = &["pure:policy/object-write"];
const DELETE: &[&str] = &["pure:policy/object-delete"];

/// An object of a bucket.
pub(super) fn find(contents: &Contents, key: &str) -> S3Result<Arc<Stored>> {
    match contents.read().objects.get(key) {
        Some(found) => Ok(Arc::clone(found)),
        None => Err(s3_error!(NoSuchKey, "The specified key does not exist.")),
    }
}

fn matches(condition: &ETagCondition, found: &Stored) -> bool {
    match condition {
        ETagCondition::Any => true,
        ETagCondition::ETag(wanted) => wanted.value() == found.etag.value(),
    }
}

/// Checks `If-Match` and `If-None-Match` of a read.
fn check_conditions(
    found: &Stored,
    if_match: Option<&IfMatch>,
    if_none_match: Option<&IfNoneMatch>,
) -> S3Result<()> {
    if if_match.is_some_and(|condition| !matches(condition, found)) {
        return Err(s3_error!(PreconditionFailed, "The pre-condition If-Match did not hold."));
    }
    if if_none_match.is_some_and(|condition| matches(condition, found)) {
        return Err(s3_error!(NotModified, "Not Modified"));
    }
    Ok(())
}

/// Checks `If-Match` and `If-None-Match` of a write.
pub(super) fn check_write(
    contents: &Contents,
    key: &str,
    if_match: Option<&IfMatch>,
    if_none_match: Option<&IfNoneMatch>,
) -> S3Result<()> {
    let found = contents.read().objects.get(key).map(Arc::clone);
    let held = if_match.is_none_or(|condition| found.as_ref().is_some_and(|found| matches(condition, found)))
        && !if_none_match
            .is_some_and(|condition| found.as_ref().is_some_and(|found| matches(condition, found)));
    if held { Ok(()) } else { Err(s3_error!(PreconditionFailed, "The pre-condition did not hold.")) }
}

/// The bytes requested by a `Range` or a `partNumber`, as a range and as the response header.
fn resolve(
    found: &Stored,
    range: Option<s3s::dto::Range>,
    part_number: Option<i32>,
) -> S3Result<(Range<u64>, Option<String>)> {
    let length = found.body.len();
    let wanted = match (range, part_number) {
        (None, None) => return Ok((0..length, None)),
        (Some(_), Some(_)) => {
            let text = "Cannot specify both Range header and partNumber query parameter";
            return Err(S3Error::with_message(S3ErrorCode::InvalidRequest, text));
        }
        (Some(range), None) => range.check(length)?,
        (None, Some(number)) => part(found, number)?,
    };
    // An empty object has no range.
    let header = (!wanted.is_empty())
        .then(|| format!("bytes {}-{}/{length}", wanted.start, wanted.end.saturating_sub(1)));
    Ok((wanted, header))
}

/// The bytes of a part, by its number in the complete object; an object put as a whole is its only part.
fn part(found: &Stored, number: i32) -> S3Result<Range<u64>> {
    let whole = [found.body.len()];
    let ends = if found.part_ends.is_empty() { &whole[..] } else { &found.part_ends };
    let index = usize::try_from(number).ok().and_then(|number| number.checked_sub(1));
    let Some((index, end)) = index.and_then(|index| Some((index, *ends.get(index)?))) else {
        let code = S3ErrorCode::Custom("InvalidPartNumber".into());
        let mut answer = S3Error::with_message(code, "The requested partnumber is not satisfiable");
        answer.set_status_code(hyper::StatusCode::RANGE_NOT_SATISFIABLE);
        return Err(answer);
    };
    let start = index.checked_sub(1).map_or(0, |before| ends[before]);
    Ok(start..end)
}

/// How many parts it was uploaded in, if the request is for one of them.
fn parts_count(found: &Stored, part_number: Option<i32>) -> Option<i32> {
    part_number.filter(|_| !found.part_ends.is_empty())?;
    Some(i32::try_from(found.part_ends.len()).unwrap_or(i32::MAX))
}

fn signed(length: u64) -> i64 {
    i64::try_from(length).unwrap_or(i64::MAX)
}

pub(super) async fn get_object(
    backend: &Backend,
    request: S3Request<GetObjectInput>,
) -> S3Result<GetObjectOutput> {
    let input = request.input;
    let contents = open(&backend.objects, request.credentials.as_ref(), &input.bucket, READ)?;
    let found = find(&contents, &input.key)?;
    check_conditions(&found, input.if_match.as_ref(), input.if_none_match.as_ref())?;
    let (wanted, content_range) = resolve(&found, input.range, input.part_number)?;
    // A checksum of the whole object does not apply to a part.
    let tell = content_range.is_none() && input.checksum_mode.is_some();
    let checksum = if tell { found.checksum.clone() } else { Checksum::default() };
    let attributes = found.attributes.clone();
    Ok(GetObjectOutput {
        accept_ranges: Some("bytes".into()),
        body: Some(stream(found.body.slice(wanted.start, wanted.end))),
        content_length: Some(signed(wanted.end - wanted.start)),
        content_range,
        content_type: attributes.content_type,
        content_encoding: attributes.content_encoding,
        content_disposition: attributes.content_disposition,
        content_language: attributes.content_language,
        cache_control: attributes.cache_control,
        metadata: attributes.metadata,
        e_tag: Some(found.etag.clone()),
        last_modified: Some(found.modified.into()),
        checksum_crc32: checksum.checksum_crc32,
        checksum_crc32c: checksum.checksum_crc32c,
        checksum_crc64nvme: checksum.checksum_crc64nvme,
        checksum_sha1: checksum.checksum_sha1,
        checksum_sha256: checksum.checksum_sha256,
        parts_count: parts_count(&found, input.part_number),
        ..GetObjectOutput::default()
    })
}

pub(super) async fn head_object(
    backend: &Backend,
    request: S3Request<HeadObjectInput>,
) -> S3Result<HeadObjectOutput> {
    let input = request.input;
    let contents = open(&backend.objects, request.credentials.as_ref(), &input.bucket, READ)?;
    let found = find(&contents, &input.key)?;
    check_conditions(&found, input.if_match.as_ref(), input.if_none_match.as_ref())?;
    let (wanted, content_range) = resolve(&found, input.range, input.part_number)?;
    let checksum = if input.checksum_mode.is_some() { found.checksum.clone() } else { Checksum::default() };
    let attributes = found.attributes.clone();
    Ok(HeadObjectOutput {
        accept_ranges: Some("bytes".into()),
        content_length: Some(signed(wanted.end - wanted.start)),
        content_range,
        content_type: attributes.content_type,
        content_encoding: attributes.content_encoding,
        content_disposition: attributes.content_disposition,
        content_language: attributes.content_language,
        cache_control: attributes.cache_control,
        metadata: attributes.metadata,
        e_tag: Some(found.etag.clone()),
        last_modified: Some(found.modified.into()),
        checksum_crc32: checksum.checksum_crc32,
        checksum_crc32c: checksum.checksum_crc32c,
        checksum_crc64nvme: checksum.checksum_crc64nvme,
        checksum_sha1: checksum.checksum_sha1,
        checksum_sha256: checksum.checksum_sha256,
        parts_count: parts_count(&found, input.part_number),
        ..HeadObjectOutput::default()
    })
}

pub(super) async fn put_object(
    backend: &Backend,
    request: S3Request<PutObjectInput>,
) -> S3Result<PutObjectOutput> {
    let input = request.input;
    let contents = open(&backend.objects, request.credentials.as_ref(), &input.bucket, WRITE)?;
    check_write(&contents, &input.key, input.if_match.as_ref(), input.if_none_match.as_ref())?;
    let receiving = Receiving {
        contents: &contents,
        body: input.body,
        length: input.content_length,
        content_md5: input.content_md5,
        checks: Checks::announced(&request.headers),
        trailers: request.trailing_headers,
    };
    let received = receiving.receive().await?;
    let made = Stored {
        body: received.body,
        etag: received.etag.clone(),
        modified: reactor::clock::wall(),
        attributes: Attributes {
            content_type: input.content_type,
            content_encoding: stored_encoding(input.content_encoding),
            content_disposition: input.content_disposition,
            content_language: input.content_language,
            cache_control: input.cache_control,
            metadata: input.metadata,
        },
        checksum: received.checksum.clone(),
        part_ends: Vec::new(),
        room: vec![Arc::new(received.room)],
        tags: Mutex::default(),
    };
    // The replaced object is dropped outside the lock: freeing memory takes time.
    let replaced = contents.write().objects.insert(input.key, Arc::new(made));
    drop(replaced);
    Ok(PutObjectOutput {
        e_tag: Some(received.etag),
        checksum_crc32: received.checksum.checksum_crc32,
        checksum_crc32c: received.checksum.checksum_crc32c,
        checksum_crc64nvme: received.checksum.checksum_crc64nvme,
        checksum_sha1: received.checksum.checksum_sha1,
        checksum_sha256: received.checksum.checksum_sha256,
        ..PutObjectOutput::default()
    })
}

/// `aws-chunked` describes the transfer, not the object.
pub(super) fn stored_encoding(header: Option<String>) -> Option<String> {
    let kept: Vec<String> = header?
        .split(',')
        .map(|word| word.trim().to_owned())
        .filter(|word| !word.is_empty() && word != "aws-chunked")
        .collect();
    (!kept.is_empty()).then(|| kept.join(","))
}

/// The object that a copy reads from.
pub(super) fn copy_source(
    backend: &Backend,
    credentials: Option<&s3s::auth::Credentials>,
    source: &CopySource,
) -> S3Result<Arc<Stored>> {
    let CopySource::Bucket { bucket, key, .. } = source else {
        return Err(s3_error!(NotImplemented, "The source must be bucket/key."));
    };
    find(&*open(&backend.objects, credentials, bucket, READ)?, key)
}

pub(super) async fn copy_object(
    backend: &Backend,
    request: S3Request<CopyObjectInput>,
) -> S3Result<CopyObjectOutput> {
    let input = request.input;
    let source = copy_source(backend, request.credentials.as_ref(), &input.copy_source)?;
    let contents = open(&backend.objects, request.credentials.as_ref(), &input.bucket, WRITE)?;
    let mut room = contents.room();
    room.grow_to(source.body.len()).map_err(full)?;
    let replace = input.metadata_directive.as_ref().is_some_and(|directive| directive.as_str() == "REPLACE");
    let attributes = if replace {
        Attributes {
            content_type: input.content_type,
            content_encoding: input.content_encoding,
            content_disposition: input.content_disposition,
            content_language: input.content_language,
            cache_control: input.cache_control,
            metadata: input.metadata,
        }
    } else {
        source.attributes.clone()
    };
    // The tags go with the copy unless the request has its own; TaggingDirective REPLACE without any removes them.
    let keeps = input.tagging_directive.as_ref().is_none_or(|directive| directive.as_str() != "REPLACE");
    let tags = if keeps { source.tags().clone() } else { Vec::new() };
    let made = Stored {
        body: source.body.clone(),
        etag: opaque_etag(1),
        modified: reactor::clock::wall(),
        attributes,
        checksum: source.checksum.clone(),
        part_ends: Vec::new(),
        room: vec![Arc::new(room)],
        tags: Mutex::new(tags),
    };
    let result = CopyObjectResult {
        e_tag: Some(made.etag.clone()),
        last_modified: Some(made.modified.into()),
        ..CopyObjectResult::default()
    };
    let replaced = contents.write().objects.insert(input.key, Arc::new(made));
    drop(replaced);
    Ok(CopyObjectOutput { copy_object_result: Some(result), ..CopyObjectOutput::default() })
}

pub(super) async fn delete_object(
    backend: &Backend,
    request: S3Request<DeleteObjectInput>,
) -> S3Result<DeleteObjectOutput> {
    let input = request.input;
    let contents = open(&backend.objects, request.credentials.as_ref(), &input.bucket, DELETE)?;
    // Deleting a missing object succeeds, as on AWS.
    let removed = contents.write().objects.remove(&input.key);
    drop(removed);
    Ok(DeleteObjectOutput::default())
}

pub(super) async fn delete_objects(
    backend: &Backend,
    request: S3Request<DeleteObjectsInput>,
) -> S3Result<DeleteObjectsOutput> {
    let input = request.input;
    let contents = open(&backend.objects, request.credentials.as_ref(), &input.bucket, DELETE)?;
    if input.delete.objects.len() > 1000 {
        return Err(s3_error!(MalformedXML, "A batch may have at most 1000 keys."));
    }
    let quiet = input.delete.quiet.unwrap_or(false);
    let mut deleted = Vec::new();
    for object in input.delete.objects {
        let removed = contents.write().objects.remove(&object.key);
        drop(removed);
        if !quiet {
            deleted.push(DeletedObject { key: Some(object.key), ..DeletedObject::default() });
        }
    }
    Ok(DeleteObjectsOutput { deleted: Some(deleted), ..DeleteObjectsOutput::default() })
}
