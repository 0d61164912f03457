//! Applies faults to requests: latency, bandwidth, errors, resets, stalls.
//!
//! Without faults a request goes straight to the library. With them, the head of the response is due at the request's
//! arrival, plus the time of its payload on the limited path, plus the latency; our own processing time is hidden in
//! that. The payload of the response follows piece by piece, each when it is due.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes};
use hyper::body::{Body, Frame, Incoming, SizeHint};
use hyper::{Request, Response, StatusCode, header};
use reactor::clock;
use s3s::StdError;
use s3s::service::S3Service;

use super::flow::{Direction, Flow};
use super::kept::Kept;
use crate::alarm::Alarm;
use crate::shape::{Fate, TrafficShape};

/// How far a body may lag behind its schedule and still catch up: longer than stalls of a busy machine, shorter than
/// what a measurement would take for a faster path.
const CATCH_UP_NS: u64 = 50_000_000;

/// Shared by the connections of one address.
#[derive(Clone)]
pub(super) struct Shaper {
    pub(super) service: S3Service,
    pub(super) shape: Arc<TrafficShape>,
    pub(super) alarm: Alarm,
}

/// Set when the connection is to end with a reset.
pub(super) type ResetFlag = Arc<AtomicBool>;

impl Shaper {
    /// Answers one request. An error ends the connection.
    pub(super) async fn call(
        &self,
        request: Request<Incoming>,
        reset: ResetFlag,
    ) -> io::Result<Response<Answer>> {
        let (head, body) = request.into_parts();
        if self.shape.is_plain() {
            if body.is_end_stream() {
                return self.serve(Request::from_parts(head, s3s::Body::empty())).await;
            }
            let (body, rest) = Kept::new(body, &head.headers);
            let answer = self.serve(Request::from_parts(head, s3s::Body::http_body_unsync(body))).await?;
            if !answer.status().is_success() {
                rest.drain().await;
            }
            return Ok(answer);
        }
        let arrived = clock::now_ns();
        let verdict = self.shape.judge();
        if verdict.fate == Fate::Stall {
            std::future::pending::<()>().await;
        }
        let is_get = head.method == hyper::Method::GET;
        let (body, rest) = Kept::new(body, &head.headers);
        let through = Arc::new(AtomicU64::new(arrived));
        let expected = body.size_hint().lower();
        let body = Inbound {
            inner: body,
            flow: Flow::new(Arc::clone(&self.shape), Direction::In, expected, arrived),
            alarm: self.alarm.clone(),
            through: Arc::clone(&through),
            waiting: None,
        };
        let served = verdict.fate == Fate::Serve || (verdict.fate == Fate::Reset && is_get);
        let response = if served {
            Some(self.serve(Request::from_parts(head, s3s::Body::http_body_unsync(body))).await?)
        } else {
            None
        };
        if response.as_ref().is_none_or(|response| !response.status().is_success()) {
            rest.drain().await;
        }
        let due = through.load(Ordering::Relaxed).saturating_add(verdict.latency_ns);
        self.alarm.sleep_until(due).await;
        match (verdict.fate, response) {
            (Fate::Error, _) | (_, None) if verdict.fate != Fate::Reset => Ok(slow_down()),
            (_, Some(response)) => {
                let cut_after =
                    (verdict.fate == Fate::Reset).then(|| response.body().size_hint().lower() / 2);
                let shaped = |answer: Answer| {
                    let Answer::Plain(inner) = answer else { return answer };
                    let expected = inner.size_hint().lower();
                    Answer::Shaped(Box::new(Outbound {
                        inner,
                        piece: None,
                        waiting: None,
                        flow: Flow::new(Arc::clone(&self.shape), Direction::Out, expected, due),
                        alarm: self.alarm.clone(),
                        cut_after,
                        reset,
                    }))
                };
                Ok(response.map(shaped))
            }
            _ => {
                reset.store(true, Ordering::Relaxed);
                Err(io::ErrorKind::ConnectionReset.into())
            }
        }
    }

    /// Lets the library answer.
    async fn serve(&self, request: Request<s3s::Body>) -> io::Result<Response<Answer>> {
        let response = self.service.call(request).await.map_err(io::Error::other)?;
        Ok(response.map(Answer::Plain))
    }
}

