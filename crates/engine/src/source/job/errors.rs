//! What a failed operation means for its job.

use experiment::OnErrors;
use metrics::{ErrorKind, OpKind};

/// Consequence of a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Follows {
    /// It is ignored.
    Nothing,
    /// It counts, and the job continues.
    GoOn,
    /// The job is complete, as intended.
    Full,
    /// The job has failed.
    End,
}

/// The consequence of each kind of failure, for reads, writes and comparisons.
#[derive(Debug)]
pub(super) struct Policy {
    go_on: [bool; 3],
    ignored: [[bool; ErrorKind::COUNT]; 3],
    fill: bool,
}

impl Policy {
    pub(super) fn new(errors: &OnErrors, fatal: bool, fill: bool) -> Policy {
        let mut ignored = [[false; ErrorKind::COUNT]; 3];
        for (class, names) in errors.ignore.iter().enumerate() {
            for kind in names.iter().filter_map(|name| kind_of(name)) {
                ignored[class][kind as usize] = true;
            }
        }
        let go_on = [errors.go_on_read, errors.go_on_write, errors.go_on_verify && !fatal];
        Policy { go_on, ignored, fill }
    }

    pub(super) fn follows(&self, kind: OpKind, error: ErrorKind) -> Follows {
        let class = match (kind, error) {
            (_, ErrorKind::Corrupt) => 2,
            (OpKind::Read, _) => 0,
            _ => 1,
        };
        if self.ignored[class][error as usize] {
            Follows::Nothing
        } else if self.fill && class == 1 && error == ErrorKind::NoSpace {
            Follows::Full
        } else if self.go_on[class] {
            Follows::GoOn
        } else {
            Follows::End
        }
    }
}

/// The error kind for a system error, given by its name in errno(3).
pub(crate) fn kind_of(name: &str) -> Option<ErrorKind> {
    Some(match name {
        "ETIMEDOUT" | "ETIME" => ErrorKind::TimedOut,
        "ECONNREFUSED" | "EHOSTUNREACH" | "ENETUNREACH" => ErrorKind::ConnectFailed,
        "ECONNRESET" | "EPIPE" | "ENOTCONN" => ErrorKind::ConnectionLost,
        "EACCES" | "EPERM" => ErrorKind::AccessDenied,
        "EROFS" => ErrorKind::ReadOnly,
        "ENOSPC" | "EDQUOT" | "EFBIG" => ErrorKind::NoSpace,
        "ENOENT" => ErrorKind::NotFound,
        "EEXIST" => ErrorKind::AlreadyExists,
        "ESTALE" => ErrorKind::Stale,
        "EAGAIN" | "EBUSY" => ErrorKind::Busy,
        "EIO" | "EREMOTEIO" => ErrorKind::ServerFault,
        "EINVAL" | "EOPNOTSUPP" | "ENOTSUP" | "ENOSYS" => ErrorKind::Rejected,
        "EPROTO" | "EBADMSG" => ErrorKind::Protocol,
        "EILSEQ" => ErrorKind::Corrupt,
        "ENOMEM" | "EMFILE" | "ENFILE" => ErrorKind::Local,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_ends_the_job_unless_it_is_named() {
        let none = Policy::new(&OnErrors::default(), false, false);
        assert_eq!(none.follows(OpKind::Read, ErrorKind::ServerFault), Follows::End);
        let errors = OnErrors {
            go_on_write: true,
            go_on_verify: true,
            ignore: [vec!["EIO".to_owned()], Vec::new(), Vec::new()],
            ..OnErrors::default()
        };
        let some = Policy::new(&errors, false, true);
        assert_eq!(some.follows(OpKind::Read, ErrorKind::ServerFault), Follows::Nothing);
        assert_eq!(some.follows(OpKind::Read, ErrorKind::Busy), Follows::End);
        assert_eq!(some.follows(OpKind::Write, ErrorKind::ServerFault), Follows::GoOn);
        assert_eq!(some.follows(OpKind::Write, ErrorKind::NoSpace), Follows::Full);
        assert_eq!(some.follows(OpKind::Read, ErrorKind::Corrupt), Follows::GoOn);
        let fatal = Policy::new(&errors, true, false);
        assert_eq!(fatal.follows(OpKind::Read, ErrorKind::Corrupt), Follows::End);
    }
}
