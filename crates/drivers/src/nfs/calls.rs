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
use wire::nfs4::StateId;
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

    /// Extracts its own reply from any, given the handle that the slot holds; `None` when it is another procedure's.
    fn reply(any: Reply, file: &FileHandle) -> Option<Self::Reply>;
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

/// The relevant part of a procedure's result. It is copied for every call, so a handle in it, which few results have and
/// which is several times as large as the rest, is kept in the slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reply {
    /// The file's size in bytes, if the server returns it.
    Getattr(Option<u64>),
    /// The file's size in bytes, if the server returns it; its handle is in the slot.
    Lookup(Option<u64>),
    /// The server returned the new file's handle, which is in the slot.
    Create(bool),
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
    /// The state of an open file, whose handle is in the slot.
    Open(StateId),
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
        call!($name as $compound, $arguments => $reply, |reply, _| reply);
    };
    // The reply is made of what is kept of it, and the handle in the slot.
    ($name:ident as $compound:ident, $arguments:ty => $reply:ty, |$kept:ident, $file:pat_param| $made:expr) => {
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
            fn reply(any: Reply, $file: &FileHandle) -> Option<$reply> {
                if let Reply::$name($kept) = any { Some($made) } else { None }
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
            fn reply(any: Reply, _: &FileHandle) -> Option<$reply> {
                if let Reply::$name(reply) = any { Some(reply) } else { None }
            }
        }
    };
}

call!(Getattr as getattr, FileHandle => Option<u64>);
call!(Lookup as lookup, DirArgs<'a> => Found, |size, file| Found { file: *file, size });
call!(Create as create, CreateArgs<'a> => Option<FileHandle>, |returned, file| returned.then_some(*file));
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

    fn reply(any: Reply, file: &FileHandle) -> Option<OpenFile> {
        if let Reply::Open(state) = any { Some(OpenFile { file: *file, state }) } else { None }
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

    fn reply(any: Reply, _: &FileHandle) -> Option<()> {
        if let Reply::Close(reply) = any { Some(reply) } else { None }
    }
}
