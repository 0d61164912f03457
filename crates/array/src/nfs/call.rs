//! A call parsed from a record: header checked, program and procedure known.

use wire::nfs3::{self, Procedure, ReadArgs};
use wire::rpc::{AcceptStatus, AuthStatus, CallHeader, RPC_VERSION, ReplyBody, ReplyHeader};
use wire::xdr::{Decode, Reader};
use wire::{mount, portmap};

use super::out::READ_HEAD_BYTES;
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
        let (program, version) = match header.program {
            nfs3::PROGRAM if served.nfs => (header.program, nfs3::VERSION),
            mount::PROGRAM if served.mount => (header.program, mount::VERSION),
            portmap::PROGRAM if served.portmap => (header.program, portmap::VERSION),
            _ => return Err(accepted(AcceptStatus::ProgramUnavailable)),
        };
        if header.version != version {
            return Err(accepted(AcceptStatus::ProgramMismatch { low: version, high: version }));
        }
        let target = match program {
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
        Ok(Self { xid, target, caller, arguments: reader.rest() })
    }

    /// Maximum size of the reply in bytes.
    pub(super) fn reply_room(&self) -> usize {
        match self.target {
            Target::Nfs(Procedure::Read) => READ_HEAD_BYTES + self.read_count() + 3 + REPLY_MAX,
            Target::Nfs(Procedure::Readdir | Procedure::Readdirplus) => LISTING_MAX + REPLY_MAX,
            Target::Nfs(_) => REPLY_MAX,
            Target::Mount(_) | Target::Portmap(_) => LIST_REPLY_MAX,
        }
    }

    /// Payload bytes that a READ requests, within the limit; 0 for everything else.
    pub(super) fn read_count(&self) -> usize {
        self.read_arguments().map_or(0, |arguments| (arguments.count as usize).min(IO_MAX))
    }

    /// The arguments of a READ.
    pub(super) fn read_arguments(&self) -> Option<ReadArgs> {
        match self.target {
            Target::Nfs(Procedure::Read) => ReadArgs::decode(&mut Reader::new(self.arguments)).ok(),
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
            _ => 0,
        }
    }
}
