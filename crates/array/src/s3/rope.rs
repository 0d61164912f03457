//! The bytes of an object: blocks of up to 1 MiB that are passed on without copying.

use bytes::Bytes;

use crate::files::Slot;

/// Above this, a block uses a whole slot of pooled memory, which causes no page faults when reused.
const SMALL_BYTES: usize = 256 << 10;

/// Bytes of all blocks but the last of a rope built by [`Builder`].
const BLOCK_BYTES: usize = 1 << 20;

/// Immutable bytes in blocks.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rope {
    blocks: Vec<Bytes>,
    len: u64,
}

impl Rope {
    /// Length in bytes.
    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// The blocks of the bytes from `start` to `end`, not copied.
    pub(crate) fn slice(&self, start: u64, end: u64) -> Vec<Bytes> {
        let mut wanted = Vec::with_capacity(self.blocks.len());
        let mut at = 0;
        for block in &self.blocks {
            let block_end = at + block.len() as u64;
            if block_end > start && at < end {
                let from = start.saturating_sub(at) as usize;
                let to = (end.min(block_end) - at) as usize;
                wanted.push(block.slice(from..to));
            }
            at = block_end;
        }
        wanted
    }

    /// Appends another rope, not copied.
    pub(crate) fn append(&mut self, other: &Self) {
        self.blocks.extend_from_slice(&other.blocks);
        self.len += other.len;
    }
}

/// Collects fragments of any size into a rope. They are copied into blocks of our own: keeping a fragment would pin the
/// whole receive buffer that it was cut from, which then could not be reused.
#[derive(Debug)]
pub(crate) struct Builder {
    rope: Rope,
    expected: u64,
    open: Open,
}

/// The block being filled.
#[derive(Debug)]
enum Open {
    Small(Vec<u8>),
    Whole(Slot),
}

impl Builder {
    /// A rope of about `expected` bytes: 0 if unknown.
    pub(crate) fn new(expected: u64) -> Self {
        Self { rope: Rope::default(), expected, open: Open::Small(Vec::new()) }
    }

    /// Bytes so far.
    pub(crate) fn len(&self) -> u64 {
        self.rope.len + self.open_len() as u64
    }

    fn open_len(&self) -> usize {
        match &self.open {
            Open::Small(bytes) => bytes.len(),
            Open::Whole(slot) => slot.filled().len(),
        }
    }

    /// Appends bytes.
    pub(crate) fn push(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let open_len = self.open_len();
            if open_len == BLOCK_BYTES {
                self.close();
                continue;
            }
            let (now, later) = bytes.split_at(bytes.len().min(BLOCK_BYTES - open_len));
            self.make_room(open_len + now.len());
            match &mut self.open {
                Open::Small(block) => block.extend_from_slice(now),
                Open::Whole(slot) => slot.extend(now),
            }
            bytes = later;
        }
    }

    /// Makes room for `end` bytes in the open block: small from the start if everything is known to be small.
    fn make_room(&mut self, end: usize) {
        let Open::Small(block) = &mut self.open else { return };
        let rest = self.expected.saturating_sub(self.rope.len).min(BLOCK_BYTES as u64) as usize;
        let wanted = end.max(rest);
        if wanted > SMALL_BYTES {
            let mut slot = Slot::take();
            slot.extend(block);
            self.open = Open::Whole(slot);
        } else if wanted > block.capacity() {
            block.reserve_exact(wanted - block.len());
        }
    }

    fn close(&mut self) {
        let block = match std::mem::replace(&mut self.open, Open::Small(Vec::new())) {
            Open::Small(bytes) => Bytes::from(bytes),
            Open::Whole(slot) => Bytes::from_owner(slot),
        };
        if !block.is_empty() {
            self.rope.len += block.len() as u64;
            self.rope.blocks.push(block);
        }
    }

    /// The finished rope.
    pub(crate) fn finish(mut self) -> Rope {
        self.close();
        self.rope
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn bytes_of(rope: &Rope, start: u64, end: u64) -> Vec<u8> {
        rope.slice(start, end).concat()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[test]
        fn any_slice_of_any_fragments_is_right(
            fragments in prop::collection::vec(0usize..500_000, 0..6),
            expected in prop_oneof![Just(0u64), Just(3_000_000)],
            a in 0.0..1.0f64, b in 0.0..1.0f64,
        ) {
            let whole: Vec<u8> = (0..fragments.iter().sum::<usize>()).map(|i| (i * 7 / 5) as u8).collect();
            let mut builder = Builder::new(expected);
            let mut rest = whole.as_slice();
            for len in fragments {
                let (now, later) = rest.split_at(len);
                builder.push(now);
                rest = later;
            }
            prop_assert_eq!(builder.len(), whole.len() as u64);
            let rope = builder.finish();
            prop_assert_eq!(rope.len(), whole.len() as u64);
            let (from, to) = ((a.min(b) * whole.len() as f64) as usize, (a.max(b) * whole.len() as f64) as usize);
            prop_assert!(bytes_of(&rope, from as u64, to as u64) == whole[from..to]);
        }
    }

    #[test]
    fn ropes_are_joined_without_copying() {
        let make = |byte: u8, len: usize| {
            let mut builder = Builder::new(len as u64);
            builder.push(&vec![byte; len]);
            builder.finish()
        };
        let (first, second) = (make(1, 3), make(2, 5));
        let mut joined = Rope::default();
        joined.append(&first);
        joined.append(&second);
        assert_eq!(bytes_of(&joined, 2, 5), [1, 2, 2]);
        assert_eq!(joined.slice(0, 8)[0].as_ptr(), first.slice(0, 3)[0].as_ptr());
    }
}
