//! One request and its response, with retries.

use std::cell::{Cell, RefCell};
use std::time::Duration;

use metrics::ErrorKind;
use reactor::clock;
use wire::s3::{S3Error, parse_error, root};

use super::acknowledge;
use super::answer::{Head, Into, MAX_ERROR_BYTES};
use super::failure::{Again, Failure, Refusal};
use super::lane::Lane;
use super::redirect::{MAX_REDIRECTS, Redirect};
use super::request::{Request, Subject};
use super::retry::{Next, Tries};
use super::session::S3Session;
use crate::lane_connections::TIMED_OUT;
use crate::link::Link;
use crate::{Op, Sink};

/// Maximum length of a document: a thousand keys of a thousand characters each, escaped, and a margin.
const MAX_DOCUMENT_BYTES: usize = 16 << 20;

/// An operation's cost so far and its current step; survives when the operation is dropped at its deadline.
#[derive(Debug)]
pub(super) struct Counts {
    pub(super) rpcs: Cell<u32>,
    pub(super) retries: Cell<u32>,
    doing: Cell<&'static str>,
    /// Why the last attempt failed, if another followed.
    last: RefCell<Option<String>>,
    /// The operation's deadline on the reactor's clock.
    deadline_ns: u64,
}

impl Counts {
    /// The initial state of an operation with deadline `deadline_ns` on the reactor's clock.
    pub(super) fn until(deadline_ns: u64) -> Self {
        Self {
            rpcs: Cell::new(0),
            retries: Cell::new(0),
            doing: Cell::new("nothing sent yet"),
            last: RefCell::new(None),
            deadline_ns,
        }
    }

    /// Its current step, and what delayed it.
    pub(super) fn state(&self) -> String {
        match &*self.last.borrow() {
            Some(last) => format!("{}; the try before failed: {last}", self.doing.get()),
            None => self.doing.get().to_owned(),
        }
    }
}

/// The expected response.
#[derive(Clone, Copy, Debug)]
pub(super) enum Expect {
    /// Success; a body is read and discarded.
    Nothing,
    /// A document, stored in the lane.
    Document,
    /// A range of an object, of exactly this length.
    Payload { wanted: Wanted, ranged: bool },
}

/// A range of an object.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted {
    /// The operation that it is for.
    pub(super) op: Op,
    /// Offset of its first byte in the object.
    pub(super) offset: u64,
    pub(super) len: u64,
}

/// A successful answer.
#[derive(Clone, Debug, Default)]
pub(super) struct Answer {
    /// When the first byte of payload arrived.
    pub(super) first_byte_ns: Option<u64>,
    /// The ETag, from responses to PUT.
    pub(super) etag: Option<String>,
    /// The Date header, seconds since 1970, from responses to HEAD of a bucket.
    pub(super) server_time: Option<u64>,
}

impl S3Session {
    /// Sends a request until it succeeds or the retry rules (see the module's documentation) say to give up.
    pub(super) async fn request(
        &self,
        lane: &mut Lane,
        index: usize,
        request: &Request<'_>,
        expect: Expect,
        counts: &Counts,
    ) -> Result<Answer, Failure> {
        let mut elsewhere: Option<Box<Redirect>> = None;
        let (mut tries, mut redirects) = (Tries::default(), 0);
        loop {
            let asked = match &elsewhere {
                None => *request,
                Some(place) => {
                    Request { subject: Subject::Path(&place.path), query: &place.query, ..*request }
                }
            };
            let mut failure = match self.exchange(lane, index, &asked, expect, counts).await {
                Ok(answer) => return Ok(answer),
                Err(failure) => failure,
            };
            if lane.link.is_none() && !lane.closed_in_order {
                lane.lost = Some(failure.detail.clone());
            }
            if let Some(place) = failure.redirect.take() {
                if redirects == MAX_REDIRECTS {
                    let detail =
                        format!("redirected more than {MAX_REDIRECTS} times, at last to {}", place.path);
                    return Err(Failure { detail, ..failure });
                }
                redirects += 1;
                elsewhere = Some(place);
                continue;
            }
            let left = Duration::from_nanos(counts.deadline_ns.saturating_sub(self.reactor.now()));
            let pause = match tries.next(&failure, left, self.random()) {
                Next::Again(pause) => pause,
                Next::GiveUp if tries.again == 0 => return Err(failure),
                Next::GiveUp => {
                    let detail = format!("{}; given up after {} tries", failure.detail, tries.again + 1);
                    return Err(Failure { detail, ..failure });
                }
            };
            counts.retries.set(counts.retries.get() + 1);
            self.retries.set(self.retries.get() + 1);
            counts.last.replace(Some(failure.detail));
            if !pause.is_zero() {
                counts.doing.set("pausing before another try");
                self.reactor.sleep(pause).await;
            }
        }
    }

