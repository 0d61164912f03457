//! Payload: bytes that are a function of seed, object and offset, so they can be verified without being kept.
//!
//! The content of an object is a keyed mixing of the pair (position / 16, object): four rounds of AES (the round
//! function of FIPS 197, not the cipher; nothing here is secret) over that 128-bit counter, with round keys derived
//! from the seed. Consequences:
//!
//! * Any position is directly accessible: a read at a random offset generates at most a few hundred bytes more than it
//!   needs.
//! * A round is a permutation of 128 bits, so for one seed **no two 16-byte blocks are equal**, whatever the object and
//!   the position: a deduplicating or compressing target gains nothing.
//! * The bytes are the same on every path: AVX-512 with VAES, AVX2 with VAES, AES-NI, the AES instructions of AArch64,
//!   and tables elsewhere.
//! * Buffers are filled and compared in registers, without a second buffer.
//!
//! Measured in GiB/s on one core of an AMD EPYC (Zen 5, a shared virtual machine: minimum and maximum of several runs
//! with buffers of 4 KiB to 1 MiB):
//!
//! | path | fill | verify |
//! |---|---|---|
//! | AVX-512 + VAES | 80–111 | 64–97 |
//! | AVX2 + VAES | 41–58 | 33–52 |
//! | AES-NI | 21–32 | 18–24 |
//! | tables | 0.7–1.0 | 0.8–0.9 |
//!
//! The alternative, an eight-lane xoshiro256++, generates 35 GiB/s with AVX-512 and 11 with AVX2, and must be reseeded
//! for every position.
//!
//! A payload may be shaped ([`Payload::with`]): a share of it compresses, a share of it occurs more than once. Because
//! a round can be inverted, unexpected data reveals where it comes from ([`Payload::diagnose`]).

#[cfg(target_arch = "aarch64")]
mod aarch64;
mod body;
mod damaged;
mod diagnosis;
mod header;
mod invert;
mod marks;
mod pattern;
mod portable;
mod recipe;
mod shape;
#[cfg(test)]
mod shape_tests;
mod sums;
#[cfg(test)]
mod tests;
mod wrong_block;
#[cfg(target_arch = "x86_64")]
mod x86;

use std::sync::OnceLock;

use content::split_mix;

pub use damaged::Damaged;
pub use diagnosis::{Damage, Diagnosis};
use recipe::Recipe;
use shape::Shape;

/// Bytes generated from one counter value.
const BLOCK: usize = 16;
/// The kernels work on multiples of this many bytes.
const CHUNK: usize = 256;
/// Mixing rounds. Two spread every input bit over all 16 bytes; two more leave no pattern for a compressor.
const ROUNDS: usize = 4;

/// The whitening key and one key per round.
type Keys = [[u64; 2]; ROUNDS + 1];

/// A source of bytes, incompressible unless shaped otherwise: a small copyable value, the same for the same seed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Payload {
    seed: u64,
    keys: Keys,
    shape: Shape,
    /// Content of blocks, if it is something else.
    recipe: Option<&'static Recipe>,
}

/// The first byte that differs from the written data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// Position in the stream, in bytes, as requested: with the generation above its low 48 bits.
    pub offset: u64,
}

/// One implementation. Both functions take a multiple of [`CHUNK`] bytes.
#[derive(Clone, Copy)]
struct Path {
    #[cfg_attr(not(test), expect(dead_code, reason = "names the path in a failing test"))]
    name: &'static str,
    /// Writes the blocks starting at number `block`.
    fill: fn(keys: &Keys, object: u64, block: u64, out: &mut [u8]),
    /// The offset of the first chunk that differs.
    verify: fn(keys: &Keys, object: u64, block: u64, data: &[u8]) -> Option<usize>,
}

/// The implementations that this machine supports, fastest first.
fn available() -> Vec<Path> {
    let mut paths = Vec::new();
    #[cfg(target_arch = "x86_64")]
    x86::push_available(&mut paths);
    #[cfg(target_arch = "aarch64")]
    aarch64::push_available(&mut paths);
    paths.push(portable::PATH);
    paths
}

/// The fastest implementation, determined once.
fn fastest() -> Path {
    static FASTEST: OnceLock<Path> = OnceLock::new();
    *FASTEST.get_or_init(|| available()[0])
}

