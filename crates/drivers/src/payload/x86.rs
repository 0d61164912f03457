//! The payload with the AES instructions of x86-64: 16, 32 or 64 bytes at a time.
//!
//! Each kernel keeps several registers in flight, because a round has a latency of four cycles and a throughput of one
//! or two per cycle.

use std::arch::x86_64::*;

use super::{BLOCK, CHUNK, Keys, Path, ROUNDS};

/// Adds the paths that the CPU supports, fastest first.
pub(super) fn push_available(paths: &mut Vec<Path>) {
    let aes = is_x86_feature_detected!("aes");
    let vaes = is_x86_feature_detected!("vaes");
    if vaes && is_x86_feature_detected!("avx512f") {
        paths.push(Path { name: "AVX-512 + VAES", fill: wide::fill, verify: wide::verify });
    }
    if vaes && is_x86_feature_detected!("avx2") {
        paths.push(Path { name: "AVX2 + VAES", fill: middle::fill, verify: middle::verify });
    }
    if aes {
        paths.push(Path { name: "AES-NI", fill: narrow::fill, verify: narrow::verify });
    }
}

/// Defines one kernel: a register type, the number of blocks in it, and its operations.
///
/// `$set(low, high)` makes a register of consecutive counters; `$equal(a, b)` is true when all bytes are equal.
macro_rules! kernel {
    ($module:ident, $features:literal, $register:ty, $lanes:literal, $depth:literal,
     $counters:expr, $broadcast:expr, $add:ident, $xor:ident, $round:ident, $load:ident, $store:ident,
     $or:ident, $is_zero:expr) => {
        mod $module {
            use super::*;

            const STEP: usize = $lanes * BLOCK * $depth;
            const _: () = assert!(CHUNK.is_multiple_of(STEP));

            pub(super) fn fill(keys: &Keys, object: u64, block: u64, out: &mut [u8]) {
                // SAFETY: the path is listed only when the CPU has the features.
                unsafe { fill_with(keys, object, block, out) }
            }

            pub(super) fn verify(keys: &Keys, object: u64, block: u64, data: &[u8]) -> Option<usize> {
                // SAFETY: the path is listed only when the CPU has the features.
                unsafe { verify_with(keys, object, block, data) }
            }

            /// Generates the next `$depth` registers of payload and advances the counters.
            #[inline]
            #[target_feature(enable = $features)]
            fn make(
                keys: &[$register; ROUNDS + 1],
                counters: &mut [$register; $depth],
                step: $register,
            ) -> [$register; $depth] {
                let mut state = *counters;
                for at in 0..$depth {
                    state[at] = $xor(counters[at], keys[0]);
                    counters[at] = $add(counters[at], step);
                }
                for key in &keys[1..] {
                    for at in 0..$depth {
                        state[at] = $round(state[at], *key);
                    }
                }
                state
            }

            #[inline]
            #[target_feature(enable = $features)]
            fn start(
                keys: &Keys,
                object: u64,
                block: u64,
            ) -> ([$register; ROUNDS + 1], [$register; $depth], $register) {
                let mut wide = [$broadcast(0, 0); ROUNDS + 1];
                for at in 0..=ROUNDS {
                    wide[at] = $broadcast(keys[at][0], keys[at][1]);
                }
                let mut counters = [$broadcast(0, 0); $depth];
                for at in 0..$depth {
                    counters[at] = $counters(block.wrapping_add(($lanes * at) as u64), object);
                }
                (wide, counters, $broadcast(($lanes * $depth) as u64, 0))
            }

            #[target_feature(enable = $features)]
            fn fill_with(keys: &Keys, object: u64, block: u64, out: &mut [u8]) {
                let (keys, mut counters, step) = start(keys, object, block);
                for out in out.chunks_exact_mut(STEP) {
                    let made = make(&keys, &mut counters, step);
                    for at in 0..$depth {
                        // SAFETY: the chunk is $depth registers long; the store needs no alignment.
                        unsafe { $store(out.as_mut_ptr().add(at * $lanes * BLOCK).cast(), made[at]) };
                    }
                }
            }

            #[target_feature(enable = $features)]
            fn verify_with(keys: &Keys, object: u64, block: u64, data: &[u8]) -> Option<usize> {
                let (keys, mut counters, step) = start(keys, object, block);
                for (number, data) in data.chunks_exact(STEP).enumerate() {
                    let made = make(&keys, &mut counters, step);
                    let mut differences = $broadcast(0, 0);
                    for at in 0..$depth {
                        // SAFETY: the chunk is $depth registers long; the load needs no alignment.
                        let read = unsafe { $load(data.as_ptr().add(at * $lanes * BLOCK).cast()) };
                        differences = $or(differences, $xor(read, made[at]));
                    }
                    if !$is_zero(differences) {
                        return Some(number * STEP / CHUNK * CHUNK);
                    }
                }
                None
            }
        }
    };
}

kernel!(
    wide,
    "avx512f,vaes",
    __m512i,
    4,
    4,
    |low: u64, high: u64| {
        let [low, high] = [low as i64, high as i64];
        _mm512_set_epi64(
            high,
            low.wrapping_add(3),
            high,
            low.wrapping_add(2),
            high,
            low.wrapping_add(1),
            high,
            low,
        )
    },
    |low: u64, high: u64| _mm512_broadcast_i32x4(_mm_set_epi64x(high as i64, low as i64)),
    _mm512_add_epi64,
    _mm512_xor_si512,
    _mm512_aesenc_epi128,
    _mm512_loadu_si512,
    _mm512_storeu_si512,
    _mm512_or_si512,
    |register| _mm512_test_epi64_mask(register, register) == 0
);

kernel!(
    middle,
    "avx2,vaes",
    __m256i,
    2,
    8,
    |low: u64, high: u64| {
        let [low, high] = [low as i64, high as i64];
        _mm256_set_epi64x(high, low.wrapping_add(1), high, low)
    },
    |low: u64, high: u64| _mm256_broadcastsi128_si256(_mm_set_epi64x(high as i64, low as i64)),
    _mm256_add_epi64,
    _mm256_xor_si256,
    _mm256_aesenc_epi128,
    _mm256_loadu_si256,
    _mm256_storeu_si256,
    _mm256_or_si256,
    |register| _mm256_testz_si256(register, register) == 1
);

kernel!(
    narrow,
    "aes,sse4.1",
    __m128i,
    1,
    8,
    |low: u64, high: u64| _mm_set_epi64x(high as i64, low as i64),
    |low: u64, high: u64| _mm_set_epi64x(high as i64, low as i64),
    _mm_add_epi64,
    _mm_xor_si128,
    _mm_aesenc_si128,
    _mm_loadu_si128,
    _mm_storeu_si128,
    _mm_or_si128,
    |register| _mm_testz_si128(register, register) == 1
);
