//! The S3 service: protocol from the `s3s` library, storage in memory, with fault injection around both.

mod auth;
mod backend;
mod body;
mod buckets;
mod checks;
mod contents;
mod door;
mod flow;
mod host;
mod kept;
mod listing;
mod multipart;
mod objects;
mod rope;
mod serve;
mod shaped;
mod tagging;

pub(crate) use contents::Contents;
pub(crate) use serve::{Endpoint, Options, Server};
