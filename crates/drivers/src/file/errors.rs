//! Maps kernel errors to ours.

use std::io;

use metrics::ErrorKind;

/// The kind under which a kernel error is counted.
pub(crate) fn kind_of(error: &io::Error) -> ErrorKind {
    match error.raw_os_error().unwrap_or(0) {
        libc::ENOSPC | libc::EDQUOT | libc::EFBIG => ErrorKind::NoSpace,
        libc::ENOENT | libc::ENOTDIR => ErrorKind::NotFound,
        libc::EEXIST => ErrorKind::AlreadyExists,
        libc::EACCES | libc::EPERM => ErrorKind::AccessDenied,
        libc::EROFS => ErrorKind::ReadOnly,
        libc::ESTALE => ErrorKind::Stale,
        libc::EBUSY | libc::EAGAIN | libc::ETXTBSY => ErrorKind::Busy,
        // Reported by drivers and file systems when a medium fails or is gone (block/blk-core.c, ext4, xfs).
        libc::EIO
        | libc::EREMOTEIO
        | libc::ENXIO
        | libc::ENODEV
        | libc::ENOMEDIUM
        | libc::EUCLEAN
        | libc::EBADMSG
        | libc::EILSEQ
        | libc::ENODATA
        | libc::ENOLINK
        | libc::ETIMEDOUT
        | libc::ESHUTDOWN
        | libc::ENOTCONN => ErrorKind::ServerFault,
        libc::EMFILE | libc::ENFILE | libc::ENOMEM | libc::ENOBUFS => ErrorKind::Local,
        _ => ErrorKind::Rejected,
    }
}

/// Advice for people, as the end of a message; empty when there is none.
pub(crate) fn advice(error: &io::Error) -> &'static str {
    match error.raw_os_error().unwrap_or(0) {
        libc::ENOSPC => "; the file system or device is full: free some space or use a smaller data set",
        libc::EDQUOT => "; the quota is exhausted: raise it or use another directory",
        libc::EFBIG => "; the file is larger than the file system or the limit (ulimit -f) allows",
        libc::EACCES | libc::EPERM => "; let this user read and write there, or run as another",
        libc::EROFS => "; it is mounted or attached read-only",
        libc::EMFILE => "; raise the limit on open files (ulimit -n) or keep fewer open",
        _ => "",
    }
}

/// An error and its advice, in one line.
pub(crate) fn words(error: &io::Error) -> String {
    format!("{error}{}", advice(error))
}
