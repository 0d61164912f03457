//! Counts a thread's allocations, so that tests can assert "none" and "at most".

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    static CALLS: Cell<usize> = const { Cell::new(0) };
    static LARGEST: Cell<usize> = const { Cell::new(0) };
    static HELD: Cell<isize> = const { Cell::new(0) };
    static PEAK: Cell<isize> = const { Cell::new(0) };
}

struct Counting;

fn note(size: usize) {
    // Thread-local storage is gone while the thread ends; allocations during that time do not matter.
    let _ = CALLS.try_with(|calls| calls.set(calls.get() + 1));
    let _ = LARGEST.try_with(|largest| largest.set(largest.get().max(size)));
    hold(size as isize);
}

fn hold(more: isize) {
    let _ = HELD.try_with(|held| {
        held.set(held.get() + more);
        let _ = PEAK.try_with(|peak| peak.set(peak.get().max(held.get())));
    });
}

// SAFETY: every call is passed on unchanged to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        note(layout.size());
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        hold(-(layout.size() as isize));
        // SAFETY: the caller keeps the contract of `dealloc`.
        unsafe { System.dealloc(ptr, layout) }
    }

    unsafe fn realloc(&self, ptr: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        hold(-(layout.size() as isize));
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
    #[allow(dead_code, reason = "not every test program looks at it")]
    /// The most bytes that were held at once, more than before it.
    pub peak: usize,
}

/// Number of allocations on this thread so far.
pub fn calls() -> usize {
    CALLS.get()
}

/// Begins to look for the most bytes held at once on this thread; returns those held now.
pub fn start() -> isize {
    PEAK.set(HELD.get());
    HELD.get()
}

/// The most bytes held at once since [`start`], more than then.
pub fn peak_since(start: isize) -> usize {
    (PEAK.get() - start).max(0) as usize
}

/// Runs `f` and counts its allocations.
pub fn allocated<T>(f: impl FnOnce() -> T) -> (T, Allocated) {
    let before = calls();
    LARGEST.set(0);
    let held = start();
    let value = f();
    let seen = Allocated { calls: calls() - before, largest: LARGEST.get(), peak: peak_since(held) };
    (value, seen)
}
