//! What `file:` and `block:` offer: their operations and options.

use drivers::tree::{MAX_DEPTH, MAX_DIRECTORIES, TreeLayout};
use experiment::OptionKind::{Choice, Count, Flag};
use experiment::{OptionHelp, TargetKind, Transport, UrlForm};
use metrics::OpKind::{
    Access, Append, Chmod, Close, Commit, Create, Getxattr, Link, List, Mkdir, Open, Overwrite,
    Read as ReadOp, ReadFile, Readdir, Readlink, Remove, Rename, Rmdir, Setxattr, Stat, Symlink, Trim,
    Truncate, TruncateOverwrite, Write, WriteFile,
};

use super::options::{DIRECTORY, ENGINE, IOPOLL, REGISTERED, SQPOLL, SYNC};

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
    OptionHelp::new(
        "depth",
        Count { least: 0, most: MAX_DEPTH as u64 },
        "0",
        "levels of directories that files are spread over; 0 puts all in one; a kept directory needs the same tree",
    ),
    OptionHelp::new(
        "directories",
        Count { least: 1, most: MAX_DIRECTORIES as u64 },
        "16",
        "directories per level, with depth; at most 65,536 in the last level",
    ),
    OptionHelp::new(
        "layout",
        Choice(TreeLayout::NAMES),
        "hashed",
        "which directory holds a file, with depth: hashed by its number; own: each lane has its own; shared: one for all",
    ),
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
    user_files: true,
    transport: Transport::Disk,
    ..TargetKind::new(
        "file",
        "file:///mnt/data",
        UrlForm::Path,
        &[
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
        ],
        FILE_OPTIONS,
    )
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
        &[ReadOp, Write, Commit, Trim],
        BLOCK_OPTIONS,
    )
};
