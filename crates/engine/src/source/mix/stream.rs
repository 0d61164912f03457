//! Consecutive blocks of varying sizes, through all files or objects.

use crate::data_set::{Index, Place};

/// A lane's position.
#[derive(Debug)]
pub(super) struct Stream {
    item: u64,
    offset: u64,
}

impl Stream {
    /// Starts with the given file or object.
    pub(super) fn new(item: u64) -> Self {
        Stream { item, offset: 0 }
    }

    /// The next block of this many bytes: at the next offset that is a multiple of its size, up to the file's end.
    pub(super) fn next(&mut self, items: &Index, bytes: u64) -> Place {
        loop {
            let Place { object, len: size, .. } = items.place(self.item % items.total());
            let offset = self.offset.next_multiple_of(bytes);
            if offset < size {
                let len = bytes.min(size - offset);
                self.offset = offset + len;
                return Place { object, offset, len };
            }
            (self.item, self.offset) = ((self.item + 1) % items.total(), 0);
        }
    }
}
