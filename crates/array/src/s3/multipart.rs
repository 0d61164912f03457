//! Multipart uploads: created, filled with parts in any order, completed or aborted.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use s3s::dto::*;
use s3s::{S3Request, S3Result, s3_error};

use super::auth::open;
use super::backend::Backend;
use super::body::{Receiving, full, opaque_etag};
use super::checks::Checks;
use super::contents::{Attributes, Inner, Object as Stored, Upload};
use super::objects::{check_write, copy_source, stored_encoding};
use super::rope::{Builder, Rope};

const WRITE: &[&str] = &["pure:policy/object-write"];

/// Minimum bytes of every part but the last.
const MIN_PART_BYTES: u64 = 5 << 20;
/// Maximum part number.
const MAX_PARTS: i32 = 10_000;

/// The upload with this id, if it belongs to this key.
fn upload<'i>(inner: &'i mut Inner, id: &str, key: &str) -> S3Result<&'i mut Upload> {
    match inner.uploads.get_mut(id) {
        Some(found) if found.key == key => Ok(found),
        _ => Err(s3_error!(NoSuchUpload, "The specified multipart upload does not exist.")),
    }
}

fn check_number(number: i32) -> S3Result<()> {
    if (1..=MAX_PARTS).contains(&number) {
        return Ok(());
    }
    Err(s3_error!(InvalidArgument, "Part number must be an integer between 1 and 10000, inclusive"))
}

pub(super) async fn create_multipart_upload(
    backend: &Backend,
    request: S3Request<CreateMultipartUploadInput>,
) -> S3Result<CreateMultipartUploadOutput> {
    let input = request.input;
    let contents = open(&backend.objects, request.credentials.as_ref(), &input.bucket, WRITE)?;
    let id = format!("{:032x}", fastrand::u128(..));
    let made = Upload {
        key: input.key.clone(),
        started: reactor::clock::wall(),
        attributes: Attributes {
            content_type: input.content_type,
            content_encoding: stored_encoding(input.content_encoding),
            content_disposition: input.content_disposition,
            content_language: input.content_language,
            cache_control: input.cache_control,
            metadata: input.metadata,
        },
        parts: BTreeMap::new(),
    };
    contents.write().uploads.insert(id.clone(), made);
    Ok(CreateMultipartUploadOutput {
        bucket: Some(input.bucket),
        key: Some(input.key),
        upload_id: Some(id),
        checksum_algorithm: input.checksum_algorithm,
        checksum_type: input.checksum_type,
        ..CreateMultipartUploadOutput::default()
    })
}

pub(super) async fn upload_part(
    backend: &Backend,
    request: S3Request<UploadPartInput>,
) -> S3Result<UploadPartOutput> {
    let input = request.input;
    let contents = open(&backend.objects, request.credentials.as_ref(), &input.bucket, WRITE)?;
    check_number(input.part_number)?;
    upload(&mut contents.write(), &input.upload_id, &input.key)?;
    let receiving = Receiving {
        contents: &contents,
        body: input.body,
        length: input.content_length,
        content_md5: input.content_md5,
        checks: Checks::announced(&request.headers),
        trailers: request.trailing_headers,
    };
    let received = receiving.receive().await?;
    let checksum = received.checksum.clone();
    let etag = received.etag.clone();
    let part = Stored {
        body: received.body,
        etag: received.etag,
        modified: reactor::clock::wall(),
        attributes: Attributes::default(),
        checksum: received.checksum,
        part_ends: Vec::new(),
        room: vec![Arc::new(received.room)],
        tags: Mutex::default(),
    };
    // The upload may have been aborted while the part was received.
    let replaced = upload(&mut contents.write(), &input.upload_id, &input.key)?
        .parts
        .insert(input.part_number, Arc::new(part));
    drop(replaced);
    Ok(UploadPartOutput {
        e_tag: Some(etag),
        checksum_crc32: checksum.checksum_crc32,
        checksum_crc32c: checksum.checksum_crc32c,
        checksum_crc64nvme: checksum.checksum_crc64nvme,
        checksum_sha1: checksum.checksum_sha1,
        checksum_sha256: checksum.checksum_sha256,
        ..UploadPartOutput::default()
    })
}

