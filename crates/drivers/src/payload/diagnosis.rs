//! Identifies unexpected data: an old write, a block of another place, zeros, flipped bits, or foreign data.
//!
//! A payload block is a permuted counter, so a block that this run wrote reveals its object, place and generation. That
//! claim is then confirmed by generating those bytes again and comparing.

use std::fmt;

use super::invert::invert;
use super::shape::{DUPLICATES, PLACE_BITS, Source, UNIT, UNIT_BLOCKS, WORKING_SET};
use super::{BLOCK, Mismatch, Payload};

/// Bits of a stream position that hold the offset in the object; the higher bits hold the generation.
const OFFSET_BITS: u32 = 48;
const OFFSET_MASK: u64 = (1 << OFFSET_BITS) - 1;
/// Up to this many differing bits of a block's 128 count as flipped; unrelated data differs in about 64, and in 16 or
/// fewer for only one in 10^18 blocks.
const FLIPPED_MAX: u32 = 16;

/// What was found instead of the written data. One line says it in words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Diagnosis {
    /// First damaged byte, as an offset in the object.
    pub offset: u64,
    /// Number of bytes it applies to, as far as they were examined.
    pub bytes: u64,
    /// Type of damage.
    pub damage: Damage,
}

/// Kinds of damage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Damage {
    /// The right data except for some bits.
    Bits {
        /// How many differ.
        differing: u32,
    },
    /// Data of this very place from another time, past or future.
    OtherGeneration {
        /// Generation found.
        found: u32,
        /// Generation expected.
        expected: u32,
    },
    /// Data that this run wrote to another place.
    OtherPlace {
        /// Object that it belongs to.
        object: u64,
        /// Byte offset in that object.
        offset: u64,
        /// Its generation.
        generation: u32,
    },
    /// One of the blocks that this run deliberately wrote to many places, but not to this one.
    OtherDuplicate,
    /// Zeros.
    Zeros,
    /// Data that this run cannot have written.
    Foreign {
        /// Its first bytes.
        begins: [u8; 8],
    },
}

impl Diagnosis {
    /// The diagnosis in words; `cut` means that the examined data ended there, so the damage may extend further.
    pub fn words(&self, cut: bool) -> String {
        match self.damage {
            Damage::Bits { .. } => self.to_string(),
            _ if cut => format!("at least {self}"),
            _ => self.to_string(),
        }
    }
}

impl fmt::Display for Diagnosis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { offset, bytes, damage } = *self;
        match damage {
            Damage::Bits { differing: 1 } => return write!(f, "1 bit differs at byte {offset}"),
            Damage::Bits { differing } => {
                return write!(f, "{differing} bits differ in {bytes} bytes from byte {offset} on");
            }
            _ => write!(f, "{bytes} bytes from byte {offset} on ")?,
        }
        match damage {
            Damage::OtherGeneration { found, expected } if found > expected => write!(
                f,
                "are generation {found} of this place, newer than the expected {expected}: a write that failed or \
                 was not expected took place"
            ),
            Damage::OtherGeneration { found, expected } => write!(
                f,
                "are generation {found} of this place instead of {expected}: a lost write or a stale read"
            ),
            Damage::OtherPlace { object, offset, generation } => write!(
                f,
                "belong to object {object:016x} at byte {offset} (generation {generation}): a misplaced block"
            ),
            Damage::OtherDuplicate => {
                write!(
                    f,
                    "are one of the duplicated blocks of this run, but not this place's: a misplaced block"
                )
            }
            Damage::Zeros => write!(f, "are zeros: never written, or lost"),
            Damage::Foreign { begins } => {
                write!(f, "are no data of this run: foreign (they begin with")?;
                begins.iter().try_for_each(|byte| write!(f, " {byte:02x}"))?;
                write!(f, ")")
            }
            Damage::Bits { .. } => Ok(()),
        }
    }
}

