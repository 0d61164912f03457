//! Lists a bucket in key order, with prefix, delimiter and pages.

use std::ops::Bound;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use s3s::dto::*;
use s3s::{S3Request, S3Result, s3_error};

use super::auth::open;
use super::backend::Backend;
use super::contents::{Contents, Object as Stored};

const LIST: &[&str] = &["pure:policy/object-list", "pure:policy/bucket-list"];

/// Maximum keys in one response.
const MAX_KEYS: i32 = 1000;

/// The request.
struct Wanted<'a> {
    prefix: &'a str,
    delimiter: Option<&'a str>,
    /// Only entries after this key, or after all keys with this common prefix.
    after: Option<&'a str>,
    limit: usize,
}

/// One page.
#[derive(Default)]
struct Page {
    objects: Vec<(String, Arc<Stored>)>,
    prefixes: Vec<String>,
    /// The last key or common prefix, if there are more.
    next: Option<String>,
}

/// Iterates over the keys; a common prefix is skipped in one step, however many keys it has.
fn list(contents: &Contents, wanted: &Wanted<'_>) -> Page {
    let inner = contents.read();
    let mut page = Page::default();
    let mut last = String::new();
    let mut from = match wanted.after {
        Some(after) if after >= wanted.prefix => skip(wanted, after),
        _ => Bound::Included(wanted.prefix.to_owned()),
    };
    loop {
        let next = inner.objects.range::<str, _>((as_str(&from), Bound::Unbounded)).next();
        let Some((key, object)) = next.filter(|(key, _)| key.starts_with(wanted.prefix)) else { break };
        if page.objects.len() + page.prefixes.len() == wanted.limit {
            // With a limit of 0 there is no position to continue from.
            page.next = (wanted.limit > 0).then_some(last);
            break;
        }
        match common_prefix(wanted, key) {
            Some(common) => {
                page.prefixes.push(common.to_owned());
                last = common.to_owned();
                from = beyond(common);
            }
            None => {
                page.objects.push((key.clone(), Arc::clone(object)));
                last.clone_from(key);
                from = Bound::Excluded(key.clone());
            }
        }
    }
    page
}

/// The part of a key up to the first delimiter after the prefix.
fn common_prefix<'k>(wanted: &Wanted<'_>, key: &'k str) -> Option<&'k str> {
    let delimiter = wanted.delimiter.filter(|delimiter| !delimiter.is_empty())?;
    let at = key[wanted.prefix.len()..].find(delimiter)?;
    Some(&key[..wanted.prefix.len() + at + delimiter.len()])
}

fn skip(wanted: &Wanted<'_>, after: &str) -> Bound<String> {
    let is_common = after.starts_with(wanted.prefix) && common_prefix(wanted, after) == Some(after);
    if is_common { beyond(after) } else { Bound::Excluded(after.to_owned()) }
}

/// A bound after every key with this prefix: no character is greater than U+10FFFF.
fn beyond(prefix: &str) -> Bound<String> {
    Bound::Excluded(format!("{prefix}{}", char::MAX))
}

fn as_str(bound: &Bound<String>) -> Bound<&str> {
    bound.as_ref().map(String::as_str)
}

/// Encodes names if the client requested it.
struct Names(Option<EncodingType>);

