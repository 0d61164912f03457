//! HTTP/1.1, client side: request heads out, response heads and bodies in (RFC 9110, RFC 9112).
//!
//! No I/O and no allocation of its own: requests are appended to the caller's buffer, responses are parsed in the
//! caller's buffer, and every length is checked before use.

mod body;
mod date;
mod head;
mod request;

pub use body::{BodyDecoder, DecodedPiece, Framing, MAX_CHUNK_LINE_BYTES, MAX_TRAILER_BYTES};
pub use date::{parse_date, parse_retry_after};
pub(crate) use head::parse_decimal;
pub use head::{HeadScanner, HeaderStorage, MAX_HEAD_BYTES, MAX_HEADERS, ResponseHead};
pub use request::RequestWriter;

/// What is wrong with a response. Every error ends the connection: its framing can no longer be trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HttpError {
    /// No end of the head within [`MAX_HEAD_BYTES`].
    #[error("the answer's head is longer than {} KiB", MAX_HEAD_BYTES / 1024)]
    HeadTooLong,
    /// More than [`MAX_HEADERS`] header lines.
    #[error("the answer has more than {MAX_HEADERS} header lines")]
    TooManyHeaders,
    /// The status line or a header line is not HTTP/1.
    #[error("the answer is not HTTP/1.1: {0}")]
    Malformed(&'static str),
    /// Content-Length is not one decimal number.
    #[error("the answer's Content-Length is not one decimal number")]
    BadContentLength,
    /// Both Content-Length and Transfer-Encoding: the end of the body is ambiguous (RFC 9112 section 6.3).
    #[error("the answer has both Content-Length and Transfer-Encoding")]
    AmbiguousLength,
    /// A transfer coding other than `chunked`.
    #[error("the answer has a transfer coding that was not asked for")]
    UnknownTransferCoding,
    /// A chunk's size line or its end is malformed or too long.
    #[error("the answer's chunked body is malformed: {0}")]
    BadChunk(&'static str),
    /// The connection ended inside the body.
    #[error("the answer's body ended early, {missing} bytes short")]
    BodyTruncated {
        /// Minimum number of missing bytes.
        missing: u64,
    },
}
