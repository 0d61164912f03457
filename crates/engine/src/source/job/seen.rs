//! Which blocks were read back already, where a pass may write one several times.

use crate::JobFile;

/// Most blocks that are remembered: 8 MiB of memory.
const MOST: u64 = 1 << 26;

/// A bit for each block of a worker's files.
#[derive(Debug)]
pub(super) struct Seen {
    unit: u64,
    /// For each file where its part begins, and its first bit.
    files: Vec<(u64, u64)>,
    bits: Vec<u64>,
}

impl Seen {
    /// Of blocks of this many bytes; `None` when there are too many: then some are read more than once.
    pub(super) fn new(files: &[JobFile], unit: u64) -> Option<Seen> {
        let mut total = 0u64;
        let of = |file: &JobFile| {
            let first = total;
            total = total.saturating_add(file.length / unit + 1);
            (file.start, first)
        };
        let files = files.iter().map(of).collect();
        (total <= MOST).then(|| Seen { unit, files, bits: vec![0; total.div_ceil(64) as usize] })
    }

    /// True the first time that it is asked about a block.
    pub(super) fn is_new(&mut self, file: u32, offset: u64) -> bool {
        let (start, first) = self.files[file as usize];
        let bit = first + (offset - start) / self.unit;
        let (word, mask) = (&mut self.bits[(bit / 64) as usize], 1 << (bit % 64));
        let new = *word & mask == 0;
        *word |= mask;
        new
    }

    pub(super) fn clear(&mut self) {
        self.bits.fill(0);
    }
}

#[cfg(test)]
mod tests {
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
}
