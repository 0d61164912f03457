//! Patterns: a few bytes repeated from the start of each block.

use content::PatternPiece;

/// Maximum length of a pattern in bytes; longer ones are truncated.
pub(super) const LONGEST: usize = 512;
/// Bytes of an offset in a pattern.
const OFFSET_BYTES: usize = 8;

/// Bytes that repeat from the start of each block; the block's offset is inserted at some positions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pattern {
    /// Never empty.
    bytes: Vec<u8>,
    /// Positions of the block's offset in the bytes.
    offsets: Vec<usize>,
}

impl Pattern {
    /// The pattern built from these pieces; `None` when they contain no byte.
    pub(super) fn new(pieces: &[PatternPiece]) -> Option<Self> {
        let (mut bytes, mut offsets) = (Vec::new(), Vec::new());
        for piece in pieces {
            match piece {
                PatternPiece::Hex(digits) => bytes.extend(decode(digits)),
                PatternPiece::Offset => {
                    offsets.push(bytes.len());
                    bytes.extend([0; OFFSET_BYTES]);
                }
            }
        }
        bytes.truncate(LONGEST);
        offsets.retain(|at| at + OFFSET_BYTES <= bytes.len());
        (!bytes.is_empty()).then_some(Self { bytes, offsets })
    }

    /// Writes the bytes from position `at` of the pattern, in the block at `block_offset` of its file.
    pub(super) fn fill(&self, block_offset: u64, at: u64, out: &mut [u8]) {
        let len = self.bytes.len();
        let first = self.first(block_offset, at);
        let mut done = len.min(out.len());
        out[..done].copy_from_slice(&first[..done]);
        // Whole periods only, so that each copy continues where the last one ended.
        while done < out.len() {
            let more = done.min(out.len() - done);
            out.copy_within(..more, done);
            done += more;
        }
    }

    /// The first difference between `data` and what [`Pattern::fill`] writes.
    pub(super) fn differs(&self, block_offset: u64, at: u64, data: &[u8]) -> Option<usize> {
        let len = self.bytes.len();
        let first = self.first(block_offset, at);
        let front = len.min(data.len());
        if data[..front] == first[..front] && data[front..] == data[..data.len() - front] {
            return None;
        }
        data.iter().enumerate().position(|(at, byte)| *byte != first[at % len])
    }

    /// The first period, starting at `at`.
    fn first(&self, block_offset: u64, at: u64) -> [u8; LONGEST] {
        let mut bytes = [0; LONGEST];
        let len = self.bytes.len();
        bytes[..len].copy_from_slice(&self.bytes);
        for at in &self.offsets {
            bytes[*at..at + OFFSET_BYTES].copy_from_slice(&block_offset.to_le_bytes());
        }
        bytes[..len].rotate_left((at % len as u64) as usize);
        bytes
    }
}

/// Decodes hexadecimal digits; with an odd number of them, the first byte has only one. Anything else counts as 0:
/// plans contain none.
fn decode(digits: &str) -> Vec<u8> {
    let values: Vec<u8> = digits.chars().map(|digit| digit.to_digit(16).unwrap_or(0) as u8).collect();
    let (odd, pairs) = values.split_at(values.len() % 2);
    odd.iter().copied().chain(pairs.chunks(2).map(|pair| pair[0] << 4 | pair[1])).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn pattern() -> Pattern {
        Pattern::new(&[
            PatternPiece::Hex("ff".into()),
            PatternPiece::Offset,
            PatternPiece::Hex("6162".into()),
        ])
        .unwrap()
    }

    /// The bytes that fio 3.33 writes at 4096 with `--verify=pattern --verify_pattern='0xff%o"ab"'`.
    #[test]
    fn patterns_with_an_offset_are_those_of_fio() {
        let mut out = [0; 24];
        pattern().fill(4096, 0, &mut out);
        assert_eq!(out, *b"\xff\x00\x10\0\0\0\0\0\0ab\xff\x00\x10\0\0\0\0\0\0ab\xff\x00");
    }

    #[test]
    fn digits_become_bytes() {
        assert_eq!(decode("12345"), [0x01, 0x23, 0x45]);
        assert_eq!(decode("fF00"), [255, 0]);
        assert_eq!(Pattern::new(&[]), None);
    }

    proptest! {
        #[test]
        fn any_piece_of_a_pattern_is_a_piece_of_the_whole(offset: u64, start in 0usize..3000, len in 0usize..3000) {
            let pattern = pattern();
            let mut whole = vec![0; 6000];
            pattern.fill(offset, 0, &mut whole);
            let mut piece = vec![0; len];
            pattern.fill(offset, start as u64, &mut piece);
            prop_assert_eq!(&piece, &whole[start..start + len]);
            prop_assert_eq!(pattern.differs(offset, start as u64, &piece), None);
        }

        #[test]
        fn a_changed_byte_is_found(start in 0u64..100, len in 1usize..3000, at: prop::sample::Index, flip in 1u8..) {
            let pattern = pattern();
            let mut piece = vec![0; len];
            pattern.fill(7, start, &mut piece);
            let at = at.index(len);
            piece[at] ^= flip;
            prop_assert_eq!(pattern.differs(7, start, &piece), Some(at));
        }
    }
}
