//! What we call of librbd (librbd.h), looked up at run time.

use std::ffi::{c_char, c_int, c_void};
use std::path::Path;
use std::sync::OnceLock;

use super::super::api::PoolHandle;
use crate::library::{Library, LibraryError};
use crate::library_functions;

/// `rbd_image_t`: an open image.
pub(super) type ImageHandle = *mut c_void;
/// `rbd_image_options_t`: settings of an image that is created.
pub(super) type OptionsHandle = *mut c_void;
/// `rbd_completion_t`.
pub(super) type CompletionHandle = *mut c_void;
/// `rbd_callback_t`; the second argument is the one given with the completion.
pub(super) type Callback = unsafe extern "C" fn(CompletionHandle, *mut c_void);

/// `RBD_IMAGE_OPTION_FEATURES`.
pub(super) const OPTION_FEATURES: c_int = 1;
/// `RBD_IMAGE_OPTION_ORDER`: the size of objects as a power of two.
pub(super) const OPTION_ORDER: c_int = 2;
/// `RBD_IMAGE_OPTION_DATA_POOL`.
pub(super) const OPTION_DATA_POOL: c_int = 10;

/// `rbd_image_info_t`.
#[repr(C)]
pub(super) struct ImageInfo {
    pub(super) bytes: u64,
    pub(super) object_bytes: u64,
    pub(super) objects: u64,
    pub(super) order: c_int,
    pub(super) block_name_prefix: [c_char; 24],
    pub(super) parent_pool: i64,
    pub(super) parent_name: [c_char; 96],
}

/// `rbd_image_watcher_t`: a client that has the image open for writing; librbd owns the text.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct Watcher {
    pub(super) address: *mut c_char,
    pub(super) client: i64,
    pub(super) cookie: u64,
}

library_functions! {
    /// librbd, since Ceph 14.
    pub(super) struct Librbd {
        fn rbd_open(pool: PoolHandle, name: *const c_char, image: *mut ImageHandle, snapshot: *const c_char) -> c_int;
        fn rbd_open_read_only(
            pool: PoolHandle,
            name: *const c_char,
            image: *mut ImageHandle,
            snapshot: *const c_char,
        ) -> c_int;
        fn rbd_close(image: ImageHandle) -> c_int;
        fn rbd_stat(image: ImageHandle, info: *mut ImageInfo, info_bytes: usize) -> c_int;
        fn rbd_get_features(image: ImageHandle, features: *mut u64) -> c_int;
        fn rbd_watchers_list(image: ImageHandle, watchers: *mut Watcher, count: *mut usize) -> c_int;
        fn rbd_watchers_list_cleanup(watchers: *mut Watcher, count: usize);
        fn rbd_read(image: ImageHandle, offset: u64, len: usize, out: *mut c_char) -> isize;
        fn rbd_image_options_create(options: *mut OptionsHandle);
        fn rbd_image_options_destroy(options: OptionsHandle);
        fn rbd_image_options_set_uint64(options: OptionsHandle, option: c_int, value: u64) -> c_int;
        fn rbd_image_options_set_string(options: OptionsHandle, option: c_int, value: *const c_char) -> c_int;
        fn rbd_create4(pool: PoolHandle, name: *const c_char, bytes: u64, options: OptionsHandle) -> c_int;
        fn rbd_remove(pool: PoolHandle, name: *const c_char) -> c_int;
        fn rbd_aio_create_completion(
            argument: *mut c_void,
            complete: Option<Callback>,
            out: *mut CompletionHandle,
        ) -> c_int;
        fn rbd_aio_get_return_value(completion: CompletionHandle) -> isize;
        fn rbd_aio_release(completion: CompletionHandle);
        fn rbd_aio_read(
            image: ImageHandle,
            offset: u64,
            len: usize,
            out: *mut c_char,
            completion: CompletionHandle,
        ) -> c_int;
        fn rbd_aio_write(
            image: ImageHandle,
            offset: u64,
            len: usize,
            data: *const c_char,
            completion: CompletionHandle,
        ) -> c_int;
        fn rbd_aio_discard(image: ImageHandle, offset: u64, len: u64, completion: CompletionHandle) -> c_int;
        fn rbd_aio_flush(image: ImageHandle, completion: CompletionHandle) -> c_int;
    }
}

library_functions! {
    /// What only newer versions have, since Ceph 15.
    pub(super) struct LibrbdZeroes {
        fn rbd_aio_write_zeroes(
            image: ImageHandle,
            offset: u64,
            len: usize,
            completion: CompletionHandle,
            zero_flags: c_int,
            flags: c_int,
        ) -> c_int;
    }
}

/// Debian's and Red Hat's name of the package.
const PACKAGE: &str = "librbd1";
const NAMES: &[&str] = &["librbd.so.1"];

/// A librbd that is loaded.
pub(super) struct Loaded {
    pub(super) calls: Librbd,
    zeroes: Result<LibrbdZeroes, LibraryError>,
}

impl Loaded {
    /// Calls that only newer versions have.
    ///
    /// # Errors
    /// The library lacks them.
    pub(super) fn zeroes(&self) -> Result<LibrbdZeroes, LibraryError> {
        self.zeroes.clone()
    }
}

/// The library in this file, or the system's, loaded once.
///
/// # Errors
/// It is missing or too old.
pub(super) fn librbd(file: Option<&Path>) -> Result<&'static Loaded, LibraryError> {
    static LOADED: OnceLock<Result<Loaded, LibraryError>> = OnceLock::new();
    let Some(file) = file else {
        return LOADED.get_or_init(|| of(NAMES)).as_ref().map_err(LibraryError::clone);
    };
    let name: &'static str = Box::leak(file.to_string_lossy().into_owned().into_boxed_str());
    of(&[name]).map(|api| &*Box::leak(Box::new(api)))
}

fn of(names: &[&'static str]) -> Result<Loaded, LibraryError> {
    let library = Library::open(names, PACKAGE)?;
    // SAFETY: declared as in librbd.h; handles are pointers there, and `ssize_t` is `isize`.
    unsafe { Ok(Loaded { calls: Librbd::load(&library)?, zeroes: LibrbdZeroes::load(&library) }) }
}
