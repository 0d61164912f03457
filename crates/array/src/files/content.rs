//! Content of a regular file: blocks where something was written, holes elsewhere.

use std::collections::BTreeMap;

use super::blocks::{BLOCK_BYTES, Block};
use super::ranges::RangeSet;
use super::space::Space;
use crate::capacity::Full;

/// Space is charged in pages of this many bytes.
const PAGE: u64 = 4096;

/// The bytes of a regular file.
#[derive(Debug, Default)]
pub(super) struct Content {
    /// Length of the file in bytes.
    size: u64,
    /// Length that survives a restart of the server.
    stable_size: u64,
    blocks: BTreeMap<u64, Block>,
    /// Written but not stable yet.
    unstable: RangeSet,
    /// Bytes charged to the array.
    charged: u64,
    /// What the last write replaced, if a fault needs it.
    old: Option<Box<Old>>,
}

/// What a write replaced.
#[derive(Debug)]
struct Old {
    size: u64,
    offset: u64,
    /// As much as there was.
    bytes: Vec<u8>,
}

impl Content {
    pub(super) fn size(&self) -> u64 {
        self.size
    }

    /// Space taken, in bytes.
    pub(super) fn charged(&self) -> u64 {
        self.charged
    }

    /// Bytes that a read of `len` at `offset` returns.
    pub(super) fn readable(&self, offset: u64, len: usize) -> usize {
        self.size.saturating_sub(offset).min(len as u64) as usize
    }

    /// Copies from `offset` into `out`, which must lie within the file; holes read as zeros.
    pub(super) fn read(&self, offset: u64, out: &mut [u8]) {
        debug_assert!(out.is_empty() || offset + out.len() as u64 <= self.size);
        for (number, within, piece) in pieces_mut(offset, out) {
            match self.blocks.get(&number) {
                Some(block) => block.read(within, piece),
                None => piece.fill(0),
            }
        }
    }

    /// Keeps the length of the file and what is at this range, which is about to be overwritten.
    pub(super) fn keep_old(&mut self, offset: u64, len: usize) {
        let mut bytes = vec![0; self.readable(offset, len)];
        self.read(offset, &mut bytes);
        self.old = Some(Box::new(Old { size: self.size, offset, bytes }));
    }

    /// Turns what was read from `offset` into what was there before the last write; returns how much that was, and whether
    /// the file ended there.
    pub(super) fn restore_old(&self, offset: u64, out: &mut [u8]) -> Option<(usize, bool)> {
        let old = self.old.as_ref()?;
        let len = old.size.saturating_sub(offset).min(out.len() as u64) as usize;
        let (from, to) =
            (old.offset.max(offset), (old.offset + old.bytes.len() as u64).min(offset + len as u64));
        if from < to {
            let (read, kept) = ((from - offset) as usize, (from - old.offset) as usize);
            let count = (to - from) as usize;
            out[read..read + count].copy_from_slice(&old.bytes[kept..kept + count]);
        }
        Some((len, offset + len as u64 >= old.size))
    }

    /// Writes `data` at `offset`. With `stable`, it survives a restart at once.
    ///
    /// # Errors
    /// [`Full`]; nothing is written then.
    pub(super) fn write(
        &mut self,
        offset: u64,
        data: &[u8],
        stable: bool,
        space: &mut Space,
    ) -> Result<(), Full> {
        if data.is_empty() {
            return Ok(());
        }
        let end = offset + data.len() as u64;
        let more: u64 = pieces(offset, data)
            .map(|(number, within, piece)| {
                let before = self.blocks.get(&number).map_or(0, Block::filled);
                pages((within + piece.len()) as u64).saturating_sub(pages(before as u64))
            })
            .sum();
        space.take(more)?;
        self.charged += more;
        for (number, within, piece) in pieces(offset, data) {
            self.blocks.entry(number).or_default().write(within, piece);
        }
        self.size = self.size.max(end);
        if stable {
            self.unstable.remove(offset..end);
            self.stable_size = self.stable_size.max(end);
        } else {
            self.unstable.insert(offset..end);
        }
        Ok(())
    }

    /// Truncates the file, or extends it with a hole. Stable at once, as for SETATTR (RFC 1813 section 3.3.2).
    pub(super) fn set_size(&mut self, size: u64, space: &mut Space) {
        if size < self.size {
            let (last, within) = (size / BLOCK_BYTES as u64, (size % BLOCK_BYTES as u64) as usize);
            let mut cut = self.blocks.split_off(&last);
            let mut given_back = 0;
            if within > 0
                && let Some(mut block) = cut.remove(&last)
            {
                given_back += pages(block.filled() as u64);
                block.truncate(within);
                given_back -= pages(block.filled() as u64);
                self.blocks.insert(last, block);
            }
            given_back += cut.values().map(|block| pages(block.filled() as u64)).sum::<u64>();
            self.charged -= given_back;
            space.give_back(given_back);
            self.unstable.remove(size..u64::MAX);
        }
        self.size = size;
        self.stable_size = size;
        self.old = None;
    }

    /// Makes everything written stable, as COMMIT does; for the whole file, which includes the requested range.
    pub(super) fn commit(&mut self) {
        self.unstable.clear();
        self.stable_size = self.size;
    }

    /// Simulates a server restart: unstable data is lost. Overwritten bytes become zeros, and a file extended only by
    /// unstable writes is truncated.
    pub(super) fn restart(&mut self, space: &mut Space) {
        if self.unstable.is_empty() {
            return;
        }
        for lost in std::mem::take(&mut self.unstable).iter() {
            let mut at = lost.start;
            while at < lost.end {
                let number = at / BLOCK_BYTES as u64;
                let next = ((number + 1) * BLOCK_BYTES as u64).min(lost.end);
                if let Some(block) = self.blocks.get_mut(&number) {
                    let within = (at % BLOCK_BYTES as u64) as usize;
                    block.zero(within, (next - at) as usize);
                }
                at = next;
            }
        }
        if self.stable_size < self.size {
            self.set_size(self.stable_size, space);
        }
    }
}

fn pages(bytes: u64) -> u64 {
    bytes.next_multiple_of(PAGE)
}

/// Splits a write at block boundaries: block number, offset in it, bytes.
fn pieces(offset: u64, mut data: &[u8]) -> impl Iterator<Item = (u64, usize, &[u8])> {
    let mut at = offset;
    std::iter::from_fn(move || {
        let within = (at % BLOCK_BYTES as u64) as usize;
        let (piece, rest) = data.split_at(data.len().min(BLOCK_BYTES - within));
        let number = at / BLOCK_BYTES as u64;
        data = rest;
        at += piece.len() as u64;
        (!piece.is_empty()).then_some((number, within, piece))
    })
}

/// Splits the target of a read at block boundaries.
fn pieces_mut(offset: u64, out: &mut [u8]) -> impl Iterator<Item = (u64, usize, &mut [u8])> {
    let mut at = offset;
    let mut left = Some(out);
    std::iter::from_fn(move || {
        let out = left.take()?;
        let within = (at % BLOCK_BYTES as u64) as usize;
        let (piece, rest) = {
            let len = out.len().min(BLOCK_BYTES - within);
            out.split_at_mut(len)
        };
        let number = at / BLOCK_BYTES as u64;
        left = Some(rest);
        at += piece.len() as u64;
        (!piece.is_empty()).then_some((number, within, piece))
    })
}

#[cfg(test)]
mod tests;
