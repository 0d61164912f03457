//! The services of one data address: every call of NFS, MOUNT and the portmapper, from arguments to reply.

use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

use wire::nfs3::{Attributes, Procedure, Stability, Status};
use wire::rpc::AcceptStatus;
use wire::xdr::{self, DecodeError};

use super::call::{Call, Target};
use super::mounts::MountList;
use super::out::Out;
use super::{mountd, portmapper, procedures, v41};
use crate::files::{Caller, Files, NodeId, ReadDone, Tree, WriteEffect};

/// The ports of one data address.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Ports {
    pub(super) nfs: u16,
    pub(super) mount: u16,
    pub(super) portmap: u16,
}

/// How a call is executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Execution {
    /// As the protocol says.
    Faithful,
    /// Likewise; a WRITE keeps what it replaces, so that a READ can return it.
    KeepingOld,
    /// A RENAME is acknowledged, but not done; a READ returns what the file held before its last WRITE.
    Unfaithful,
    /// It has no effect, and fails with this.
    Failing(Status),
    /// The reply will be cut off, so the call has no effect.
    Unheard,
}

impl Execution {
    /// Does a READ.
    pub(super) fn read(
        self,
        tree: &mut Tree,
        node: NodeId,
        caller: &Caller,
        offset: u64,
        space: &mut [u8],
    ) -> Result<ReadDone, Status> {
        match self {
            Self::Unfaithful => tree.read_old(node, caller, offset, space),
            _ => tree.read(node, caller, offset, space),
        }
    }

    /// Does a WRITE; returns also how durable it is.
    pub(super) fn write(
        self,
        tree: &mut Tree,
        node: NodeId,
        caller: &Caller,
        offset: u64,
        data: &[u8],
        stable: Stability,
    ) -> Result<(WriteEffect, Stability), Status> {
        if self == Self::KeepingOld {
            tree.keep_old(node, offset, data.len());
        }
        let done = tree.write(node, caller, offset, data, stable)?;
        let committed = match stable {
            Stability::Unstable => Stability::Unstable,
            Stability::DataSync | Stability::FileSync => Stability::FileSync,
        };
        Ok((done, committed))
    }
}

/// Answers the calls to one data address.
#[derive(Debug)]
pub(super) struct Service {
    pub(super) files: Arc<Files>,
    pub(super) ports: Ports,
    /// Who mounted what; shared by all addresses.
    pub(super) mounts: Arc<Mutex<MountList>>,
    /// The clients of version 4.1; shared by all addresses.
    pub(super) clients: Arc<v41::State>,
}

impl Service {
    /// Executes a call and appends its reply, for which there must be space ([`Call::reply_room`]).
    pub(super) fn answer(&self, call: &Call<'_>, peer: IpAddr, out: &mut Out, execution: Execution) {
        let done = match call.target {
            Target::Compound(_) => v41::answer(self, call, peer, out, execution),
            Target::Nfs(procedure) => match execution {
                Execution::Failing(status) => return fail(call.xid, procedure, status, out),
                Execution::Unheard if !call.is_read() => return fail(call.xid, procedure, Status::IO, out),
                _ => procedures::answer(&self.files, call, procedure, out, execution),
            },
            Target::Mount(procedure) => {
                let mut mounts = self.mounts.lock().unwrap_or_else(PoisonError::into_inner);
                mountd::answer(&self.files, &mut mounts, call, procedure, peer, out)
            }
            Target::Portmap(procedure) => portmapper::answer(&self.ports, call, procedure, out),
        };
        match (done, call.target) {
            (Ok(()), _) => {}
            // Well-formed, but too long for a name, which has a status of its own.
            (Err(DecodeError::Oversize { what: "file name", .. }), Target::Nfs(procedure)) => {
                fail(call.xid, procedure, Status::NAMETOOLONG, out);
            }
            (Err(_), _) => out.refuse(call.xid, AcceptStatus::GarbageArguments),
        }
    }

    /// Payload bytes that a READ would return now; 0 for everything else.
    pub(super) fn readable(&self, call: &Call<'_>, peer: IpAddr) -> u64 {
        let Some(read) = call.read() else { return 0 };
        let found = match call.target {
            Target::Compound(_) => self.files.resolve_for(&read.file, peer),
            _ => self.files.resolve(&read.file),
        };
        let Ok((system, node)) = found else { return 0 };
        let size = system.lock().attributes(node).map_or(0, |attributes| attributes.size);
        size.saturating_sub(read.offset).min(read.count as u64)
    }
}

/// Appends the failure of an NFS procedure, in that procedure's form.
fn fail(xid: u32, procedure: Procedure, status: Status, out: &mut Out) {
    use Procedure as P;
    use wire::nfs3::{LinkWcc, RenameWcc, WccData};
    let error: Result<(), Status> = Err(status);
    match procedure {
        P::Null => out.reply(xid, |_| {}),
        P::Getattr => out.outcome::<_, ()>(xid, error),
        P::Lookup | P::Access | P::Readlink | P::Read | P::Readdir | P::Readdirplus => {
            out.outcome::<_, Option<Attributes>>(xid, error);
        }
        P::Fsstat | P::Fsinfo | P::Pathconf => out.outcome::<_, Option<Attributes>>(xid, error),
        P::Setattr
        | P::Write
        | P::Create
        | P::Mkdir
        | P::Symlink
        | P::Mknod
        | P::Remove
        | P::Rmdir
        | P::Commit => {
            out.outcome::<_, WccData>(xid, error);
        }
        P::Rename => out.outcome::<_, RenameWcc>(xid, error),
        P::Link => out.outcome::<_, LinkWcc>(xid, error),
    }
}

/// Decodes the arguments of a call, which must fill it exactly.
pub(super) fn arguments<'a, T: xdr::Decode<'a>>(call: &Call<'a>) -> Result<T, DecodeError> {
    xdr::decode_all(call.arguments)
}
