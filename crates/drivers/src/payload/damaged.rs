//! Blocks that differ from what was written, reported with received and expected data.

/// A block that was read and differs from what was written, or the part of it that one header covers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damaged {
    /// Number of the file.
    pub object: u64,
    /// Its offset in the file.
    pub offset: u64,
    /// The received data.
    pub received: Vec<u8>,
    /// The expected data, as far as it is known: for a block of another writer, what this payload would write.
    pub expected: Vec<u8>,
}

/// Receiver of damaged blocks.
#[derive(Clone, Copy)]
pub(super) struct Keeper(pub(super) &'static (dyn Fn(Damaged) + Send + Sync));

impl PartialEq for Keeper {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::addr_eq(self.0, other.0)
    }
}

impl Eq for Keeper {}

impl std::fmt::Debug for Keeper {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Keeper")
    }
}
