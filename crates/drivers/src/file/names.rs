//! Names of files: an object's number as 16 hexadecimal digits.

use crate::tree::DirectoryTree;

/// Length of a name in bytes.
pub(crate) const NAME_LEN: usize = 16;

/// Marks a directory as ours. Nothing is removed from a directory without it.
pub(crate) const MARK: &str = ".manometer";

/// Writes the path of an object's file, relative to our directory, to the start of a buffer; returns its length.
#[inline]
pub(crate) fn write_path(tree: &DirectoryTree, object: u64, buffer: &mut [u8]) -> usize {
    let at = tree.write_leaf(tree.leaf_of(object), buffer);
    buffer[at..at + NAME_LEN].copy_from_slice(&name_of(object));
    at + NAME_LEN
}

/// The name of an object's file.
#[inline]
pub(crate) fn name_of(object: u64) -> [u8; NAME_LEN] {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut name = [0; NAME_LEN];
    for (at, byte) in name.iter_mut().enumerate() {
        *byte = DIGITS[(object >> (60 - 4 * at)) as usize & 15];
    }
    name
}

/// The object with this name, if [`name_of`] produces such a name.
pub(crate) fn object_of(name: &[u8]) -> Option<u64> {
    if name.len() != NAME_LEN || !name.iter().all(|c| matches!(c, b'0'..=b'9' | b'a'..=b'f')) {
        return None;
    }
    u64::from_str_radix(std::str::from_utf8(name).ok()?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_hexadecimal_and_read_back() {
        for object in [0, 1, 0xDEAD_BEEF, u64::MAX, 1 << 63] {
            assert_eq!(name_of(object), format!("{object:016x}").as_bytes());
            assert_eq!(object_of(&name_of(object)), Some(object));
        }
    }

    #[test]
    fn names_of_others_are_not_ours() {
        for name in ["", "0", "000000000000000G", "00000000000000000", "000000000000000A", "+00000000000000f"]
        {
            assert_eq!(object_of(name.as_bytes()), None, "{name}");
        }
    }
}
