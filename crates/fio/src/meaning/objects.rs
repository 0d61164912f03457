//! `ioengine=http` in S3 mode.

use std::collections::BTreeMap;
use std::fmt;

use super::asked::Asked;
use crate::JobScript;
use experiment::FileNames;
use experiment::Target;

/// An access key, which stands in a job file but in no plan.
#[derive(Clone, PartialEq, Eq)]
pub struct ObjectKey {
    /// The key's name (`http_s3_keyid`).
    pub id: String,
    /// The secret (`http_s3_key`).
    pub secret: String,
}

impl fmt::Debug for ObjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ObjectKey").field("id", &self.id).finish_non_exhaustive()
    }
}

/// The access keys that job files give, by the name of the target in the plan.
pub fn object_keys(script: &JobScript) -> BTreeMap<String, ObjectKey> {
    let keys = script.sections.iter().enumerate().filter_map(|(number, section)| {
        let text = |name: &str| section.last(name).map(|setting| setting.value.trim().to_owned());
        let key = ObjectKey { id: text("http_s3_keyid")?, secret: text("http_s3_key")? };
        Some((target_name(number), key))
    });
    keys.collect()
}

/// Each section has a target of its own, because each may have a key of its own.
fn target_name(section_number: usize) -> String {
    match section_number {
        0 => "s3".to_owned(),
        number => format!("s3-{}", number + 1),
    }
}

/// The bucket: the first part of the file names' paths, or where these have but one part the first of the host's.
pub(crate) fn target(asked: &Asked<'_>, names: &mut FileNames, section_number: usize) -> Target {
    match asked.text("http_mode") {
        Some("s3") => {}
        other => {
            let text = format!("http_mode is {}", other.unwrap_or("webdav"));
            asked.fault("http_mode", text, "write http_mode=s3: objects are stored over S3 only");
        }
    }
    let host = asked.text("http_host").filter(|host| !host.is_empty()).unwrap_or("localhost");
    let (scheme, insecure) = match asked.text("https") {
        None | Some("off" | "0") => ("http", false),
        Some("on" | "1") => ("https", false),
        Some("insecure") => ("https", true),
        Some(other) => {
            asked.fault("https", format!("there is no https {other:?}"), "write off, on or insecure");
            ("https", false)
        }
    };
    for (one, other) in [("http_s3_key", "http_s3_keyid"), ("http_s3_keyid", "http_s3_key")] {
        if asked.has(one) && !asked.has(other) {
            asked.fault(one, format!("{one} is given without {other}"), format!("add {other}"));
        }
    }
    let (bucket, endpoint, path_style) = place(asked, host, names);
    let mut options = BTreeMap::new();
    options.insert("path_style".to_owned(), path_style.to_string());
    if let Some(region) = asked.text("http_s3_region") {
        options.insert("region".to_owned(), region.to_owned());
    }
    if insecure {
        options.insert("tls_insecure".to_owned(), "true".to_owned());
    }
    let url = format!("s3://{bucket}?endpoint={scheme}://{endpoint}");
    Target { name: target_name(section_number), url, options }
}

fn place(asked: &Asked<'_>, host: &str, names: &mut FileNames) -> (String, String, bool) {
    let mut bucket: Option<String> = None;
    let mut objects = Vec::new();
    for name in &names.listed {
        match name.trim_start_matches('/').split_once('/') {
            Some((first, object)) if !object.is_empty() => {
                if bucket.as_deref().is_some_and(|bucket| bucket != first) {
                    let text = "the names are in several buckets";
                    asked.fault("filename", text, "write a job for each bucket");
                }
                bucket = Some(first.to_owned());
                objects.push(object.to_owned());
            }
            _ => objects.push(name.trim_start_matches('/').to_owned()),
        }
    }
    if let Some(bucket) = bucket {
        names.listed = objects;
        return (bucket, host.to_owned(), true);
    }
    // The bucket stands before the host: mybucket.s3.example.org.
    match host.split_once('.') {
        Some((first, rest)) if rest.contains('.') && !first.bytes().all(|byte| byte.is_ascii_digit()) => {
            names.listed = objects;
            (first.to_owned(), rest.to_owned(), false)
        }
        _ => {
            asked.fault("filename", "no bucket is named", "write filename=/BUCKET/OBJECT");
            ("bucket".to_owned(), host.to_owned(), true)
        }
    }
}
