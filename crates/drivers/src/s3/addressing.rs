//! Names of objects: keys, and the paths of requests.

use std::collections::BTreeMap;

use wire::NumberText;
use wire::sigv4::encode_path;

use super::config::S3Config;
use super::request::Subject;
use crate::Op;

/// The parts of heads shared by all requests.
#[derive(Clone, Debug)]
pub(super) struct Addressing {
    /// The Host header.
    pub(super) host: String,
    /// The path of the bucket, with a final slash where the bucket is in the path.
    bucket_path: String,
    /// The path in front of an object's key.
    key_base: String,
    /// The path in front of an object's number.
    object_base: String,
    /// The same with the bucket, wherever requests name it: the source of a copy.
    source_base: String,
    /// Our prefix, with its slash.
    pub(super) prefix: String,
    /// As [`S3Config::prefix_digits`].
    prefix_digits: u32,
    /// Where blocks are objects: the files' names and paths.
    files: BTreeMap<u64, FileName>,
}

/// A file whose blocks are objects.
#[derive(Clone, Debug)]
struct FileName {
    key: String,
    path: String,
}

impl Addressing {
    pub(super) fn new(config: &S3Config) -> Self {
        let prefix = format!("{}/", config.prefix.trim_end_matches('/'));
        let mut key_base = String::from("/");
        let bucket_path;
        if config.path_style {
            encode_path(&config.bucket, &mut key_base);
            bucket_path = key_base.clone();
            key_base.push('/');
        } else {
            bucket_path = key_base.clone();
        }
        let mut object_base = key_base.clone();
        encode_path(&prefix, &mut object_base);
        let mut source_base = String::from("/");
        for part in [&config.bucket, "/", &prefix] {
            encode_path(part, &mut source_base);
        }
        let bucket = (!config.path_style).then_some(config.bucket.as_str());
        let file = |(number, key): (&u64, &String)| {
            let mut path = key_base.clone();
            encode_path(key, &mut path);
            (*number, FileName { key: key.clone(), path })
        };
        let files = config.blocks.iter().flatten().map(file).collect();
        let host = config.endpoint.host_header(bucket);
        let prefix_digits = config.prefix_digits;
        Self { host, bucket_path, key_base, object_base, source_base, prefix, prefix_digits, files }
    }

    /// Writes the path of a resource.
    pub(super) fn path(&self, subject: Subject<'_>, out: &mut String) {
        out.clear();
        match subject {
            Subject::Bucket => out.push_str(&self.bucket_path),
            Subject::Key(key) => {
                out.push_str(&self.key_base);
                encode_path(key, out);
            }
            Subject::Path(path) => out.push_str(path),
            Subject::Object(number) => {
                out.push_str(&self.object_base);
                self.push_name(number, out);
            }
            Subject::Block { file, offset, len } => {
                out.push_str(self.files.get(&file).map_or("", |file| &file.path));
                for number in [offset, len] {
                    out.push('_');
                    out.push_str(NumberText::decimal(number).as_str());
                }
            }
        }
    }

    /// Writes the source of a copy: bucket and key, encoded.
    pub(super) fn source(&self, number: u64, out: &mut String) {
        out.clear();
        out.push_str(&self.source_base);
        self.push_name(number, out);
    }

    /// The key of the object with this number.
    pub(super) fn key(&self, number: u64) -> String {
        let mut out = self.prefix.clone();
        self.push_name(number, &mut out);
        out
    }

    /// Appends what follows our prefix in the key of the object with this number.
    pub(super) fn push_name(&self, number: u64, out: &mut String) {
        if self.prefix_digits > 0 {
            push_hex(number, self.prefix_digits, out);
            out.push('/');
        }
        push_hex16(number, out);
    }

    /// The key of an operation's object.
    pub(super) fn key_of(&self, op: &Op) -> String {
        match self.files.get(&op.object) {
            Some(file) => format!("{}_{}_{}", file.key, op.offset, op.len),
            None => self.key(op.object),
        }
    }

    /// The resource of an operation.
    pub(super) fn subject(&self, op: &Op) -> Subject<'static> {
        match self.by_blocks() {
            true => Subject::Block { file: op.object, offset: op.offset, len: op.len },
            false => Subject::Object(op.object),
        }
    }

    /// True when each block is an object.
    pub(super) fn by_blocks(&self) -> bool {
        !self.files.is_empty()
    }
}

pub(super) fn push_hex16(number: u64, out: &mut String) {
    push_hex(number, 16, out);
}

/// The last digits of a number.
fn push_hex(number: u64, digits: u32, out: &mut String) {
    for shift in (0..digits.min(16)).rev() {
        let digit = (number >> (shift * 4)) & 15;
        out.push(char::from(b"0123456789abcdef"[digit as usize]));
    }
}
