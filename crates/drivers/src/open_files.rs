//! A session's open files: a bounded cache keyed by object number.
//!
//! A set-associative cache: a hash selects a small set, and within it the least recently used file is evicted. A
//! lookup allocates nothing and touches one or two cache lines, whether there are ten files or a million.

use std::cell::{Cell, RefCell};

use reactor::File;

/// Ways per set.
const WAYS: usize = 4;

/// A handle of an open file; clones refer to the same file.
pub(crate) trait CachedFile: Clone {
    /// Whether it is open for writing.
    fn writes(&self) -> bool;
}

impl CachedFile for File {
    #[inline]
    fn writes(&self) -> bool {
        self.options().write
    }
}

struct Entry<F> {
    object: u64,
    file: Option<F>,
    used: u32,
}

impl<F> Default for Entry<F> {
    fn default() -> Self {
        Self { object: 0, file: None, used: 0 }
    }
}

pub(crate) struct Cache<F> {
    entries: RefCell<Vec<Entry<F>>>,
    /// The number of sets is a power of two; this many low bits of the hash are unused.
    shift: u32,
    /// Incremented by every use.
    clock: Cell<u32>,
}

impl<F: CachedFile> Cache<F> {
    /// Space for at most this many files, but always for a few.
    pub(crate) fn new(files: u32) -> Self {
        let sets = (files as usize / WAYS).max(1);
        // Rounded down, so that the bound holds.
        let sets = 1_usize << sets.ilog2();
        let mut entries = Vec::new();
        entries.resize_with(sets * WAYS, Entry::default);
        Self { entries: RefCell::new(entries), shift: 64 - sets.trailing_zeros(), clock: Cell::new(0) }
    }

    #[inline]
    fn first_of_set(&self, object: u64) -> usize {
        // Fibonacci hashing: the high bits of a product with the golden ratio (Knuth, vol. 3, 6.4).
        let hash = object.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        hash.checked_shr(self.shift).unwrap_or(0) as usize * WAYS
    }

    #[inline]
    fn tick(&self) -> u32 {
        self.clock.set(self.clock.get().wrapping_add(1));
        self.clock.get()
    }

    /// The object's file, if it is open, and open for writing if `write`.
    #[inline]
    pub(crate) fn find(&self, object: u64, write: bool) -> Option<F> {
        let first = self.first_of_set(object);
        let mut entries = self.entries.borrow_mut();
        for entry in &mut entries[first..first + WAYS] {
            if entry.object == object
                && let Some(file) = &entry.file
                && (!write || file.writes())
            {
                let file = file.clone();
                entry.used = self.tick();
                return Some(file);
            }
        }
        None
    }

    /// Caches a file. An evicted one closes when its last operation has ended.
    pub(crate) fn keep(&self, object: u64, file: &F) {
        let first = self.first_of_set(object);
        let now = self.tick();
        let mut entries = self.entries.borrow_mut();
        let set = &mut entries[first..first + WAYS];
        let same = set.iter().position(|entry| entry.file.is_some() && entry.object == object);
        let place = same.unwrap_or_else(|| {
            let age =
                |entry: &Entry<F>| entry.file.as_ref().map_or(u32::MAX, |_| now.wrapping_sub(entry.used));
            (0..WAYS).max_by_key(|at| age(&set[*at])).expect("a set has places")
        });
        let gone = std::mem::replace(&mut set[place], Entry { object, file: Some(file.clone()), used: now });
        drop(entries);
        drop(gone);
    }

    /// Forgets an object's file.
    pub(crate) fn forget(&self, object: u64) {
        let first = self.first_of_set(object);
        let mut entries = self.entries.borrow_mut();
        let mut set = entries[first..first + WAYS].iter_mut();
        let gone = set.find(|entry| entry.file.is_some() && entry.object == object).map(std::mem::take);
        drop(entries);
        drop(gone);
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::OwnedFd;

    use reactor::{BackendChoice, FileOptions, Reactor};

    use super::*;

    fn file(reactor: &Reactor, write: bool) -> File {
        let fd: OwnedFd = std::fs::File::open("/dev/null").unwrap().into();
        reactor.file(fd, FileOptions { write, ..FileOptions::default() })
    }

    #[test]
    fn holds_no_more_than_it_may_and_forgets_the_oldest() {
        let reactor = Reactor::open(BackendChoice::Epoll).unwrap();
        for room in [1, 4, 5, 64, 1000] {
            let cache = Cache::new(room);
            for object in 0..10_000 {
                cache.keep(object, &file(&reactor, false));
                assert!(cache.find(object, false).is_some());
            }
            let open = cache.entries.borrow().iter().filter(|entry| entry.file.is_some()).count();
            assert!(open <= room.max(4) as usize && open * 2 > room as usize / 2, "{open} of {room}");
            assert!(cache.find(3, false).is_none());
        }
    }

    #[test]
    fn one_set_gives_up_what_was_not_used_for_longest() {
        let reactor = Reactor::open(BackendChoice::Epoll).unwrap();
        let cache = Cache::new(4);
        for object in 0..4 {
            cache.keep(object, &file(&reactor, false));
        }
        assert!(cache.find(0, false).is_some());
        cache.keep(4, &file(&reactor, false));
        assert!(cache.find(1, false).is_none());
        assert!([0, 2, 3, 4].iter().all(|object| cache.find(*object, false).is_some()));
    }

    #[test]
    fn a_descriptor_for_reading_is_replaced_by_one_for_writing() {
        let reactor = Reactor::open(BackendChoice::Epoll).unwrap();
        let cache = Cache::new(4);
        cache.keep(7, &file(&reactor, false));
        assert!(cache.find(7, true).is_none());
        cache.keep(7, &file(&reactor, true));
        assert!(cache.find(7, true).is_some() && cache.find(7, false).is_some());
        cache.forget(7);
        assert!(cache.find(7, false).is_none());
        cache.forget(7);
    }
}
