//! The procedures that operations call, each a type with its arguments and the relevant part of its reply.
//!
//! A reply finds its slot by transaction number, long after the call was made. The slot therefore remembers which
//! procedure it waits for ([`Expect`]) and can hold any procedure's reply ([`Reply`]); only here are these tied to the
//! types.

use wire::nfs3::{
    AccessArgs, CommitArgs, CreateArgs, DirArgs, FileHandle, LinkArgs, MkdirArgs, Procedure, ReadArgs,
    ReaddirplusArgs, RenameArgs, SetattrArgs, Stability, SymlinkArgs, Verifier, WriteHead,
};
use wire::xdr::Encode;

use super::slots::Piece;

/// A procedure that operations call.
pub(super) trait Call: Copy {
    /// Its arguments.
    type Arguments<'a>: Encode;
    /// The relevant part of a success.
    type Reply;
    /// Procedure number on the wire.
    const PROCEDURE: Procedure;

    /// What its slot waits for.
    fn expect(self) -> Expect;

    /// Extracts its own reply from any; `None` when it is another procedure's.
    fn reply(any: Reply) -> Option<Self::Reply>;
}

/// The kind of reply that a slot waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Expect {
    Getattr,
    Lookup,
    Create,
    Remove,
    Read(Piece),
    /// Carries the payload that follows the call message.
    Write(Piece),
    Commit,
    Readdirplus,
    Access,
    Setattr,
    Rename,
    Link,
    Symlink,
    Readlink,
    Mkdir,
    Rmdir,
}

/// The relevant part of a procedure's result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reply {
    Getattr(()),
    Lookup(Found),
    /// The new file's handle, if the server returns it.
    Create(Option<FileHandle>),
    Remove(()),
    Read(Came),
    Write(Written),
    Commit(Verifier),
    Readdirplus(Listed),
    Access(()),
    Setattr(()),
    Rename(()),
    Link(()),
    Symlink(()),
    Readlink(()),
    Mkdir(()),
    Rmdir(()),
}

/// What LOOKUP found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) file: FileHandle,
    /// In bytes, if the server returns it.
    pub(super) size: Option<u64>,
}

/// Result of a READ; the payload itself was verified as it arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Came {
    pub(super) bytes: u32,
    pub(super) eof: bool,
}

/// Result of a WRITE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Written {
    pub(super) bytes: u32,
    pub(super) committed: Stability,
    pub(super) verifier: Verifier,
}

/// A page of a listing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Listed {
    pub(super) entries: u32,
    /// Where the next page starts.
    pub(super) cookie: u64,
    pub(super) verifier: Verifier,
    pub(super) eof: bool,
}

macro_rules! call {
    ($name:ident, $arguments:ty => $reply:ty) => {
        #[derive(Clone, Copy)]
        pub(super) struct $name;

        impl Call for $name {
            type Arguments<'a> = $arguments;
            type Reply = $reply;
            const PROCEDURE: Procedure = Procedure::$name;

            #[inline]
            fn expect(self) -> Expect {
                Expect::$name
            }

            #[inline]
            fn reply(any: Reply) -> Option<$reply> {
                if let Reply::$name(reply) = any { Some(reply) } else { None }
            }
        }
    };
    // The slot knows the piece being moved.
    ($name:ident of Piece, $arguments:ty => $reply:ty) => {
        #[derive(Clone, Copy)]
        pub(super) struct $name(pub(super) Piece);

        impl Call for $name {
            type Arguments<'a> = $arguments;
            type Reply = $reply;
            const PROCEDURE: Procedure = Procedure::$name;

            #[inline]
            fn expect(self) -> Expect {
                Expect::$name(self.0)
            }

            #[inline]
            fn reply(any: Reply) -> Option<$reply> {
                if let Reply::$name(reply) = any { Some(reply) } else { None }
            }
        }
    };
}

call!(Getattr, FileHandle => ());
call!(Lookup, DirArgs<'a> => Found);
call!(Create, CreateArgs<'a> => Option<FileHandle>);
call!(Remove, DirArgs<'a> => ());
call!(Read of Piece, ReadArgs => Came);
call!(Write of Piece, WriteHead => Written);
call!(Commit, CommitArgs => Verifier);
call!(Readdirplus, ReaddirplusArgs => Listed);
call!(Access, AccessArgs => ());
call!(Setattr, SetattrArgs => ());
call!(Rename, RenameArgs<'a> => ());
call!(Link, LinkArgs<'a> => ());
call!(Symlink, SymlinkArgs<'a> => ());
call!(Readlink, FileHandle => ());
call!(Mkdir, MkdirArgs<'a> => ());
call!(Rmdir, DirArgs<'a> => ());
