//! System calls on files as plain values, so that a thread can execute them for a task.

use std::io;
use std::os::fd::{BorrowedFd, RawFd};

use rustix::io::ReadWriteFlags;

/// `BLKDISCARD` of linux/fs.h: `_IO(0x12, 119)`.
const BLKDISCARD: libc::Ioctl = 0x1277;

/// Number of bytes whose copying takes about as long as a small operation.
const HEAVY: usize = 16 << 10;

/// How many small operations take about as long as one that copies this many bytes.
#[inline]
pub(crate) fn weight_of(len: usize) -> u32 {
    1 + (len / HEAVY) as u32
}

/// A system call with its arguments. Addresses point into memory that the caller keeps until the call has returned.
#[derive(Clone, Copy)]
pub(crate) enum Call {
    /// pread(2).
    Read { fd: RawFd, start: *mut u8, len: usize, at: u64 },
    /// pwrite(2).
    Write { fd: RawFd, start: *const u8, len: usize, at: u64 },
    /// fsync(2), or fdatasync(2).
    Sync { fd: RawFd, data_only: bool },
    /// sync_file_range(2).
    SyncRange { fd: RawFd, at: u64, len: u64, flags: u32 },
    /// fallocate(2).
    Allocate { fd: RawFd, mode: i32, at: u64, len: u64 },
    /// `BLKDISCARD` of a block device.
    DiscardBlocks { fd: RawFd, at: u64, len: u64 },
    /// openat(2); the result is a descriptor.
    Open { directory: RawFd, path: *const libc::c_char, flags: i32, mode: libc::mode_t },
    /// close(2).
    Close { fd: RawFd },
    /// statx(2).
    Stat { directory: RawFd, path: *const libc::c_char, flags: i32, mask: u32, into: *mut libc::statx },
    /// unlinkat(2).
    Unlink { directory: RawFd, path: *const libc::c_char, flags: i32 },
    /// mkdirat(2).
    MakeDirectory { directory: RawFd, path: *const libc::c_char, mode: libc::mode_t },
    /// renameat(2), within a directory.
    Rename { directory: RawFd, from: *const libc::c_char, to: *const libc::c_char },
    /// linkat(2), within a directory.
    Link { directory: RawFd, from: *const libc::c_char, to: *const libc::c_char },
    /// symlinkat(2).
    Symlink { directory: RawFd, path: *const libc::c_char, target: *const libc::c_char },
    /// readlinkat(2).
    ReadLink { directory: RawFd, path: *const libc::c_char, into: *mut u8, len: usize },
    /// faccessat(2).
    Access { directory: RawFd, path: *const libc::c_char, mode: i32 },
    /// fchmodat(2).
    SetMode { directory: RawFd, path: *const libc::c_char, mode: libc::mode_t },
    /// ftruncate(2).
    SetLength { fd: RawFd, len: u64 },
    /// fsetxattr(2).
    SetXattr { fd: RawFd, name: *const libc::c_char, value: *const u8, len: usize },
    /// fgetxattr(2).
    GetXattr { fd: RawFd, name: *const libc::c_char, into: *mut u8, len: usize },
    /// getdents64(2).
    Entries { fd: RawFd, start: *mut u8, len: usize },
    /// A blocking call of a library, with all that it needs behind one address.
    Library { run: unsafe fn(*mut libc::c_void), argument: *mut libc::c_void },
}

// SAFETY: a call owns nothing; the memory behind its addresses is kept alive, and used by nobody else, until it has
// returned.
unsafe impl Send for Call {}

