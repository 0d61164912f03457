//! The procedures that operations call. Each is one typed thing: what it is asked with, and what of its reply matters.
//!
//! A reply finds its slot by number, long after the call was made. So the slot remembers which procedure it waits for ([`Expect`]),
//! and holds any procedure's reply ([`Reply`]); here, and nowhere else, these are tied to the types.

use wire::nfs3::{
    CommitArgs, CreateArgs, DirArgs, FileHandle, Procedure, ReadArgs, ReaddirplusArgs, Stability, Verifier,
    WriteHead,
};
use wire::xdr::Encode;

use super::slots::Piece;

/// A procedure as operations call it.
pub(super) trait Call: Copy {
    /// What it is asked with.
    type Arguments<'a>: Encode;
    /// What of a success matters.
    type Reply;
    /// Its number on the wire.
    const PROCEDURE: Procedure;

    /// What its slot waits for.
    fn expect(self) -> Expect;

    /// Its own reply out of any; `None` when it is another procedure's.
    fn reply(any: Reply) -> Option<Self::Reply>;
}

/// What kind of reply a slot waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Expect {
    Getattr,
    Lookup,
    Create,
    Remove,
    Read(Piece),
    /// Carries the payload that follows the call's message.
    Write(Piece),
    Commit,
    Readdirplus,
}

/// A procedure's result, as far as it matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reply {
    Getattr(()),
    Lookup(Found),
    /// The new file, where the server says which it is.
    Create(Option<FileHandle>),
    Remove(()),
    Read(Came),
    Write(Written),
    Commit(Verifier),
    Readdirplus(Listed),
}

/// What LOOKUP found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) file: FileHandle,
    /// In bytes, where the server says so.
    pub(super) size: Option<u64>,
}

/// What a READ brought; the payload itself was judged in passing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Came {
    pub(super) bytes: u32,
    pub(super) eof: bool,
}

/// What a WRITE wrote.
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
    /// Where the next page begins.
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
    // The slot knows the piece that it moves.
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
