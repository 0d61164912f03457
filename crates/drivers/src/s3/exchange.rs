//! One request and its answer, and the rule by which a request is sent again.

use std::cell::Cell;
use std::io;

use metrics::ErrorKind;
use reactor::{Buffer, clock};
use wire::checksum::Sha256;
use wire::s3::parse_error;

use super::answer::{Head, Into, MAX_ERROR_BYTES};
use super::config::PayloadSigning;
use super::failure::{Again, Failure, Refusal};
use super::lane::Lane;
use super::link::Link;
use super::request::{Body, Framed, LEAD_BYTES, PIECE_BYTES, Request, SEND_BYTES, write_head};
use super::session::S3Session;
use crate::{Op, Sink};

/// A request is sent again at most this often.
const MAX_RETRIES: u32 = 3;
/// A document may be this long: a thousand keys of a thousand characters each, escaped, and then some.
const MAX_DOCUMENT_BYTES: usize = 16 << 20;

/// What an operation has cost so far, and what it is at; survives the operation's being dropped at its deadline.
#[derive(Debug)]
pub(super) struct Counts {
    pub(super) rpcs: Cell<u32>,
    pub(super) retries: Cell<u32>,
    pub(super) doing: Cell<&'static str>,
}

impl Default for Counts {
    fn default() -> Self {
        Self { rpcs: Cell::new(0), retries: Cell::new(0), doing: Cell::new("nothing sent yet") }
    }
}

/// What answer is wanted.
#[derive(Clone, Copy, Debug)]
pub(super) enum Expect {
    /// Success; a body is read and dropped.
    Nothing,
    /// A document, which is left in the lane.
    Document,
    /// A stretch of an object, of exactly this length.
    Payload { wanted: Wanted, ranged: bool },
}

/// A stretch of an object.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted {
    /// The operation that it is for.
    pub(super) op: Op,
    /// First byte in the object.
    pub(super) offset: u64,
    pub(super) len: u64,
}

/// A successful answer.
#[derive(Clone, Debug, Default)]
pub(super) struct Answer {
    /// When the first byte of payload arrived.
    pub(super) first_byte_ns: Option<u64>,
    /// The ETag, of answers to PUT.
    pub(super) etag: Option<String>,
}

impl S3Session {
    /// Sends a request until it is answered or the rule (see the module's documentation) says to give up.
    pub(super) async fn request(
        &self,
        lane: &mut Lane,
        index: usize,
        request: &Request<'_>,
        expect: Expect,
        counts: &Counts,
    ) -> Result<Answer, Failure> {
        let mut retries = 0;
        loop {
            let failure = match self.exchange(lane, index, request, expect, counts).await {
                Ok(answer) => return Ok(answer),
                Err(failure) => failure,
            };
            if failure.again == Again::Never {
                return Err(failure);
            }
            if retries == MAX_RETRIES {
                let detail = format!("{}; given up after {} tries", failure.detail, retries + 1);
                return Err(Failure { detail, ..failure });
            }
            retries += 1;
            counts.retries.set(counts.retries.get() + 1);
            self.retries.set(self.retries.get() + 1);
            if failure.again == Again::AfterPause {
                counts.doing.set("pausing before another try");
                self.pause(retries).await;
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
                self.connect(index).await?
            }
        };
        counts.doing.set("sending the request");
        counts.rpcs.set(counts.rpcs.get() + 1);
        let sent = self.send(lane, &mut link, request).await?;
        counts.doing.set("no answer yet");
        let discards = matches!(expect, Expect::Payload { .. }) && self.context.sink == Sink::Discard;
        // What is to be dropped in the kernel should not be copied with the head, unless it is so short
        // that a second system call costs more.
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
        if whole && sent.is_ok() && head.reusable() {
            if lane.inbox.bytes().is_empty() {
                lane.link = Some(link);
            } else if outcome.is_ok() {
                return Err(Failure::new(ErrorKind::Length, "the server sent more bytes than it announced"));
            }
        }
        outcome.map_err(|(failure, _)| failure)
    }