pub(super) async fn upload_part_copy(
    backend: &Backend,
    request: S3Request<UploadPartCopyInput>,
) -> S3Result<UploadPartCopyOutput> {
    let input = request.input;
    check_number(input.part_number)?;
    let source = copy_source(backend, request.credentials.as_ref(), &input.copy_source)?;
    let contents = open(&backend.objects, request.credentials.as_ref(), &input.bucket, WRITE)?;
    let wanted = match &input.copy_source_range {
        None => 0..source.body.len(),
        Some(text) => match s3s::dto::Range::parse(text) {
            Ok(range) => range.check(source.body.len())?,
            Err(_) => return Err(s3_error!(InvalidArgument, "The copy source range is malformed.")),
        },
    };
    let mut room = contents.room();
    room.grow_to(wanted.end - wanted.start).map_err(full)?;
    let mut builder = Builder::new(wanted.end - wanted.start);
    source.body.slice(wanted.start, wanted.end).iter().for_each(|block| builder.push(block));
    let part = Stored {
        body: builder.finish(),
        etag: opaque_etag(1),
        modified: reactor::clock::wall(),
        attributes: Attributes::default(),
        checksum: Checksum::default(),
        part_ends: Vec::new(),
        room: vec![Arc::new(room)],
        tags: Mutex::default(),
    };
    let result = CopyPartResult {
        e_tag: Some(part.etag.clone()),
        last_modified: Some(part.modified.into()),
        ..CopyPartResult::default()
    };
    upload(&mut contents.write(), &input.upload_id, &input.key)?
        .parts
        .insert(input.part_number, Arc::new(part));
    Ok(UploadPartCopyOutput { copy_part_result: Some(result), ..UploadPartCopyOutput::default() })
}

pub(super) async fn list_parts(
    backend: &Backend,
    request: S3Request<ListPartsInput>,
) -> S3Result<ListPartsOutput> {
    let input = request.input;
    let contents = open(&backend.objects, request.credentials.as_ref(), &input.bucket, WRITE)?;
    let mut inner = contents.write();
    let found = upload(&mut inner, &input.upload_id, &input.key)?;
    let after = input.part_number_marker.unwrap_or(0);
    let limit = input.max_parts.unwrap_or(1000).clamp(0, 1000);
    let mut later = found.parts.range(after.saturating_add(1)..);
    let parts: Vec<Part> = later
        .by_ref()
        .take(limit as usize)
        .map(|(number, part)| Part {
            part_number: Some(*number),
            e_tag: Some(part.etag.clone()),
            last_modified: Some(part.modified.into()),
            size: Some(i64::try_from(part.body.len()).unwrap_or(i64::MAX)),
            ..Part::default()
        })
        .collect();
    let more = later.next().is_some();
    Ok(ListPartsOutput {
        is_truncated: Some(more),
        next_part_number_marker: parts.last().and_then(|part| part.part_number).filter(|_| more),
        parts: Some(parts),
        bucket: Some(input.bucket),
        key: Some(input.key),
        upload_id: Some(input.upload_id),
        max_parts: Some(limit),
        part_number_marker: Some(after),
        ..ListPartsOutput::default()
    })
}

pub(super) async fn list_multipart_uploads(
    backend: &Backend,
    request: S3Request<ListMultipartUploadsInput>,
) -> S3Result<ListMultipartUploadsOutput> {
    let input = request.input;
    let contents = open(&backend.objects, request.credentials.as_ref(), &input.bucket, WRITE)?;
    let prefix = input.prefix.clone().unwrap_or_default();
    let limit = input.max_uploads.unwrap_or(1000).clamp(0, 1000) as usize;
    let marker =
        (input.key_marker.clone().unwrap_or_default(), input.upload_id_marker.clone().unwrap_or_default());
    let inner = contents.read();
    let mut open_uploads: Vec<_> = inner
        .uploads
        .iter()
        .map(|(id, upload)| ((upload.key.clone(), id.clone()), upload.started))
        .filter(|((key, id), _)| {
            let behind =
                if marker.1.is_empty() { *key > marker.0 } else { (key, id) > (&marker.0, &marker.1) };
            key.starts_with(&prefix) && (marker.0.is_empty() || behind)
        })
        .collect();
    open_uploads.sort();
    let more = open_uploads.len() > limit;
    open_uploads.truncate(limit);
    let last = open_uploads.last().map(|(name, _)| name.clone()).filter(|_| more);
    let uploads = open_uploads
        .into_iter()
        .map(|((key, id), started)| MultipartUpload {
            key: Some(key),
            upload_id: Some(id),
            initiated: Some(started.into()),
            ..MultipartUpload::default()
        })
        .collect();
    let (next_key, next_id) = last.unzip();
    Ok(ListMultipartUploadsOutput {
        bucket: Some(input.bucket),
        uploads: Some(uploads),
        is_truncated: Some(more),
        next_key_marker: next_key,
        next_upload_id_marker: next_id,
        prefix: input.prefix,
        ..ListMultipartUploadsOutput::default()
    })
}

