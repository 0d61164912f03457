//! Recovers the counter and the object from 16 bytes of payload: each round is a permutation, undone by the inverse
//! steps of FIPS 197, 5.3.

use super::portable::{column_table, double};
use super::{BLOCK, Keys};

/// The byte from which SubBytes produces this one.
static SUBSTITUTED_FROM: [u8; 256] = inverse_table();

/// The block number and object that produce these bytes. Any bytes have such a pair; the caller judges whether it is
/// meaningful.
pub(super) fn invert(keys: &Keys, bytes: [u8; BLOCK]) -> (u64, u64) {
    let mut state = bytes;
    for key in keys[1..].iter().rev() {
        state = undo_round(state, *key);
    }
    let [low, high] = halves(state);
    (low ^ keys[0][0], high ^ keys[0][1])
}

fn undo_round(state: [u8; BLOCK], key: [u64; 2]) -> [u8; BLOCK] {
    let [low, high] = halves(state);
    let mut mixed = [0; BLOCK];
    mixed[..8].copy_from_slice(&(low ^ key[0]).to_le_bytes());
    mixed[8..].copy_from_slice(&(high ^ key[1]).to_le_bytes());
    let mut before = [0; BLOCK];
    for column in 0..4 {
        let bytes: [u8; 4] = std::array::from_fn(|row| mixed[4 * column + row]);
        for row in 0..4 {
            // InvMixColumns, then InvShiftRows: row r came from the column r places further.
            let byte = times(bytes[row], 14)
                ^ times(bytes[(row + 1) % 4], 11)
                ^ times(bytes[(row + 2) % 4], 13)
                ^ times(bytes[(row + 3) % 4], 9);
            before[4 * ((column + row) % 4) + row] = SUBSTITUTED_FROM[usize::from(byte)];
        }
    }
    before
}

fn halves(bytes: [u8; BLOCK]) -> [u64; 2] {
    let number = u128::from_le_bytes(bytes);
    [number as u64, (number >> 64) as u64]
}

/// Multiplication in the field of FIPS 197, 4.2, by a number below 16.
const fn times(byte: u8, factor: u8) -> u8 {
    let (two, four) = (double(byte), double(double(byte)));
    let eight = double(four);
    (if factor & 1 != 0 { byte } else { 0 })
        ^ (if factor & 2 != 0 { two } else { 0 })
        ^ (if factor & 4 != 0 { four } else { 0 })
        ^ (if factor & 8 != 0 { eight } else { 0 })
}

const fn inverse_table() -> [u8; 256] {
    let columns = column_table();
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        // The second byte of a column's contribution is the substituted byte itself.
        let substituted = (columns[byte] >> 8) as u8;
        table[substituted as usize] = byte as u8;
        byte += 1;
    }
    table
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::Payload;
    use super::*;

    proptest! {
        #[test]
        fn whatever_was_made_says_what_it_was_made_from(seed: u64, object: u64, block in 0u64..1 << 60) {
            let payload = Payload::new(seed);
            let mut bytes = [0; BLOCK];
            payload.fill(object, block * BLOCK as u64, &mut bytes);
            prop_assert_eq!(invert(&payload.keys, bytes), (block, object));
        }
    }
}