impl Call {
    /// Executes it and returns the kernel's result, or a negative error number, as io_uring would report it.
    pub(crate) fn run(&self) -> i32 {
        loop {
            // SAFETY: see [`Call`]: descriptors are open and addresses valid until this returns.
            let result = unsafe { self.system_call() };
            if result >= 0 {
                // Lengths of single transfers stay below 2 GiB (read(2)).
                return i32::try_from(result).unwrap_or(i32::MAX);
            }
            let error = io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO);
            if let (libc::EINTR, Call::Close { .. }) = (error, self) {
                // Linux has closed it, and another file may already have its number.
                return 0;
            }
            if error != libc::EINTR {
                return -error;
            }
        }
    }

    /// How many small operations take about as long.
    #[inline]
    pub(crate) fn weight(&self) -> u32 {
        match *self {
            Call::Read { len, .. } | Call::Write { len, .. } => weight_of(len),
            _ => 1,
        }
    }

    unsafe fn system_call(&self) -> i64 {
        // SAFETY: the caller guarantees descriptors and addresses.
        unsafe {
            match *self {
                Call::Read { fd, start, len, at } => libc::pread64(fd, start.cast(), len, at as i64) as i64,
                Call::Write { fd, start, len, at } => libc::pwrite64(fd, start.cast(), len, at as i64) as i64,
                Call::Sync { fd, data_only: true } => libc::fdatasync(fd).into(),
                Call::Sync { fd, data_only: false } => libc::fsync(fd).into(),
                Call::SyncRange { fd, at, len, flags } => {
                    libc::sync_file_range(fd, at as i64, len as i64, flags).into()
                }
                Call::Allocate { fd, mode, at, len } => {
                    libc::fallocate64(fd, mode, at as i64, len as i64).into()
                }
                Call::DiscardBlocks { fd, at, len } => {
                    let range = [at, len];
                    libc::ioctl(fd, BLKDISCARD, range.as_ptr()).into()
                }
                Call::Open { directory, path, flags, mode } => {
                    libc::openat(directory, path, flags, mode).into()
                }
                Call::Close { fd } => libc::close(fd).into(),
                Call::Stat { directory, path, flags, mask, into } => {
                    libc::statx(directory, path, flags, mask, into).into()
                }
                Call::Unlink { directory, path, flags } => libc::unlinkat(directory, path, flags).into(),
                Call::MakeDirectory { directory, path, mode } => libc::mkdirat(directory, path, mode).into(),
                Call::Rename { directory, from, to } => libc::renameat(directory, from, directory, to).into(),
                Call::Link { directory, from, to } => libc::linkat(directory, from, directory, to, 0).into(),
                Call::Symlink { directory, path, target } => libc::symlinkat(target, directory, path).into(),
                Call::ReadLink { directory, path, into, len } => {
                    libc::readlinkat(directory, path, into.cast(), len) as i64
                }
                Call::Access { directory, path, mode } => libc::faccessat(directory, path, mode, 0).into(),
                Call::SetMode { directory, path, mode } => libc::fchmodat(directory, path, mode, 0).into(),
                Call::SetLength { fd, len } => libc::ftruncate64(fd, len as i64).into(),
                Call::SetXattr { fd, name, value, len } => {
                    libc::fsetxattr(fd, name, value.cast(), len, 0).into()
                }
                Call::GetXattr { fd, name, into, len } => libc::fgetxattr(fd, name, into.cast(), len) as i64,
                Call::Entries { fd, start, len } => libc::syscall(libc::SYS_getdents64, fd, start, len),
                Call::Library { run, argument } => {
                    run(argument);
                    0
                }
            }
        }
    }
}

/// pread(2) limited to the page cache (`RWF_NOWAIT`, preadv2(2)): `EAGAIN` if none of the data is there.
///
/// An inlined system call: the C library's function is also a cancellation point, and its `syscall` moves every argument
/// to another register, which together cost as much as our own share of a read.
#[inline]
pub(crate) fn read_cached(fd: RawFd, start: *mut u8, len: usize, at: u64) -> io::Result<usize> {
    // SAFETY: the caller keeps the descriptor open and lends its buffer of `len` bytes for the call.
    let (fd, bytes) = unsafe { (BorrowedFd::borrow_raw(fd), std::slice::from_raw_parts_mut(start, len)) };
    Ok(rustix::io::preadv2(fd, &mut [io::IoSliceMut::new(bytes)], at, ReadWriteFlags::NOWAIT)?)
}
