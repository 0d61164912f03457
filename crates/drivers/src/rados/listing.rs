//! Lists a pool's namespace page by page. librados has no asynchronous call for it.

use std::ffi::c_char;
use std::{ptr, slice};

use super::api::{CursorHandle, ListedObject};
use super::client::RadosPool;
use super::error::failure;
use crate::failure::Failure;

/// Max names of a page. OSDs return 1,000 or fewer at a time.
pub(super) const PAGE_NAMES: usize = 1000;

/// A position in the list of a pool's objects, or of a slice of its placement groups.
pub(super) struct Listing {
    pool: RadosPool,
    at: CursorHandle,
    finish: CursorHandle,
    page: Box<[ListedObject]>,
}

// SAFETY: cursors are plain data, and used only with the pool beside them.
unsafe impl Send for Listing {}

impl Listing {
    /// The list from its beginning, of slice `number` of `count`.
    pub(super) fn of(pool: RadosPool, number: usize, count: usize) -> Self {
        let empty = || ListedObject {
            name_len: 0,
            name: ptr::null_mut(),
            namespace_len: 0,
            namespace: ptr::null_mut(),
            locator_len: 0,
            locator: ptr::null_mut(),
        };
        let page = std::iter::repeat_with(empty).take(PAGE_NAMES).collect();
        let (api, io) = (pool.api, pool.handle);
        // SAFETY: the pool is open. A slice is written to cursors that exist, and the whole list's are freed once.
        unsafe {
            let (start, end) = ((api.rados_object_list_begin)(io), (api.rados_object_list_end)(io));
            let mut own = Self { at: start, finish: end, page, pool };
            if count > 1 {
                let (mut at, mut finish) =
                    ((api.rados_object_list_begin)(io), (api.rados_object_list_end)(io));
                (api.rados_object_list_slice)(io, start, end, number, count, &mut at, &mut finish);
                (own.at, own.finish) = (at, finish);
                (api.rados_object_list_cursor_free)(io, start);
                (api.rados_object_list_cursor_free)(io, end);
            }
            own
        }
    }

    /// Calls `each` with the names of the next page, each with its locator, which is empty where there is none; false when the
    /// list has ended. Blocks.
    pub(super) fn next(&mut self, mut each: impl FnMut(&[u8], &[u8])) -> Result<bool, Failure> {
        let (api, io) = (self.pool.api, self.pool.handle);
        let mut next = self.at;
        // SAFETY: the page has room for this many, and the cursors are this pool's. The next one is written to the
        // cursor that is passed, or replaces it.
        let count = unsafe {
            let size = self.page.len();
            (api.rados_object_list)(
                io,
                self.at,
                self.finish,
                size,
                ptr::null(),
                0,
                self.page.as_mut_ptr(),
                &mut next,
            )
        };
        if count < 0 {
            return Err(failure(count));
        }
        let count = (count as usize).min(self.page.len());
        for object in &self.page[..count] {
            if !object.name.is_null() {
                // SAFETY: librados wrote texts of these lengths.
                each(unsafe { text(object.name, object.name_len) }, unsafe {
                    text(object.locator, object.locator_len)
                });
            }
        }
        // SAFETY: these were filled by librados, and are freed once.
        unsafe { (api.rados_object_list_free)(count, self.page.as_mut_ptr()) };
        if next != self.at {
            // SAFETY: the old cursor is used no more.
            unsafe { (api.rados_object_list_cursor_free)(io, self.at) };
            self.at = next;
        }
        // SAFETY: both cursors are this pool's.
        Ok(unsafe { (api.rados_object_list_cursor_cmp)(io, self.at, self.finish) < 0 })
    }
}

/// A text that librados wrote; one that is missing is empty.
///
/// # Safety
/// It has this length, and lives as long as it is used.
unsafe fn text<'a>(at: *const c_char, len: usize) -> &'a [u8] {
    match at.is_null() {
        true => &[],
        // SAFETY: the caller vouches for it.
        false => unsafe { slice::from_raw_parts(at.cast(), len) },
    }
}

impl Drop for Listing {
    fn drop(&mut self) {
        let (api, io) = (self.pool.api, self.pool.handle);
        // SAFETY: both are this pool's, and freed once.
        unsafe {
            (api.rados_object_list_cursor_free)(io, self.at);
            (api.rados_object_list_cursor_free)(io, self.finish);
        }
    }
}