impl Payload {
    /// Identifies `data`, which was read from `stream_offset` of `object` and in which [`Payload::verify`] found
    /// `mismatch`. More data gives a more precise result; it may begin and end anywhere.
    #[cold]
    pub fn diagnose(&self, object: u64, stream_offset: u64, data: &[u8], mismatch: Mismatch) -> Diagnosis {
        let mut expected = vec![0; data.len()];
        self.fill(object, stream_offset, &mut expected);
        if let Some(found) = flipped(stream_offset, data, &expected, mismatch) {
            return found;
        }
        let at = whole_block(stream_offset, data, &expected, mismatch);
        let position = stream_offset + at as u64;
        let rest = &data[at..];
        let zeros = rest.iter().take_while(|byte| **byte == 0).count();
        let (damage, bytes) = if zeros >= BLOCK.min(rest.len()) {
            (Damage::Zeros, zeros)
        } else {
            self.origin(object, position, rest).unwrap_or_else(|| {
                let mut begins = [0; 8];
                let len = rest.len().min(begins.len());
                begins[..len].copy_from_slice(&rest[..len]);
                (Damage::Foreign { begins }, differing_run(rest, &expected[at..]))
            })
        };
        Diagnosis { offset: position & OFFSET_MASK, bytes: bytes as u64, damage }
    }

    /// The generation of `data`, which was read from byte `offset` of `object`, a multiple of 4 KiB: taken from the
    /// first block that reveals it. `None` when it is not data of this payload.
    pub fn generation_of(&self, object: u64, offset: u64, data: &[u8]) -> Option<u32> {
        let units = (offset..).step_by(UNIT as usize).zip(data.chunks(UNIT as usize));
        units.into_iter().find_map(|(at, unit)| {
            let block = unit.get(..BLOCK)?.try_into().ok()?;
            let (number, from) = invert(&self.keys, block);
            let position = number.wrapping_mul(BLOCK as u64);
            let ours = from == object && number >> 60 == 0 && position & OFFSET_MASK == at;
            ours.then(|| generation(position)).filter(|_| self.verify(object, position, unit).is_ok())
        })
    }

    /// The origin of `data` within this run's data, which was read at `position`, and the number of bytes it applies
    /// to.
    fn origin(&self, object: u64, position: u64, data: &[u8]) -> Option<(Damage, usize)> {
        let expected = generation(position);
        let block = data.get(..BLOCK).and_then(|bytes| <[u8; BLOCK]>::try_from(bytes).ok());
        let Some(block) = block.filter(|_| position.is_multiple_of(BLOCK as u64)) else {
            return self.generation_of_few(object, position, data);
        };
        let (number, from) = invert(&self.keys, block);
        let source = Source { object: from, block: number / UNIT_BLOCKS * UNIT_BLOCKS };
        if from == DUPLICATES && self.shape.duplicates_below > 0 && number < WORKING_SET * UNIT_BLOCKS {
            let older = self.generation_of_duplicate(object, position, source);
            let Some(found) = older else { return Some((Damage::OtherDuplicate, BLOCK)) };
            let bytes = self.agreement(object, with_generation(position, found), data);
            return Some((Damage::OtherGeneration { found, expected }, bytes));
        }
        if number >> 60 != 0 {
            return None;
        }
        // A repeated block reveals its unit, but not its place within the unit.
        let varied = self.shape.varied_bytes() as u64;
        let within = match number % UNIT_BLOCKS * BLOCK as u64 {
            at if at == varied => (position % UNIT).max(at),
            at => at,
        };
        let origin = number / UNIT_BLOCKS * UNIT + within;
        let bytes = self.agreement(from, origin, data);
        let found = generation(origin);
        if from == object && (origin ^ position) & OFFSET_MASK == 0 {
            return Some((Damage::OtherGeneration { found, expected }, bytes));
        }
        // Any sixteen bytes decode to some pair; a second block that agrees, or our own object's number, rules out
        // coincidence.
        let sure = from == object || bytes >= 2 * BLOCK;
        let place = Damage::OtherPlace { object: from, offset: origin & OFFSET_MASK, generation: found };
        sure.then_some((place, bytes))
    }

