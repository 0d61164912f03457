//! librados' error numbers as error kinds, with what to do next.

use std::ffi::c_int;

use metrics::ErrorKind;

use crate::failure::{Failure, text_of};

/// The failure for a negative return value of librados.
#[cold]
pub(super) fn failure(code: c_int) -> Failure {
    let (kind, hint) = meaning(-code);
    Failure { kind, detail: format!("{}{hint}", text(code)) }
}

/// What a negative return value says, such as `Permission denied (error 13)`.
pub(super) fn text(code: c_int) -> String {
    text_of(-code)
}

/// The kind of an error number (errno(3)), and a hint for people.
fn meaning(number: c_int) -> (ErrorKind, &'static str) {
    match number {
        libc::ENOENT | libc::ENODATA => (ErrorKind::NotFound, ""),
        libc::EEXIST => (ErrorKind::AlreadyExists, ""),
        libc::EACCES | libc::EPERM => {
            (ErrorKind::AccessDenied, "; next: compare the user's caps (`ceph auth get`) with the operation")
        }
        // EBLOCKLISTED.
        libc::ESHUTDOWN => (ErrorKind::AccessDenied, "; the cluster has blocklisted this client"),
        libc::EROFS => (ErrorKind::ReadOnly, ""),
        libc::ENOSPC | libc::EDQUOT => (ErrorKind::NoSpace, ""),
        libc::ETIMEDOUT => (ErrorKind::TimedOut, ""),
        libc::ECANCELED => (ErrorKind::TimedOut, ""),
        libc::EFBIG => (
            ErrorKind::Rejected,
            ": the object would exceed osd_max_object_size (128 MiB by default); next: use smaller ones",
        ),
        libc::EMSGSIZE => (
            ErrorKind::Rejected,
            ": the write exceeds osd_max_write_size (90 MiB by default); next: use a smaller block size",
        ),
        libc::EINVAL | libc::EOPNOTSUPP | libc::E2BIG | libc::ENAMETOOLONG | libc::ERANGE => {
            (ErrorKind::Rejected, "")
        }
        libc::EBUSY | libc::EAGAIN => (ErrorKind::Busy, ""),
        libc::ENOTCONN | libc::ECONNRESET | libc::EPIPE => (ErrorKind::ConnectionLost, ""),
        libc::ECONNREFUSED | libc::EHOSTUNREACH | libc::ENETUNREACH => (ErrorKind::ConnectFailed, ""),
        libc::ENOMEM | libc::EMFILE | libc::ENFILE => (ErrorKind::Local, ""),
        _ => (ErrorKind::ServerFault, ""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_have_a_kind_and_a_text() {
        for (number, kind, start) in [
            (libc::ENOENT, ErrorKind::NotFound, "No such file or directory (error 2)"),
            (libc::EPERM, ErrorKind::AccessDenied, "Operation not permitted (error 1); next: compare"),
            (libc::EFBIG, ErrorKind::Rejected, "File too large (error 27): the object would exceed"),
            (libc::EDQUOT, ErrorKind::NoSpace, "Disk quota exceeded (error 122)"),
            (libc::EIO, ErrorKind::ServerFault, "Input/output error (error 5)"),
        ] {
            let found = failure(-number);
            assert_eq!(found.kind, kind, "{number}");
            assert!(found.detail.starts_with(start), "{}", found.detail);
        }
    }
}
