//! The file handles that the session has seen, and the server's verifiers of data not yet committed.
//!
//! Random access over many files must not cost a LOOKUP at each switch. The cache is bounded and preallocated: a hit
//! takes a hash, at most four comparisons and no allocation. All lanes of a session share it, so that a COMMIT by one
//! lane also covers what another lane wrote to the file.

use wire::nfs3::{FileHandle, Verifier};

/// Minimum number of files whose handles are kept.
const FILES: usize = 4096;
/// Maximum number of them.
const MAX_FILES: usize = 1 << 20;
/// Slots that a file may occupy.
const WAYS: usize = 4;

/// Data written to a file and not committed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Uncommitted {
    /// The verifier of the first WRITE since the last COMMIT.
    written: Option<Verifier>,
    /// A different verifier has been seen since.
    changed: bool,
}

impl Uncommitted {
    /// Records the verifier of data that is not durable yet.
    pub(super) fn wrote(&mut self, verifier: Verifier) {
        match self.written {
            None => self.written = Some(verifier),
            Some(first) => self.changed |= first != verifier,
        }
    }

    /// Compares with COMMIT's verifier: false when the server may have lost some of the written data.
    pub(super) fn kept(self, verifier: Verifier) -> bool {
        !self.changed && self.written.is_none_or(|first| first == verifier)
    }

    /// Restores what was taken for a COMMIT that failed.
    fn restore(&mut self, taken: Self) {
        if let Some(verifier) = taken.written {
            self.changed |= taken.changed || self.written.is_some_and(|later| later != verifier);
            self.written = Some(verifier);
        }
    }
}

#[derive(Clone, Copy)]
struct Known {
    object: u64,
    /// [`FileHandle::EMPTY`] in a free slot.
    file: FileHandle,
    uncommitted: Uncommitted,
}

const FREE: Known =
    Known { object: 0, file: FileHandle::EMPTY, uncommitted: Uncommitted { written: None, changed: false } };

impl Known {
    #[inline]
    fn is_free(&self) -> bool {
        self.file.as_bytes().is_empty()
    }
}

/// Handles by object.
pub(super) struct Handles {
    sets: Box<[[Known; WAYS]]>,
    /// Which slot of a full set is evicted next.
    turn: usize,
    /// Right shift that turns a hash into a set number.
    shift: u32,
}

impl Handles {
    /// Space for a session that uses this many files: at least 4096, at most about a million.
    pub(super) fn new(files: u32) -> Self {
        let files = (2 * files as usize).clamp(FILES, MAX_FILES).next_power_of_two();
        let sets = vec![[FREE; WAYS]; files / WAYS].into_boxed_slice();
        Self { shift: u64::BITS - sets.len().trailing_zeros(), sets, turn: 0 }
    }

    /// The handle of an object's file, if it is known.
    #[inline]
    pub(super) fn get(&self, object: u64) -> Option<&FileHandle> {
        self.set(object)
            .iter()
            .find(|known| known.object == object && !known.is_free())
            .map(|known| &known.file)
    }

    /// Stores a handle; it may evict another file, preferably one with nothing uncommitted.
    pub(super) fn insert(&mut self, object: u64, file: FileHandle) {
        self.turn = self.turn.wrapping_add(1);
        let turn = self.turn;
        let set = self.set_mut(object);
        let same = set.iter().position(|known| known.object == object && !known.is_free());
        let place = same
            .or_else(|| set.iter().position(Known::is_free))
            .or_else(|| {
                let clean = |at: &usize| set[*at].uncommitted == Uncommitted::default();
                (0..WAYS).map(|at| (at + turn) % WAYS).find(clean)
            })
            .unwrap_or(turn % WAYS);
        set[place] = Known { object, file, ..FREE };
    }

    /// Removes a file from the cache: it was deleted, or its handle is stale.
    pub(super) fn forget(&mut self, object: u64) {
        if let Some(known) = self.known(object) {
            *known = FREE;
        }
    }

    /// Records the verifier of data that is not durable yet.
    #[inline]
    pub(super) fn wrote(&mut self, object: u64, verifier: Verifier) {
        if let Some(known) = self.known(object) {
            known.uncommitted.wrote(verifier);
        }
    }

