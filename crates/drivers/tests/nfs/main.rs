//! The NFS driver against a small scripted server: correct, broken, or hostile.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

// The same counting allocator as the codecs' own tests use.
#[path = "../../../wire/tests/nfs_codecs/alloc.rs"]
mod alloc;
mod cycle;
mod files;
mod manage;
mod mounting;
mod named;
mod paths;
mod procedures;
mod replies;
mod server;
mod short;
mod streams;
mod sums;
mod support;
