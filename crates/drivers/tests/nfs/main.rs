//! The NFS driver against a small scripted server: correct, broken, or hostile.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

// The same counting allocator as the codecs' own tests use.
#[path = "../../../wire/tests/nfs_codecs/alloc.rs"]
mod alloc;
mod cycle;
mod files;
mod listings;
mod manage;
mod mounting;
mod named;
mod nodes41;
mod paths;
mod procedures;
mod replies;
mod server;
mod server41;
mod short;
mod streams;
mod sums;
mod support;
mod v41;
mod v41_names;
mod v41_opens;
mod v41_recovery;
