//! Options shared by several protocols.

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
    "how I/O is submitted: io_uring, or threads with blocking calls; auto takes io_uring where the kernel allows it",
);
pub(super) const IOPOLL: OptionHelp = OptionHelp::new(
    "iopoll",
    Flag,
    "false",
    "completions are polled for (needs direct and a device that can be polled)",
);
pub(super) const SQPOLL: OptionHelp = OptionHelp::new(
    "sqpoll",
    Flag,
    "false",
    "a kernel thread takes submissions, so that submitting needs no system call",
);
pub(super) const REGISTERED: OptionHelp = OptionHelp::new(
    "registered",
    Flag,
    "true",
    "files and buffers are registered with the ring once, not at each operation",
);

pub(super) const DIRECTORY: OptionHelp = OptionHelp::new(
    "directory",
    Text,
    "one of the run's own, removed at its end",
    "name of the directory (prefix) for data that stays and may be used again; it is never removed",
);

pub(super) const SYNC: OptionHelp = OptionHelp::new(
    "sync",
    Choice(&["none", "dsync", "sync"]),
    "none",
    "what each write makes durable before it ends: dsync the data (O_DSYNC), sync all that is known of the file (O_SYNC)",
);

pub(super) const SOURCE: OptionHelp = OptionHelp::new(
    "source",
    Text,
    "the routes decide",
    "local addresses or network interfaces, with commas between them, that connections leave by in turn; packets are held to an \
     interface that is named (SO_BINDTODEVICE) where that is permitted",
);
pub(super) const ADDRESSES: OptionHelp = OptionHelp::new(
    "addresses",
    Text,
    "the host's",
    "data addresses of the server, IP or IP:PORT with commas between them, that connections go to in turn",
);
pub(super) const USE_ADDRESSES: OptionHelp = OptionHelp::new(
    "use_addresses",
    AT_LEAST_ONE,
    "all",
    "how many of the addresses are used, from the first",
);
pub(super) const PAIRING: OptionHelp = OptionHelp::new(
    "pairing",
    Choice(&["every", "in-turn"]),
    "every",
    "each source with each address, or the first with the first, the second with the second and so on",
);
