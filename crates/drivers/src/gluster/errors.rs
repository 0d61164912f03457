//! libgfapi's error numbers as error kinds, with what to do next.

use std::ffi::c_int;
use std::io;

use metrics::ErrorKind;

use crate::failure::{Failure, text_of};
use crate::file::errors::kind_of;

/// The failure for an error number (errno(3)).
#[cold]
pub(super) fn failure(number: c_int) -> Failure {
    let (kind, hint) = match number {
        libc::ENOTCONN | libc::ECONNRESET | libc::EPIPE => {
            (ErrorKind::ConnectionLost, "; next: `gluster volume status` shows which brick does not answer")
        }
        libc::ECONNREFUSED | libc::EHOSTUNREACH | libc::ENETUNREACH => (ErrorKind::ConnectFailed, ""),
        libc::ETIMEDOUT => (ErrorKind::TimedOut, ""),
        libc::ENODATA => (ErrorKind::NotFound, ""),
        libc::ENOSPC => (ErrorKind::NoSpace, "; next: free space on the bricks, or use a smaller data set"),
        libc::EDQUOT => (ErrorKind::NoSpace, "; next: raise the volume's quota, or use another directory"),
        libc::EACCES | libc::EPERM => {
            (ErrorKind::AccessDenied, "; next: let this user write there, or run as another")
        }
        libc::EROFS => {
            (ErrorKind::ReadOnly, "; next: check the quorum of the volume's replicas, and its options")
        }
        libc::ENOTEMPTY => (ErrorKind::AlreadyExists, ""),
        libc::EOPNOTSUPP => (ErrorKind::Rejected, "; the bricks' file system does not have it"),
        _ => (kind_of(&io::Error::from_raw_os_error(number)), ""),
    };
    Failure { kind, detail: format!("{}{hint}", text_of(number)) }
}

/// The error number of the call that has just failed on this thread.
pub(super) fn errno() -> c_int {
    io::Error::last_os_error().raw_os_error().filter(|number| *number != 0).unwrap_or(libc::EIO)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_have_a_kind_and_a_text() {
        for (number, kind, start) in [
            (libc::ENOENT, ErrorKind::NotFound, "No such file or directory (error 2)"),
            (libc::EEXIST, ErrorKind::AlreadyExists, "File exists (error 17)"),
            (
                libc::ENOTCONN,
                ErrorKind::ConnectionLost,
                "Transport endpoint is not connected (error 107); next: ",
            ),
            (libc::EDQUOT, ErrorKind::NoSpace, "Disk quota exceeded (error 122); next: raise"),
            (libc::ESTALE, ErrorKind::Stale, "Stale file handle (error 116)"),
            (libc::EIO, ErrorKind::ServerFault, "Input/output error (error 5)"),
        ] {
            let found = failure(number);
            assert_eq!(found.kind, kind, "{number}");
            assert!(found.detail.starts_with(start), "{}", found.detail);
        }
    }
}
