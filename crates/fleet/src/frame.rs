//! Frames: the framing of messages in a byte stream.
//!
//! A header of 16 bytes, little-endian: length of the body (u32), CRC-32C of the body (u32), number of the frame in its
//! direction from 0 (u64). The body follows. A claimed length alone allocates nothing.

use std::io::{BufReader, ErrorKind, Read};

use crc_fast::{CrcAlgorithm, checksum};

/// Maximum length of a body, in bytes.
pub const LONGEST: usize = 16 << 20;
/// Length of a header, in bytes.
pub const HEADER: usize = 16;
/// Bytes allocated at a time for a body.
const STEP: usize = 64 << 10;
/// Bytes read ahead.
const AHEAD: usize = 8 << 10;
/// Maximum capacity kept for the next body.
const KEPT: usize = 256 << 10;

/// An invalid stream of frames.
#[derive(Debug, thiserror::Error)]
pub enum FrameError {
    /// The stream ended between two frames.
    #[error("the stream ended")]
    Ended,
    /// The stream ended inside a frame.
    #[error("the stream ended inside frame {sequence}, after {read} of {wanted} bytes")]
    Truncated {
        /// The frame's number.
        sequence: u64,
        /// Bytes of it received, header included.
        read: usize,
        /// Its expected length in bytes, as far as known.
        wanted: usize,
    },
    /// The header claims more than the maximum.
    #[error("frame {sequence} claims {length} bytes, more than {LONGEST}")]
    TooLong {
        /// The expected number.
        sequence: u64,
        /// The claimed length.
        length: u64,
    },
    /// The number is out of sequence.
    #[error("frame {expected} was expected, and {got} came")]
    OutOfSequence {
        /// The next number.
        expected: u64,
        /// The number received.
        got: u64,
    },
    /// The body's checksum is wrong.
    #[error("frame {sequence} has the checksum {got:08x}, not {claimed:08x}")]
    Checksum {
        /// The frame's number.
        sequence: u64,
        /// Checksum in the header.
        claimed: u32,
        /// Checksum of the body.
        got: u32,
    },
    /// The stream cannot be read.
    #[error("{0}")]
    Io(#[from] std::io::Error),
}

/// The checksum of bodies.
pub(crate) fn crc(bytes: &[u8]) -> u32 {
    checksum(CrcAlgorithm::Crc32Iscsi, bytes) as u32
}

/// What both sides count in each direction: the number of frames, and a checksum over their headers, which contain
/// those of the bodies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Frames so far; the number of the next.
    pub frames: u64,
    /// Over all headers so far.
    pub checksum: u32,
}

impl Tally {
    fn add(&mut self, header: &[u8; HEADER]) {
        self.frames += 1;
        let mut both = [0; 4 + HEADER];
        both[..4].copy_from_slice(&self.checksum.to_le_bytes());
        both[4..].copy_from_slice(header);
        self.checksum = crc(&both);
    }

    /// Wraps a body in the direction's next frame. The body must not be longer than [`LONGEST`].
    pub fn frame(&mut self, body: &[u8]) -> Vec<u8> {
        debug_assert!(body.len() <= LONGEST, "the sender looks at the length");
        let mut header = [0; HEADER];
        header[..4].copy_from_slice(&(body.len() as u32).to_le_bytes());
        header[4..8].copy_from_slice(&crc(body).to_le_bytes());
        header[8..].copy_from_slice(&self.frames.to_le_bytes());
        self.add(&header);
        [&header[..], body].concat()
    }
}

/// Reads frames from a stream.
#[derive(Debug)]
pub struct FrameReader<R> {
    input: BufReader<R>,
    tally: Tally,
    body: Vec<u8>,
    /// The first bytes of the stream, shown to people when it does not come from an agent.
    beginning: Vec<u8>,
}

impl<R: Read> FrameReader<R> {
    /// Starts with frame 0.
    pub fn new(input: R) -> Self {
        FrameReader {
            input: BufReader::with_capacity(AHEAD, input),
            tally: Tally::default(),
            body: Vec::new(),
            beginning: Vec::new(),
        }
    }

    /// What was received so far.
    pub fn tally(&self) -> Tally {
        self.tally
    }

    /// The first bytes of the stream, as far as received.
    pub fn beginning(&self) -> &[u8] {
        &self.beginning
    }

