//! Bodies: received into a rope with checksums verified, sent from a rope without copying.

use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use futures::{Stream, StreamExt};
use md5::{Digest, Md5};
use s3s::dto::{Checksum, ETag, StreamingBlob};
use s3s::stream::{ByteStream, RemainingLength};
use s3s::{S3Error, S3ErrorCode, S3Result, StdError, TrailingHeaders, s3_error};

use super::checks::Checks;
use super::contents::{Contents, Room};
use super::rope::{Builder, Rope};
use crate::capacity::Full;

/// A received body.
pub(super) struct Received {
    pub(super) body: Rope,
    pub(super) room: Room,
    pub(super) etag: ETag,
    pub(super) checksum: Checksum,
}

/// How to receive a body.
pub(super) struct Receiving<'a> {
    pub(super) contents: &'a Contents,
    pub(super) body: Option<StreamingBlob>,
    pub(super) length: Option<i64>,
    pub(super) content_md5: Option<String>,
    pub(super) checks: Checks,
    pub(super) trailers: Option<TrailingHeaders>,
}

impl Receiving<'_> {
    /// Receives all of it; reserves space first if the length is known.
    pub(super) async fn receive(mut self) -> S3Result<Received> {
        let expected = self.length.and_then(|length| u64::try_from(length).ok()).unwrap_or(0);
        let mut room = self.contents.room();
        room.grow_to(expected).map_err(full)?;
        let mut builder = Builder::new(expected);
        let mut md5 = self.content_md5.is_some().then(Md5::new);
        if let Some(mut body) = self.body {
            while let Some(fragment) = body.next().await {
                let fragment = fragment.map_err(broken)?;
                if let Some(md5) = &mut md5 {
                    md5.update(&fragment);
                }
                self.checks.update(&fragment);
                builder.push(&fragment);
                if builder.len() > expected {
                    room.grow_to(builder.len()).map_err(full)?;
                }
            }
        }
        if self.length.is_some() && builder.len() != expected {
            return Err(s3_error!(IncompleteBody, "The body is shorter than its Content-Length."));
        }
        let etag = match (md5, self.content_md5) {
            (Some(md5), Some(wanted)) => {
                let sum = md5.finalize();
                if STANDARD.encode(sum) != wanted {
                    return Err(s3_error!(
                        BadDigest,
                        "The Content-MD5 you specified did not match what we received."
                    ));
                }
                ETag::Strong(sum.iter().map(|byte| format!("{byte:02x}")).collect())
            }
            _ => opaque_etag(1),
        };
        let checksum = self.checks.finish(self.trailers.as_ref())?;
        room.shrink_to(builder.len());
        Ok(Received { body: builder.finish(), room, etag, checksum })
    }
}

/// An ETag that cannot be mistaken for an MD5 sum: MD5 of every body would cost more than everything else.
pub(super) fn opaque_etag(parts: usize) -> ETag {
    ETag::Strong(format!("{:032x}-{parts}", fastrand::u128(..)))
}

/// The array is full: 507, which SDKs do not retry.
pub(super) fn full(error: Full) -> S3Error {
    let mut answer =
        S3Error::with_message(S3ErrorCode::Custom("InsufficientStorage".into()), error.to_string());
    answer.set_status_code(hyper::StatusCode::INSUFFICIENT_STORAGE);
    answer
}

/// The body could not be read: the client disconnected, or its chunks had invalid signatures.
fn broken(error: StdError) -> S3Error {
    let text = error.to_string();
    if text.contains("SignatureMismatch") {
        return s3_error!(SignatureDoesNotMatch, "The signature of a chunk does not match.");
    }
    S3Error::with_message(S3ErrorCode::IncompleteBody, text)
}

/// A stream of a rope's blocks.
struct Blocks {
    blocks: VecDeque<Bytes>,
    left: usize,
}

/// The body of a response: these blocks, not copied.
pub(super) fn stream(blocks: Vec<Bytes>) -> StreamingBlob {
    let left = blocks.iter().map(Bytes::len).sum();
    StreamingBlob::new(Blocks { blocks: blocks.into(), left })
}

impl Stream for Blocks {
    type Item = Result<Bytes, StdError>;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let next = self.blocks.pop_front();
        self.left -= next.as_ref().map_or(0, Bytes::len);
        Poll::Ready(next.map(Ok))
    }
}

impl ByteStream for Blocks {
    fn remaining_length(&self) -> RemainingLength {
        RemainingLength::new_exact(self.left)
    }
}
