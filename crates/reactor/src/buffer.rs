//! Buffers that operations own while the kernel may touch them.

use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::rc::{Rc, Weak};

use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};

use crate::core::{Inner, Kernel};

/// Page-aligned bytes, zeroed when made.
///
/// A buffer moves into an operation and comes back with its result, so that the memory outlives
/// whatever the kernel still does with it, even when the waiting task has been dropped.
pub struct Buffer {
    start: NonNull<u8>,
    len: usize,
    registered: Option<Registration>,
}

/// A buffer's place in a ring's table of registered buffers.
struct Registration {
    inner: Weak<Inner>,
    place: u16,
}

impl Buffer {
    /// Zeroed memory of `len` bytes on a page boundary.
    ///
    /// # Panics
    /// When the machine has no memory left, as any allocation does.
    pub fn new(len: usize) -> Buffer {
        if len == 0 {
            return Buffer { start: NonNull::dangling(), len, registered: None };
        }
        // SAFETY: a new anonymous mapping overlaps nothing.
        let start = unsafe {
            mmap_anonymous(std::ptr::null_mut(), len, ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE)
        }
        .unwrap_or_else(|e| panic!("no memory for a buffer of {len} bytes: {e}"));
        Buffer {
            start: NonNull::new(start.cast()).expect("a mapping is never at address 0"),
            len,
            registered: None,
        }
    }

    /// The same, registered with the ring where there is one with room and the limit on locked memory allows it.
    pub(crate) fn registered(inner: &Rc<Inner>, len: usize) -> Buffer {
        let mut buffer = Buffer::new(len);
        if let Kernel::Uring(uring) = &inner.kernel
            && len > 0
        {
            buffer.registered = uring
                .register_buffer(buffer.start.as_ptr(), len)
                .map(|place| Registration { inner: Rc::downgrade(inner), place });
        }
        buffer
    }

    /// True when the kernel knows the buffer beforehand and need not look its pages up again
    /// (`IORING_REGISTER_BUFFERS`).
    pub fn is_registered(&self) -> bool {
        self.registered.is_some()
    }

    /// The place in the ring's table.
    pub(crate) fn place(&self) -> Option<u16> {
        self.registered.as_ref().map(|registration| registration.place)
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
        if let Some(registration) = self.registered.take()
            && let Some(inner) = registration.inner.upgrade()
            && let Kernel::Uring(uring) = &inner.kernel
        {
            uring.forget_buffer(registration.place);
        }
        if self.len > 0 {
            // SAFETY: this value owns the mapping and nothing refers to it any more.
            let _ = unsafe { munmap(self.start.as_ptr().cast(), self.len) };
        }
    }
}

impl std::fmt::Debug for Buffer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Buffer").field("len", &self.len).field("registered", &self.is_registered()).finish()
    }
}
