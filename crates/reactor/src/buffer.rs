//! Buffers owned by operations while the kernel may access them.

use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::rc::{Rc, Weak};

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};

use crate::core::{Inner, Kernel};

/// Page-aligned memory, zeroed on creation.
///
/// A buffer moves into an operation and comes back with its result, so that the memory outlives whatever the kernel
/// still does with it, even if the waiting task has been dropped.
///
/// It is a single pointer in size, because it is passed on many times during an operation.
pub struct Buffer {
    mapping: NonNull<Mapping>,
}

/// The memory of a buffer.
struct Mapping {
    start: NonNull<u8>,
    len: usize,
    registered: Option<Registration>,
}

/// A buffer's index in a ring's table of registered buffers.
struct Registration {
    inner: Weak<Inner>,
    place: u16,
}

/// The target of empty buffers, which makes them free. It is never written.
struct Empty(Mapping);

// SAFETY: it is never written, and it contains no reference counts.
unsafe impl Sync for Empty {}

static EMPTY: Empty = Empty(Mapping { start: NonNull::dangling(), len: 0, registered: None });

impl Buffer {
    /// Zeroed, page-aligned memory of `len` bytes.
    ///
    /// # Panics
    /// If the machine has no memory left, as with any allocation.
    pub fn new(len: usize) -> Buffer {
        if len == 0 {
            return Buffer { mapping: NonNull::from(&EMPTY.0) };
        }
        let start = map(len).unwrap_or_else(|e| panic!("no memory for a buffer of {len} bytes: {e}"));
        let mapping = Box::new(Mapping { start, len, registered: None });
        Buffer { mapping: NonNull::from(Box::leak(mapping)) }
    }

    /// The same, registered with the ring if there is one with a free slot and the limit on locked memory permits.
    pub(crate) fn registered(inner: &Rc<Inner>, len: usize) -> Buffer {
        let mut buffer = Buffer::new(len);
        if let Kernel::Uring(uring) = &inner.kernel
            && len > 0
        {
            let place = uring.register_buffer(buffer.address(0), len);
            // SAFETY: a buffer that is not empty owns its mapping.
            unsafe { buffer.mapping.as_mut() }.registered =
                place.map(|place| Registration { inner: Rc::downgrade(inner), place });
        }
        buffer
    }

    #[inline]
    fn mapping(&self) -> &Mapping {
        // SAFETY: this value owns the target, or the target is never written.
        unsafe { self.mapping.as_ref() }
    }

    /// Whether the buffer is registered with the kernel, which then need not look up its pages for every operation
    /// (`IORING_REGISTER_BUFFERS`).
    pub fn is_registered(&self) -> bool {
        self.mapping().registered.is_some()
    }

    /// The index in the ring's table.
    #[inline]
    pub(crate) fn place(&self) -> Option<u16> {
        self.mapping().registered.as_ref().map(|registration| registration.place)
    }

    /// The address at `offset`, for the kernel.
    #[inline]
    pub(crate) fn address(&mut self, offset: usize) -> *mut u8 {
        debug_assert!(offset <= self.mapping().len);
        // SAFETY: the offset lies within the mapping.
        unsafe { self.mapping().start.as_ptr().add(offset) }
    }
}

/// From this length on, a buffer consists of whole huge pages if the kernel can provide them: a device is then given a
/// few large segments instead of many single pages, and registration pins fewer of them.
const LARGE: usize = 1 << 20;
/// The size of a huge page.
const HUGE: usize = 2 << 20;

/// New zeroed memory of a given length.
fn map(len: usize) -> rustix::io::Result<NonNull<u8>> {
    let anonymous = |len| {
        // SAFETY: a new anonymous mapping overlaps nothing.
        unsafe {
            mmap_anonymous(std::ptr::null_mut(), len, ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE)
        }
    };
    let never_null = "a mapping is never at address 0";
    if len < LARGE {
        return anonymous(len).map(|start| NonNull::new(start.cast()).expect(never_null));
    }
    let pages = len.next_multiple_of(HUGE);
    let whole = anonymous(pages + HUGE)?.cast::<u8>();
    let before = whole.align_offset(HUGE);
    // SAFETY: everything lies within the mapping, and nobody uses the parts cut off at either end.
    unsafe {
        let start = whole.add(before);
        if before > 0 {
            let _ = munmap(whole.cast(), before);
        }
        if before < HUGE {
            let _ = munmap(start.add(pages).cast(), HUGE - before);
        }
        // If there are none, ordinary pages are used.
        let _ = madvise(start.cast(), pages, Advice::LinuxHugepage);
        Ok(NonNull::new(start).expect(never_null))
    }
}

impl Deref for Buffer {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        // SAFETY: the mapping is `len` bytes long, initialised by the kernel, and owned by this value.
        unsafe { std::slice::from_raw_parts(self.mapping().start.as_ptr(), self.mapping().len) }
    }
}

impl DerefMut for Buffer {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and the borrow is exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.mapping().start.as_ptr(), self.mapping().len) }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        if self.mapping().len == 0 {
            return;
        }
        // SAFETY: a non-empty buffer was created from a box in [`Buffer::new`], and this is its only owner.
        let mapping = unsafe { Box::from_raw(self.mapping.as_ptr()) };
        if let Some(registration) = mapping.registered
            && let Some(inner) = registration.inner.upgrade()
            && let Kernel::Uring(uring) = &inner.kernel
        {
            uring.forget_buffer(registration.place);
        }
        let len = if mapping.len < LARGE { mapping.len } else { mapping.len.next_multiple_of(HUGE) };
        // SAFETY: this value owns the mapping, and nothing refers to it any more.
        let _ = unsafe { munmap(mapping.start.as_ptr().cast(), len) };
    }
}

impl std::fmt::Debug for Buffer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Buffer").field("len", &self.len()).field("registered", &self.is_registered()).finish()
    }
}
