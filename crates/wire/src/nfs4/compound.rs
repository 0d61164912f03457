//! COMPOUND (RFC 8881 section 16.2): a head, then operations one after another.

use super::directory::{Create4Args, Create4Ok, ReadDirArgs, ReadDirOk, Rename4Args, RenameOk};
use super::file::{Access4Ok, Commit4Args, Read4Args, Read4Ok, SetAttrArgs, Write4Args, Write4Ok};
use super::open::{CloseArgs, OpenArgs, OpenOk};
use super::security::{Flavors, SecurityOf};
use super::session::{
    BindArgs, BindOk, CreateSessionArgs, CreateSessionOk, ExchangeIdArgs, ExchangeIdOk, SequenceArgs,
    SequenceOk,
};
use super::states::{StateIds, StateStatuses};
use super::types::{Bitmap, ChangeInfo, Handle, SessionId, StateId, Tag};
use super::{Fattr, Nfs4Status, Operation};
use crate::nfs3::{Name, Path, Verifier};
use crate::xdr::{Decode, DecodeError, Encode, Reader, xdr_struct};

/// Most operations accepted in one reply, and most that our server executes for one call.
pub const OPERATIONS_MAX: u32 = 64;

/// The head of a call; its operations ([`OpArgument`]) follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallHead<'a> {
    /// Repeated in the reply.
    pub tag: Tag<'a>,
    /// [`super::MINOR_VERSION`].
    pub minor_version: u32,
    /// Number of operations. Any number is decoded: how many are too many is for the session to say.
    pub count: u32,
}

/// The head of a reply; the outcomes of the executed operations ([`OpOutcome`]) follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplyHead<'a> {
    /// Nfs4Status of the last executed operation.
    pub status: Nfs4Status,
    /// As in the call.
    pub tag: Tag<'a>,
    /// Number of outcomes.
    pub count: u32,
}

/// Reads the number of outcomes.
#[inline]
fn count(from: &mut Reader<'_>) -> Result<u32, DecodeError> {
    Ok(from.length("COMPOUND", OPERATIONS_MAX as usize)? as u32)
}

impl Encode for CallHead<'_> {
    #[inline]
    fn encode(&self, out: &mut Vec<u8>) {
        self.tag.encode(out);
        self.minor_version.encode(out);
        self.count.encode(out);
    }
}

impl<'a> Decode<'a> for CallHead<'a> {
    fn decode(from: &mut Reader<'a>) -> Result<Self, DecodeError> {
        Ok(Self { tag: Tag::decode(from)?, minor_version: from.u32()?, count: from.u32()? })
    }
}

impl Encode for ReplyHead<'_> {
    #[inline]
    fn encode(&self, out: &mut Vec<u8>) {
        self.status.encode(out);
        self.tag.encode(out);
        self.count.encode(out);
    }
}

impl<'a> Decode<'a> for ReplyHead<'a> {
    #[inline]
    fn decode(from: &mut Reader<'a>) -> Result<Self, DecodeError> {
        Ok(Self { status: Nfs4Status::decode(from)?, tag: Tag::decode(from)?, count: count(from)? })
    }
}

xdr_struct! {
    /// SETATTR's result.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    SetAttrResult {
        /// The outcome.
        status: Nfs4Status,
        /// Attributes4 that were set, also in failure.
        set: Bitmap,
    }
}

