//! Buffers that operations own while the kernel may touch them.

use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};

/// Page-aligned bytes, zeroed when made.
///
/// A buffer moves into an operation and comes back with its result, so that the memory outlives
/// whatever the kernel still does with it, even when the waiting task has been dropped.
#[derive(Debug)]
pub struct Buffer {
    start: NonNull<u8>,
    len: usize,
}

// SAFETY: the mapping is owned by the value alone.
unsafe impl Send for Buffer {}

impl Buffer {
    /// Zeroed memory of `len` bytes on a page boundary.
    ///
    /// # Panics
    /// When the machine has no memory left, as any allocation does.
    pub fn new(len: usize) -> Buffer {
        if len == 0 {
            return Buffer { start: NonNull::dangling(), len };
        }
        // SAFETY: a new anonymous mapping overlaps nothing.
        let start = unsafe {
            mmap_anonymous(std::ptr::null_mut(), len, ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE)
        }
        .unwrap_or_else(|e| panic!("no memory for a buffer of {len} bytes: {e}"));
        Buffer { start: NonNull::new(start.cast()).expect("a mapping is never at address 0"), len }
    }

    /// The address of `offset`, for the kernel.
    pub(crate) fn address(&mut self, offset: usize) -> *mut u8 {
        debug_assert!(offset <= self.len);
        // SAFETY: the offset lies within the mapping.
        unsafe { self.start.as_ptr().add(offset) }
    }
}

impl Deref for Buffer {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        // SAFETY: the mapping is `len` bytes long, initialised by the kernel, and owned by this value.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }
}

impl DerefMut for Buffer {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and the borrow is exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        if self.len > 0 {
            // SAFETY: this value owns the mapping and nothing refers to it any more.
            let _ = unsafe { munmap(self.start.as_ptr().cast(), self.len) };
        }
    }
}
