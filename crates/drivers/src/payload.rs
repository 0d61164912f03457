//! Payload: bytes that are a function of seed, object and offset, so that they are verified without being kept.

/// A source of incompressible bytes: a small value, copied freely, the same for the same seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Payload {
    seed: u64,
}

/// The first byte that differs from what was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// Offset in the object, in bytes.
    pub offset: u64,
}

impl Payload {
    /// The payload of a seed.
    pub const fn new(seed: u64) -> Self {
        Self { seed }
    }

    /// Writes the content of `object` from `offset` on into `out`. Any offset and length will do.
    pub fn fill(&self, object: u64, offset: u64, out: &mut [u8]) {
        let _ = (self.seed, object, offset, out);
        unreachable!("skeleton")
    }

    /// Compares `data` with the content of `object` from `offset` on.
    ///
    /// # Errors
    /// The place of the first difference.
    pub fn verify(&self, object: u64, offset: u64, data: &[u8]) -> Result<(), Mismatch> {
        let _ = (object, offset, data);
        unreachable!("skeleton")
    }
}
