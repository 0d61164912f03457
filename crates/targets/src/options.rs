//! Options shared by several protocols.

use drivers::tree::{MAX_DEPTH, MAX_DIRECTORIES, TreeLayout};
use experiment::OptionHelp;
use experiment::OptionKind::{Choice, Count, Flag, Text};

/// An unsigned 32-bit number.
pub(super) const NUMBER: experiment::OptionKind = Count { least: 0, most: u32::MAX as u64 };
/// A count, such as of connections: at least 1.
pub(super) const AT_LEAST_ONE: experiment::OptionKind = Count { least: 1, most: u32::MAX as u64 };
/// A TCP port.
pub(super) const PORT: experiment::OptionKind = Count { least: 1, most: 65_535 };

pub(super) const ENGINE: OptionHelp = OptionHelp::new(
    "engine",
    Choice(&["auto", "uring", "threads"]),
    "auto",
    "how to submit I/O: io_uring, or threads with blocking calls; auto uses io_uring where the kernel allows it",
);
pub(super) const IOPOLL: OptionHelp = OptionHelp::new(
    "iopoll",
    Flag,
    "false",
    "poll for completions (needs direct and a device that supports polling)",
);
pub(super) const SQPOLL: OptionHelp =
    OptionHelp::new("sqpoll", Flag, "false", "let a kernel thread pick up submissions, without system calls");
pub(super) const REGISTERED: OptionHelp = OptionHelp::new(
    "registered",
    Flag,
    "true",
    "register files and buffers with the ring once, not for each operation",
);

pub(super) const DIRECTORY: OptionHelp = OptionHelp::new(
    "directory",
    Text,
    "one of the run's own, removed at the end",
    "directory (or prefix) for data that stays and can be reused; it is never removed",
);

pub(super) const DEPTH: OptionHelp = OptionHelp::new(
    "depth",
    Count { least: 0, most: MAX_DEPTH as u64 },
    "0",
    "levels of directories that files are spread over; 0 puts all in one; a kept directory needs the same tree",
);
pub(super) const DIRECTORIES: OptionHelp = OptionHelp::new(
    "directories",
    Count { least: 1, most: MAX_DIRECTORIES as u64 },
    "16",
    "directories per level, with depth; at most 65,536 in the last level",
);
pub(super) const LAYOUT: OptionHelp = OptionHelp::new(
    "layout",
    Choice(TreeLayout::NAMES),
    "hashed",
    "which directory holds a file, with depth: hashed by its number; own: each lane has its own; shared: one for all",
);

pub(super) const SYNC: OptionHelp = OptionHelp::new(
    "sync",
    Choice(&["none", "dsync", "sync"]),
    "none",
    "what each write makes durable before it completes: dsync the data (O_DSYNC), sync also the metadata (O_SYNC)",
);

pub(super) const SOURCE: OptionHelp = OptionHelp::new(
    "source",
    Text,
    "by routing",
    "local addresses or network interfaces, separated by commas, that connections use in turn; a named interface is \
     enforced (SO_BINDTODEVICE) where permitted",
);
pub(super) const ADDRESSES: OptionHelp = OptionHelp::new(
    "addresses",
    Text,
    "the host's",
    "data addresses of the server, IP or IP:PORT separated by commas, that connections use in turn",
);
pub(super) const USE_ADDRESSES: OptionHelp = OptionHelp::new(
    "use_addresses",
    AT_LEAST_ONE,
    "all",
    "how many of the addresses to use, counted from the first",
);
pub(super) const PAIRING: OptionHelp = OptionHelp::new(
    "pairing",
    Choice(&["every", "in-turn"]),
    "every",
    "every: each source with each address; in-turn: the first with the first, the second with the second, and so on",
);
