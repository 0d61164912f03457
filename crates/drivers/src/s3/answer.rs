//! Parses responses in place: the head, and the body wherever it goes.

use std::time::{Duration, UNIX_EPOCH};

use metrics::ErrorKind;
use reactor::clock;
use wire::http1::{
    BodyDecoder, Framing, HeadScanner, HeaderStorage, ResponseHead, parse_date, parse_retry_after,
};

use super::exchange::Wanted;
use super::failure::{Again, Failure};
use super::lane::Lane;
use super::request::{Request, Subject};
use super::session::S3Session;
use crate::link::Link;

/// Maximum bytes read of an error body; a longer one costs the connection.
pub(super) const MAX_ERROR_BYTES: usize = 64 * 1024;
/// Maximum length of a Location that is followed, in bytes: a key of 1024 encoded characters, and a query.
const MAX_LOCATION_BYTES: usize = 8 * 1024;
/// Maximum interim responses (1xx) before the final one.
const MAX_INTERIM: u32 = 16;
/// When payload is discarded in the kernel, this much is received first, to see when it begins to arrive.
const FIRST_LOOK_BYTES: usize = 2048;
/// Maximum length discarded by one call, in bytes.
const DISCARD_BYTES: u64 = 1 << 30;

/// The relevant fields of a response's head.
#[derive(Clone, Debug)]
pub(super) struct Head {
    pub(super) status: u16,
    framing: Framing,
    keeps_alive: bool,
    /// First and last byte in Content-Range.
    content_range: Option<(u64, u64)>,
    /// Whether it has an ETag.
    pub(super) has_etag: bool,
    pub(super) notes: Notes,
}

/// Headers that are rarely needed.
#[derive(Clone, Debug, Default)]
pub(super) struct Notes {
    pub(super) etag: Option<String>,
    pub(super) region: Option<String>,
    /// The Date header, seconds since 1970.
    pub(super) server_time: Option<u64>,
    /// Target of a redirect.
    pub(super) location: Option<String>,
    /// The wait requested by the server (Retry-After).
    pub(super) retry_after: Option<Duration>,
}

/// Destination of a body.
#[derive(Clone, Copy, Debug)]
pub(super) enum Into {
    /// The lane's document buffer, up to this length.
    Document { most: usize },
    /// Only counted.
    Count { len: u64 },
    /// Compared with the written data.
    Verify(Wanted),
    /// Discarded in the kernel.
    Kernel { len: u64 },
}

/// A body that was read completely.
#[derive(Clone, Debug, Default)]
pub(super) struct Received {
    pub(super) bytes: u64,
    pub(super) first_byte_ns: Option<u64>,
    /// The first difference from the written data, in words.
    pub(super) corrupt: Option<Box<str>>,
}

impl Head {
    /// Extracts the relevant fields; `whole` includes the rare headers.
    fn of(head: &ResponseHead<'_, '_>, request: &Request<'_>) -> Result<Self, Failure> {
        let framing = head.framing(request.method == "HEAD")?;
        let keeps_alive = head.keeps_alive();
        let content_range =
            if head.status == 206 { head.text("content-range").and_then(parse_range) } else { None };
        let mut notes = Notes::default();
        let of_bucket = request.method == "HEAD" && matches!(request.subject, Subject::Bucket);
        if head.status >= 300 || of_bucket || request.query.contains("partNumber") {
            let text = |name| head.text(name).map(|value| value.chars().take(200).collect::<String>());
            notes.etag = text("etag");
            notes.region = text("x-amz-bucket-region");
            notes.server_time = head.text("date").and_then(parse_date);
        }
        if head.status >= 300 {
            // A truncated one would lead elsewhere.
            let whole = |value: &&str| value.len() <= MAX_LOCATION_BYTES;
            notes.location = head.text("location").filter(whole).map(str::to_owned);
            let now = notes.server_time.unwrap_or_else(unix_now);
            notes.retry_after = head
                .text("retry-after")
                .and_then(|text| parse_retry_after(text, now))
                .map(Duration::from_secs);
        }
        let has_etag = head.header("etag").is_some();
        Ok(Self { status: head.status, framing, keeps_alive, content_range, has_etag, notes })
    }

    /// True when another request may follow after the body.
    pub(super) fn reusable(&self) -> bool {
        self.keeps_alive && self.framing != Framing::UntilClose
    }

    /// Checks, before the body is read, that it is what was requested.
    pub(super) fn check_payload(&self, offset: u64, len: u64, ranged: bool) -> Result<(), Failure> {
        let wrong = |detail: String| Err(Failure::new(ErrorKind::Length, detail));
        if let Framing::Length(announced) = self.framing
            && announced != len
        {
            return wrong(format!("the answer is {announced} bytes long where {len} were asked for"));
        }
        match (self.status, ranged, self.content_range) {
            (200, false, _) | (206, true, None) => Ok(()),
            // The whole object, which is exactly what was requested.
            (200, true, _) if offset == 0 && self.framing == Framing::Length(len) => Ok(()),
            (206, true, Some(range)) if range == (offset, offset + len - 1) => Ok(()),
            (206, true, Some((first, last))) => wrong(format!(
                "bytes {first} to {last} came where {offset} to {} were asked for",
                offset + len - 1
            )),
            (status, ..) => {
                Err(Failure::new(ErrorKind::Protocol, format!("HTTP status {status} in answer to a GET")))
            }
        }
    }
}

