//! NFS version 3 (RFC 1813): arguments and results of all 22 procedures, in both directions.

mod args;
mod attributes;
mod dirs;
mod hot;
mod procedure;
mod results;
mod status;
mod types;

pub use args::{
    AccessArgs, CommitArgs, CreateArgs, CreateHow, DirArgs, LinkArgs, MkdirArgs, MknodArgs, MknodWhat,
    RenameArgs, SetattrArgs, SymlinkArgs,
};
pub use attributes::{Attributes, FileType, SetAttributes, SetTime, WccAttributes, WccData};
pub use dirs::{
    ReaddirArgs, ReaddirEntry, ReaddirOk, ReaddirplusArgs, ReaddirplusEntry, ReaddirplusOk, put_dir_end,
    put_dir_entry,
};
pub use hot::{ReadArgs, ReadHead, ReadOk, WriteArgs, WriteHead, WriteOk};
pub use procedure::Procedure;
pub use results::{
    AccessOk, CommitOk, CreateOk, FsinfoOk, FsstatOk, LinkWcc, LookupOk, PathconfOk, ReadlinkOk, RenameWcc,
};
pub use status::{NfsFailure, ProcedureResult, Status};
pub use types::{Device, FileHandle, Name, Path, Stability, Time, Verifier};

/// Program number.
pub const PROGRAM: u32 = 100_003;
/// Version implemented here.
pub const VERSION: u32 = 3;
/// The standard port.
pub const PORT: u16 = 2049;
