//! Buckets as S3 presents them; management has the same ones.

use std::sync::PoisonError;
use std::time::{Duration, SystemTime};

use s3s::dto::*;
use s3s::{S3Request, S3Result, s3_error};

use super::auth::{access_key, open, read};
use super::backend::Backend;

const LIST: &[&str] = &["pure:policy/bucket-list"];
const INFO: &[&str] = &["pure:policy/bucket-info", "pure:policy/bucket-list", "pure:policy/object-list"];

/// Converts management's time in milliseconds.
fn time(ms: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_millis(ms)
}

pub(super) async fn list_buckets(
    backend: &Backend,
    request: S3Request<ListBucketsInput>,
) -> S3Result<ListBucketsOutput> {
    let key = access_key(request.credentials.as_ref())?;
    let objects = read(&backend.objects);
    let Some(account) = objects.allowed(key, LIST) else {
        return Err(s3_error!(AccessDenied, "Access Denied"));
    };
    let live = objects
        .buckets
        .iter()
        .filter(|(_, bucket)| bucket.account == account && bucket.destroyed_ms.is_none());
    let buckets = live
        .map(|(name, bucket)| Bucket {
            name: Some(name.clone()),
            creation_date: Some(time(bucket.birth.created_ms).into()),
            ..Bucket::default()
        })
        .collect();
    let owner = Owner { display_name: Some(account.to_owned()), id: Some(account.to_owned()) };
    Ok(ListBucketsOutput { buckets: Some(buckets), owner: Some(owner), ..ListBucketsOutput::default() })
}

pub(super) async fn create_bucket(
    backend: &Backend,
    request: S3Request<CreateBucketInput>,
) -> S3Result<CreateBucketOutput> {
    let key = access_key(request.credentials.as_ref())?;
    let name = request.input.bucket;
    let mut objects = backend.objects.write().unwrap_or_else(PoisonError::into_inner);
    let Some(account) = objects.allowed(key, &["pure:policy/bucket-create"]).map(str::to_owned) else {
        return Err(s3_error!(AccessDenied, "Access Denied"));
    };
    if let Some(found) = objects.buckets.get(&name) {
        if found.account == account && found.destroyed_ms.is_none() {
            return Err(s3_error!(BucketAlreadyOwnedByYou, "You already own this bucket."));
        }
        return Err(s3_error!(BucketAlreadyExists, "The requested bucket name is not available."));
    }
    match objects.create_bucket(&name, &account) {
        Ok(()) => Ok(CreateBucketOutput { location: Some(format!("/{name}")) }),
        Err(refusal) => Err(s3_error!(InvalidBucketName, "{}", refusal.message)),
    }
}

pub(super) async fn delete_bucket(
    backend: &Backend,
    request: S3Request<DeleteBucketInput>,
) -> S3Result<DeleteBucketOutput> {
    let name = request.input.bucket;
    let credentials = request.credentials.as_ref();
    let contents = open(&backend.objects, credentials, &name, &["pure:policy/bucket-delete"])?;
    let mut objects = backend.objects.write().unwrap_or_else(PoisonError::into_inner);
    if !contents.is_empty() {
        return Err(s3_error!(BucketNotEmpty, "The bucket you tried to delete is not empty"));
    }
    match objects.delete_empty_bucket(&name) {
        Ok(()) => Ok(DeleteBucketOutput::default()),
        Err(refusal) => Err(s3_error!(NoSuchBucket, "{}", refusal.message)),
    }
}

pub(super) async fn head_bucket(
    backend: &Backend,
    request: S3Request<HeadBucketInput>,
) -> S3Result<HeadBucketOutput> {
    open(&backend.objects, request.credentials.as_ref(), &request.input.bucket, INFO)?;
    Ok(HeadBucketOutput::default())
}

pub(super) async fn get_bucket_location(
    backend: &Backend,
    request: S3Request<GetBucketLocationInput>,
) -> S3Result<GetBucketLocationOutput> {
    open(&backend.objects, request.credentials.as_ref(), &request.input.bucket, INFO)?;
    Ok(GetBucketLocationOutput::default())
}

pub(super) async fn get_bucket_versioning(
    backend: &Backend,
    request: S3Request<GetBucketVersioningInput>,
) -> S3Result<GetBucketVersioningOutput> {
    open(&backend.objects, request.credentials.as_ref(), &request.input.bucket, INFO)?;
    Ok(GetBucketVersioningOutput::default())
}
