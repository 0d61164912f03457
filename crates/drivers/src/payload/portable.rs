//! The payload by tables, for CPUs without AES instructions. The other paths are tested against this one.

use super::{BLOCK, CHUNK, Keys, Path};

pub(super) const PATH: Path = Path { name: "tables", fill, verify };

/// SubBytes and MixColumns of one byte as the column it contributes to, row 0 in the lowest byte (FIPS 197, 5.1).
static COLUMN: [u32; 256] = column_table();

fn fill(keys: &Keys, object: u64, block: u64, out: &mut [u8]) {
    for (at, out) in out.chunks_exact_mut(BLOCK).enumerate() {
        out.copy_from_slice(&make(keys, object, block.wrapping_add(at as u64)));
    }
}

fn verify(keys: &Keys, object: u64, block: u64, data: &[u8]) -> Option<usize> {
    let differs = |(at, data): (usize, &[u8])| make(keys, object, block.wrapping_add(at as u64)) != data;
    data.chunks_exact(BLOCK).enumerate().position(differs).map(|at| at * BLOCK / CHUNK * CHUNK)
}

fn make(keys: &Keys, object: u64, block: u64) -> [u8; BLOCK] {
    let mut state = [block ^ keys[0][0], object ^ keys[0][1]];
    for key in &keys[1..] {
        state = round(state, *key);
    }
    let mut out = [0; BLOCK];
    out[..8].copy_from_slice(&state[0].to_le_bytes());
    out[8..].copy_from_slice(&state[1].to_le_bytes());
    out
}

/// One AES round, the same as `aesenc`.
fn round(state: [u64; 2], key: [u64; 2]) -> [u64; 2] {
    let words = [state[0] as u32, (state[0] >> 32) as u32, state[1] as u32, (state[1] >> 32) as u32];
    // ShiftRows: row r of the new column comes from the column r places further.
    let column = |at: usize| {
        let from = |row: usize| COLUMN[(words[(at + row) % 4] >> (8 * row)) as u8 as usize];
        from(0) ^ from(1).rotate_left(8) ^ from(2).rotate_left(16) ^ from(3).rotate_left(24)
    };
    let pair = |low: usize| u64::from(column(low)) | u64::from(column(low + 1)) << 32;
    [pair(0) ^ key[0], pair(2) ^ key[1]]
}

/// Multiplication by x in the field of FIPS 197, 4.2.
pub(super) const fn double(byte: u8) -> u8 {
    (byte << 1) ^ (if byte & 0x80 != 0 { 0x1B } else { 0 })
}

pub(super) const fn column_table() -> [u32; 256] {
    let mut table = [0; 256];
    // Walks the field with the generator 3 (p) and its inverse (q), so that q is always 1/p.
    let (mut p, mut q) = (1u8, 1u8);
    loop {
        p ^= double(p);
        q ^= q << 1;
        q ^= q << 2;
        q ^= q << 4;
        if q & 0x80 != 0 {
            q ^= 0x09;
        }
        table[p as usize] =
            column_of(q ^ q.rotate_left(1) ^ q.rotate_left(2) ^ q.rotate_left(3) ^ q.rotate_left(4) ^ 0x63);
        if p == 1 {
            break;
        }
    }
    table[0] = column_of(0x63);
    table
}

const fn column_of(substituted: u8) -> u32 {
    let twice = double(substituted);
    u32::from_le_bytes([twice, substituted, substituted, twice ^ substituted])
}

#[cfg(test)]
mod tests {
    use super::round;

    /// The first round of the example in FIPS 197, appendix B.
    #[test]
    fn a_round_is_that_of_the_standard() {
        let words = |bytes: [u8; 16]| {
            let half = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
            [half(0), half(8)]
        };
        let start = words([
            0x19, 0x3d, 0xe3, 0xbe, 0xa0, 0xf4, 0xe2, 0x2b, 0x9a, 0xc6, 0x8d, 0x2a, 0xe9, 0xf8, 0x48, 0x08,
        ]);
        let key = words([
            0xa0, 0xfa, 0xfe, 0x17, 0x88, 0x54, 0x2c, 0xb1, 0x23, 0xa3, 0x39, 0x39, 0x2a, 0x6c, 0x76, 0x05,
        ]);
        let end = words([
            0xa4, 0x9c, 0x7f, 0xf2, 0x68, 0x9f, 0x35, 0x2b, 0x6b, 0x5b, 0xea, 0x43, 0x02, 0x6a, 0x50, 0x49,
        ]);
        assert_eq!(round(start, key), end);
    }
}
