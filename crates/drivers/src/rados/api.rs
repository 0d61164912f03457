//! What we call of librados (librados.h), looked up at run time.

use std::ffi::{c_char, c_int, c_void};
use std::path::Path;

use crate::library::{ClientLibrary, Library, LibraryError};
use crate::library_functions;

/// `rados_t`: a client of a cluster.
pub(super) type ClusterHandle = *mut c_void;
/// `rados_ioctx_t`: a pool of a client.
pub(super) type PoolHandle = *mut c_void;
/// `rados_completion_t`.
pub(super) type CompletionHandle = *mut c_void;
/// `rados_write_op_t`: a modification of an object.
pub(super) type WriteHandle = *mut c_void;
/// `rados_read_op_t`: a question about an object.
pub(super) type ReadHandle = *mut c_void;
/// `rados_omap_iter_t`: keys and values of an object's map.
pub(super) type OmapHandle = *mut c_void;
/// `rados_object_list_cursor`: a position in the order in which a pool lists its objects.
pub(super) type CursorHandle = *mut c_void;
/// `rados_callback_t`; the second argument is the one given with the completion.
pub(super) type Callback = unsafe extern "C" fn(CompletionHandle, *mut c_void);

/// `rados_object_list_item`: the parts of an object's name; librados owns the texts.
#[repr(C)]
pub(super) struct ListedObject {
    pub(super) name_len: usize,
    pub(super) name: *mut c_char,
    pub(super) namespace_len: usize,
    pub(super) namespace: *mut c_char,
    pub(super) locator_len: usize,
    pub(super) locator: *mut c_char,
}

