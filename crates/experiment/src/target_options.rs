//! The kinds of targets: their URLs, the operations they have, the options they know.

use metrics::OpKind::{self, Commit, Create, Delete, Get, List, Put, Read, Remove, Stat, Trim, Write};
use units::{Share, Size, Span};

use crate::reader::one_of;

/// What the value of an option is; texts in a plan are in the form that is named here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OptionKind {
    /// `true` or `false`.
    Flag,
    /// A whole number from `least` on.
    Count {
        /// The least that makes sense.
        least: u64,
    },
    /// A size; in plans a plain number of bytes.
    Bytes {
        /// The least that makes sense.
        least: u64,
    },
    /// A length of time; in plans as `units::Span` prints it.
    Span,
    /// A share; in plans a number from 0 to 1.
    Share,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// Any text.
    Text,
}

impl OptionKind {
    /// A value in the form that plans have.
    ///
    /// # Errors
    /// What does not fit, and what to write instead.
    pub(crate) fn normal(self, text: &str) -> Result<String, String> {
        let wrong = |error: units::ParseError| error.to_string();
        match self {
            OptionKind::Flag if matches!(text, "true" | "false") => Ok(text.to_owned()),
            OptionKind::Flag => Err(format!("{text:?} is neither true nor false; write true or false")),
            OptionKind::Count { least } => match text.parse::<u64>() {
                Ok(count) if count >= least => Ok(count.to_string()),
                _ => Err(format!("{text:?} does not fit; write a whole number from {least} on")),
            },
            OptionKind::Bytes { least } => match text.parse::<Size>().map_err(wrong)?.bytes() {
                bytes if bytes >= least => Ok(bytes.to_string()),
                _ => Err(format!("{text:?} is too small; write {} or more", Size(least))),
            },
            OptionKind::Span => Ok(text.parse::<Span>().map_err(wrong)?.to_string()),
            OptionKind::Share => Ok(text.parse::<Share>().map_err(wrong)?.value().to_string()),
            OptionKind::Choice(words) => match words.iter().find(|word| **word == text) {
                Some(word) => Ok((*word).to_owned()),
                None => Err(format!("{text:?} does not fit; write {}", one_of(words))),
            },
            OptionKind::Text => Ok(text.to_owned()),
        }
    }
}

/// An option of a kind of target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OptionHelp {
    /// As it is written.
    pub name: &'static str,
    /// What its value is.
    pub kind: OptionKind,
    /// What holds when it is not given, for people.
    pub default: &'static str,
    /// What it does.
    pub about: &'static str,
}

const fn option(
    name: &'static str,
    kind: OptionKind,
    default: &'static str,
    about: &'static str,
) -> OptionHelp {
    OptionHelp { name, kind, default, about }
}

use OptionKind::{Bytes, Choice, Count, Flag, Text};

const ENGINE: OptionHelp = option(
    "engine",
    Choice(&["auto", "uring", "threads"]),
    "auto",
    "how I/O is submitted: io_uring, or threads with blocking calls; auto takes io_uring where the kernel allows it",
);
const IOPOLL: OptionHelp = option(
    "iopoll",
    Flag,
    "false",
    "completions are polled for (needs direct and a device that can be polled)",
);
const SQPOLL: OptionHelp = option(
    "sqpoll",
    Flag,
    "false",
    "a kernel thread takes submissions, so that submitting needs no system call",
);
const REGISTERED: OptionHelp = option(
    "registered",
    Flag,
    "true",
    "files and buffers are registered with the ring once, not at each operation",
);

const DIRECTORY: OptionHelp = option(
    "directory",
    Text,
    "one of the run's own, removed at its end",
    "name of the directory (prefix) for data that stays and may be used again; it is never removed",
);

const SYNC: OptionHelp = option(
    "sync",
    Choice(&["none", "dsync", "sync"]),
    "none",
    "what each write makes durable before it ends: dsync the data (O_DSYNC), sync all that is known of the file (O_SYNC)",
);

