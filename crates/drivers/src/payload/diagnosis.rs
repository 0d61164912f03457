//! What data is that is not what was expected: an old write, another place's block, zeros, flipped bits, or foreign.
//!
//! A payload block is a permuted counter, so that a block which this run wrote says from which object, place and
//! generation it is. What that claims is then confirmed by making those bytes anew and comparing.

use std::fmt;

use super::invert::invert;
use super::shape::{DUPLICATES, PLACE_BITS, Source, UNIT, UNIT_BLOCKS, WORKING_SET};
use super::{BLOCK, Mismatch, Payload};

/// Bits of a stream's position that are the offset in the object; those above are the generation.
const OFFSET_BITS: u32 = 48;
const OFFSET_MASK: u64 = (1 << OFFSET_BITS) - 1;
/// This many differing bits of a block's 128 count as flipped; of unrelated data about 64 differ, and 16 or fewer
/// in one of 10^18 blocks.
const FLIPPED_MAX: u32 = 16;

/// What was found in the place of what was written. One line says it in words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Diagnosis {
    /// First damaged byte, as an offset in the object.
    pub offset: u64,
    /// For how many bytes the same holds, as far as they were looked at.
    pub bytes: u64,
    /// What it is.
    pub damage: Damage,
}

/// Kinds of damage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Damage {
    /// The right data, but for some bits.
    Bits {
        /// How many differ.
        differing: u32,
    },
    /// What was, or will be, in this very place at another time.
    OtherGeneration {
        /// What is there.
        found: u32,
        /// What should be there.
        expected: u32,
    },
    /// What this run wrote to another place.
    OtherPlace {
        /// The object that it belongs to.
        object: u64,
        /// Where in that object, in bytes.
        offset: u64,
        /// Of which generation.
        generation: u32,
    },
    /// One of the blocks that this run wrote to many places by intention, but not to this one.
    OtherDuplicate,
    /// Zeros.
    Zeros,
    /// Nothing that this run could have written.
    Foreign {
        /// How it begins.
        begins: [u8; 8],
    },
}

impl Diagnosis {
    /// The same in words; with `cut` what was looked at ended there, and the damage may go on behind it.
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
    /// Says what `data` is, which was read from `stream_offset` of `object` on and in which [`Payload::verify`] found
    /// `mismatch`. The more of the data is given, the more can be said; it need not begin or end anywhere in particular.
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

    /// Of which generation `data` is, which was read from byte `offset` of `object` on, a multiple of 4 KiB: what the first
    /// block says that can say it. `None` when it is not data of this payload.
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

    /// Where in this run's data `data` comes from, which was read at `position`, and how many bytes of it do.
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
        // A repeated block says which unit it is of, not where in the unit it was.
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
        // Sixteen bytes claim any pair; another block that agrees, or our own object's number, is no chance.
        let sure = from == object || bytes >= 2 * BLOCK;
        let place = Damage::OtherPlace { object: from, offset: origin & OFFSET_MASK, generation: found };
        sure.then_some((place, bytes))
    }

    /// Too few bytes to be undone: looks whether they are of another generation of this place.
    fn generation_of_few(&self, object: u64, position: u64, data: &[u8]) -> Option<(Damage, usize)> {
        let expected = generation(position);
        // With less than 4 bytes one of 65536 generations would agree by chance.
        let enough = (4..2 * BLOCK).contains(&data.len());
        let agrees = |found: &u32| self.verify(object, with_generation(position, *found), data).is_ok();
        let found = (0..1 << 16).rev().filter(|_| enough).find(agrees)?;
        Some((Damage::OtherGeneration { found, expected }, data.len()))
    }

    /// The nearest generation of this place that is this duplicate, if there is one: the older ones first.
    fn generation_of_duplicate(&self, object: u64, position: u64, source: Source) -> Option<u32> {
        let expected = generation(position);
        let place = (position & OFFSET_MASK) / UNIT;
        let is_it = |found: &u32| self.source(object, u64::from(*found) << PLACE_BITS | place) == source;
        let span = WORKING_SET as u32;
        let older = (expected.saturating_sub(span)..expected).rev();
        older.chain(expected + 1..(expected + span).min(1 << 16)).find(is_it)
    }

    /// How many bytes from the first on are those of this place.
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

/// The place of the first whole block from the first damage on; the damage itself when no whole block is damaged.
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

/// Says so when nowhere more than a few bits differ.
fn flipped(stream_offset: u64, data: &[u8], expected: &[u8], mismatch: Mismatch) -> Option<Diagnosis> {
    let skip = (stream_offset % BLOCK as u64) as usize;
    let head = if skip == 0 { 0 } else { (BLOCK - skip).min(data.len()) };
    // Of a block that was cut off a byte may be wrong, if there are whole ones to decide; otherwise in proportion.
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

/// How many bytes there are until eight in a row are right.
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
