//! A request's body that can still be read after the library has dropped it.
//!
//! A request may be rejected before its body was read: the key is wrong, the array is full. Responding and closing the
//! connection at once would reset it, and the client, still sending, would never see the response. So the rest of the
//! body is read and discarded first.

use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use hyper::{HeaderMap, header};

/// Maximum bytes read to deliver the response.
const MAX_DRAINED_BYTES: usize = 256 << 20;

/// A body with two owners: the library, and [`Rest`].
#[derive(Clone)]
pub(super) struct Kept {
    inner: Arc<Mutex<Incoming>>,
    touched: Arc<AtomicBool>,
}

/// The other end of a [`Kept`]: what the library has not read.
pub(super) struct Rest {
    kept: Kept,
    expects_continue: bool,
}

impl Kept {
    /// Splits a body into both.
    pub(super) fn new(inner: Incoming, headers: &HeaderMap) -> (Self, Rest) {
        let kept = Self { inner: Arc::new(Mutex::new(inner)), touched: Arc::default() };
        let rest = Rest { kept: kept.clone(), expects_continue: headers.contains_key(header::EXPECT) };
        (kept, rest)
    }
}

impl Rest {
    /// Reads and discards the rest, unless the client waits for permission to send the body.
    pub(super) async fn drain(mut self) {
        if self.expects_continue && !self.kept.touched.load(Ordering::Relaxed) {
            return;
        }
        let mut drained = 0;
        while let Some(Ok(frame)) = self.kept.frame().await {
            drained += frame.data_ref().map_or(0, Bytes::len);
            if drained > MAX_DRAINED_BYTES {
                return;
            }
        }
    }
}

impl Body for Kept {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        self.touched.store(true, Ordering::Relaxed);
        Pin::new(&mut *self.inner.lock().unwrap_or_else(PoisonError::into_inner)).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner).is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner).size_hint()
    }
}
