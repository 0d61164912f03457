//! A block of a file: up to 1 MiB, small while little has been written to it.

use super::slots::{SLOT_BYTES, Slot};

/// Bytes of a file that one block covers.
pub(super) const BLOCK_BYTES: usize = SLOT_BYTES;

/// Above this, a block takes a whole slot.
const SMALL_BYTES: usize = 256 << 10;

/// The bytes of a block up to the last one written; the rest reads as zeros.
#[derive(Debug)]
pub(super) enum Block {
    Small(Vec<u8>),
    Whole(Slot),
}

impl Default for Block {
    fn default() -> Self {
        Self::Small(Vec::new())
    }
}

impl Block {
    /// Bytes held in memory.
    pub(super) fn filled(&self) -> usize {
        self.bytes().len()
    }

    fn bytes(&self) -> &[u8] {
        match self {
            Self::Small(bytes) => bytes,
            Self::Whole(slot) => slot.filled(),
        }
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        match self {
            Self::Small(bytes) => bytes,
            Self::Whole(slot) => slot.filled_mut(),
        }
    }

    /// Copies from offset `within` into `out`.
    pub(super) fn read(&self, within: usize, out: &mut [u8]) {
        let bytes = self.bytes();
        let there = bytes.get(within..).unwrap_or_default();
        let len = there.len().min(out.len());
        out[..len].copy_from_slice(&there[..len]);
        out[len..].fill(0);
    }

    /// Writes `data` at `within`; it must stay within the block.
    pub(super) fn write(&mut self, within: usize, data: &[u8]) {
        let end = within + data.len();
        self.grow(end);
        let filled = self.filled();
        let (over, behind) = data.split_at(data.len().min(filled.saturating_sub(within)));
        if !over.is_empty() {
            self.bytes_mut()[within..within + over.len()].copy_from_slice(over);
        }
        if !behind.is_empty() {
            match self {
                Self::Small(bytes) => {
                    bytes.resize(filled.max(within), 0);
                    bytes.extend_from_slice(behind);
                }
                Self::Whole(slot) => {
                    slot.extend_zeros(filled.max(within));
                    slot.extend(behind);
                }
            }
        }
    }

    /// Makes room for `end` bytes.
    fn grow(&mut self, end: usize) {
        let Self::Small(bytes) = self else { return };
        if end > SMALL_BYTES {
            let mut slot = Slot::take();
            slot.extend(bytes);
            *self = Self::Whole(slot);
        } else if end > bytes.capacity() {
            let room = end.max(2 * bytes.capacity()).next_multiple_of(4096).min(SMALL_BYTES);
            bytes.reserve_exact(room - bytes.len());
        }
    }

    /// Zeroes `len` bytes from `within`, as far as they are held in memory.
    pub(super) fn zero(&mut self, within: usize, len: usize) {
        let bytes = self.bytes_mut();
        let end = bytes.len().min(within + len);
        if within < end {
            bytes[within..end].fill(0);
        }
    }

    /// Discards everything beyond `len`.
    pub(super) fn truncate(&mut self, len: usize) {
        match self {
            Self::Small(bytes) => {
                bytes.truncate(len);
                bytes.shrink_to(len.next_multiple_of(4096));
            }
            Self::Whole(slot) if len <= SMALL_BYTES => {
                *self = Self::Small(slot.filled()[..len.min(slot.filled().len())].to_vec())
            }
            Self::Whole(slot) => slot.truncate(len),
        }
    }
}
