//! Blocks that differ from what was written, handed on as they were read and as they should be.

/// A block, or the part of it that a header stands for, that was read and is not what was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damaged {
    /// Number of the file.
    pub object: u64,
    /// Where in the file it begins.
    pub offset: u64,
    /// What was read.
    pub received: Vec<u8>,
    /// What should have been read, as far as it can be known: of a block that somebody else wrote, what this payload writes.
    pub expected: Vec<u8>,
}

/// Who is told of them.
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
