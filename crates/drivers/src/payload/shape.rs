//! The shape of the data: which share of it compresses, and which share occurs more than once.
//!
//! Both are decided separately for each 4 KiB of the stream, so that any position remains directly accessible:
//!
//! * **Compressible:** the last part of each 4 KiB repeats one 16-byte block that is unique to this place. It
//!   compresses to almost nothing, yet a misplaced or old block can be told from the right one, unlike with zeros.
//! * **Duplicates:** a keyed hash of object and place determines whether a 4 KiB unit is a duplicate; duplicates are
//!   drawn from a working set of 256 units (1 MiB), whatever the size of the data. Which one follows from the hash and
//!   the generation, so that the next 255 generations of a place differ from it. Duplicates with the same number are
//!   deliberately identical: if one replaces another, that goes undetected.

use content::split_mix;

use super::{BLOCK, Mismatch, Payload, fastest};

/// The unit of both shares, in bytes: the block size of file systems, and the finest granularity of deduplication.
pub(super) const UNIT: u64 = 4096;
/// 16-byte blocks in a unit.
pub(super) const UNIT_BLOCKS: u64 = UNIT / BLOCK as u64;
/// Number of distinct duplicates.
pub(super) const WORKING_SET: u64 = 256;
/// The object number of duplicates. No data set has this many objects.
pub(super) const DUPLICATES: u64 = u64::MAX;
/// Bits of a unit's number that give its place in the object; the higher bits give its generation.
pub(super) const PLACE_BITS: u32 = 48 - UNIT.trailing_zeros();

/// How compressible and redundant the bytes are to a target that compresses or deduplicates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    /// How many of the 256 blocks, at the end of each unit, repeat one block.
    pub(super) repeated: u16,
    /// A unit is a duplicate when the low 32 bits of its hash are below this.
    pub(super) duplicates_below: u64,
}

impl Shape {
    /// Neither compressible nor duplicated.
    pub(super) const PLAIN: Self = Self { repeated: 0, duplicates_below: 0 };

    #[inline]
    pub(super) const fn is_plain(self) -> bool {
        self.repeated == 0 && self.duplicates_below == 0
    }

    /// Bytes at the start of each unit that do not repeat.
    pub(super) const fn varied_bytes(self) -> usize {
        UNIT as usize - self.repeated as usize * BLOCK
    }
}

/// The source of a unit's content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Source {
    pub(super) object: u64,
    /// Number of its first block.
    pub(super) block: u64,
}

impl Payload {
    /// The same with another shape: a share of each 4 KiB that compresses to nothing, and a share of all 4 KiB units
    /// that are duplicates, both from 0 to 1. Data written with one shape can only be verified with the same shape.
    ///
    /// The shares have a resolution of 1/256 of 4 KiB and of 2^-32.
    #[must_use]
    pub fn with(mut self, compressible: f64, dedupe: f64) -> Self {
        let share = |of: f64, whole: f64| (of.clamp(0.0, 1.0) * whole).round();
        self.shape = Shape {
            repeated: share(compressible, UNIT_BLOCKS as f64) as u16,
            duplicates_below: share(dedupe, (1u64 << 32) as f64) as u64,
        };
        self
    }

    /// The source of the content of unit number `unit` of `object`; the number includes the generation.
    pub(super) fn source(&self, object: u64, unit: u64) -> Source {
        let own = Source { object, block: unit.wrapping_mul(UNIT_BLOCKS) };
        if self.shape.duplicates_below == 0 {
            return own;
        }
        let (generation, place) = (unit >> PLACE_BITS, unit & ((1 << PLACE_BITS) - 1));
        let mut state = self.keys[0][0] ^ object;
        state = split_mix(&mut state) ^ place;
        let hash = split_mix(&mut state);
        if hash & 0xFFFF_FFFF >= self.shape.duplicates_below {
            return own;
        }
        let number = ((hash >> 32) + generation) % WORKING_SET;
        Source { object: DUPLICATES, block: number * UNIT_BLOCKS }
    }

