//! NFS version 4.1 (RFC 8881) on the same port, file systems, faults and export rules as version 3.
//!
//! A call is a COMPOUND. Before it is executed it is outlined ([`outline`]): how large its reply may become, and what the
//! faults need to know of it. Its operations are executed one after another ([`Run`]) on a current file ([`place`]); each
//! operates on the tree as the procedures of version 3 do, and appends its result. Clients, sessions and opens are in
//! [`state`].
//!
//! * No callbacks, no delegations, no locks, no layouts, and no grace period: after a restart nothing can be reclaimed.
//! * The root directory of the server contains the exports. Whether a client is admitted is asked with every handle.
//! * With `SP4_NONE` a connection belongs to a session from its first SEQUENCE (section 2.10.3.1), so it need not be bound.
//! * A file that is removed while it is open is gone, as in version 3; CLOSE still ends the open.

mod attributes;
mod compound;
mod data;
mod introductions;
mod listing;
mod names;
mod opening;
mod operations;
mod outline;
mod place;
mod state;

pub(super) use compound::answer;
pub(super) use outline::{Outline, OutlinedRead};
pub(super) use state::State;

use wire::nfs3::{FileType, Status};
use wire::nfs4::Nfs4Status;

use super::call::{IO_MAX, LISTING_MAX};

/// Largest reply, in bytes: a READ of the largest payload, or a listing, with all else that a COMPOUND may contain.
const REPLY_LIMIT: usize = IO_MAX + LISTING_MAX;

/// A status of version 3 as one of version 4. Their numbers are the same, but for guards, which version 4 does not have.
fn status(old: Status) -> Nfs4Status {
    Nfs4Status(old.0)
}

/// Whether data can be read and written.
fn regular(kind: FileType) -> Result<(), Nfs4Status> {
    match kind {
        FileType::Regular => Ok(()),
        FileType::Directory => Err(Nfs4Status::ISDIR),
        FileType::Symlink => Err(Nfs4Status::SYMLINK),
        _ => Err(Nfs4Status::WRONG_TYPE),
    }
}

/// Whether names can be looked up.
fn directory(kind: FileType) -> Result<(), Nfs4Status> {
    match kind {
        FileType::Directory => Ok(()),
        FileType::Symlink => Err(Nfs4Status::SYMLINK),
        _ => Err(Nfs4Status::NOTDIR),
    }
}

/// A name as version 4 accepts it (section 14.5): not the two that every directory has.
fn name(name: wire::nfs3::Name<'_>) -> Result<&[u8], Nfs4Status> {
    match name.0 {
        b"" => Err(Nfs4Status::INVAL),
        b"." | b".." => Err(Nfs4Status::BADNAME),
        given if given.iter().any(|byte| matches!(byte, b'/' | 0)) => Err(Nfs4Status::BADCHAR),
        given => Ok(given),
    }
}
