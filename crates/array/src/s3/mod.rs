//! The S3 service: the protocol by the `s3s` library, the storage in memory, the faults around both.

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

pub(crate) use contents::Contents;
pub(crate) use serve::{Endpoint, Options, Server};