    /// The next body.
    ///
    /// # Errors
    /// The stream ends, breaks, or is invalid. Nothing more can be read then.
    pub fn read_frame(&mut self) -> Result<&mut [u8], FrameError> {
        let sequence = self.tally.frames;
        let mut header = [0; HEADER];
        let mut read = 0;
        while read < HEADER {
            match self.input.read(&mut header[read..]) {
                Ok(0) if read == 0 => return Err(FrameError::Ended),
                Ok(0) => return Err(FrameError::Truncated { sequence, read, wanted: HEADER }),
                Ok(count) => read += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
            if sequence == 0 {
                let more = self.input.buffer();
                self.beginning = [&header[..read], &more[..more.len().min(200)]].concat();
            }
        }
        let word =
            |at: usize| u32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
        let (length, claimed) = (word(0) as usize, word(4));
        if length > LONGEST {
            return Err(FrameError::TooLong { sequence, length: length as u64 });
        }
        let got = u64::from(word(8)) | u64::from(word(12)) << 32;
        if got != sequence {
            return Err(FrameError::OutOfSequence { expected: sequence, got });
        }
        self.read_body(length)?;
        let got = crc(&self.body);
        if got != claimed {
            return Err(FrameError::Checksum { sequence, claimed, got });
        }
        self.tally.add(&header);
        self.beginning = Vec::new();
        Ok(&mut self.body)
    }

    fn read_body(&mut self, length: usize) -> Result<(), FrameError> {
        if self.body.capacity() > KEPT && length <= KEPT {
            self.body = Vec::new();
        }
        self.body.clear();
        while self.body.len() < length {
            let read = self.body.len();
            self.body.resize(length.min(read + STEP), 0);
            let count = match self.input.read(&mut self.body[read..]) {
                Ok(0) => {
                    let (read, wanted) = (HEADER + read, HEADER + length);
                    return Err(FrameError::Truncated { sequence: self.tally.frames, read, wanted });
                }
                Ok(count) => count,
                Err(error) if error.kind() == ErrorKind::Interrupted => 0,
                Err(error) => return Err(error.into()),
            };
            self.body.truncate(read + count);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stream(bodies: &[&[u8]]) -> Vec<u8> {
        let mut tally = Tally::default();
        bodies.iter().flat_map(|body| tally.frame(body)).collect()
    }

    #[test]
    fn bodies_come_back_and_both_sides_count_alike() {
        let bodies: [&[u8]; 4] = [b"one", b"", &[7; 200_000], b"{}"];
        let mut sender = Tally::default();
        let bytes: Vec<u8> = bodies.iter().flat_map(|body| sender.frame(body)).collect();
        let mut reader = FrameReader::new(&bytes[..]);
        for body in bodies {
            assert_eq!(reader.read_frame().unwrap(), body);
        }
        assert!(matches!(reader.read_frame(), Err(FrameError::Ended)));
        assert_eq!(reader.tally(), sender);
    }

    #[test]
    fn every_break_has_its_name() {
        let whole = stream(&[b"first", b"second"]);
        let fault = |bytes: &[u8]| {
            let mut reader = FrameReader::new(bytes);
            loop {
                if let Err(error) = reader.read_frame() {
                    return error.to_string();
                }
            }
        };
        assert_eq!(fault(&whole[..30]), "the stream ended inside frame 1, after 9 of 16 bytes");
        assert_eq!(fault(&whole[..40]), "the stream ended inside frame 1, after 19 of 22 bytes");
        let mut flipped = whole.clone();
        flipped[18] ^= 1;
        assert!(fault(&flipped).starts_with("frame 0 has the checksum "), "{}", fault(&flipped));
        assert_eq!(fault(&whole[21..]), "frame 0 was expected, and 1 came");
        let mut long = whole;
        long[..4].copy_from_slice(&u32::MAX.to_le_bytes());
        assert_eq!(fault(&long), "frame 0 claims 4294967295 bytes, more than 16777216");
    }

    #[test]
    fn a_claimed_length_takes_no_memory() {
        let mut bytes = stream(&[&[0; 100]]);
        bytes[..4].copy_from_slice(&(LONGEST as u32).to_le_bytes());
        let mut reader = FrameReader::new(&bytes[..]);
        assert!(matches!(reader.read_frame(), Err(FrameError::Truncated { read: 116, .. })));
        assert!(reader.body.capacity() <= 2 * STEP, "{}", reader.body.capacity());
    }

    #[test]
    fn what_is_no_agent_shows_how_it_begins() {
        let mut reader = FrameReader::new(&b"Welcome to node7!\nYou have mail.\n"[..]);
        assert!(reader.read_frame().is_err());
        assert_eq!(reader.beginning(), b"Welcome to node7!\nYou have mail.\n");
    }
}
