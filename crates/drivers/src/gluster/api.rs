//! What we call of libgfapi (glfs.h), looked up at run time.

use std::ffi::{c_char, c_int, c_void};
use std::path::Path;

use crate::library::{ClientLibrary, Library, LibraryError};
use crate::library_functions;

/// `glfs_t`: a client of a volume.
pub(super) type FsHandle = *mut c_void;
/// `glfs_fd_t`: an open file or directory.
pub(super) type FdHandle = *mut c_void;
/// `glfs_io_cbk` of version 6.0: the file, the result, the attributes before and after, and the argument given with the
/// call. The error number is in errno(3).
pub(super) type Callback = unsafe extern "C" fn(FdHandle, isize, *mut c_void, *mut c_void, *mut c_void);

library_functions! {
    /// libgfapi, since Gluster 6: the asynchronous calls of before have other callbacks.
    pub(super) struct Gfapi {
        fn glfs_new(volume: *const c_char) -> FsHandle;
        fn glfs_set_volfile_server(
            fs: FsHandle,
            transport: *const c_char,
            host: *const c_char,
            port: c_int,
        ) -> c_int;
        fn glfs_set_logging(fs: FsHandle, file: *const c_char, level: c_int) -> c_int;
        fn glfs_init(fs: FsHandle) -> c_int;
        fn glfs_fini(fs: FsHandle) -> c_int;
        fn glfs_get_volumeid(fs: FsHandle, id: *mut c_char, size: usize) -> c_int;
        fn glfs_get_volfile(fs: FsHandle, text: *mut c_void, size: usize) -> isize;
        fn glfs_statvfs(fs: FsHandle, path: *const c_char, out: *mut libc::statvfs) -> c_int;
        fn glfs_creat(fs: FsHandle, path: *const c_char, flags: c_int, mode: libc::mode_t) -> FdHandle;
        fn glfs_open(fs: FsHandle, path: *const c_char, flags: c_int) -> FdHandle;
        fn glfs_close(fd: FdHandle) -> c_int;
        fn glfs_read(fd: FdHandle, out: *mut c_void, len: usize, flags: c_int) -> isize;
        fn glfs_write(fd: FdHandle, data: *const c_void, len: usize, flags: c_int) -> isize;
        fn glfs_pread_async @ "GFAPI_6.0" (
            fd: FdHandle,
            out: *mut c_void,
            len: usize,
            offset: libc::off_t,
            flags: c_int,
            done: Callback,
            argument: *mut c_void,
        ) -> c_int;
        fn glfs_pwrite_async @ "GFAPI_6.0" (
            fd: FdHandle,
            data: *const c_void,
            len: usize,
            offset: libc::off_t,
            flags: c_int,
            done: Callback,
            argument: *mut c_void,
        ) -> c_int;
        fn glfs_fsync_async @ "GFAPI_6.0" (fd: FdHandle, done: Callback, argument: *mut c_void) -> c_int;
        fn glfs_fdatasync_async @ "GFAPI_6.0" (fd: FdHandle, done: Callback, argument: *mut c_void) -> c_int;
        fn glfs_ftruncate_async @ "GFAPI_6.0" (
            fd: FdHandle,
            len: libc::off_t,
            done: Callback,
            argument: *mut c_void,
        ) -> c_int;
        fn glfs_discard_async @ "GFAPI_6.0" (
            fd: FdHandle,
            offset: libc::off_t,
            len: usize,
            done: Callback,
            argument: *mut c_void,
        ) -> c_int;
        fn glfs_zerofill_async @ "GFAPI_6.0" (
            fd: FdHandle,
            offset: libc::off_t,
            len: libc::off_t,
            done: Callback,
            argument: *mut c_void,
        ) -> c_int;
        fn glfs_stat(fs: FsHandle, path: *const c_char, out: *mut libc::stat) -> c_int;
        fn glfs_lstat(fs: FsHandle, path: *const c_char, out: *mut libc::stat) -> c_int;
        fn glfs_access(fs: FsHandle, path: *const c_char, mode: c_int) -> c_int;
        fn glfs_chmod(fs: FsHandle, path: *const c_char, mode: libc::mode_t) -> c_int;
        fn glfs_unlink(fs: FsHandle, path: *const c_char) -> c_int;
        fn glfs_rename(fs: FsHandle, from: *const c_char, to: *const c_char) -> c_int;
        fn glfs_link(fs: FsHandle, from: *const c_char, to: *const c_char) -> c_int;
        fn glfs_symlink(fs: FsHandle, target: *const c_char, path: *const c_char) -> c_int;
        fn glfs_readlink(fs: FsHandle, path: *const c_char, out: *mut c_char, size: usize) -> c_int;
        fn glfs_mkdir(fs: FsHandle, path: *const c_char, mode: libc::mode_t) -> c_int;
        fn glfs_rmdir(fs: FsHandle, path: *const c_char) -> c_int;
        fn glfs_opendir(fs: FsHandle, path: *const c_char) -> FdHandle;
        fn glfs_closedir(fd: FdHandle) -> c_int;
        fn glfs_readdir(fd: FdHandle) -> *mut libc::dirent;
        fn glfs_readdirplus(fd: FdHandle, out: *mut libc::stat) -> *mut libc::dirent;
        fn glfs_setxattr(
            fs: FsHandle,
            path: *const c_char,
            name: *const c_char,
            value: *const c_void,
            len: usize,
            flags: c_int,
        ) -> c_int;
        fn glfs_getxattr(
            fs: FsHandle,
            path: *const c_char,
            name: *const c_char,
            out: *mut c_void,
            size: usize,
        ) -> isize;
    }
}

/// libgfapi, under Debian's name of its package; Red Hat's is the one in brackets.
static GFAPI: ClientLibrary<Gfapi> =
    ClientLibrary::new(&["libgfapi.so.0"], "libgfapi0 (glusterfs-api)", load);

/// The system's libgfapi, loaded once; for tests, the library in this file.
///
/// # Errors
/// It is missing or too old.
pub(super) fn gfapi(file: Option<&Path>) -> Result<&'static Gfapi, LibraryError> {
    file.map_or_else(|| GFAPI.get(), |file| GFAPI.in_file(file))
}

fn load(library: &Library) -> Result<Gfapi, LibraryError> {
    // SAFETY: declared as in glfs.h, which is compiled with 64-bit offsets.
    unsafe { Gfapi::load(library) }
}
