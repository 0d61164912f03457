//! A call parsed from a record: header checked, program and procedure known.

use wire::nfs3::{self, Procedure, ReadArgs};
use wire::rpc::{AcceptStatus, AuthStatus, CallHeader, RPC_VERSION, ReplyBody, ReplyHeader};
use wire::xdr::{Decode, Reader};
use wire::{mount, nfs4, portmap};

use super::out::READ_HEAD_BYTES;
use super::v41::{Outline, OutlinedRead};
use crate::files::Caller;

/// Largest payload of a READ or WRITE, in bytes.
pub(super) const IO_MAX: usize = 1 << 20;
/// Largest result of READDIR and READDIRPLUS, in bytes.
pub(super) const LISTING_MAX: usize = 64 << 10;
/// Space for every other reply: a symbolic link's target is the longest.
const REPLY_MAX: usize = 6 << 10;
/// Space for a reply of MOUNT or the portmapper. Their lists are truncated to it.
pub(super) const LIST_REPLY_MAX: usize = 96 << 10;

/// Which programs a port serves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Programs {
    pub(super) nfs: bool,
    pub(super) mount: bool,
    pub(super) portmap: bool,
}

/// The procedure called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    Nfs(Procedure),
    /// NFS version 4.
    Compound(Outline),
    Mount(u32),
    Portmap(u32),
}

/// A call to execute.
#[derive(Debug)]
pub(super) struct Call<'a> {
    pub(super) xid: u32,
    pub(super) target: Target,
    pub(super) caller: Caller,
    pub(super) arguments: &'a [u8],
    /// Size of the whole call, in bytes.
    pub(super) bytes: usize,
}

/// A record that is not a call to execute.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// It gets this reply.
    Reply(ReplyHeader<'static>),
    /// No reply is possible: the connection is closed.
    Garbage,
}

impl<'a> Call<'a> {
    /// Parses the header of a call.
    pub(super) fn parse(record: &'a [u8], served: Programs) -> Result<Self, Refusal> {
        let mut reader = Reader::new(record);
        let header = CallHeader::decode(&mut reader).map_err(|_| Refusal::Garbage)?;
        let xid = header.xid;
        let body = |body| Refusal::Reply(ReplyHeader { xid, body });
        let accepted = |status| Refusal::Reply(ReplyHeader::accepted(xid, status));
        if header.rpc_version != RPC_VERSION {
            return Err(body(ReplyBody::RpcMismatch { low: RPC_VERSION, high: RPC_VERSION }));
        }
        let (low, high) = match header.program {
            nfs3::PROGRAM if served.nfs => (nfs3::VERSION, nfs4::VERSION),
            mount::PROGRAM if served.mount => (mount::VERSION, mount::VERSION),
            portmap::PROGRAM if served.portmap => (portmap::VERSION, portmap::VERSION),
            _ => return Err(accepted(AcceptStatus::ProgramUnavailable)),
        };
        if !(low..=high).contains(&header.version) {
            return Err(accepted(AcceptStatus::ProgramMismatch { low, high }));
        }
        let target = match header.program {
            nfs3::PROGRAM if header.version == nfs4::VERSION => match header.procedure {
                0 => Some(Target::Nfs(Procedure::Null)),
                nfs4::PROC_COMPOUND => Some(Target::Compound(Outline::of(reader.rest()))),
                _ => None,
            },
            nfs3::PROGRAM => Procedure::from_wire(header.procedure).map(Target::Nfs).ok(),
            mount::PROGRAM => {
                Some(Target::Mount(header.procedure)).filter(|_| header.procedure <= mount::PROC_EXPORT)
            }
            _ => match header.procedure {
                portmap::PROC_NULL | portmap::PROC_GETPORT | portmap::PROC_DUMP => {
                    Some(Target::Portmap(header.procedure))
                }
                _ => None,
            },
        };
        let target = target.ok_or_else(|| accepted(AcceptStatus::ProcedureUnavailable))?;
        let caller = Caller::of(&header.credential)
            .map_err(|_| body(ReplyBody::AuthError(AuthStatus::BadCredential)))?;
        Ok(Self { xid, target, caller, arguments: reader.rest(), bytes: record.len() })
    }

    /// Maximum size of the reply in bytes.
    pub(super) fn reply_room(&self) -> usize {
        match self.target {
            Target::Compound(outline) => outline.reply_room,
            Target::Nfs(Procedure::Read) => READ_HEAD_BYTES + self.read_count() + 3 + REPLY_MAX,
            Target::Nfs(Procedure::Readdir | Procedure::Readdirplus) => LISTING_MAX + REPLY_MAX,
            Target::Nfs(_) => REPLY_MAX,
            Target::Mount(_) | Target::Portmap(_) => LIST_REPLY_MAX,
        }
    }

    /// Payload bytes that a READ requests, within the limit; 0 for everything else.
    pub(super) fn read_count(&self) -> usize {
        self.read().map_or(0, |read| read.count)
    }

    /// The file and the range of a READ.
    pub(super) fn read(&self) -> Option<OutlinedRead> {
        match self.target {
            Target::Nfs(Procedure::Read) => {
                let read = ReadArgs::decode(&mut Reader::new(self.arguments)).ok()?;
                let count = (read.count as usize).min(IO_MAX);
                Some(OutlinedRead { file: read.file, offset: read.offset, count })
            }
            Target::Compound(outline) => outline.read,
            _ => None,
        }
    }

    /// Payload bytes of a WRITE; 0 for everything else.
    pub(super) fn write_count(&self) -> usize {
        match self.target {
            Target::Nfs(Procedure::Write) => {
                let head = nfs3::WriteHead::decode(&mut Reader::new(self.arguments));
                head.map_or(0, |head| head.data_len as usize).min(self.arguments.len())
            }
            Target::Compound(outline) => outline.write_bytes,
            _ => 0,
        }
    }

    /// Whether it reads data.
    pub(super) fn is_read(&self) -> bool {
        match self.target {
            Target::Nfs(procedure) => procedure == Procedure::Read,
            Target::Compound(outline) => outline.read.is_some(),
            _ => false,
        }
    }

    /// Whether it renames something.
    pub(super) fn is_rename(&self) -> bool {
        match self.target {
            Target::Nfs(procedure) => procedure == Procedure::Rename,
            Target::Compound(outline) => outline.renames,
            _ => false,
        }
    }

    /// Whether faults strike it. Calls that locate the export are exempt, and so are those that manage clients and sessions:
    /// they are made once, and faults apply to shares of calls.
    pub(super) fn may_fail(&self) -> bool {
        match self.target {
            Target::Nfs(procedure) => procedure != Procedure::Null,
            Target::Compound(outline) => !outline.only_prepares,
            Target::Mount(_) | Target::Portmap(_) => false,
        }
    }
}