library_functions! {
    /// librados, since Ceph 14.
    pub(super) struct Librados {
        fn rados_create2(cluster: *mut ClusterHandle, name: *const c_char, user: *const c_char, flags: u64) -> c_int;
        fn rados_conf_read_file(cluster: ClusterHandle, path: *const c_char) -> c_int;
        fn rados_conf_set(cluster: ClusterHandle, option: *const c_char, value: *const c_char) -> c_int;
        fn rados_connect(cluster: ClusterHandle) -> c_int;
        fn rados_shutdown(cluster: ClusterHandle);
        fn rados_ioctx_create(cluster: ClusterHandle, pool: *const c_char, out: *mut PoolHandle) -> c_int;
        fn rados_ioctx_destroy(pool: PoolHandle);
        fn rados_ioctx_set_namespace(pool: PoolHandle, namespace: *const c_char);
        fn rados_ioctx_locator_set_key(pool: PoolHandle, key: *const c_char);
        fn rados_aio_create_completion(
            argument: *mut c_void,
            complete: Option<Callback>,
            safe: Option<Callback>,
            out: *mut CompletionHandle,
        ) -> c_int;
        fn rados_aio_get_return_value(completion: CompletionHandle) -> c_int;
        fn rados_aio_release(completion: CompletionHandle);
        fn rados_aio_cancel(pool: PoolHandle, completion: CompletionHandle) -> c_int;
        fn rados_aio_write_full(
            pool: PoolHandle,
            oid: *const c_char,
            completion: CompletionHandle,
            data: *const c_char,
            len: usize,
        ) -> c_int;
        fn rados_aio_write(
            pool: PoolHandle,
            oid: *const c_char,
            completion: CompletionHandle,
            data: *const c_char,
            len: usize,
            offset: u64,
        ) -> c_int;
        fn rados_aio_append(
            pool: PoolHandle,
            oid: *const c_char,
            completion: CompletionHandle,
            data: *const c_char,
            len: usize,
        ) -> c_int;
        fn rados_aio_read(
            pool: PoolHandle,
            oid: *const c_char,
            completion: CompletionHandle,
            out: *mut c_char,
            len: usize,
            offset: u64,
        ) -> c_int;
        fn rados_aio_stat(
            pool: PoolHandle,
            oid: *const c_char,
            completion: CompletionHandle,
            size: *mut u64,
            mtime: *mut i64,
        ) -> c_int;
        fn rados_aio_remove(pool: PoolHandle, oid: *const c_char, completion: CompletionHandle) -> c_int;
        fn rados_create_write_op() -> WriteHandle;
        fn rados_release_write_op(write: WriteHandle);
        fn rados_write_op_truncate(write: WriteHandle, size: u64);
        fn rados_write_op_omap_set(
            write: WriteHandle,
            keys: *const *const c_char,
            values: *const *const c_char,
            lens: *const usize,
            count: usize,
        );
        fn rados_aio_write_op_operate(
            write: WriteHandle,
            pool: PoolHandle,
            completion: CompletionHandle,
            oid: *const c_char,
            modified_s: *mut i64,
            flags: c_int,
        ) -> c_int;
        fn rados_create_read_op() -> ReadHandle;
        fn rados_release_read_op(read: ReadHandle);
        fn rados_read_op_assert_exists(read: ReadHandle);
        fn rados_read_op_omap_get_vals_by_keys(
            read: ReadHandle,
            keys: *const *const c_char,
            count: usize,
            found: *mut OmapHandle,
            result: *mut c_int,
        );
        fn rados_omap_get_next(
            found: OmapHandle,
            key: *mut *mut c_char,
            value: *mut *mut c_char,
            len: *mut usize,
        ) -> c_int;
        fn rados_omap_get_end(found: OmapHandle);
        fn rados_read_op_exec_user_buf(
            read: ReadHandle,
            class: *const c_char,
            method: *const c_char,
            input: *const c_char,
            input_len: usize,
            output: *mut c_char,
            output_len: usize,
            used_len: *mut usize,
            result: *mut c_int,
        );
        fn rados_aio_read_op_operate(
            read: ReadHandle,
            pool: PoolHandle,
            completion: CompletionHandle,
            oid: *const c_char,
            flags: c_int,
        ) -> c_int;
        fn rados_aio_wait_for_complete(completion: CompletionHandle) -> c_int;
        fn rados_set_pool_full_try(pool: PoolHandle);
        fn rados_object_list_begin(pool: PoolHandle) -> CursorHandle;
        fn rados_object_list_end(pool: PoolHandle) -> CursorHandle;
        fn rados_object_list_cursor_cmp(pool: PoolHandle, one: CursorHandle, other: CursorHandle) -> c_int;
        fn rados_object_list_cursor_free(pool: PoolHandle, cursor: CursorHandle);
        fn rados_object_list_slice(
            pool: PoolHandle,
            start: CursorHandle,
            finish: CursorHandle,
            number: usize,
            count: usize,
            slice_start: *mut CursorHandle,
            slice_finish: *mut CursorHandle,
        );
        fn rados_object_list(
            pool: PoolHandle,
            start: CursorHandle,
            finish: CursorHandle,
            size: usize,
            filter: *const c_char,
            filter_len: usize,
            results: *mut ListedObject,
            next: *mut CursorHandle,
        ) -> c_int;
        fn rados_object_list_free(size: usize, results: *mut ListedObject);
        fn rados_mon_command(
            cluster: ClusterHandle,
            command: *mut *const c_char,
            command_count: usize,
            input: *const c_char,
            input_len: usize,
            output: *mut *mut c_char,
            output_len: *mut usize,
            status: *mut *mut c_char,
            status_len: *mut usize,
        ) -> c_int;
        fn rados_buffer_free(buffer: *mut c_char);
    }
}

/// librados, under Debian's and Red Hat's name of its package.
static LIBRADOS: ClientLibrary<Librados> = ClientLibrary::new(&["librados.so.2"], "librados2", load);

/// The system's librados, loaded once; for tests, the library in this file.
///
/// # Errors
/// It is missing or too old.
pub(super) fn librados(file: Option<&Path>) -> Result<&'static Librados, LibraryError> {
    file.map_or_else(|| LIBRADOS.get(), |file| LIBRADOS.in_file(file))
}

fn load(library: &Library) -> Result<Librados, LibraryError> {
    // SAFETY: declared as in librados.h; handles are pointers there, and `time_t` has 64 bits on our platforms.
    unsafe { Librados::load(library) }
}
