//! The procedures that operations call, each a type with its arguments and the relevant part of its reply.
//!
//! A reply finds its slot by transaction number, long after the call was made. The slot therefore remembers which
//! procedure it waits for ([`Expect`]) and can hold any procedure's reply ([`Reply`]); only here are these tied to the
//! types.

use metrics::CallKind;
use wire::nfs3::{
    AccessArgs, CommitArgs, CreateArgs, DirArgs, FileHandle, LinkArgs, MkdirArgs, Procedure, ReadArgs,
    ReaddirArgs, ReaddirplusArgs, RenameArgs, SetattrArgs, Stability, SymlinkArgs, Verifier, WriteHead,
};
use wire::xdr::Encode;

use super::config::NfsVersion;
use super::procedures::rpc_kind;
use super::slots::Piece;
use super::v41::{self, CompoundWriter, OpenFile, OpenRequest};

/// A procedure that operations call.
pub(super) trait Call: Copy {
    /// Its arguments.
    type Arguments<'a>: Encode;
    /// The relevant part of a success.
    type Reply;
    /// Procedure number on the wire; NULL for a call that only version 4.1 has.
    const PROCEDURE: Procedure;

    /// The name under which it is counted.
    #[inline]
    fn kind(version: NfsVersion) -> CallKind {
        rpc_kind(version, Self::PROCEDURE)
    }

    /// What its slot waits for.
    fn expect(self) -> Expect;

    /// Appends the operations that it is in version 4.1.
    fn compound(arguments: &Self::Arguments<'_>, to: &mut CompoundWriter<'_>);

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
    Readdir,
    Readdirplus,
    Access,
    Setattr,
    Rename,
    Link,
    Symlink,
    Readlink,
    Mkdir,
    Rmdir,
    /// OPEN of an existing file, in version 4.1.
    Open,
    /// CLOSE, in version 4.1.
    Close,
    /// SEQUENCE alone, in version 4.1.
    Renew,
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
    Readdir(Listed),
    Readdirplus(Listed),
    Access(()),
    Setattr(()),
    Rename(()),
    Link(()),
    Symlink(()),
    Readlink(()),
    Mkdir(()),
    Rmdir(()),
    Open(OpenFile),
    Close(()),
    Renew(()),
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
    /// Those that are neither `.` nor `..`.
    pub(super) names: u32,
    /// Where the next page starts.
    pub(super) cookie: u64,
    pub(super) verifier: Verifier,
    pub(super) eof: bool,
}

macro_rules! call {
    ($name:ident as $compound:ident, $arguments:ty => $reply:ty) => {
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
            fn compound(arguments: &Self::Arguments<'_>, to: &mut CompoundWriter<'_>) {
                v41::$compound(arguments, to);
            }

            #[inline]
            fn reply(any: Reply) -> Option<$reply> {
                if let Reply::$name(reply) = any { Some(reply) } else { None }
            }
        }
    };
    // The slot knows the piece being moved.
    ($name:ident of Piece as $compound:ident, $arguments:ty => $reply:ty) => {
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
            fn compound(arguments: &Self::Arguments<'_>, to: &mut CompoundWriter<'_>) {
                v41::$compound(arguments, to);
            }

            #[inline]
            fn reply(any: Reply) -> Option<$reply> {
                if let Reply::$name(reply) = any { Some(reply) } else { None }
            }
        }
    };
}

call!(Getattr as getattr, FileHandle => ());
call!(Lookup as lookup, DirArgs<'a> => Found);
call!(Create as create, CreateArgs<'a> => Option<FileHandle>);
call!(Remove as remove, DirArgs<'a> => ());
call!(Read of Piece as read, ReadArgs => Came);
call!(Write of Piece as write, WriteHead => Written);
call!(Commit as commit, CommitArgs => Verifier);
call!(Readdir as readdir, ReaddirArgs => Listed);
call!(Readdirplus as readdirplus, ReaddirplusArgs => Listed);
call!(Access as access, AccessArgs => ());
call!(Setattr as setattr, SetattrArgs => ());
call!(Rename as rename, RenameArgs<'a> => ());
call!(Link as link, LinkArgs<'a> => ());
call!(Symlink as symlink, SymlinkArgs<'a> => ());
call!(Readlink as readlink, FileHandle => ());
call!(Mkdir as mkdir, MkdirArgs<'a> => ());
call!(Rmdir as remove, DirArgs<'a> => ());

/// Opens an existing file, which stays open. Only version 4.1 has it.
#[derive(Clone, Copy)]
pub(super) struct Open;

impl Call for Open {
    type Arguments<'a> = OpenRequest<'a>;
    type Reply = OpenFile;
    const PROCEDURE: Procedure = Procedure::Null;

    fn kind(_: NfsVersion) -> CallKind {
        CallKind::Open
    }

    fn expect(self) -> Expect {
        Expect::Open
    }

    fn compound(arguments: &OpenRequest<'_>, to: &mut CompoundWriter<'_>) {
        v41::open_file(arguments, to);
    }

    fn reply(any: Reply) -> Option<OpenFile> {
        if let Reply::Open(open) = any { Some(open) } else { None }
    }
}

/// Closes an open file. Only version 4.1 has it.
#[derive(Clone, Copy)]
pub(super) struct Close;

impl Call for Close {
    type Arguments<'a> = OpenFile;
    type Reply = ();
    const PROCEDURE: Procedure = Procedure::Null;

    fn kind(_: NfsVersion) -> CallKind {
        CallKind::Close
    }

    fn expect(self) -> Expect {
        Expect::Close
    }

    fn compound(open: &OpenFile, to: &mut CompoundWriter<'_>) {
        v41::close_file(open, to);
    }

    fn reply(any: Reply) -> Option<()> {
        if let Reply::Close(reply) = any { Some(reply) } else { None }
    }
}
