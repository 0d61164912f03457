//! Discards payload in the kernel: `recv` with `MSG_TRUNC` (tcp(7)).
//!
//! The kernel still requires an address. It gets inaccessible pages, so that a kernel that did copy would fail loudly
//! instead of overwriting memory.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::OnceLock;

use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous};

/// Maximum number of bytes that one call discards.
pub(crate) const LEN_MAX: usize = 1 << 30;

/// An address range of [`LEN_MAX`] bytes without access rights; costs address space only.
pub(crate) fn target() -> *mut u8 {
    static TARGET: OnceLock<usize> = OnceLock::new();
    let address = *TARGET.get_or_init(|| {
        let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
        // SAFETY: a new anonymous mapping overlaps nothing; it lasts for the life of the process.
        let mapped = unsafe { mmap_anonymous(std::ptr::null_mut(), LEN_MAX, ProtFlags::empty(), flags) };
        mapped.map_or(0, |pointer| pointer as usize)
    });
    address as *mut u8
}

/// The system call itself, for the epoll backend.
pub(crate) fn receive(fd: &OwnedFd, len: usize) -> io::Result<usize> {
    // SAFETY: with MSG_TRUNC on a TCP socket the kernel writes nothing; the range is inaccessible anyway.
    let count =
        unsafe { libc::recv(fd.as_raw_fd(), target().cast(), len, libc::MSG_TRUNC | libc::MSG_DONTWAIT) };
    if count < 0 { Err(io::Error::last_os_error()) } else { Ok(count as usize) }
}
