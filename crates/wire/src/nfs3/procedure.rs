//! The procedure numbers (RFC 1813 section 3).

use crate::xdr::xdr_enum;

xdr_enum! {
    /// A procedure; each lists its arguments and result.
    Procedure {
        /// Nothing to nothing.
        Null = 0,
        /// `FileHandle` to `ProcedureResult<Attributes, ()>`.
        Getattr = 1,
        /// `SetattrArgs` to `ProcedureResult<WccData, WccData>`.
        Setattr = 2,
        /// `DirArgs` to `ProcedureResult<LookupOk, Option<Attributes>>` (of the directory).
        Lookup = 3,
        /// `AccessArgs` to `ProcedureResult<AccessOk, Option<Attributes>>`.
        Access = 4,
        /// `FileHandle` to `ProcedureResult<ReadlinkOk, Option<Attributes>>`.
        Readlink = 5,
        /// `ReadArgs` to `ProcedureResult<ReadOk, Option<Attributes>>`.
        Read = 6,
        /// `WriteArgs` to `ProcedureResult<WriteOk, WccData>`.
        Write = 7,
        /// `CreateArgs` to `ProcedureResult<CreateOk, WccData>`.
        Create = 8,
        /// `MkdirArgs` to `ProcedureResult<CreateOk, WccData>`.
        Mkdir = 9,
        /// `SymlinkArgs` to `ProcedureResult<CreateOk, WccData>`.
        Symlink = 10,
        /// `MknodArgs` to `ProcedureResult<CreateOk, WccData>`.
        Mknod = 11,
        /// `DirArgs` to `ProcedureResult<WccData, WccData>`.
        Remove = 12,
        /// `DirArgs` to `ProcedureResult<WccData, WccData>`.
        Rmdir = 13,
        /// `RenameArgs` to `ProcedureResult<RenameWcc, RenameWcc>`.
        Rename = 14,
        /// `LinkArgs` to `ProcedureResult<LinkWcc, LinkWcc>`.
        Link = 15,
        /// `ReaddirArgs` to `ProcedureResult<ReaddirOk, Option<Attributes>>`.
        Readdir = 16,
        /// `ReaddirplusArgs` to `ProcedureResult<ReaddirplusOk, Option<Attributes>>`.
        Readdirplus = 17,
        /// `FileHandle` to `ProcedureResult<FsstatOk, Option<Attributes>>`.
        Fsstat = 18,
        /// `FileHandle` to `ProcedureResult<FsinfoOk, Option<Attributes>>`.
        Fsinfo = 19,
        /// `FileHandle` to `ProcedureResult<PathconfOk, Option<Attributes>>`.
        Pathconf = 20,
        /// `CommitArgs` to `ProcedureResult<CommitOk, WccData>`.
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
