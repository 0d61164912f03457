//! The procedures' numbers (RFC 1813 section 3).

use crate::xdr::xdr_enum;

xdr_enum! {
    /// A procedure; each names its arguments and result.
    Procedure {
        /// Nothing to nothing.
        Null = 0,
        /// `FileHandle` to `Outcome<Attributes, ()>`.
        Getattr = 1,
        /// `SetattrArgs` to `Outcome<WccData, WccData>`.
        Setattr = 2,
        /// `DirArgs` to `Outcome<LookupOk, Option<Attributes>>` (of the directory).
        Lookup = 3,
        /// `AccessArgs` to `Outcome<AccessOk, Option<Attributes>>`.
        Access = 4,
        /// `FileHandle` to `Outcome<ReadlinkOk, Option<Attributes>>`.
        Readlink = 5,
        /// `ReadArgs` to `Outcome<ReadOk, Option<Attributes>>`.
        Read = 6,
        /// `WriteArgs` to `Outcome<WriteOk, WccData>`.
        Write = 7,
        /// `CreateArgs` to `Outcome<CreateOk, WccData>`.
        Create = 8,
        /// `MkdirArgs` to `Outcome<CreateOk, WccData>`.
        Mkdir = 9,
        /// `SymlinkArgs` to `Outcome<CreateOk, WccData>`.
        Symlink = 10,
        /// `MknodArgs` to `Outcome<CreateOk, WccData>`.
        Mknod = 11,
        /// `DirArgs` to `Outcome<WccData, WccData>`.
        Remove = 12,
        /// `DirArgs` to `Outcome<WccData, WccData>`.
        Rmdir = 13,
        /// `RenameArgs` to `Outcome<RenameWcc, RenameWcc>`.
        Rename = 14,
        /// `LinkArgs` to `Outcome<LinkWcc, LinkWcc>`.
        Link = 15,
        /// `ReaddirArgs` to `Outcome<ReaddirOk, Option<Attributes>>`.
        Readdir = 16,
        /// `ReaddirplusArgs` to `Outcome<ReaddirplusOk, Option<Attributes>>`.
        Readdirplus = 17,
        /// `FileHandle` to `Outcome<FsstatOk, Option<Attributes>>`.
        Fsstat = 18,
        /// `FileHandle` to `Outcome<FsinfoOk, Option<Attributes>>`.
        Fsinfo = 19,
        /// `FileHandle` to `Outcome<PathconfOk, Option<Attributes>>`.
        Pathconf = 20,
        /// `CommitArgs` to `Outcome<CommitOk, WccData>`.
        Commit = 21,
    }
}

impl Procedure {
    /// The RFC's name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Null => "NULL",
            Self::Getattr => "GETATTR",
            Self::Setattr => "SETATTR",
            Self::Lookup => "LOOKUP",
            Self::Access => "ACCESS",
            Self::Readlink => "READLINK",
            Self::Read => "READ",
            Self::Write => "WRITE",
            Self::Create => "CREATE",
            Self::Mkdir => "MKDIR",
            Self::Symlink => "SYMLINK",
            Self::Mknod => "MKNOD",
            Self::Remove => "REMOVE",
            Self::Rmdir => "RMDIR",
            Self::Rename => "RENAME",
            Self::Link => "LINK",
            Self::Readdir => "READDIR",
            Self::Readdirplus => "READDIRPLUS",
            Self::Fsstat => "FSSTAT",
            Self::Fsinfo => "FSINFO",
            Self::Pathconf => "PATHCONF",
            Self::Commit => "COMMIT",
        }
    }
}