    /// Sends a request once. The lane keeps its connection only when this ends in good order.
    async fn exchange(
        &self,
        lane: &mut Lane,
        index: usize,
        request: &Request<'_>,
        expect: Expect,
        counts: &Counts,
    ) -> Result<Answer, Failure> {
        let reused = lane.link.is_some();
        let mut link = match lane.link.take() {
            Some(link) => link,
            None => {
                counts.doing.set("connecting");
                lane.inbox.clear();
                let why = match (std::mem::take(&mut lane.closed_in_order), lane.lost.take()) {
                    (true, _) => None,
                    (false, why) => Some(why.unwrap_or_else(|| TIMED_OUT.to_owned())),
                };
                self.connect(index, why.as_deref()).await?
            }
        };
        counts.doing.set("sending the request");
        counts.rpcs.set(counts.rpcs.get() + 1);
        let sent = self.send(lane, &mut link, request).await?;
        counts.doing.set("no answer yet");
        let discards = matches!(expect, Expect::Payload { .. }) && self.context.sink == Sink::Discard;
        // Bytes to be discarded in the kernel should not be copied with the head, unless there are so few that a second
        // system call costs more.
        let most = match expect {
            Expect::Payload { wanted, .. } if discards && wanted.len > 16 * 1024 => 2048,
            _ => usize::MAX,
        };
        let head = match self.read_head(lane, &mut link, request, most).await {
            Ok(head) if sent.is_ok() || head.status >= 300 => head,
            Ok(_) => return Err(Failure::lost("sending the request", &sent.expect_err("just matched"))),
            Err(failure) => {
                // The first failure is the cause.
                let failure = match sent {
                    Err(error) => Failure::lost("sending the request", &error),
                    Ok(()) => failure,
                };
                let stale = reused && lane.inbox.bytes().is_empty() && failure.again == Again::AfterPause;
                return Err(if stale { Failure { again: Again::AtOnce, ..failure } } else { failure });
            }
        };
        counts.doing.set("the answer is not complete");
        let outcome = self.read_answer(lane, &mut link, request, expect, &head).await;
        let whole = match &outcome {
            Ok(_) => true,
            Err(failure) => failure.1,
        };
        lane.closed_in_order = whole && sent.is_ok() && !head.reusable();
        if whole && sent.is_ok() && head.reusable() {
            if lane.inbox.bytes().is_empty() {
                lane.link = Some(link);
            } else if outcome.is_ok() {
                return Err(Failure::new(ErrorKind::Length, "the server sent more bytes than it announced"));
            }
        }
        outcome.map_err(|(failure, _)| failure)
    }

    /// Reads what follows the head. A failure says whether the response was nevertheless read completely.
    async fn read_answer(
        &self,
        lane: &mut Lane,
        link: &mut Link,
        request: &Request<'_>,
        expect: Expect,
        head: &Head,
    ) -> Result<Answer, (Failure, bool)> {
        let incomplete = |failure| (failure, false);
        if !(200..300).contains(&head.status) {
            let read = self.read_body(lane, link, head, Into::Document { most: MAX_ERROR_BYTES }).await;
            let error = parse_error(&lane.document).unwrap_or_default();
            let location = head.notes.location.as_deref();
            let (endpoint, host) = (&self.shared.config.endpoint, &self.shared.addressing.host);
            let redirect = location
                .filter(|_| matches!(head.status, 307 | 308))
                .and_then(|location| Redirect::on_same_server(location, endpoint, host));
            let failure = Failure { redirect: redirect.map(Box::new), ..refused(head, &error) };
            return Err((failure, read.is_ok()));
        }
        let into = match expect {
            Expect::Nothing => Into::Document { most: MAX_ERROR_BYTES },
            Expect::Document => Into::Document { most: MAX_DOCUMENT_BYTES },
            Expect::Payload { wanted, ranged } => {
                head.check_payload(wanted.offset, wanted.len, ranged).map_err(incomplete)?;
                match self.context.sink {
                    Sink::Buffer => Into::Count { len: wanted.len },
                    Sink::Verify => Into::Verify(wanted),
                    Sink::Discard => Into::Kernel { len: wanted.len },
                }
            }
        };
        let body = self.read_body(lane, link, head, into).await.map_err(incomplete)?;
        if let Expect::Payload { wanted, .. } = expect
            && body.bytes != wanted.len
        {
            let detail = format!("{} bytes came where {} were asked for", body.bytes, wanted.len);
            return Err((Failure::new(ErrorKind::Length, detail), true));
        }
        if let Some(found) = body.corrupt {
            return Err((Failure::new(ErrorKind::Corrupt, format!("not what was written: {found}")), true));
        }
        if !matches!(expect, Expect::Payload { .. }) && !lane.document.is_empty() {
            // Long operations start their response before they know the outcome: an error arrives with status 200.
            // Anything whose root is known not to be an error needs no parsing.
            if matches!(root(&lane.document), None | Some("Error"))
                && let Ok(error) = parse_error(&lane.document)
            {
                return Err((refused(head, &error), true));
            }
        }
        if matches!(expect, Expect::Nothing) {
            acknowledge::check(request, head, &lane.document).map_err(|failure| (failure, true))?;
        }
        let etag = if request.method == "PUT" { head.notes.etag.clone() } else { None };
        Ok(Answer { first_byte_ns: body.first_byte_ns, etag, server_time: head.notes.server_time })
    }
}

/// Interprets an error response of the server.
fn refused(head: &Head, error: &S3Error) -> Failure {
    Failure::refused(&Refusal {
        status: head.status,
        error,
        region: head.notes.region.as_deref(),
        location: head.notes.location.as_deref(),
        retry_after: head.notes.retry_after,
        server_time: head.notes.server_time,
        now: clock::wall(),
    })
}