/// Our clock, in seconds since 1970.
fn unix_now() -> u64 {
    clock::wall().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// Parses the first and last byte of `bytes 0-9/100`.
fn parse_range(text: &str) -> Option<(u64, u64)> {
    let (range, _) = text.trim().strip_prefix("bytes ")?.split_once('/')?;
    let (first, last) = range.split_once('-')?;
    Some((first.trim().parse().ok()?, last.trim().parse().ok()?))
}

impl S3Session {
    /// Reads the head of the response, skipping interim responses, receiving at most `most` bytes at a time.
    pub(super) async fn read_head(
        &self,
        lane: &mut Lane,
        link: &mut Link,
        request: &Request<'_>,
        most: usize,
    ) -> Result<Head, Failure> {
        let mut scanner = HeadScanner::default();
        let mut interim = 0;
        loop {
            if let Some(len) = scanner.find(lane.inbox.bytes())? {
                let mut storage = HeaderStorage::new();
                let parsed = ResponseHead::parse(&lane.inbox.bytes()[..len], &mut storage)?;
                if matches!(parsed.status, 200..=599) {
                    let head = Head::of(&parsed, request)?;
                    lane.inbox.consume(len);
                    return Ok(head);
                }
                // We never request 100 Continue or a protocol switch; 100 may arrive nevertheless.
                let status = parsed.status;
                if !matches!(status, 100 | 102..=199) || interim == MAX_INTERIM {
                    return Err(Failure::new(
                        ErrorKind::Protocol,
                        format!("unexpected HTTP status {status}"),
                    ));
                }
                interim += 1;
                lane.inbox.consume(len);
                scanner = HeadScanner::default();
                continue;
            }
            let received = lane.inbox.fill(link, most, 0).await;
            if received.map_err(|error| Failure::lost("before the answer was complete", &error))? == 0 {
                let detail = if lane.inbox.bytes().is_empty() {
                    "the server closed the connection without an answer"
                } else {
                    "the server closed the connection inside the answer's head"
                };
                return Err(Failure {
                    again: Again::AfterPause,
                    ..Failure::new(ErrorKind::ConnectionLost, detail)
                });
            }
        }
    }

    /// Reads a body to its end.
    pub(super) async fn read_body(
        &self,
        lane: &mut Lane,
        link: &mut Link,
        head: &Head,
        into: Into,
    ) -> Result<Received, Failure> {
        let mut decoder = BodyDecoder::new(head.framing);
        let mut received = Received::default();
        lane.document.clear();
        let lost = |error: &_| Failure::lost("inside the answer's body", error);
        while !decoder.is_done() {
            if !lane.inbox.bytes().is_empty() {
                let input = lane.inbox.bytes();
                let piece = decoder.next(input)?;
                let data = &input[piece.data];
                if !data.is_empty() {
                    received.first_byte_ns.get_or_insert_with(|| self.reactor.now());
                    self.take(into, &mut received, data, &mut lane.document)?;
                    received.bytes += data.len() as u64;
                }
                lane.inbox.consume(piece.consumed);
                continue;
            }
            let mut most = usize::MAX;
            if let Into::Kernel { len } = into {
                let ahead = decoder.ahead().min(DISCARD_BYTES);
                if received.bytes + ahead > len {
                    return Err(too_long(len));
                }
                if received.first_byte_ns.is_none() {
                    most = FIRST_LOOK_BYTES;
                } else if let (true, Link::Plain(stream)) = (ahead > 0, &*link) {
                    let dropped = stream.recv_discard(ahead as usize).await.map_err(|error| lost(&error))?;
                    decoder.skip(dropped as u64);
                    received.bytes += dropped as u64;
                    if (dropped as u64) < ahead {
                        decoder.end()?;
                    }
                    continue;
                }
            }
            // The first bytes are taken as they arrive, to learn when that is.
            let due =
                if received.bytes == 0 { 0 } else { usize::try_from(decoder.ahead()).unwrap_or(usize::MAX) };
            if lane.inbox.fill(link, most, due).await.map_err(|error| lost(&error))? == 0 {
                decoder.end()?;
            }
        }
        if let Into::Verify(Wanted { op, len, .. }) = into
            && self.context.payload.whole_blocks()
            && received.bytes == len
        {
            received.corrupt = self.context.payload.verify_op(&op, 0, &lane.document).err();
        }
        Ok(received)
    }

    /// Processes the next part of a body. Damaged data is read to the end, so that the connection stays usable.
    fn take(
        &self,
        into: Into,
        received: &mut Received,
        data: &[u8],
        document: &mut Vec<u8>,
    ) -> Result<(), Failure> {
        let at = received.bytes;
        let end = at + data.len() as u64;
        match into {
            Into::Document { most } if end > most as u64 => Err(too_long(most as u64)),
            Into::Document { .. } => {
                document.extend_from_slice(data);
                Ok(())
            }
            Into::Count { len } | Into::Kernel { len } | Into::Verify(Wanted { len, .. }) if end > len => {
                Err(too_long(len))
            }
            Into::Count { .. } | Into::Kernel { .. } => Ok(()),
            // It is verified once all of it has arrived.
            Into::Verify(_) if self.context.payload.whole_blocks() => {
                document.extend_from_slice(data);
                Ok(())
            }
            Into::Verify(Wanted { op, .. }) => {
                if received.corrupt.is_none() {
                    received.corrupt = self.context.payload.verify_op(&op, at, data).err();
                }
                Ok(())
            }
        }
    }
}

fn too_long(most: u64) -> Failure {
    Failure::new(
        ErrorKind::Length,
        format!("the answer's body is longer than the {most} bytes that were asked for or are allowed"),
    )
}