macro_rules! operations {
    ($($name:ident: $argument:ty => $outcome:ty,)*) => {
        /// An operation of a call, with its arguments (`nfs_argop4`).
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[allow(missing_docs, reason = "the names are the RFC's, and each has its type's arguments")]
        pub enum OpArgument<'a> { $($name($argument),)* }

        /// The outcome of an operation (`nfs_resop4`).
        #[derive(Clone, Debug, PartialEq, Eq)]
        #[allow(missing_docs, reason = "the names are the RFC's, and each has its type's result")]
        pub enum OpOutcome<'a> { $($name($outcome),)* }

        impl OpArgument<'_> {
            /// Which operation it is.
            pub fn operation(&self) -> Operation {
                match self { $(Self::$name(_) => Operation::$name,)* }
            }
        }

        impl OpOutcome<'_> {
            /// Which operation it belongs to.
            pub fn operation(&self) -> Operation {
                match self { $(Self::$name(_) => Operation::$name,)* }
            }
        }

        impl Encode for OpArgument<'_> {
            #[inline]
            fn encode(&self, out: &mut Vec<u8>) {
                self.operation().encode(out);
                match self { $(Self::$name(arguments) => arguments.encode(out),)* }
            }
        }

        impl<'a> Decode<'a> for OpArgument<'a> {
            fn decode(from: &mut Reader<'a>) -> Result<Self, DecodeError> {
                Ok(match Operation::decode(from)? {
                    $(Operation::$name => Self::$name(<$argument>::decode(from)?),)*
                })
            }
        }

        impl Encode for OpOutcome<'_> {
            fn encode(&self, out: &mut Vec<u8>) {
                self.operation().encode(out);
                match self { $(Self::$name(result) => result.encode(out),)* }
            }
        }

        impl<'a> Decode<'a> for OpOutcome<'a> {
            fn decode(from: &mut Reader<'a>) -> Result<Self, DecodeError> {
                Ok(match Operation::decode(from)? {
                    $(Operation::$name => Self::$name(<$outcome>::decode(from)?),)*
                })
            }
        }
    };
}

operations! {
    Access: u32 => Result<Access4Ok, Nfs4Status>,
    Close: CloseArgs => Result<StateId, Nfs4Status>,
    Commit: Commit4Args => Result<Verifier, Nfs4Status>,
    Create: Create4Args<'a> => Result<Create4Ok, Nfs4Status>,
    GetAttr: Bitmap => Result<Fattr<'a>, Nfs4Status>,
    GetFh: () => Result<Handle, Nfs4Status>,
    Link: Name<'a> => Result<ChangeInfo, Nfs4Status>,
    Lookup: Name<'a> => Result<(), Nfs4Status>,
    LookupParent: () => Result<(), Nfs4Status>,
    Open: OpenArgs<'a> => Result<OpenOk<'a>, Nfs4Status>,
    PutFh: Handle => Result<(), Nfs4Status>,
    PutPublicFh: () => Result<(), Nfs4Status>,
    PutRootFh: () => Result<(), Nfs4Status>,
    Read: Read4Args => Result<Read4Ok<'a>, Nfs4Status>,
    ReadDir: ReadDirArgs => Result<ReadDirOk<'a>, Nfs4Status>,
    ReadLink: () => Result<Path<'a>, Nfs4Status>,
    Remove: Name<'a> => Result<ChangeInfo, Nfs4Status>,
    Rename: Rename4Args<'a> => Result<RenameOk, Nfs4Status>,
    RestoreFh: () => Result<(), Nfs4Status>,
    SaveFh: () => Result<(), Nfs4Status>,
    SecInfo: Name<'a> => Result<Flavors, Nfs4Status>,
    SetAttr: SetAttrArgs<'a> => SetAttrResult,
    Write: Write4Args<'a> => Result<Write4Ok, Nfs4Status>,
    BindConnToSession: BindArgs => Result<BindOk, Nfs4Status>,
    ExchangeId: ExchangeIdArgs<'a> => Result<ExchangeIdOk<'a>, Nfs4Status>,
    CreateSession: CreateSessionArgs<'a> => Result<CreateSessionOk, Nfs4Status>,
    DestroySession: SessionId => Result<(), Nfs4Status>,
    FreeStateId: StateId => Result<(), Nfs4Status>,
    SecInfoNoName: SecurityOf => Result<Flavors, Nfs4Status>,
    Sequence: SequenceArgs => Result<SequenceOk, Nfs4Status>,
    TestStateId: StateIds<'a> => Result<StateStatuses<'a>, Nfs4Status>,
    DestroyClientId: u64 => Result<(), Nfs4Status>,
    ReclaimComplete: bool => Result<(), Nfs4Status>,
    Illegal: () => Result<(), Nfs4Status>,
}
