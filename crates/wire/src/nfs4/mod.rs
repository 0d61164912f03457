//! NFS version 4.1 (RFC 8881, XDR of RFC 5662): COMPOUND, sessions, and the operations on files and directories that a
//! client without delegations, locks and layouts needs, in both directions.
//!
//! A COMPOUND is a [`CallHead`] followed by operations ([`OpArgument`]); its reply is a [`ReplyHead`] followed by one
//! [`OpOutcome`] per executed operation. READ and WRITE also come in two parts ([`Read4Head`], [`Write4Head`]), so that
//! payloads stream past without being stored.

mod attribute_numbers;
mod attributes;
mod compound;
mod directory;
mod file;
mod open;
mod operation;
mod security;
mod session;
mod states;
mod status;
mod types;

pub use attribute_numbers::Attribute;
pub use attributes::{Attributes4, Fattr, ServedAttributes, SetAttributes4, SetTime4};
pub use compound::{CallHead, OPERATIONS_MAX, OpArgument, OpOutcome, ReplyHead, SetAttrResult};
pub use directory::{
    Create4Args, Create4Ok, CreateWhat, Entry, ReadDirArgs, ReadDirOk, Rename4Args, RenameOk,
};
pub use file::{
    Access4Ok, Commit4Args, Read4Args, Read4Head, Read4Ok, SetAttrArgs, Write4Args, Write4Head, Write4Ok,
};
pub use open::{Ace, Claim, CloseArgs, Delegation, OpenArgs, OpenCreate, OpenHow, OpenOk, SpaceLimit};
pub use operation::Operation;
pub use security::{Flavors, SecurityOf};
pub use session::{
    BindArgs, BindOk, CallbackSecurity, ChannelAttributes, CreateSessionArgs, CreateSessionOk,
    ExchangeIdArgs, ExchangeIdOk, Implementation, Protection, SequenceArgs, SequenceOk, ServerOwner,
};
pub use states::{STATES_MAX, StateIds, StateStatuses};
pub use status::Nfs4Status;
pub use types::{
    Bitmap, ChangeInfo, ClientOwner, Handle, Owner, ServerLabel, SessionId, StateId, Tag, Time4,
};

/// Program number.
pub const PROGRAM: u32 = 100_003;
/// Version implemented here.
pub const VERSION: u32 = 4;
/// Minor version implemented here.
pub const MINOR_VERSION: u32 = 1;
/// The procedure that carries operations.
pub const PROC_COMPOUND: u32 = 1;
/// The standard port: needs no portmapper.
pub const PORT: u16 = 2049;
