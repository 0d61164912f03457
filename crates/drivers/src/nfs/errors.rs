//! Maps protocol errors to ours.

use metrics::ErrorKind;
use wire::mount::MountStatus;
use wire::nfs3::Status;
use wire::nfs4::Nfs4Status;
use wire::rpc::{AcceptStatus, AuthStatus, ReplyBody};

use super::later::asks_for_later;

/// The kind under which a procedure's status is counted.
pub(super) fn kind_of(status: Status) -> ErrorKind {
    match status {
        Status::PERM | Status::ACCES => ErrorKind::AccessDenied,
        Status::NOENT => ErrorKind::NotFound,
        Status::EXIST => ErrorKind::AlreadyExists,
        Status::NOSPC | Status::DQUOT | Status::FBIG => ErrorKind::NoSpace,
        Status::ROFS => ErrorKind::ReadOnly,
        Status::STALE | Status::BADHANDLE => ErrorKind::Stale,
        status if asks_for_later(status) => ErrorKind::Busy,
        Status(status) if status == Nfs4Status::FHEXPIRED.0 => ErrorKind::Stale,
        Status(status) if status == Nfs4Status::WRONGSEC.0 => ErrorKind::AccessDenied,
        Status::IO | Status::NXIO | Status::NODEV | Status::SERVERFAULT => ErrorKind::ServerFault,
        _ => ErrorKind::Rejected,
    }
}

/// The kind under which a refused MNT is counted.
pub(super) fn kind_of_mount(status: MountStatus) -> ErrorKind {
    match status {
        MountStatus::PERM | MountStatus::ACCES => ErrorKind::AccessDenied,
        MountStatus::NOENT | MountStatus::NOTDIR => ErrorKind::NotFound,
        MountStatus::IO | MountStatus::SERVERFAULT => ErrorKind::ServerFault,
        _ => ErrorKind::Rejected,
    }
}

/// Advice for people about a status, as the end of a message; empty when there is none.
pub(super) fn advice(status: Status) -> &'static str {
    match status {
        Status::PERM | Status::ACCES => "; let this user write there, or choose another uid and gid",
        Status::NOSPC => "; the file system is full: free some space or use a larger one",
        Status::DQUOT => "; the quota is exhausted: raise it or use another export",
        Status::ROFS => "; the export is read-only: allow writing in its export rule",
        Status::JUKEBOX => {
            "; it asked to be called again later until the time was up: it may be recovering, or moving data"
        }
        Status(status) if status == Nfs4Status::GRACE.0 => {
            "; it has restarted and let clients only reclaim what they had until the time was up: try again after its grace \
             period"
        }
        Status::STALE => "; the file was removed or the file system replaced meanwhile",
        _ => "",
    }
}

/// A reply other than success, as kind and words; `None` for a success.
#[inline(always)]
pub(super) fn refusal(body: &ReplyBody<'_>) -> Option<(ErrorKind, String)> {
    match body {
        ReplyBody::Accepted { status: AcceptStatus::Success, .. } => None,
        body => Some(refused(body)),
    }
}

#[cold]
fn refused(body: &ReplyBody<'_>) -> (ErrorKind, String) {
    match body {
        ReplyBody::Accepted { status, .. } => match status {
            AcceptStatus::SystemError => {
                (ErrorKind::ServerFault, "the server reports an internal error (SYSTEM_ERR)".into())
            }
            AcceptStatus::GarbageArguments => {
                (ErrorKind::Rejected, "the server could not understand the arguments (GARBAGE_ARGS)".into())
            }
            AcceptStatus::ProgramMismatch { low, high } => (
                ErrorKind::Rejected,
                format!(
                    "the server has versions {low} to {high} of the program only: enable the wanted one there, or choose \
                     another"
                ),
            ),
            AcceptStatus::ProgramUnavailable => {
                (ErrorKind::Rejected, "the program is not served on that port (PROG_UNAVAIL)".into())
            }
            _ => (ErrorKind::Rejected, "the server does not have the procedure (PROC_UNAVAIL)".into()),
        },
        ReplyBody::RpcMismatch { low, high } => {
            (ErrorKind::Rejected, format!("the server speaks RPC versions {low} to {high} only"))
        }
        ReplyBody::AuthError(AuthStatus::TooWeak) => (
            ErrorKind::AccessDenied,
            "the server refuses AUTH_SYS or a source port above 1023 (AUTH_TOOWEAK): allow sec=sys and \
             \"insecure\" ports for this client, or run with CAP_NET_BIND_SERVICE"
                .into(),
        ),
        ReplyBody::AuthError(status) => {
            (ErrorKind::AccessDenied, format!("the server refuses the credential ({status:?})"))
        }
    }
}