pub(super) async fn complete_multipart_upload(
    backend: &Backend,
    request: S3Request<CompleteMultipartUploadInput>,
) -> S3Result<CompleteMultipartUploadOutput> {
    let input = request.input;
    let contents = open(&backend.objects, request.credentials.as_ref(), &input.bucket, WRITE)?;
    check_write(&contents, &input.key, input.if_match.as_ref(), input.if_none_match.as_ref())?;
    let listed = input.multipart_upload.and_then(|upload| upload.parts).unwrap_or_default();
    let mut inner = contents.write();
    let found = upload(&mut inner, &input.upload_id, &input.key)?;
    let parts = chosen(found, &listed)?;
    let mut body = Rope::default();
    let mut room = Vec::with_capacity(parts.len());
    let mut part_ends = Vec::with_capacity(parts.len());
    for part in &parts {
        body.append(&part.body);
        part_ends.push(body.len());
        room.extend(part.room.iter().map(Arc::clone));
    }
    let made = Stored {
        body,
        etag: opaque_etag(parts.len()),
        modified: reactor::clock::wall(),
        attributes: found.attributes.clone(),
        checksum: Checksum::default(),
        part_ends,
        room,
        tags: Mutex::default(),
    };
    let etag = made.etag.clone();
    let finished = inner.uploads.remove(&input.upload_id);
    let replaced = inner.objects.insert(input.key.clone(), Arc::new(made));
    drop(inner);
    drop((finished, replaced));
    Ok(CompleteMultipartUploadOutput {
        location: Some(format!("/{}/{}", input.bucket, input.key)),
        bucket: Some(input.bucket),
        key: Some(input.key),
        e_tag: Some(etag),
        ..CompleteMultipartUploadOutput::default()
    })
}

/// The parts that the client lists, which must exist, in ascending order, unchanged and large enough.
fn chosen(upload: &Upload, listed: &[CompletedPart]) -> S3Result<Vec<Arc<Stored>>> {
    if listed.is_empty() {
        return Err(s3_error!(MalformedXML, "At least one part must be listed."));
    }
    let mut parts = Vec::with_capacity(listed.len());
    let mut before = 0;
    for (index, named) in listed.iter().enumerate() {
        let number = named.part_number.unwrap_or(0);
        if number <= before {
            return Err(s3_error!(InvalidPartOrder, "The list of parts was not in ascending order."));
        }
        before = number;
        let same =
            |part: &&Arc<Stored>| named.e_tag.as_ref().is_some_and(|etag| etag.value() == part.etag.value());
        let Some(part) = upload.parts.get(&number).filter(same) else {
            return Err(s3_error!(InvalidPart, "One or more of the specified parts could not be found."));
        };
        if index + 1 < listed.len() && part.body.len() < MIN_PART_BYTES {
            return Err(s3_error!(EntityTooSmall, "A part but the last is smaller than 5 MiB."));
        }
        parts.push(Arc::clone(part));
    }
    Ok(parts)
}

pub(super) async fn abort_multipart_upload(
    backend: &Backend,
    request: S3Request<AbortMultipartUploadInput>,
) -> S3Result<AbortMultipartUploadOutput> {
    let input = request.input;
    let contents = open(&backend.objects, request.credentials.as_ref(), &input.bucket, WRITE)?;
    let mut inner = contents.write();
    upload(&mut inner, &input.upload_id, &input.key)?;
    let aborted = inner.uploads.remove(&input.upload_id);
    drop(inner);
    drop(aborted);
    Ok(AbortMultipartUploadOutput::default())
}
