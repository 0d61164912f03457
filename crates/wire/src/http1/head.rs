//! Response heads: where they end, their contents, and the framing of the body.

use std::mem::MaybeUninit;

use super::{Framing, HttpError};

/// Maximum length of a head in bytes, from the status line to the empty line.
pub const MAX_HEAD_BYTES: usize = 64 * 1024;
/// Maximum number of header lines in a head.
pub const MAX_HEADERS: usize = 64;

/// Storage for the parsed header lines; lives on the caller's stack and is free to create.
pub struct HeaderStorage<'b>([MaybeUninit<httparse::Header<'b>>; MAX_HEADERS]);

impl HeaderStorage<'_> {
    /// Empty storage.
    pub const fn new() -> Self {
        Self([const { MaybeUninit::uninit() }; MAX_HEADERS])
    }
}

impl Default for HeaderStorage<'_> {
    fn default() -> Self {
        Self::new()
    }
}

/// Finds the end of a head that arrives in pieces, examining each byte once.
///
/// The buffer must always start with the head's first byte.
#[derive(Clone, Copy, Debug, Default)]
pub struct HeadScanner {
    scanned: usize,
}

impl HeadScanner {
    /// Length of the head in bytes, including its empty line, or `None` if more bytes are needed.
    ///
    /// # Errors
    /// [`HttpError::HeadTooLong`] if there is no end within [`MAX_HEAD_BYTES`]; [`HttpError::Malformed`] as soon as the
    /// first bytes cannot be a status line, to avoid waiting for the end of something else.
    pub fn find(&mut self, buffer: &[u8]) -> Result<Option<usize>, HttpError> {
        let start = b"HTTP/1.";
        let seen = buffer.len().min(start.len());
        if buffer[..seen] != start[..seen] {
            return Err(HttpError::Malformed("it does not begin with a status line"));
        }
        let limit = buffer.len().min(MAX_HEAD_BYTES);
        let mut at = self.scanned;
        while at < limit {
            let Some(found) = buffer[at..limit].iter().position(|byte| *byte == b'\n') else {
                at = limit;
                break;
            };
            let line_end = at + found;
            let line_start_is_end = matches!(buffer[..line_end], [.., b'\n'] | [.., b'\n', b'\r']);
            at = line_end + 1;
            if line_start_is_end {
                self.scanned = at;
                return Ok(Some(at));
            }
        }
        self.scanned = at.max(self.scanned);
        if buffer.len() >= MAX_HEAD_BYTES {
            return Err(HttpError::HeadTooLong);
        }
        Ok(None)
    }
}

/// A parsed response head, borrowing the buffer it was read into.
#[derive(Debug)]
pub struct ResponseHead<'h, 'b> {
    /// Status code, three digits.
    pub status: u16,
    /// HTTP/1.0 rather than 1.1: connections close by default.
    pub http_1_0: bool,
    headers: &'h [httparse::Header<'b>],
}

impl<'h, 'b> ResponseHead<'h, 'b> {
    /// Parses a head delimited by [`HeadScanner::find`]: `head` ends with its empty line.
    ///
    /// # Errors
    /// [`HttpError::Malformed`] or [`HttpError::TooManyHeaders`].
    pub fn parse(head: &'b [u8], storage: &'h mut HeaderStorage<'b>) -> Result<Self, HttpError> {
        let mut response = httparse::Response::new(&mut []);
        let parsed = httparse::ParserConfig::default().parse_response_with_uninit_headers(
            &mut response,
            head,
            &mut storage.0,
        );
        match parsed {
            Ok(httparse::Status::Complete(len)) if len == head.len() => {}
            Ok(_) => {
                return Err(HttpError::Malformed("its head does not end where its lines do"));
            }
            Err(httparse::Error::TooManyHeaders) => return Err(HttpError::TooManyHeaders),
            Err(httparse::Error::HeaderName) => {
                return Err(HttpError::Malformed("bad header name"));
            }
            Err(httparse::Error::HeaderValue) => {
                return Err(HttpError::Malformed("bad header value"));
            }
            Err(httparse::Error::Version) => return Err(HttpError::Malformed("bad version")),
            Err(httparse::Error::Status) => return Err(HttpError::Malformed("bad status")),
            Err(_) => return Err(HttpError::Malformed("bad line")),
        }
        let status = response.code.ok_or(HttpError::Malformed("no status"))?;
        Ok(Self { status, http_1_0: response.version == Some(0), headers: response.headers })
    }

    /// The first header with this name, ignoring case.
    pub fn header(&self, name: &str) -> Option<&'b [u8]> {
        self.all(name).next()
    }

    /// The first header with this name as text; also `None` if it is not UTF-8.
    pub fn text(&self, name: &str) -> Option<&'b str> {
        self.header(name).and_then(|value| std::str::from_utf8(value).ok())
    }

    fn all(&self, name: &str) -> impl Iterator<Item = &'b [u8]> {
        self.headers
            .iter()
            .filter(move |header| header.name.eq_ignore_ascii_case(name))
            .map(|header| header.value)
    }

    /// The value of Content-Length, if present.
    ///
    /// # Errors
    /// [`HttpError::BadContentLength`] for anything but one decimal number; repeats must be identical.
    pub fn content_length(&self) -> Result<Option<u64>, HttpError> {
        let mut length = None;
        for value in self.all("content-length") {
            let parsed = parse_decimal(value).ok_or(HttpError::BadContentLength)?;
            if length.is_some_and(|known| known != parsed) {
                return Err(HttpError::BadContentLength);
            }
            length = Some(parsed);
        }
        Ok(length)
    }

    /// How the body is framed (RFC 9112 section 6.3). `to_head` tells that the request was a HEAD.
    ///
    /// # Errors
    /// If a length is malformed or ambiguous, or the transfer coding is not chunked.
    pub fn framing(&self, to_head: bool) -> Result<Framing, HttpError> {
        let length = self.content_length()?;
        let mut chunked = false;
        for value in self.all("transfer-encoding") {
            if chunked || !value.trim_ascii().eq_ignore_ascii_case(b"chunked") {
                return Err(HttpError::UnknownTransferCoding);
            }
            chunked = true;
        }
        if chunked && length.is_some() {
            return Err(HttpError::AmbiguousLength);
        }
        if to_head || matches!(self.status, 100..=199 | 204 | 304) {
            return Ok(Framing::Length(0));
        }
        Ok(match (chunked, length) {
            (true, _) => Framing::Chunked,
            (false, Some(length)) => Framing::Length(length),
            (false, None) => Framing::UntilClose,
        })
    }

    /// Whether another request may follow on this connection (RFC 9112 section 9.3).
    pub fn keeps_alive(&self) -> bool {
        let mut keeps = !self.http_1_0;
        for value in self.all("connection") {
            for token in value.split(|byte| *byte == b',') {
                let token = token.trim_ascii();
                if token.eq_ignore_ascii_case(b"close") {
                    return false;
                }
                if token.eq_ignore_ascii_case(b"keep-alive") {
                    keeps = true;
                }
            }
        }
        keeps
    }
}

/// A decimal number of at most 19 digits and nothing else.
pub(crate) fn parse_decimal(text: &[u8]) -> Option<u64> {
    let text = text.trim_ascii();
    if text.is_empty() || text.len() > 19 {
        return None;
    }
    text.iter()
        .try_fold(0u64, |value, byte| byte.is_ascii_digit().then(|| value * 10 + u64::from(byte - b'0')))
}