/// S3's temporary error.
fn slow_down() -> Response<Answer> {
    let text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Error><Code>SlowDown</Code><Message>Reduce your request rate.</Message></Error>";
    let mut response = Response::new(Answer::Plain(s3s::Body::from(Bytes::from_static(text.as_bytes()))));
    *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
    response.headers_mut().insert(header::CONTENT_TYPE, header::HeaderValue::from_static("application/xml"));
    response
}

type Sleep = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A request's body at the rate of the path.
struct Inbound {
    inner: Kept,
    flow: Flow,
    alarm: Alarm,
    /// When everything received so far has passed the path.
    through: Arc<AtomicU64>,
    waiting: Option<(Sleep, Frame<Bytes>)>,
}

impl Body for Inbound {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let this = self.get_mut();
        if let Some((sleep, _)) = &mut this.waiting {
            ready!(sleep.as_mut().poll(context));
            return Poll::Ready(this.waiting.take().map(|(_, frame)| Ok(frame)));
        }
        let frame = match ready!(Pin::new(&mut this.inner).poll_frame(context)) {
            Some(Ok(frame)) => frame,
            other => return Poll::Ready(other),
        };
        let Some(data) = frame.data_ref() else { return Poll::Ready(Some(Ok(frame))) };
        let now = clock::now_ns();
        let due = this.flow.due(data.len() as u64, now.saturating_sub(CATCH_UP_NS));
        this.through.fetch_max(due, Ordering::Relaxed);
        if due <= now {
            return Poll::Ready(Some(Ok(frame)));
        }
        this.waiting = Some((Box::pin(this.alarm.sleep_until(due)), frame));
        Pin::new(this).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.waiting.is_none() && self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

/// The body of a response.
pub(super) enum Answer {
    /// Unchanged.
    Plain(s3s::Body),
    /// At the rate of the path, possibly truncated.
    Shaped(Box<Outbound>),
}

/// A response body at the rate of the path.
pub(super) struct Outbound {
    inner: s3s::Body,
    /// The rest of a block of the inner body.
    piece: Option<Bytes>,
    waiting: Option<(Sleep, Bytes)>,
    flow: Flow,
    alarm: Alarm,
    /// Bytes after which the connection is reset.
    cut_after: Option<u64>,
    reset: ResetFlag,
}

impl Outbound {
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, StdError>>> {
        loop {
            if let Some((sleep, _)) = &mut self.waiting {
                ready!(sleep.as_mut().poll(context));
                return Poll::Ready(self.waiting.take().map(|(_, piece)| Ok(Frame::data(piece))));
            }
            if self.cut_after == Some(0) {
                self.reset.store(true, Ordering::Relaxed);
                return Poll::Ready(Some(Err("the connection is reset on purpose".into())));
            }
            let Some(mut block) = self.piece.take().filter(|block| block.has_remaining()) else {
                match ready!(Pin::new(&mut self.inner).poll_frame(context)) {
                    None => return Poll::Ready(None),
                    Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                    Some(Ok(frame)) => self.piece = frame.into_data().ok(),
                }
                continue;
            };
            let mut length = block.len().min(self.flow.piece_bytes());
            if let Some(left) = &mut self.cut_after {
                length = length.min(usize::try_from(*left).unwrap_or(usize::MAX));
                *left -= length as u64;
            }
            let now = block.split_to(length);
            self.piece = Some(block);
            let due = self.flow.due(length as u64, clock::now_ns().saturating_sub(CATCH_UP_NS));
            self.waiting = Some((Box::pin(self.alarm.sleep_until(due)), now));
        }
    }
}

impl Body for Answer {
    type Data = Bytes;
    type Error = StdError;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, StdError>>> {
        match self.get_mut() {
            Self::Plain(body) => Pin::new(body).poll_frame(context),
            Self::Shaped(body) => body.poll(context),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Plain(body) => body.is_end_stream(),
            Self::Shaped(body) => {
                let rest = body.piece.as_ref().is_some_and(Buf::has_remaining);
                body.waiting.is_none() && !rest && body.cut_after.is_none() && body.inner.is_end_stream()
            }
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Plain(body) => body.size_hint(),
            // Called only before the first piece: nothing has been taken from the inner body then.
            Self::Shaped(body) => body.inner.size_hint(),
        }
    }
}

/// Whether the connection is to end with a reset.
pub(super) fn is_on_purpose(flag: &ResetFlag) -> bool {
    flag.load(Ordering::Relaxed)
}
