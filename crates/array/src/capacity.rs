//! The array's space: one counter shared by files and objects.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// There is not enough space left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the array is full: {wanted} bytes wanted, {free} bytes free")]
pub struct Full {
    /// Requested bytes.
    pub wanted: u64,
    /// Free bytes.
    pub free: u64,
}

/// Total and used bytes of the array. Shared by all threads.
#[derive(Debug)]
pub struct Capacity {
    total: AtomicU64,
    used: AtomicU64,
}

impl Capacity {
    /// An empty array of `total` bytes.
    pub fn new(total: u64) -> Arc<Self> {
        Arc::new(Self { total: AtomicU64::new(total), used: AtomicU64::new(0) })
    }

    /// Allocates `bytes`.
    ///
    /// # Errors
    /// [`Full`] when fewer are free; nothing is allocated then.
    pub fn take(&self, bytes: u64) -> Result<(), Full> {
        if bytes == 0 {
            return Ok(());
        }
        let total = self.total.load(Ordering::Relaxed);
        self.used
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |used| {
                used.checked_add(bytes).filter(|after| *after <= total)
            })
            .map(|_| ())
            .map_err(|used| Full { wanted: bytes, free: total.saturating_sub(used) })
    }

    /// Frees `bytes` that were allocated.
    pub fn give_back(&self, bytes: u64) {
        if bytes > 0 {
            let before = self.used.fetch_sub(bytes, Ordering::Relaxed);
            debug_assert!(before >= bytes, "more given back than was taken");
        }
    }

    /// Changes the total. If it is less than what is used, every further [`Capacity::take`] fails: the "full disk"
    /// fault.
    pub fn set_total(&self, total: u64) {
        self.total.store(total, Ordering::Relaxed);
    }

    /// Size in bytes.
    pub fn total(&self) -> u64 {
        self.total.load(Ordering::Relaxed)
    }

    /// Bytes taken.
    pub fn used(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }

    /// Bytes left.
    pub fn free(&self) -> u64 {
        self.total().saturating_sub(self.used())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_takes_nothing() {
        let capacity = Capacity::new(100);
        capacity.take(60).unwrap();
        assert_eq!(capacity.take(41), Err(Full { wanted: 41, free: 40 }));
        assert_eq!(capacity.used(), 60);
        capacity.take(40).unwrap();
        capacity.give_back(100);
        assert_eq!(capacity.free(), 100);
    }

    #[test]
    fn a_shrunk_array_is_full_and_not_negative() {
        let capacity = Capacity::new(100);
        capacity.take(60).unwrap();
        capacity.set_total(10);
        assert_eq!(capacity.free(), 0);
        assert!(capacity.take(1).is_err());
        assert!(capacity.take(u64::MAX).is_err());
        capacity.give_back(60);
        capacity.take(10).unwrap();
    }
}
