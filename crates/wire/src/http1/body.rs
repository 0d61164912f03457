//! Response bodies: with Content-Length, chunked with trailers, or up to the end of the connection.

use std::ops::Range;

use super::HttpError;

/// Maximum length of a chunk's size line, extensions included.
pub const MAX_CHUNK_LINE_BYTES: usize = 1024;
/// Maximum length of all trailer lines together.
pub const MAX_TRAILER_BYTES: usize = 8 * 1024;

/// How the end of a body is determined (RFC 9112 section 6.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// This many bytes; also 0 for responses without a body.
    Length(u64),
    /// Chunks, each preceded by its size (RFC 9112 section 7.1).
    Chunked,
    /// Until the server closes the connection.
    UntilClose,
}

/// One step of [`BodyDecoder::next`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecodedPiece {
    /// Input bytes that were processed.
    pub consumed: usize,
    /// Range of the payload in the input; may be empty.
    pub data: Range<usize>,
}

/// Separates payload from framing, in place, however the input is split.
#[derive(Clone, Debug)]
pub struct BodyDecoder {
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Length { left: u64 },
    UntilClose,
    Size { value: u64, line: usize, digits: u8 },
    Extension { value: u64, line: usize },
    SizeEnd { value: u64 },
    Data { left: u64 },
    DataEnd,
    DataEndLf,
    Trailer { total: usize, line: usize },
    TrailerLf { total: usize, line: usize },
    Done,
}

impl BodyDecoder {
    /// Starts a body.
    pub const fn new(framing: Framing) -> Self {
        let state = match framing {
            Framing::Length(0) => State::Done,
            Framing::Length(left) => State::Length { left },
            Framing::Chunked => State::Size { value: 0, line: 0, digits: 0 },
            Framing::UntilClose => State::UntilClose,
        };
        Self { state }
    }

    /// True once the last byte of the body, framing included, has been consumed.
    pub const fn is_done(&self) -> bool {
        matches!(self.state, State::Done)
    }

    /// Number of following bytes that are certainly payload: they may be received or dropped unseen.
    pub const fn ahead(&self) -> u64 {
        match self.state {
            State::Length { left } | State::Data { left } => left,
            _ => 0,
        }
    }

    /// Records that `count` bytes of payload, at most [`Self::ahead`], bypassed the decoder.
    pub const fn skip(&mut self, count: u64) {
        match self.state {
            State::Length { left } if count < left => self.state = State::Length { left: left - count },
            State::Length { .. } => self.state = State::Done,
            State::Data { left } if count < left => self.state = State::Data { left: left - count },
            State::Data { .. } => self.state = State::DataEnd,
            _ => {}
        }
    }

    /// Processes the start of `input`, up to the end of the next stretch of payload. Call it again with the rest until
    /// everything is consumed or [`Self::is_done`] is true.
    ///
    /// # Errors
    /// [`HttpError::BadChunk`]; the connection is unusable afterwards.
    pub fn next(&mut self, input: &[u8]) -> Result<DecodedPiece, HttpError> {
        let mut at = 0;
        while at < input.len() {
            match self.state {
                State::Done => break,
                State::UntilClose => {
                    return Ok(DecodedPiece { consumed: input.len(), data: at..input.len() });
                }
                State::Length { left } | State::Data { left } => {
                    let take = left.min((input.len() - at) as u64);
                    self.skip(take);
                    let end = at + take as usize;
                    return Ok(DecodedPiece { consumed: end, data: at..end });
                }
                _ => {
                    self.state = framing_byte(self.state, input[at])?;
                    at += 1;
                }
            }
        }
        Ok(DecodedPiece { consumed: at, data: at..at })
    }

    /// Signals the end of the connection, which is valid only where it also ends the body.
    ///
    /// # Errors
    /// [`HttpError::BodyTruncated`].
    pub const fn end(&mut self) -> Result<(), HttpError> {
        match self.state {
            State::Done => Ok(()),
            State::UntilClose => {
                self.state = State::Done;
                Ok(())
            }
            State::Length { left } | State::Data { left } => Err(HttpError::BodyTruncated { missing: left }),
            _ => Err(HttpError::BodyTruncated { missing: 1 }),
        }
    }
}

/// One byte of a chunked body that is not payload.
fn framing_byte(state: State, byte: u8) -> Result<State, HttpError> {
    Ok(match state {
        State::Size { value, line, digits } => match (byte, hex(byte)) {
            (_, Some(_)) if digits == 16 => {
                return Err(HttpError::BadChunk("its size has too many digits"));
            }
            (_, Some(digit)) => {
                State::Size { value: value << 4 | u64::from(digit), line: line + 1, digits: digits + 1 }
            }
            (b'\r', None) if digits > 0 => State::SizeEnd { value },
            (b';' | b' ' | b'\t', None) if digits > 0 => State::Extension { value, line: line + 1 },
            _ => return Err(HttpError::BadChunk("its size is not a hexadecimal number")),
        },
        State::Extension { line, .. } if line >= MAX_CHUNK_LINE_BYTES => {
            return Err(HttpError::BadChunk("its size line is too long"));
        }
        State::Extension { value, line } => match byte {
            b'\r' => State::SizeEnd { value },
            b'\n' => {
                return Err(HttpError::BadChunk("its size line ends without a carriage return"));
            }
            _ => State::Extension { value, line: line + 1 },
        },
        State::SizeEnd { value } => match (byte, value) {
            (b'\n', 0) => State::Trailer { total: 0, line: 0 },
            (b'\n', left) => State::Data { left },
            _ => return Err(HttpError::BadChunk("its size line does not end")),
        },
        State::DataEnd if byte == b'\r' => State::DataEndLf,
        State::DataEndLf if byte == b'\n' => State::Size { value: 0, line: 0, digits: 0 },
        State::DataEnd | State::DataEndLf => {
            return Err(HttpError::BadChunk("its data are not followed by a line end"));
        }
        State::Trailer { total, .. } if total >= MAX_TRAILER_BYTES => {
            return Err(HttpError::BadChunk("its trailers are too long"));
        }
        State::Trailer { total, line } => match byte {
            b'\r' => State::TrailerLf { total: total + 1, line },
            _ => State::Trailer { total: total + 1, line: line + 1 },
        },
        State::TrailerLf { total, line } => match (byte, line) {
            (b'\n', 0) => State::Done,
            (b'\n', _) => State::Trailer { total: total + 1, line: 0 },
            _ => return Err(HttpError::BadChunk("a trailer line does not end")),
        },
        State::Length { .. } | State::Data { .. } | State::UntilClose | State::Done => state,
    })
}

const fn hex(byte: u8) -> Option<u8> {
    match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        b'A'..=b'F' => Some(byte - b'A' + 10),
        _ => None,
    }
}
