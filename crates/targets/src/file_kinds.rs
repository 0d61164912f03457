//! What `file:` and `block:` offer: their operations and options.

use experiment::OptionKind::{Choice, Flag};
use experiment::{OptionHelp, TargetKind, Transport, UrlForm};
use metrics::OpKind::{
    self, Access, Append, Chmod, Close, Commit, Create, Getxattr, Link, List, Mkdir, Open, Overwrite,
    Read as ReadOp, ReadFile, Readdir, Readlink, Remove, Rename, Rmdir, Setxattr, Stat, Symlink, Trim,
    Truncate, TruncateOverwrite, Write, WriteFile, WriteZeroes,
};

use super::options::{DEPTH, DIRECTORIES, DIRECTORY, ENGINE, IOPOLL, LAYOUT, REGISTERED, SQPOLL, SYNC};

/// What can be done to files of a directory of our own.
pub(super) const FILE_OPERATIONS: &[OpKind] = &[
    ReadOp,
    Write,
    Create,
    Commit,
    Stat,
    Remove,
    List,
    Trim,
    Access,
    Chmod,
    Truncate,
    Rename,
    Link,
    Symlink,
    Readlink,
    Mkdir,
    Rmdir,
    Append,
    Readdir,
    Setxattr,
    Getxattr,
    Open,
    Close,
    WriteFile,
    ReadFile,
    Overwrite,
    TruncateOverwrite,
    WriteZeroes,
];

const FILE_OPTIONS: &[OptionHelp] = &[
    DIRECTORY,
    OptionHelp::new(
        "direct",
        Flag,
        "false",
        "O_DIRECT: past the page cache; blocks must be multiples of 512 bytes",
    ),
    ENGINE,
    IOPOLL,
    SQPOLL,
    REGISTERED,
    OptionHelp::new(
        "fallocate",
        Choice(&["none", "reserve"]),
        "none",
        "reserve: space is reserved before files are filled (every byte is written all the same)",
    ),
    SYNC,
    DEPTH,
    DIRECTORIES,
    LAYOUT,
];

const BLOCK_OPTIONS: &[OptionHelp] = &[
    OptionHelp::new(
        "direct",
        Flag,
        "true",
        "O_DIRECT: past the page cache; blocks must be multiples of 512 bytes",
    ),
    ENGINE,
    IOPOLL,
    SQPOLL,
    REGISTERED,
    SYNC,
    OptionHelp::new("trim", Flag, "false", "discard the space (BLKDISCARD) before filling it"),
];

/// Files of a directory.
pub(super) static FILE: TargetKind = TargetKind {
    ranges: true,
    page_cache: true,
    own_place: true,
    passes: true,
    user_files: true,
    transport: Transport::Disk,
    ..TargetKind::new("file", "file:///mnt/data", UrlForm::Path, FILE_OPERATIONS, FILE_OPTIONS)
};

/// A whole block device.
pub(super) static BLOCK: TargetKind = TargetKind {
    ranges: true,
    device: true,
    page_cache: true,
    transport: Transport::Disk,
    ..TargetKind::new(
        "block",
        "block:///dev/nvme0n1",
        UrlForm::Path,
        &[ReadOp, Write, Commit, Trim, WriteZeroes],
        BLOCK_OPTIONS,
    )
};
