//! Counts a thread's allocations, so that tests can assert "none" and "at most".

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    static CALLS: Cell<usize> = const { Cell::new(0) };
    static LARGEST: Cell<usize> = const { Cell::new(0) };
}

struct Counting;

fn note(size: usize) {
    // Thread-local storage is gone while the thread ends; allocations during that time do not matter.
    let _ = CALLS.try_with(|calls| calls.set(calls.get() + 1));
    let _ = LARGEST.try_with(|largest| largest.set(largest.get().max(size)));
}

// SAFETY: every call is passed on unchanged to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        note(layout.size());
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract of `dealloc`.
        unsafe { System.dealloc(ptr, layout) }
    }

    unsafe fn realloc(&self, ptr: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        note(new_size);
        // SAFETY: the caller keeps the contract of `realloc`.
        unsafe { System.realloc(ptr, layout, new_size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Allocations of a piece of code on this thread.
pub struct Allocated {
    /// Number of allocations.
    pub calls: usize,
    /// The largest single block in bytes.
    pub largest: usize,
}

/// Number of allocations on this thread so far.
pub fn calls() -> usize {
    CALLS.get()
}

/// Runs `f` and counts its allocations.
pub fn allocated<T>(f: impl FnOnce() -> T) -> (T, Allocated) {
    let before = calls();
    LARGEST.set(0);
    let value = f();
    let seen = Allocated { calls: calls() - before, largest: LARGEST.get() };
    (value, seen)
}