    pub(super) fn fill_shaped(&self, object: u64, mut offset: u64, mut out: &mut [u8]) {
        let path = fastest();
        let varied = self.shape.varied_bytes();
        while !out.is_empty() {
            let part = Part::of(offset, out.len(), varied);
            let source = self.source(object, offset / UNIT);
            let (first, rest) = out.split_at_mut(part.varied);
            let (second, rest) = rest.split_at_mut(part.repeated);
            if !first.is_empty() {
                self.fill_by(path, source.object, source.offset(part.start), first);
            }
            if !second.is_empty() {
                repeat(self.repeated_block(source, part.start + part.varied), second);
            }
            offset = offset.wrapping_add(part.len() as u64);
            out = rest;
        }
    }

    pub(super) fn verify_shaped(
        &self,
        object: u64,
        mut offset: u64,
        mut data: &[u8],
    ) -> Result<(), Mismatch> {
        let path = fastest();
        let varied = self.shape.varied_bytes();
        while !data.is_empty() {
            let part = Part::of(offset, data.len(), varied);
            let source = self.source(object, offset / UNIT);
            let (first, rest) = data.split_at(part.varied);
            let (second, rest) = rest.split_at(part.repeated);
            if !first.is_empty() {
                let from = source.offset(part.start);
                self.verify_by(path, source.object, from, first)
                    .map_err(|found| Mismatch { offset: offset + (found.offset - from) })?;
            }
            if !second.is_empty() {
                let block = self.repeated_block(source, part.start + part.varied);
                if let Some(at) = differs(block, second) {
                    return Err(Mismatch { offset: offset + (part.varied + at) as u64 });
                }
            }
            offset = offset.wrapping_add(part.len() as u64);
            data = rest;
        }
        Ok(())
    }

    /// The block that the end of a unit repeats, starting at byte `at` of the unit: the one that would be at the start
    /// of that end anyway.
    fn repeated_block(&self, source: Source, at: usize) -> [u8; BLOCK] {
        let mut block = [0; BLOCK];
        self.fill_by(fastest(), source.object, source.offset(self.shape.varied_bytes()), &mut block);
        block.rotate_left(at % BLOCK);
        block
    }
}

/// Fills with repetitions of a block.
fn repeat(block: [u8; BLOCK], out: &mut [u8]) {
    let mut chunks = out.chunks_exact_mut(BLOCK);
    chunks.by_ref().for_each(|chunk| chunk.copy_from_slice(&block));
    let rest = chunks.into_remainder();
    rest.copy_from_slice(&block[..rest.len()]);
}

/// Position of the first byte that is not a repetition of the block.
fn differs(block: [u8; BLOCK], data: &[u8]) -> Option<usize> {
    let word = u128::from_le_bytes(block);
    let chunks = data.chunks_exact(BLOCK);
    let rest = chunks.remainder();
    // Without an early exit: damage is rare, and such a loop vectorises.
    let differences = chunks.clone().fold(0, |sum, chunk| {
        sum | (u128::from_le_bytes(chunk.try_into().expect("chunks are blocks")) ^ word)
    });
    if differences == 0 && *rest == block[..rest.len()] {
        return None;
    }
    data.iter().enumerate().position(|(at, byte)| *byte != block[at % BLOCK])
}

impl Source {
    /// Position in the unshaped stream of byte `at` of the unit.
    fn offset(self, at: usize) -> u64 {
        self.block.wrapping_mul(BLOCK as u64).wrapping_add(at as u64)
    }
}

/// The part of a range within its first unit.
struct Part {
    /// Its offset in the unit.
    start: usize,
    varied: usize,
    repeated: usize,
}

impl Part {
    fn of(offset: u64, len: usize, varied: usize) -> Self {
        let start = (offset % UNIT) as usize;
        let end = (start + len).min(UNIT as usize);
        let border = varied.clamp(start, end);
        Self { start, varied: border - start, repeated: end - border }
    }

    fn len(&self) -> usize {
        self.varied + self.repeated
    }
}
