//! `NFS3ERR_JUKEBOX` and its like: the server is busy and asks for the call to be repeated later (RFC 1813, 2.6).

use wire::nfs3::Status;
use wire::nfs4::Nfs4Status;

/// True when the server asks for the call to be repeated later: `NFS3ERR_JUKEBOX`, which is `NFS4ERR_DELAY`; in version 4.1
/// also during the grace period after its restart, and when it executed a call that may be repeated without keeping the
/// reply.
#[inline]
pub(super) fn asks_for_later(status: Status) -> bool {
    matches!(Nfs4Status(status.0), Nfs4Status::DELAY | Nfs4Status::GRACE | Nfs4Status::RETRY_UNCACHED_REP)
}