    /// Reads what follows the head. A failure says whether the answer was read to its end all the same.
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
            let failure = Failure::refused(&Refusal {
                status: head.status,
                error: &error,
                region: head.notes.region.as_deref(),
                server_time: head.notes.server_time,
                now: clock::wall(),
            });
            return Err((failure, read.is_ok()));
        }
        let into = match expect {
            Expect::Nothing => Into::Nothing,
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
        let etag = if request.method == "PUT" { head.notes.etag.clone() } else { None };
        Ok(Answer { first_byte_ns: body.first_byte_ns, etag })
    }

    /// Sends head and body; the first stretch of the body goes with the head. An I/O error is returned inside:
    /// the server may have said why it closed the connection.
    async fn send(
        &self,
        lane: &mut Lane,
        link: &mut Link,
        request: &Request<'_>,
    ) -> Result<io::Result<()>, Failure> {
        let shared = &*self.shared;
        let signing = shared.config.payload_signing;
        let payload = &self.context.payload;
        let body = &request.body;
        let len = body.len();
        let mut buffer = lane.send.take().unwrap_or_else(|| Buffer::new(SEND_BYTES));
        let mut filled = false;
        let signed = matches!(body, Body::Bytes(_))
            || (matches!(body, Body::Payload { .. }) && signing == PayloadSigning::Signed);
        let digest = if signed {
            filled = len <= PIECE_BYTES as u64;
            Some(self.digest(body, &mut buffer[LEAD_BYTES..LEAD_BYTES + PIECE_BYTES]).await)
        } else {
            None
        };
        let mut framed = Framed::plan(body, signing);
        self.sign_now(|signer| {
            write_head(
                request,
                &shared.addressing,
                &shared.config,
                signer,
                &framed,
                digest.as_ref(),
                &mut lane.heads,
            )
        })?;

        let mut at = 0;
        let mut head = Some(lane.heads.head.as_slice());
        loop {
            let piece = (len - at).min(PIECE_BYTES as u64) as usize;
            let (mut start, mut end) = (LEAD_BYTES, LEAD_BYTES + piece);
            if !filled {
                body.fill(payload, at, &mut buffer[start..end]);
            }
            at += piece as u64;
            if let Some(sum) = &mut framed.trailer {
                sum.update(&buffer[start..end]);
                if piece > 0 {
                    put_before(&mut buffer, &mut start, format!("{piece:x}\r\n").as_bytes());
                    put_after(&mut buffer, &mut end, b"\r\n");
                }
                if at == len {
                    let name = signing.trailer().expect("a sum means a trailer").header();
                    put_after(
                        &mut buffer,
                        &mut end,
                        format!("0\r\n{name}:{}\r\n\r\n", sum.base64()).as_bytes(),
                    );
                }
            }
            if let Some(head) = head.take() {
                put_before(&mut buffer, &mut start, head);
            }
            let result;
            (result, buffer) = link.send_all(buffer, start..end).await;
            if at == len || result.is_err() {
                lane.send = Some(buffer);
                return Ok(result);
            }
        }
    }

    /// The SHA-256 of a body; lets others run between its pieces.
    async fn digest(&self, body: &Body<'_>, scratch: &mut [u8]) -> [u8; 64] {
        let mut digest = Sha256::new();
        let mut at = 0;
        while at < body.len() {
            if at > 0 {
                self.reactor.yield_now().await;
            }
            let piece = (body.len() - at).min(scratch.len() as u64) as usize;
            body.fill(&self.context.payload, at, &mut scratch[..piece]);
            digest.update(&scratch[..piece]);
            at += piece as u64;
        }
        digest.hex()
    }
}

fn put_before(buffer: &mut Buffer, start: &mut usize, bytes: &[u8]) {
    *start -= bytes.len();
    buffer[*start..][..bytes.len()].copy_from_slice(bytes);
}

fn put_after(buffer: &mut Buffer, end: &mut usize, bytes: &[u8]) {
    buffer[*end..][..bytes.len()].copy_from_slice(bytes);
    *end += bytes.len();
}