    /// For too few bytes to invert: checks whether they belong to another generation of this place.
    fn generation_of_few(&self, object: u64, position: u64, data: &[u8]) -> Option<(Damage, usize)> {
        let expected = generation(position);
        // With fewer than 4 bytes, one of 65536 generations would agree by coincidence.
        let enough = (4..2 * BLOCK).contains(&data.len());
        let agrees = |found: &u32| self.verify(object, with_generation(position, *found), data).is_ok();
        let found = (0..1 << 16).rev().filter(|_| enough).find(agrees)?;
        Some((Damage::OtherGeneration { found, expected }, data.len()))
    }

    /// The nearest generation of this place that uses this duplicate, if any, trying older ones first.
    fn generation_of_duplicate(&self, object: u64, position: u64, source: Source) -> Option<u32> {
        let expected = generation(position);
        let place = (position & OFFSET_MASK) / UNIT;
        let is_it = |found: &u32| self.source(object, u64::from(*found) << PLACE_BITS | place) == source;
        let span = WORKING_SET as u32;
        let older = (expected.saturating_sub(span)..expected).rev();
        older.chain(expected + 1..(expected + span).min(1 << 16)).find(is_it)
    }

    /// How many leading bytes match this place's content.
    fn agreement(&self, object: u64, position: u64, data: &[u8]) -> usize {
        self.verify(object, position, data)
            .map_or_else(|end| (end.offset - position) as usize, |()| data.len())
    }
}

/// The generation in a stream's position.
fn generation(position: u64) -> u32 {
    (position >> OFFSET_BITS) as u32
}

fn with_generation(position: u64, generation: u32) -> u64 {
    u64::from(generation) << OFFSET_BITS | position & OFFSET_MASK
}

/// Offset of the first whole block at or after the first damage; the damage itself when no whole block is damaged.
fn whole_block(stream_offset: u64, data: &[u8], expected: &[u8], mismatch: Mismatch) -> usize {
    let block = BLOCK as u64;
    let mut start = mismatch.offset / block * block;
    if start < stream_offset {
        start += block;
    }
    let at = start.saturating_sub(stream_offset) as usize;
    let damaged = data.get(at..at + BLOCK).is_some_and(|block| block != &expected[at..at + BLOCK]);
    if damaged { at } else { (mismatch.offset - stream_offset) as usize }
}

/// Reports flipped bits when no block differs in more than a few.
fn flipped(stream_offset: u64, data: &[u8], expected: &[u8], mismatch: Mismatch) -> Option<Diagnosis> {
    let skip = (stream_offset % BLOCK as u64) as usize;
    let head = if skip == 0 { 0 } else { (BLOCK - skip).min(data.len()) };
    // A cut-off block may have one wrong byte if there are whole blocks to judge by; otherwise in proportion.
    let whole = data.len() >= head + BLOCK;
    let (mut differing, mut last) = (0, 0);
    let mut look = |from: usize, to: usize| {
        let pairs = data[from..to].iter().zip(&expected[from..to]);
        let bits: u32 = pairs.map(|(read, made)| (read ^ made).count_ones()).sum();
        if bits > 0 {
            last = to;
        }
        differing += bits;
        bits <= if whole && to - from < BLOCK { 8 } else { FLIPPED_MAX * (to - from) as u32 / BLOCK as u32 }
            .max(1)
    };
    let mut at = head;
    if head > 0 && !look(0, head) {
        return None;
    }
    while at < data.len() {
        let to = (at + BLOCK).min(data.len());
        if !look(at, to) {
            return None;
        }
        at = to;
    }
    let first = (mismatch.offset - stream_offset) as usize;
    let last = (first..last).rev().find(|at| data[*at] != expected[*at])?;
    let bytes = (last + 1 - first) as u64;
    let offset = mismatch.offset & OFFSET_MASK;
    Some(Diagnosis { offset, bytes, damage: Damage::Bits { differing } })
}

/// Number of bytes before eight consecutive correct ones.
fn differing_run(data: &[u8], expected: &[u8]) -> usize {
    let mut right = 0;
    for (at, (read, made)) in data.iter().zip(expected).enumerate() {
        right = if read == made { right + 1 } else { 0 };
        if right == 8 {
            return at - 7;
        }
    }
    data.len() - right
}
