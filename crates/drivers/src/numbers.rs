//! What an object's number says about the object: names are made from numbers, and nothing else is kept.

/// Set in the numbers of what a load creates besides its data set.
pub const OWN: u64 = 1 << 63;
/// Set, among these, in the numbers of symbolic links.
pub const SYMLINK: u64 = 1 << 62;
/// Set, among these, in the numbers of directories.
pub const DIRECTORY: u64 = 1 << 61;

/// Set, among these, in the numbers of files whose content has the number without it: renaming such a file sets or clears it.
pub const RENAMED: u64 = 1 << (COUNT_BITS - 1);

/// Number of low bits that count what a lane created, the highest of them being [`RENAMED`].
pub const COUNT_BITS: u32 = 37;
/// The bits that count.
pub const COUNT_MASK: u64 = RENAMED - 1;
/// Number of bits above these that hold the lane.
pub const LANE_BITS: u32 = 61 - COUNT_BITS;

/// Whether the object with this number is a directory.
pub const fn is_directory(object: u64) -> bool {
    object & (OWN | DIRECTORY) == OWN | DIRECTORY
}

/// Whether the object with this number is a symbolic link.
pub const fn is_symlink(object: u64) -> bool {
    object & (OWN | SYMLINK) == OWN | SYMLINK
}

/// The number of an object's content, which stays the same when the object is renamed.
#[inline]
pub const fn content_of(object: u64) -> u64 {
    if object & OWN != 0 { object & !RENAMED } else { object }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_own_numbers_have_kinds() {
        assert!(is_directory(OWN | DIRECTORY | 5) && !is_directory(DIRECTORY) && !is_directory(OWN));
        assert!(is_symlink(OWN | SYMLINK | 5) && !is_symlink(SYMLINK) && !is_symlink(OWN | DIRECTORY));
    }

    #[test]
    fn a_rename_keeps_the_number_of_the_content() {
        assert_eq!(content_of(OWN | RENAMED | 5), content_of(OWN | 5));
        assert_eq!(content_of(RENAMED | 5), RENAMED | 5, "files of the data set are not renamed");
    }
}
