//! The payload with the AES instructions of AArch64, which divide a round differently from x86: `AESE` adds the key
//! *before* the substitution, so the keys shift by one and the last is added separately.

use std::arch::aarch64::{
    uint8x16_t, vaeseq_u8, vaesmcq_u8, vdupq_n_u8, veorq_u8, vld1q_u8, vmaxvq_u8, vorrq_u8, vst1q_u8,
};

use super::{BLOCK, CHUNK, Keys, Path, ROUNDS};

/// Blocks in flight: a round takes two to four cycles, and one or two can start per cycle.
const DEPTH: usize = 8;
const STEP: usize = BLOCK * DEPTH;
const _: () = assert!(CHUNK.is_multiple_of(STEP));

/// Adds the path if the CPU supports it.
pub(super) fn push_available(paths: &mut Vec<Path>) {
    if std::arch::is_aarch64_feature_detected!("aes") {
        paths.push(Path { name: "AArch64 AES", fill, verify });
    }
}

fn fill(keys: &Keys, object: u64, block: u64, out: &mut [u8]) {
    // SAFETY: the path is listed only when the CPU has the feature.
    unsafe { fill_with(keys, object, block, out) }
}

fn verify(keys: &Keys, object: u64, block: u64, data: &[u8]) -> Option<usize> {
    // SAFETY: the path is listed only when the CPU has the feature.
    unsafe { verify_with(keys, object, block, data) }
}

#[inline]
fn register(low: u64, high: u64) -> uint8x16_t {
    let mut bytes = [0; BLOCK];
    bytes[..8].copy_from_slice(&low.to_le_bytes());
    bytes[8..].copy_from_slice(&high.to_le_bytes());
    // SAFETY: 16 bytes are read from an array of 16; NEON is part of the architecture.
    unsafe { vld1q_u8(bytes.as_ptr()) }
}

/// The next blocks, starting at number `block`.
#[inline]
#[target_feature(enable = "aes")]
fn make(keys: &[uint8x16_t; ROUNDS + 1], object: u64, block: u64) -> [uint8x16_t; DEPTH] {
    let mut state = [vdupq_n_u8(0); DEPTH];
    for (state, number) in state.iter_mut().zip(0..) {
        *state = register(block.wrapping_add(number), object);
    }
    for key in &keys[..ROUNDS] {
        for state in &mut state {
            *state = vaesmcq_u8(vaeseq_u8(*state, *key));
        }
    }
    for state in &mut state {
        *state = veorq_u8(*state, keys[ROUNDS]);
    }
    state
}

#[target_feature(enable = "aes")]
fn fill_with(keys: &Keys, object: u64, mut block: u64, out: &mut [u8]) {
    let keys = keys.map(|[low, high]| register(low, high));
    for out in out.chunks_exact_mut(STEP) {
        for (made, out) in make(&keys, object, block).into_iter().zip(out.chunks_exact_mut(BLOCK)) {
            // SAFETY: 16 bytes are written to a slice of 16.
            unsafe { vst1q_u8(out.as_mut_ptr(), made) };
        }
        block = block.wrapping_add(DEPTH as u64);
    }
}

#[target_feature(enable = "aes")]
fn verify_with(keys: &Keys, object: u64, mut block: u64, data: &[u8]) -> Option<usize> {
    let keys = keys.map(|[low, high]| register(low, high));
    for (number, data) in data.chunks_exact(STEP).enumerate() {
        let mut differences = vdupq_n_u8(0);
        for (made, data) in make(&keys, object, block).into_iter().zip(data.chunks_exact(BLOCK)) {
            // SAFETY: 16 bytes are read from a slice of 16.
            let read = unsafe { vld1q_u8(data.as_ptr()) };
            differences = vorrq_u8(differences, veorq_u8(read, made));
        }
        if vmaxvq_u8(differences) != 0 {
            return Some(number * STEP / CHUNK * CHUNK);
        }
        block = block.wrapping_add(DEPTH as u64);
    }
    None
}
