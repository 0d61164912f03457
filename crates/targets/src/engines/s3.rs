//! `ioengine=http` in S3 mode: each block of a file is an object.

use std::collections::BTreeMap;

use super::ValueKind::{Integer, Text, Word};
use super::{EngineJob, EngineOption, EngineTarget, JobEngine, JobEngines, KeyOptions, OptionSupport};

const HTTP: &[&str] = &["http"];
const NO_SWIFT: &str = "objects are stored over S3 only";
const NO_CUSTOMER_KEY: &str = "objects are stored without a customer's key";

/// The engine for objects.
pub const ENGINES: JobEngines = JobEngines {
    engines: &[JobEngine {
        key_options: Some(KeyOptions { id: "http_s3_keyid", secret: "http_s3_key" }),
        ..JobEngine::new(
            "http",
            "s3",
            OptionSupport::Differs("S3 only, with any number of requests in flight"),
            target,
        )
    }],
    options: &[
        EngineOption::same(HTTP, "http_host", Text),
        EngineOption::absent(HTTP, "http_user", Text, NO_SWIFT, "http_s3_keyid"),
        EngineOption::absent(HTTP, "http_pass", Text, NO_SWIFT, "http_s3_key").secret(),
        EngineOption::same(HTTP, "https", Word(&["off", "on", "insecure"])),
        EngineOption::differs(
            HTTP,
            "http_mode",
            Word(&["webdav", "swift", "s3"]),
            "only s3; it must be said, because fio's default is webdav",
        ),
        EngineOption::same(HTTP, "http_s3_region", Text),
        EngineOption::same(HTTP, "http_s3_key", Text).secret(),
        EngineOption::same(HTTP, "http_s3_keyid", Text),
        EngineOption::absent(HTTP, "http_s3_sse_customer_key", Text, NO_CUSTOMER_KEY, "leave it out")
            .secret(),
        EngineOption::absent(HTTP, "http_s3_sse_customer_algorithm", Text, NO_CUSTOMER_KEY, "leave it out"),
        EngineOption::absent(
            HTTP,
            "http_s3_storage_class",
            Text,
            "objects are stored in the bucket's default class",
            "leave it out",
        )
        .harmless(&["STANDARD"]),
        EngineOption::absent(HTTP, "http_swift_auth_token", Text, NO_SWIFT, "http_mode=s3").secret(),
        EngineOption::absent(HTTP, "http_verbose", Integer(0, 2), "requests are not printed", "leave it out")
            .harmless(&["0"]),
    ],
};

fn fault(job: &dyn EngineJob, option: &'static str, text: impl Into<String>, correction: impl Into<String>) {
    job.fault(option, text.into(), correction.into());
}

/// The target in the bucket that is the first part of the file names' paths or, where these have only one part, of the
/// host name.
fn target(job: &dyn EngineJob) -> EngineTarget {
    match job.text("http_mode") {
        Some("s3") => {}
        other => {
            let text = format!("http_mode is {}", other.unwrap_or("webdav"));
            fault(job, "http_mode", text, "write http_mode=s3: objects are stored over S3 only");
        }
    }
    let host = job.text("http_host").filter(|host| !host.is_empty()).unwrap_or("localhost");
    let (scheme, insecure) = match job.text("https") {
        None | Some("off" | "0") => ("http", false),
        Some("on" | "1") => ("https", false),
        Some("insecure") => ("https", true),
        Some(other) => {
            fault(job, "https", format!("there is no https {other:?}"), "write off, on or insecure");
            ("https", false)
        }
    };
    for (one, other) in [("http_s3_key", "http_s3_keyid"), ("http_s3_keyid", "http_s3_key")] {
        if job.is_set(one) && !job.is_set(other) {
            fault(job, one, format!("{one} is given without {other}"), format!("add {other}"));
        }
    }
    let Bucket { bucket, endpoint, path_style, objects } = Bucket::of(job, host);
    let mut options = BTreeMap::new();
    options.insert("path_style".to_owned(), path_style.to_string());
    if let Some(region) = job.text("http_s3_region") {
        options.insert("region".to_owned(), region.to_owned());
    }
    if insecure {
        options.insert("tls_insecure".to_owned(), "true".to_owned());
    }
    let url = format!("s3://{bucket}?endpoint={scheme}://{endpoint}");
    EngineTarget { url, options, file_names: objects }
}

/// The location of the objects.
struct Bucket {
    bucket: String,
    endpoint: String,
    path_style: bool,
    /// The names within the bucket, if the bucket was found.
    objects: Option<Vec<String>>,
}

impl Bucket {
    fn of(job: &dyn EngineJob, host: &str) -> Self {
        let mut bucket: Option<String> = None;
        let mut objects = Vec::new();
        for name in job.file_names() {
            match name.trim_start_matches('/').split_once('/') {
                Some((first, object)) if !object.is_empty() => {
                    if bucket.as_deref().is_some_and(|bucket| bucket != first) {
                        let text = "the names are in several buckets";
                        fault(job, "filename", text, "write a job for each bucket");
                    }
                    bucket = Some(first.to_owned());
                    objects.push(object.to_owned());
                }
                _ => objects.push(name.trim_start_matches('/').to_owned()),
            }
        }
        let objects = Some(objects);
        if let Some(bucket) = bucket {
            return Self { bucket, endpoint: host.to_owned(), path_style: true, objects };
        }
        // The bucket is the first label of the host name: mybucket.s3.example.org.
        match host.split_once('.') {
            Some((first, rest)) if rest.contains('.') && !first.bytes().all(|byte| byte.is_ascii_digit()) => {
                Self { bucket: first.to_owned(), endpoint: rest.to_owned(), path_style: false, objects }
            }
            _ => {
                fault(job, "filename", "no bucket is named", "write filename=/BUCKET/OBJECT");
                let bucket = "bucket".to_owned();
                Self { bucket, endpoint: host.to_owned(), path_style: true, objects: None }
            }
        }
    }
}
