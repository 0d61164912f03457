//! What a lane remembers from one operation to the next.

use wire::nfs3::{FileHandle, Verifier};

/// The file that a lane is at, and what its server said of data not yet committed.
#[derive(Clone, Copy)]
pub(super) struct LaneFile {
    pub(super) object: u64,
    pub(super) file: FileHandle,
    /// The verifier of the first WRITE since the last COMMIT.
    written: Option<Verifier>,
    /// Another verifier was seen since.
    changed: bool,
}

impl LaneFile {
    pub(super) fn new(object: u64, file: FileHandle) -> Self {
        Self { object, file, written: None, changed: false }
    }

    /// Takes note of the verifier of data that is not durable yet.
    pub(super) fn wrote(&mut self, verifier: Verifier) {
        match self.written {
            None => self.written = Some(verifier),
            Some(first) => self.changed |= first != verifier,
        }
    }

    /// Compares with COMMIT's verifier and begins anew. True when everything written since the last COMMIT
    /// is durable; false when the server may have lost some of it.
    pub(super) fn commit(&mut self, verifier: Verifier) -> bool {
        let kept = !self.changed && self.written.is_none_or(|first| first == verifier);
        self.written = None;
        self.changed = false;
        kept
    }
}

/// Where a lane is in the listing of the directory.
#[derive(Clone, Copy, Default)]
pub(super) struct LaneListing {
    pub(super) cookie: u64,
    pub(super) verifier: Verifier,
}

/// The name of an object's file: 16 hexadecimal digits.
pub(super) fn name_of(object: u64) -> [u8; 16] {
    let mut name = [0; 16];
    for (at, digit) in name.iter_mut().enumerate() {
        let value = (object >> (60 - 4 * at)) as usize & 15;
        *digit = b"0123456789abcdef"[value];
    }
    name
}

/// True for the names that [`name_of`] makes.
pub(super) fn is_ours(name: &[u8]) -> bool {
    name.len() == 16 && name.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_hexadecimal() {
        assert_eq!(&name_of(0x0123_4567_89ab_cdef), b"0123456789abcdef");
        assert!(is_ours(&name_of(7)));
        assert!(!is_ours(b"0123456789ABCDEF") && !is_ours(b"0123") && !is_ours(b"0123456789abcdefg"));
    }

    #[test]
    fn a_verifier_that_changes_is_noticed_once() {
        let mut lane = LaneFile::new(1, FileHandle::EMPTY);
        lane.wrote([1; 8]);
        lane.wrote([1; 8]);
        assert!(lane.commit([1; 8]));
        lane.wrote([1; 8]);
        assert!(!lane.commit([2; 8]), "changed between WRITE and COMMIT");
        lane.wrote([2; 8]);
        lane.wrote([3; 8]);
        assert!(!lane.commit([3; 8]), "changed between two WRITEs");
        assert!(lane.commit([4; 8]), "nothing was written since");
    }
}
