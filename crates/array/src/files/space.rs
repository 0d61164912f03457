//! The space of one file system: part of the array's, optionally limited.

use std::sync::Arc;

use crate::capacity::{Capacity, Full};

/// Space of the array used by one file system.
#[derive(Debug)]
pub(super) struct Space {
    array: Arc<Capacity>,
    limit: u64,
    used: u64,
}

impl Space {
    /// No space used yet; at most `limit` bytes allowed.
    pub(super) fn new(array: Arc<Capacity>, limit: Option<u64>) -> Self {
        Self { array, limit: limit.unwrap_or(u64::MAX), used: 0 }
    }

    /// Changes the limit; space already used stays.
    pub(super) fn set_limit(&mut self, limit: Option<u64>) {
        self.limit = limit.unwrap_or(u64::MAX);
    }

    /// Bytes taken.
    pub(super) fn used(&self) -> u64 {
        self.used
    }

    /// Total bytes of this file system, and how many are free.
    pub(super) fn total_and_free(&self) -> (u64, u64) {
        let total = self.limit.min(self.array.total());
        (total, self.limit.saturating_sub(self.used).min(self.array.free()))
    }

    /// Allocates `bytes` from the file system and the array.
    ///
    /// # Errors
    /// [`Full`] when either has fewer; nothing is allocated then.
    pub(super) fn take(&mut self, bytes: u64) -> Result<(), Full> {
        let free = self.limit.saturating_sub(self.used);
        if bytes > free {
            return Err(Full { wanted: bytes, free });
        }
        self.array.take(bytes)?;
        self.used += bytes;
        Ok(())
    }

    /// Frees `bytes` that were allocated.
    pub(super) fn give_back(&mut self, bytes: u64) {
        self.used -= bytes;
        self.array.give_back(bytes);
    }
}

impl Drop for Space {
    fn drop(&mut self) {
        self.array.give_back(self.used);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_bounds_hold_and_dropping_gives_back() {
        let array = Capacity::new(100);
        let mut small = Space::new(Arc::clone(&array), Some(10));
        let mut large = Space::new(Arc::clone(&array), None);
        small.take(10).unwrap();
        assert_eq!(small.take(1), Err(Full { wanted: 1, free: 0 }));
        assert_eq!(large.total_and_free(), (100, 90));
        large.take(90).unwrap();
        assert!(large.take(1).is_err());
        small.set_limit(Some(20));
        assert!(small.take(1).is_err(), "the array is full");
        drop(large);
        assert_eq!(small.total_and_free(), (20, 10));
        assert_eq!(array.used(), 10);
    }
}
