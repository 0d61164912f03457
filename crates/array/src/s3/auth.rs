//! Authorisation: the array's access keys and the policies of their users.

use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

use s3s::auth::{Credentials, S3Auth, SecretKey};
use s3s::{S3Result, s3_error};

use super::contents::Contents;
use crate::objects::Objects;

/// The library verifies signatures against this: the secret of an enabled key.
pub(super) struct Keys(pub(super) Arc<RwLock<Objects>>);

#[async_trait::async_trait]
impl S3Auth for Keys {
    async fn get_secret_key(&self, access_key: &str) -> S3Result<SecretKey> {
        let objects = read(&self.0);
        match objects.keys.get(access_key) {
            Some(key) if key.enabled => Ok(SecretKey::from(key.secret.reveal())),
            _ => Err(s3_error!(
                InvalidAccessKeyId,
                "The access key ID you provided does not exist in our records."
            )),
        }
    }
}

/// Locks for reading; a panic elsewhere does not invalidate the objects.
pub(super) fn read(objects: &RwLock<Objects>) -> RwLockReadGuard<'_, Objects> {
    objects.read().unwrap_or_else(PoisonError::into_inner)
}

/// The access key of a request.
pub(super) fn access_key(credentials: Option<&Credentials>) -> S3Result<&str> {
    match credentials {
        Some(credentials) => Ok(&credentials.access_key),
        None => Err(s3_error!(AccessDenied, "Signature is required")),
    }
}

/// The contents of a bucket, if the caller's key belongs to its account and to a user who has one of these policies (or
/// full access).
pub(super) fn open(
    objects: &RwLock<Objects>,
    credentials: Option<&Credentials>,
    bucket: &str,
    policies: &[&str],
) -> S3Result<Arc<Contents>> {
    let key = access_key(credentials)?;
    let objects = read(objects);
    let Some(found) = objects.live_bucket(bucket) else {
        return Err(s3_error!(NoSuchBucket, "The specified bucket does not exist"));
    };
    if objects.allowed(key, policies) != Some(found.account.as_str()) {
        return Err(s3_error!(AccessDenied, "Access Denied"));
    }
    Ok(Arc::clone(&found.contents))
}
