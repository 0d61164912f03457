//! What OPEN asks of a node: its type, and whether it may be opened.

use wire::nfs3::{FileType, Status};

use super::access::{self, Caller};
use super::tree::{NodeId, Tree};

impl Tree {
    /// The type of a node.
    ///
    /// # Errors
    /// `NFS3ERR_STALE`.
    pub fn kind(&self, id: NodeId) -> Result<FileType, Status> {
        Ok(self.node(id)?.kind())
    }

    /// Whether the caller may open a file for reading, for writing or for both.
    ///
    /// # Errors
    /// `NFS3ERR_ACCES`, `NFS3ERR_ROFS`, `NFS3ERR_STALE`.
    pub fn may_open(&self, id: NodeId, caller: &Caller, read: bool, write: bool) -> Result<(), Status> {
        let node = self.node(id)?;
        if write {
            self.writable()?;
        }
        let allowed = (!read || node.lets_read(caller)) && (!write || node.permits(caller, access::WRITE));
        if allowed { Ok(()) } else { Err(Status::ACCES) }
    }
}
