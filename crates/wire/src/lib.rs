//! Protocol codecs without I/O: bytes in, values out, and back.
//!
//! Nothing here opens a socket, reads a clock or keeps state beyond the current message; the drivers and the simulated
//! array use the same codecs from opposite ends.

pub mod checksum;
pub mod http1;
pub mod iscsi;
pub mod memcached;
pub mod mount;
pub mod nfs3;
pub mod nfs4;
mod number_text;
pub mod portmap;
pub mod rpc;
pub mod s3;
pub mod sigv4;
pub mod xdr;

pub use number_text::NumberText;