const SOURCE: OptionHelp = option(
    "source",
    Text,
    "the routes decide",
    "local addresses or network interfaces, with commas between them, that connections leave by in turn; packets are held to an \
     interface that is named (SO_BINDTODEVICE) where that is permitted",
);
const ADDRESSES: OptionHelp = option(
    "addresses",
    Text,
    "the host's",
    "data addresses of the server, IP or IP:PORT with commas between them, that connections go to in turn",
);
const USE_ADDRESSES: OptionHelp =
    option("use_addresses", Count { least: 1 }, "all", "only the first so many of addresses are used");
const PAIRING: OptionHelp = option(
    "pairing",
    Choice(&["every", "in-turn"]),
    "every",
    "each source with each address, or the first with the first, the second with the second and so on",
);

const FILE: &[OptionHelp] = &[
    DIRECTORY,
    option("direct", Flag, "false", "O_DIRECT: past the page cache; blocks must be multiples of 512 bytes"),
    ENGINE,
    IOPOLL,
    SQPOLL,
    REGISTERED,
    option(
        "fallocate",
        Choice(&["none", "reserve"]),
        "none",
        "reserve: space is reserved before files are filled (every byte is written all the same)",
    ),
    SYNC,
];

const BLOCK: &[OptionHelp] = &[
    option("direct", Flag, "true", "O_DIRECT: past the page cache; blocks must be multiples of 512 bytes"),
    ENGINE,
    IOPOLL,
    SQPOLL,
    REGISTERED,
    SYNC,
    option("trim", Flag, "false", "the space is discarded (BLKDISCARD) before it is filled"),
];

const NFS: &[OptionHelp] = &[
    DIRECTORY,
    option("connections", Count { least: 1 }, "1", "TCP connections of each job"),
    option(
        "stable",
        Flag,
        "false",
        "writes are durable when answered (FILE_SYNC); otherwise a COMMIT makes them so",
    ),
    option("uid", Count { least: 0 }, "0", "the user of every call (AUTH_SYS)"),
    option("gid", Count { least: 0 }, "0", "the group of every call"),
    option(
        "read_size",
        Bytes { least: 1 },
        "the server's, at most 1MiB",
        "largest READ; longer reads are split",
    ),
    option(
        "write_size",
        Bytes { least: 1 },
        "the server's, at most 1MiB",
        "largest WRITE; longer writes are split",
    ),
    option(
        "more_urls",
        Text,
        "none",
        "further URLs of the same data, with commas between them; the jobs use one each in turn",
    ),
    SOURCE,
    ADDRESSES,
    USE_ADDRESSES,
    PAIRING,
    option("mount_port", Count { least: 1 }, "asked of the portmapper", "port of the MOUNT program"),
    option("portmap_port", Count { least: 1 }, "111", "port of the portmapper"),
];

const S3: &[OptionHelp] = &[
    DIRECTORY,
    option("region", Text, "us-east-1", "the region that is signed for"),
    option("path_style", Flag, "true", "the bucket stands in the path, not before the host name"),
    option(
        "signing",
        Choice(&["unsigned", "signed", "crc64nvme", "crc32c"]),
        "unsigned",
        "how the payload of a put is protected",
    ),
    option("part_size", Bytes { least: 5 << 20 }, "64MiB", "larger objects are put in parts of this size"),
    option(
        "connect_to",
        Text,
        "where the host name leads",
        "ADDRESS:PORT to connect to, such as one data address",
    ),
    SOURCE,
    ADDRESSES,
    USE_ADDRESSES,
    PAIRING,
    option(
        "credentials_file",
        Text,
        "the AWS_… environment, else ~/.aws/credentials",
        "file with the access keys",
    ),
    option("profile", Text, "default", "the profile in the credentials file"),
    option("tls_ca", Text, "the system's", "file with the authority that signed the server's certificate"),
    option("tls_insecure", Flag, "false", "the server's certificate is not verified"),
];

const SIM: &[OptionHelp] = &[
    option("latency", Text, "1ms", "of every operation: 1ms, uniform 1ms 5ms or exponential 5ms"),
    option("bandwidth", Text, "unlimited", "payload passes a pipe of each job at this rate: 1GB/s"),
    option("stall", Text, "none", "nothing is answered for LENGTH every PERIOD: 1s/10s"),
    option("errors", Text, "none", "one in so many operations fails: 1/1000"),
    option("slow", Text, "none", "one in so many operations of a job takes so long instead: 70s/1000"),
    option("drift", Text, "none", "latency grows by this share each minute: 1%"),
    option("noise", OptionKind::Share, "0", "latency varies by chance by this share (standard deviation)"),
    option("seed", Count { least: 0 }, "the experiment's", "seed of what is by chance"),
];

