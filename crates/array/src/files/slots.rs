//! Memory for whole blocks: slots of 1 MiB cut from large mappings, reused without returning to the kernel.
//!
//! A new mapping costs a page fault for every 4 KiB, which takes as long as moving the bytes. Hence huge pages where
//! available (`MADV_HUGEPAGE`), and a reserve of free slots.

use std::collections::BTreeMap;
use std::ptr::NonNull;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};

/// Bytes of a slot.
pub(super) const SLOT_BYTES: usize = 1 << 20;
const SLOTS_PER_ARENA: usize = 32;
const ARENA_BYTES: usize = SLOT_BYTES * SLOTS_PER_ARENA;
/// Free slots kept for reuse; free arenas beyond that are returned to the kernel.
const RESERVE_SLOTS: usize = 512;

/// 1 MiB of memory of which a prefix has been written.
#[derive(Debug)]
pub(crate) struct Slot {
    start: NonNull<u8>,
    filled: usize,
}

// SAFETY: a slot is the only owner of its bytes.
unsafe impl Send for Slot {}
// SAFETY: shared access only reads.
unsafe impl Sync for Slot {}

impl Slot {
    /// An empty slot.
    ///
    /// # Panics
    /// When the machine is out of memory, as with any allocation.
    pub(crate) fn take() -> Self {
        Self { start: slots().take(), filled: 0 }
    }

    /// The written bytes.
    pub(crate) fn filled(&self) -> &[u8] {
        // SAFETY: the first `filled` bytes are initialised and owned by this value.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.filled) }
    }

    /// The written bytes, mutable.
    pub(super) fn filled_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and the borrow is exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.filled) }
    }

    /// Appends bytes, which must fit.
    pub(crate) fn extend(&mut self, bytes: &[u8]) {
        assert!(bytes.len() <= SLOT_BYTES - self.filled, "a block is written beyond its end");
        // SAFETY: source and target do not overlap, since this value alone owns the target, and it fits.
        unsafe { self.start.as_ptr().add(self.filled).copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
        self.filled += bytes.len();
    }

    /// Appends zeros up to a length of `len`.
    pub(super) fn extend_zeros(&mut self, len: usize) {
        assert!(len <= SLOT_BYTES, "a block is written beyond its end");
        if len > self.filled {
            // SAFETY: the range lies within the slot, which this value alone owns.
            unsafe { self.start.as_ptr().add(self.filled).write_bytes(0, len - self.filled) };
            self.filled = len;
        }
    }

    /// Discards everything beyond `len`.
    pub(super) fn truncate(&mut self, len: usize) {
        self.filled = self.filled.min(len);
    }
}

/// The written bytes, for sending without a copy.
impl AsRef<[u8]> for Slot {
    fn as_ref(&self) -> &[u8] {
        self.filled()
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        slots().give_back(self.start);
    }
}

/// All arenas of the process.
struct Slots {
    free: Vec<Address>,
    /// Start of each arena, and the number of its used slots.
    arenas: BTreeMap<usize, usize>,
}

/// The start of a slot, kept as a pointer so that its provenance survives.
#[derive(Clone, Copy)]
struct Address(NonNull<u8>);

// SAFETY: an address on its own gives no access.
unsafe impl Send for Address {}

fn slots() -> MutexGuard<'static, Slots> {
    static SLOTS: Mutex<Slots> = Mutex::new(Slots { free: Vec::new(), arenas: BTreeMap::new() });
    SLOTS.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Slots {
    fn take(&mut self) -> NonNull<u8> {
        if self.free.is_empty() {
            self.grow();
        }
        let Address(start) = self.free.pop().expect("an arena was just added");
        *self.arena(start) += 1;
        start
    }

    fn give_back(&mut self, start: NonNull<u8>) {
        self.free.push(Address(start));
        let taken = self.arena(start);
        *taken -= 1;
        if *taken == 0 && self.free.len() >= RESERVE_SLOTS + SLOTS_PER_ARENA {
            self.release(arena_of(start));
        }
    }

    fn arena(&mut self, start: NonNull<u8>) -> &mut usize {
        self.arenas.get_mut(&arena_of(start)).expect("a slot lies in an arena")
    }

    /// Maps another arena, aligned to its size so that a slot's address identifies its arena.
    fn grow(&mut self) {
        let whole = 2 * ARENA_BYTES;
        // SAFETY: a new anonymous mapping overlaps nothing.
        let mapped = unsafe {
            mmap_anonymous(std::ptr::null_mut(), whole, ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE)
        }
        .unwrap_or_else(|error| panic!("no memory for the simulated array's files: {error}"));
        let skip = mapped.addr().next_multiple_of(ARENA_BYTES) - mapped.addr();
        // SAFETY: both stay within the mapping, which is twice as long as an arena.
        let (arena, behind) = unsafe { (mapped.byte_add(skip), mapped.byte_add(skip + ARENA_BYTES)) };
        // SAFETY: the parts before and after the arena have just been mapped and are unused.
        unsafe {
            if skip > 0 {
                let _ = munmap(mapped, skip);
            }
            if skip < ARENA_BYTES {
                let _ = munmap(behind, ARENA_BYTES - skip);
            }
            // Only a hint: without huge pages it is slower, not wrong.
            let _ = madvise(arena, ARENA_BYTES, Advice::LinuxHugepage);
        }
        self.arenas.insert(arena.addr(), 0);
        for number in (0..SLOTS_PER_ARENA).rev() {
            // SAFETY: within the arena.
            let start = unsafe { arena.cast::<u8>().add(number * SLOT_BYTES) };
            self.free.push(Address(NonNull::new(start).expect("a mapping is never at address 0")));
        }
    }

    /// Returns an arena to the kernel whose slots are all free.
    fn release(&mut self, arena: usize) {
        let mut base = None;
        self.free.retain(|Address(start)| {
            let inside = arena_of(*start) == arena;
            if start.addr().get() == arena {
                base = Some(*start);
            }
            !inside
        });
        self.arenas.remove(&arena);
        if let Some(base) = base {
            // SAFETY: no slot of the arena is taken or listed any more.
            let _ = unsafe { munmap(base.as_ptr().cast(), ARENA_BYTES) };
        }
    }
}

fn arena_of(start: NonNull<u8>) -> usize {
    start.addr().get() & !(ARENA_BYTES - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_do_not_overlap_and_come_back_empty() {
        let mut held: Vec<Slot> = (0..100).map(|_| Slot::take()).collect();
        for (number, slot) in held.iter_mut().enumerate() {
            slot.extend(&[number as u8; 5]);
            slot.extend_zeros(SLOT_BYTES - 1);
            slot.extend(&[number as u8]);
        }
        for (number, slot) in held.iter().enumerate() {
            assert_eq!(
                slot.filled()[..6],
                [number as u8, number as u8, number as u8, number as u8, number as u8, 0]
            );
            assert_eq!(slot.filled()[SLOT_BYTES - 1], number as u8);
        }
        drop(held);
        assert!(Slot::take().filled().is_empty());
    }

    #[test]
    fn memory_beyond_the_reserve_goes_back() {
        let many: Vec<Slot> = (0..RESERVE_SLOTS + 10 * SLOTS_PER_ARENA).map(|_| Slot::take()).collect();
        drop(many);
        let slots = slots();
        // Other tests of this process may hold some; the arenas that they pin stay.
        let pinned: usize = slots.arenas.values().filter(|taken| **taken > 0).count();
        assert!(
            slots.free.len() <= RESERVE_SLOTS + (pinned + 1) * SLOTS_PER_ARENA,
            "{} slots kept",
            slots.free.len()
        );
    }
}