impl Names {
    fn write(&self, name: &str) -> String {
        if self.0.is_none() {
            return name.to_owned();
        }
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~/*".contains(&byte);
        let encode =
            |byte: u8| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
        name.bytes().map(encode).collect()
    }

    fn objects(&self, page: &Page) -> Vec<Object> {
        let one = |(key, stored): &(String, Arc<Stored>)| Object {
            key: Some(self.write(key)),
            e_tag: Some(stored.etag.clone()),
            last_modified: Some(stored.modified.into()),
            size: Some(i64::try_from(stored.body.len()).unwrap_or(i64::MAX)),
            storage_class: Some(ObjectStorageClass::from_static(ObjectStorageClass::STANDARD)),
            ..Object::default()
        };
        page.objects.iter().map(one).collect()
    }

    fn prefixes(&self, page: &Page) -> Vec<CommonPrefix> {
        page.prefixes.iter().map(|prefix| CommonPrefix { prefix: Some(self.write(prefix)) }).collect()
    }
}

fn limit(max_keys: Option<i32>) -> S3Result<i32> {
    match max_keys {
        Some(negative) if negative < 0 => Err(s3_error!(InvalidArgument, "max-keys must not be negative.")),
        Some(number) => Ok(number.min(MAX_KEYS)),
        None => Ok(MAX_KEYS),
    }
}

pub(super) async fn list_objects_v2(
    backend: &Backend,
    request: S3Request<ListObjectsV2Input>,
) -> S3Result<ListObjectsV2Output> {
    let input = request.input;
    let contents = open(&backend.objects, request.credentials.as_ref(), &input.bucket, LIST)?;
    let continued = match &input.continuation_token {
        None => None,
        Some(token) => {
            match URL_SAFE_NO_PAD.decode(token).ok().and_then(|bytes| String::from_utf8(bytes).ok()) {
                Some(key) => Some(key),
                None => {
                    return Err(s3_error!(InvalidArgument, "The continuation token provided is incorrect"));
                }
            }
        }
    };
    let max_keys = limit(input.max_keys)?;
    let wanted = Wanted {
        prefix: input.prefix.as_deref().unwrap_or_default(),
        delimiter: input.delimiter.as_deref(),
        after: continued.as_deref().or(input.start_after.as_deref()),
        limit: max_keys as usize,
    };
    let page = list(&contents, &wanted);
    let names = Names(input.encoding_type.clone());
    Ok(ListObjectsV2Output {
        key_count: Some(i32::try_from(page.objects.len() + page.prefixes.len()).unwrap_or(i32::MAX)),
        contents: Some(names.objects(&page)),
        common_prefixes: Some(names.prefixes(&page)),
        is_truncated: Some(page.next.is_some()),
        next_continuation_token: page.next.map(|last| URL_SAFE_NO_PAD.encode(last)),
        name: Some(input.bucket),
        prefix: input.prefix.map(|prefix| names.write(&prefix)),
        delimiter: input.delimiter.map(|delimiter| names.write(&delimiter)),
        start_after: input.start_after.map(|start| names.write(&start)),
        continuation_token: input.continuation_token,
        max_keys: Some(max_keys),
        encoding_type: input.encoding_type,
        ..ListObjectsV2Output::default()
    })
}

pub(super) async fn list_objects(
    backend: &Backend,
    request: S3Request<ListObjectsInput>,
) -> S3Result<ListObjectsOutput> {
    let input = request.input;
    let contents = open(&backend.objects, request.credentials.as_ref(), &input.bucket, LIST)?;
    let max_keys = limit(input.max_keys)?;
    let wanted = Wanted {
        prefix: input.prefix.as_deref().unwrap_or_default(),
        delimiter: input.delimiter.as_deref(),
        after: input.marker.as_deref(),
        limit: max_keys as usize,
    };
    let page = list(&contents, &wanted);
    let names = Names(input.encoding_type.clone());
    Ok(ListObjectsOutput {
        contents: Some(names.objects(&page)),
        common_prefixes: Some(names.prefixes(&page)),
        is_truncated: Some(page.next.is_some()),
        next_marker: page.next.map(|last| names.write(&last)),
        name: Some(input.bucket),
        prefix: Some(names.write(&input.prefix.unwrap_or_default())),
        marker: Some(names.write(&input.marker.unwrap_or_default())),
        delimiter: input.delimiter.map(|delimiter| names.write(&delimiter)),
        max_keys: Some(max_keys),
        encoding_type: input.encoding_type,
        ..ListObjectsOutput::default()
    })
}