const TCP: &[OptionHelp] = &[
    option("listen", Flag, "false", "waits for the other side's connection instead of connecting"),
    option("connections", Count { least: 1 }, "1", "connections of each job; its lanes take turns on them"),
    SOURCE,
    ADDRESSES,
    USE_ADDRESSES,
    PAIRING,
    option(
        "port_per_job",
        Flag,
        "false",
        "the first job uses the URL's port, each further one the port after it",
    ),
    option("pingpong", Flag, "false", "each block is sent back by the receiver before the next is sent"),
    option("repeat", Flag, "false", "every block has the same bytes, made once, as iperf3 sends them"),
    option("nodelay", Flag, "true", "TCP_NODELAY: small blocks leave at once"),
    option(
        "window_size",
        Bytes { least: 1 },
        "the kernel's",
        "size of the socket's send and receive buffers",
    ),
    option("mss", Count { least: 88 }, "the path's", "largest TCP segment, in bytes (TCP_MAXSEG)"),
    option("ipv6", Flag, "false", "a host name stands for its IPv6 address"),
];

/// A kind of target.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kind {
    /// The URL's scheme.
    pub scheme: &'static str,
    /// A right URL.
    pub example: &'static str,
    /// The operations it has.
    pub ops: &'static [OpKind],
    /// The options it knows.
    pub options: &'static [OptionHelp],
    /// It stores objects that are put and fetched whole.
    pub objects: bool,
    /// It has ranges that can be written in place.
    pub ranges: bool,
}

const FILE_OPS: &[OpKind] = &[Read, Write, Create, Commit, Stat, Remove, List, Trim];
const NFS_OPS: &[OpKind] = &[Read, Write, Create, Commit, Stat, Remove, List];

/// Every kind, in the order of the documentation.
pub(crate) const KINDS: &[Kind] = &[
    Kind {
        scheme: "file",
        example: "file:///mnt/data",
        ops: FILE_OPS,
        options: FILE,
        objects: false,
        ranges: true,
    },
    Kind {
        scheme: "block",
        example: "block:///dev/nvme0n1",
        ops: &[Read, Write, Commit, Trim],
        options: BLOCK,
        objects: false,
        ranges: true,
    },
    Kind {
        scheme: "nfs",
        example: "nfs://host/export",
        ops: NFS_OPS,
        options: NFS,
        objects: false,
        ranges: true,
    },
    Kind {
        scheme: "s3",
        example: "s3://bucket?endpoint=https://host:port",
        ops: &[Read, Stat, Put, Get, List, Delete],
        options: S3,
        objects: true,
        ranges: false,
    },
    Kind {
        scheme: "tcp",
        example: "tcp://host:port",
        ops: &[Read, Write],
        options: TCP,
        objects: false,
        ranges: true,
    },
    Kind { scheme: "null", example: "null:", ops: OpKind::ALL, options: &[], objects: true, ranges: true },
    Kind {
        scheme: "sim",
        example: "sim:?latency=1ms",
        ops: OpKind::ALL,
        options: SIM,
        objects: true,
        ranges: true,
    },
];

/// The kind with this URL scheme.
pub(crate) fn kind(scheme: &str) -> Option<&'static Kind> {
    KINDS.iter().find(|kind| kind.scheme == scheme)
}

/// Which options targets with this URL scheme (`file`, `block`, `nfs`, `s3`, `tcp`, `null`, `sim`) know; none for others.
pub fn target_options(kind: &str) -> &'static [OptionHelp] {
    self::kind(kind).map_or(&[], |kind| kind.options)
}

/// The URL schemes of the kinds of targets that there are.
pub fn target_kinds() -> impl Iterator<Item = &'static str> {
    KINDS.iter().map(|kind| kind.scheme)
}