    /// What a COMMIT sent now will cover; later writes belong to the next one.
    pub(super) fn take_uncommitted(&mut self, object: u64) -> Uncommitted {
        self.known(object).map(|known| std::mem::take(&mut known.uncommitted)).unwrap_or_default()
    }

    /// Restores the uncommitted state after a failed COMMIT.
    pub(super) fn restore_uncommitted(&mut self, object: u64, taken: Uncommitted) {
        if let Some(known) = self.known(object) {
            known.uncommitted.restore(taken);
        }
    }

    #[inline]
    fn known(&mut self, object: u64) -> Option<&mut Known> {
        self.set_mut(object).iter_mut().find(|known| known.object == object && !known.is_free())
    }

    #[inline]
    fn set(&self, object: u64) -> &[Known; WAYS] {
        &self.sets[self.place(object)]
    }

    #[inline]
    fn set_mut(&mut self, object: u64) -> &mut [Known; WAYS] {
        &mut self.sets[self.place(object)]
    }

    /// The set of an object. A lane's file numbers are consecutive, so neighbours go to different sets; Fibonacci
    /// hashing also spreads those of different lanes.
    #[inline]
    fn place(&self, object: u64) -> usize {
        (object.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> self.shift) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn handle(number: u64) -> FileHandle {
        FileHandle::new(&number.to_be_bytes()).unwrap()
    }

    #[test]
    fn handles_are_found_until_they_are_forgotten() {
        let mut handles = Handles::new(1);
        assert_eq!(handles.get(0), None, "a free place is no file 0");
        for object in 0..100 {
            handles.insert(object, handle(object));
        }
        handles.insert(7, handle(1007));
        handles.forget(8);
        assert_eq!(handles.get(7), Some(&handle(1007)));
        assert_eq!(handles.get(8), None);
        assert_eq!((0..100).filter(|object| handles.get(*object).is_some()).count(), 99);
    }

    /// With as many files as slots, numbered as in data sets, nearly all stay cached.
    #[test]
    fn the_cache_holds_what_it_says() {
        for spread in [0, 32, 48] {
            let mut handles = Handles::new(1);
            let object = |n: u64| if spread == 0 { n } else { ((n % 16) << spread) | (n / 16) };
            for n in 0..FILES as u64 / 2 {
                handles.insert(object(n), handle(n + 1));
            }
            let kept =
                (0..FILES as u64 / 2).filter(|n| handles.get(object(*n)) == Some(&handle(n + 1))).count();
            assert!(kept >= FILES / 2 * 95 / 100, "{kept} of {} with {spread}", FILES / 2);
        }
    }

    #[test]
    fn more_files_than_places_forget_the_committed_ones_first() {
        let mut handles = Handles::new(1);
        handles.insert(1, handle(1));
        handles.wrote(1, [1; 8]);
        for object in 2..20_000 {
            handles.insert(object, handle(object));
        }
        assert_eq!(handles.get(1), Some(&handle(1)));
        assert!((2..20_000).filter(|object| handles.get(*object).is_some()).count() <= FILES);
    }

    #[test]
    fn a_verifier_that_changes_is_noticed_once() {
        let mut handles = Handles::new(1);
        handles.insert(1, handle(1));
        handles.wrote(1, [1; 8]);
        handles.wrote(1, [1; 8]);
        assert!(handles.take_uncommitted(1).kept([1; 8]));
        handles.wrote(1, [1; 8]);
        assert!(!handles.take_uncommitted(1).kept([2; 8]), "changed between WRITE and COMMIT");
        handles.wrote(1, [2; 8]);
        handles.wrote(1, [3; 8]);
        assert!(!handles.take_uncommitted(1).kept([3; 8]), "changed between two WRITEs");
        assert!(handles.take_uncommitted(1).kept([4; 8]), "nothing was written since");
    }

    #[test]
    fn a_commit_that_failed_covers_nothing() {
        let mut handles = Handles::new(1);
        handles.insert(1, handle(1));
        handles.wrote(1, [1; 8]);
        let taken = handles.take_uncommitted(1);
        // Another lane writes while the COMMIT is in flight, after the server has restarted.
        handles.wrote(1, [2; 8]);
        handles.restore_uncommitted(1, taken);
        assert!(!handles.take_uncommitted(1).kept([2; 8]));
    }
}
