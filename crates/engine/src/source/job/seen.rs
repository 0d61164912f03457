//! Tracks the blocks that a pass writes, where it may write the same one several times.

use super::stream::Drawn;
use crate::JobFile;

/// Maximum number of blocks tracked as read back: 8 MiB of memory.
const MOST_SEEN: u64 = 1 << 26;
/// Maximum number of units whose last write is tracked: 64 MiB of memory.
const MOST_LAST: u64 = 1 << 23;

/// A worker's files as a sequence of units of one size.
#[derive(Debug)]
struct Units {
    bytes: u64,
    /// For each file the start of its part, and the number of its first unit.
    files: Vec<(u64, u64)>,
    total: u64,
}

impl Units {
    fn new(files: &[JobFile], bytes: u64) -> Units {
        let mut total = 0u64;
        let of = |file: &JobFile| {
            let first = total;
            total = total.saturating_add(file.length / bytes + 1);
            (file.start, first)
        };
        let files = files.iter().map(of).collect();
        Units { bytes, files, total }
    }

    fn at(&self, file: u32, offset: u64) -> u64 {
        let (start, first) = self.files[file as usize];
        first + (offset - start) / self.bytes
    }
}

/// Which blocks were already read back, one bit each.
#[derive(Debug)]
pub(super) struct Seen {
    units: Units,
    bits: Vec<u64>,
}

impl Seen {
    /// For blocks of this many bytes; `None` if there are too many: some are then read more than once.
    pub(super) fn new(files: &[JobFile], unit: u64) -> Option<Seen> {
        let units = Units::new(files, unit);
        let words = units.total.div_ceil(64) as usize;
        (units.total <= MOST_SEEN).then(|| Seen { units, bits: vec![0; words] })
    }

    /// Returns true the first time that a block is queried.
    pub(super) fn is_new(&mut self, file: u32, offset: u64) -> bool {
        let bit = self.units.at(file, offset);
        let (word, mask) = (&mut self.bits[(bit / 64) as usize], 1 << (bit % 64));
        let new = *word & mask == 0;
        *word |= mask;
        new
    }

    pub(super) fn clear(&mut self) {
        self.bits.fill(0);
    }
}

/// The last write of a pass to each unit of the files, where blocks may partly overlap.
#[derive(Debug)]
pub(super) struct LastWrites {
    units: Units,
    /// Number of the write, from 1; 0 for none.
    numbers: Vec<u64>,
    /// Whether blocks end at unit boundaries. Otherwise neighbours may share a unit, and the earlier one appears
    /// overwritten.
    exact: bool,
}

impl LastWrites {
    /// Blocks start and end at multiples of `unit` bytes. Too many units are combined into larger ones.
    pub(super) fn new(files: &[JobFile], unit: u64) -> LastWrites {
        let total: u64 = files.iter().map(|file| file.length / unit + 1).fold(0, u64::saturating_add);
        // Each file needs one unit more than its length requires.
        let room = MOST_LAST.saturating_sub(files.len() as u64).max(1);
        let together = if total <= MOST_LAST { 1 } else { total.div_ceil(room) };
        let units = Units::new(files, unit.saturating_mul(together));
        let numbers = vec![0; units.total as usize];
        LastWrites { units, numbers, exact: together == 1 }
    }

    /// Records that the write with this number wrote a block.
    pub(super) fn wrote(&mut self, block: &Drawn, number: u64) {
        let range = self.range(block);
        self.numbers[range].fill(number + 1);
    }

    /// Whether nothing was written over the block after the write with this number.
    pub(super) fn is_whole(&self, block: &Drawn, number: u64) -> bool {
        self.numbers[self.range(block)].iter().all(|last| *last == number + 1)
    }

    /// Whether a block that is not whole was certainly overwritten.
    pub(super) fn is_exact(&self) -> bool {
        self.exact
    }

    pub(super) fn clear(&mut self) {
        self.numbers.fill(0);
    }

    fn range(&self, block: &Drawn) -> std::ops::Range<usize> {
        let last = block.offset + block.len.max(1) - 1;
        self.units.at(block.file, block.offset) as usize..self.units.at(block.file, last) as usize + 1
    }
}

#[cfg(test)]
mod tests {
    use metrics::OpKind;

    use super::*;

    #[test]
    fn every_block_is_new_once() {
        let part = JobFile { object: 1, bytes: 1 << 20, start: 8192, length: 100_000 };
        let mut seen = Seen::new(&[JobFile::whole(0, 1 << 20), part], 4096).unwrap();
        for _ in 0..2 {
            let all = |seen: &mut Seen| {
                let whole = (0..256).filter(|block| seen.is_new(0, block * 4096)).count();
                whole + (0..24).filter(|block| seen.is_new(1, 8192 + block * 4096)).count()
            };
            assert_eq!((all(&mut seen), all(&mut seen)), (280, 0));
            seen.clear();
        }
        assert!(Seen::new(&[JobFile::whole(0, 1 << 62)], 4096).is_none());
    }

    fn block(file: u32, offset: u64, len: u64) -> Drawn {
        Drawn { kind: OpKind::Write, file, object: file.into(), offset, len }
    }

    #[test]
    fn a_block_is_whole_until_a_part_of_it_is_written_over() {
        let part = JobFile { object: 1, bytes: 1 << 20, start: 8192, length: 65_536 };
        let mut last = LastWrites::new(&[JobFile::whole(0, 1 << 20), part], 512);
        let blocks = [
            block(0, 0, 4096),
            block(0, 4096, 4096),
            block(1, 8192, 4096),
            block(0, 7680, 512),
            block(0, 0, 4096),
        ];
        for (number, block) in (0..).zip(&blocks) {
            last.wrote(block, number);
        }
        let whole: Vec<bool> =
            (0..).zip(&blocks).map(|(number, block)| last.is_whole(block, number)).collect();
        assert_eq!(whole, [false, false, true, true, true]);
        assert!(last.is_exact());
        last.clear();
        assert!(!last.is_whole(&blocks[4], 4));
    }

    #[test]
    fn memory_is_bounded_and_a_doubt_then_falls_on_the_earlier_block() {
        let mut last = LastWrites::new(&[JobFile::whole(0, 1 << 40)], 512);
        assert!(last.numbers.len() as u64 <= MOST_LAST && !last.is_exact());
        let (one, next) = (block(0, 0, 512), block(0, 512, 512));
        last.wrote(&one, 0);
        last.wrote(&next, 1);
        assert!(!last.is_whole(&one, 0) && last.is_whole(&next, 1));
    }
}