impl Payload {
    /// The payload of a seed.
    pub const fn new(seed: u64) -> Self {
        let mut keys = [[0; 2]; ROUNDS + 1];
        let mut state = seed;
        let mut at = 0;
        while at < keys.len() {
            keys[at] = [split_mix(&mut state), split_mix(&mut state)];
            at += 1;
        }
        Self { seed, keys, shape: Shape::PLAIN, recipe: None }
    }

    /// The seed it was made from.
    pub const fn seed(&self) -> u64 {
        self.seed
    }

    /// Writes the content of `object` from `offset` into `out`. Any offset and length are allowed.
    pub fn fill(&self, object: u64, offset: u64, out: &mut [u8]) {
        if self.shape.is_plain() {
            self.fill_by(fastest(), object, offset, out);
        } else {
            self.fill_shaped(object, offset, out);
        }
    }

    /// Compares `data` with the content of `object` from `offset`.
    ///
    /// # Errors
    /// The position of the first difference.
    pub fn verify(&self, object: u64, offset: u64, data: &[u8]) -> Result<(), Mismatch> {
        if self.shape.is_plain() {
            self.verify_by(fastest(), object, offset, data)
        } else {
            self.verify_shaped(object, offset, data)
        }
    }

    fn fill_by(&self, path: Path, object: u64, offset: u64, out: &mut [u8]) {
        let parts = Parts::of(offset, out.len());
        let (head, rest) = out.split_at_mut(parts.head);
        let (body, tail) = rest.split_at_mut(parts.body);
        if !head.is_empty() {
            let made = self.chunk(path, object, offset / BLOCK as u64);
            head.copy_from_slice(&made[parts.skip..parts.skip + head.len()]);
        }
        if !body.is_empty() {
            (path.fill)(&self.keys, object, parts.body_block, body);
        }
        if !tail.is_empty() {
            let made = self.chunk(path, object, parts.tail_block());
            tail.copy_from_slice(&made[..tail.len()]);
        }
    }

    fn verify_by(&self, path: Path, object: u64, offset: u64, data: &[u8]) -> Result<(), Mismatch> {
        let parts = Parts::of(offset, data.len());
        let (head, rest) = data.split_at(parts.head);
        let (body, tail) = rest.split_at(parts.body);
        if !head.is_empty() {
            let made = self.chunk(path, object, offset / BLOCK as u64);
            compare(head, &made[parts.skip..], offset)?;
        }
        if !body.is_empty()
            && let Some(at) = (path.verify)(&self.keys, object, parts.body_block, body)
        {
            let made = self.chunk(path, object, parts.body_block + (at / BLOCK) as u64);
            compare(&body[at..at + CHUNK], &made, offset + (parts.head + at) as u64)?;
        }
        if !tail.is_empty() {
            let made = self.chunk(path, object, parts.tail_block());
            compare(tail, &made, offset + (parts.head + parts.body) as u64)?;
        }
        Ok(())
    }

    /// The bytes starting at block number `block`.
    fn chunk(&self, path: Path, object: u64, block: u64) -> [u8; CHUNK] {
        let mut made = [0; CHUNK];
        (path.fill)(&self.keys, object, block, &mut made);
        made
    }
}

impl std::fmt::Debug for Payload {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Payload")
            .field("seed", &self.seed)
            .field("shape", &self.shape)
            .field("recipe", &self.recipe)
            .finish_non_exhaustive()
    }
}

/// A byte range divided into a head up to the next block boundary, whole chunks, and a tail.
struct Parts {
    /// Bytes of the first block that come before the range.
    skip: usize,
    head: usize,
    body: usize,
    body_block: u64,
}

impl Parts {
    fn of(offset: u64, len: usize) -> Self {
        let skip = (offset % BLOCK as u64) as usize;
        let head = if skip == 0 { 0 } else { (BLOCK - skip).min(len) };
        let body = (len - head) / CHUNK * CHUNK;
        Self { skip, head, body, body_block: (offset + head as u64) / BLOCK as u64 }
    }

    fn tail_block(&self) -> u64 {
        self.body_block + (self.body / BLOCK) as u64
    }
}

/// Finds the first difference between the data read and the start of the generated data.
fn compare(read: &[u8], made: &[u8], offset: u64) -> Result<(), Mismatch> {
    let differs = read.iter().zip(made).position(|(read, made)| read != made);
    differs.map_or(Ok(()), |at| Err(Mismatch { offset: offset + at as u64 }))
}
