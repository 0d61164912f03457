//! Every key of an experiment file with its default and description: this one table serves to report unknown keys, to
//! generate the JSON schema and to check the documentation.

mod accounting;
mod fleet;
mod provision;
mod reference;
mod rules;

pub(crate) use accounting::*;
pub(crate) use fleet::*;
pub(crate) use provision::*;
pub use reference::reference;
pub(crate) use rules::*;

/// The form of a key's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Text,
    Flag,
    /// A whole number with this minimum.
    Count(u64),
    Size,
    Span,
    /// A duration, or the word `none`.
    SpanOrNone,
    Share,
    Rate,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// A form with its own definition in the schema.
    Named(&'static str),
}

/// A key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Key {
    pub name: &'static str,
    pub form: Form,
    /// Human-readable default; empty if the key is required.
    pub default: &'static str,
    pub about: &'static str,
}

const fn key(name: &'static str, form: Form, default: &'static str, about: &'static str) -> Key {
    Key { name, form, default, about }
}

use Form::{Choice, Count, Flag, Named, Rate, Share, Size, Span, Text};

pub(crate) const FILE: &[Key] = &[
    key("name", Text, "the file's name", "the experiment's name in results and reports"),
    key("description", Text, "none", "what the experiment is for, in your words"),
    key("seed", Count(0), "1", "seed of everything random: cell order, access pattern, arrivals, payload"),
    key("results", Text, "the user's data directory", "results file; --results overrides it"),
    key("parameters", Named("parameters"), "none", "values to use as ${name}; `run --set` overrides them"),
    key("fleet", Named("fleet"), "none: this host", "hosts that run the experiment together"),
    key(
        "observe",
        Named("observe"),
        "none",
        "hosts of the server, which are sampled while cells are measured, so that the verdict can name their disks, cores and NICs",
    ),
    key("targets", Named("targets"), "", "targets by name: a URL, or a map with url and options"),
    key("defaults", Named("defaults"), "none", "defaults for the keys of every workload"),
    key("workloads", Named("workloads"), "", "workloads by name"),
    key(
        "scale",
        Named("scale"),
        "none",
        "repeat every workload with each of these numbers of agents or target addresses",
    ),
    key("matrix", Named("matrix"), "none", "keys with lists of values; every combination is measured"),
    key("stages", Named("stages"), "see the table of stages", "the stages before and after the measurement"),
    key("steady", Named("steady"), "default", "rule that decides when a measurement may end"),
    key("gates", Named("gates"), "none", "conditions on results; a failed one sets the exit code"),
    key("errors", Named("errors"), "continue", "what to do when operations fail"),
    key(
        "cache",
        Choice(CACHE),
        "invalidate for file and block, else keep",
        "what to do with this client's caches before each cell",
    ),
];

/// Values of `cache`.
pub(crate) const CACHE: &[&str] = &["keep", "invalidate", "drop"];

/// Keys of `file_size` and `object_size` as a map.
pub(crate) const SIZES: &[Key] = &[
    key("exponential", Size, "none", "exponential distribution with this mean"),
    key("lognormal", Named("lognormal"), "none", "lognormal distribution"),
    key("shares", Named("size_shares"), "none", "map of sizes to shares"),
    key("max", Size, "none", "larger sizes are cut to this one"),
];

/// The distributions among them, of which a map has one.
pub(crate) const SIZE_LAWS: &[&str] = &["exponential", "lognormal", "shares"];

pub(crate) const LOGNORMAL: &[Key] = &[
    key("median", Size, "", "half of the files are smaller"),
    key("sigma", Named("number"), "", "standard deviation of the natural logarithm of the size, up to 4"),
];

/// Values of `works_on`.
pub(crate) const WORKS_ON: &[&str] = &["data_set", "own"];

pub(crate) const WORKLOAD: &[Key] = &[
    key("target", Text, "the only target", "name of the target"),
    key("ops", Named("ops"), "", "the operation, or a map of operations to shares"),
    key("access", Named("access"), "random", "access pattern: which block or object comes next"),
    key(
        "block_size",
        Named("block_size"),
        "4KiB; for objects, the whole object",
        "size of reads and writes, or a map of sizes to shares",
    ),
    key("queue_depth", Count(1), "1", "operations each job keeps in flight"),
    key("jobs", Count(1), "1", "threads, each with its own connections"),
    key(
        "files",
        Named("files"),
        "1; for rados 64",
        "files in the data set: their number, or a map with their names",
    ),
    key(
        "file_size",
        Named("file_size"),
        "1GiB; for rados 4MiB; for block devices and existing files, all of it",
        "size of each file, or of the part of a block device or existing file to use; or a distribution of sizes",
    ),
    key("objects", Count(1), "64", "objects in the data set"),
    key(
        "object_size",
        Named("file_size"),
        "8MiB; for rados 4MiB, for memcached 4KiB",
        "size of each object, or a distribution of sizes",
    ),
    key(
        "rate",
        Named("rate"),
        "none",
        "when operations start: as soon as a lane is free (closed loop), or at a rate (open loop)",
    ),
    key(
        "backlog",
        Count(1),
        "100000",
        "operations that may wait for a free lane in an open loop; more are shed and counted",
    ),
    key(
        "think",
        Named("think"),
        "none",
        "think time of each lane, or with `job` of the whole worker; 1ms alone is short for pause",
    ),
    key(
        "fsync_every",
        Count(0),
        "0",
        "commit (fsync) after this many writes of a lane, or with `job` of the worker; 0: never",
    ),
    key("fdatasync", Flag, "false", "commit with fdatasync where the target supports it"),
    key(
        "works_on",
        Choice(WORKS_ON),
        "data_set",
        "files that operations such as read-file and stat use: the data set, or those that the same lane created (own)",
    ),
    key("batch_size", Count(1), "100", "objects that one batch-delete removes, at most 1000"),
    key("compressible", Share, "0%", "share of each 4 KiB that is compressible"),
    key("dedupe", Share, "0%", "share of 4 KiB chunks that are duplicates"),
    key("verify", Flag, "false", "compare everything read with what was written"),
    key(
        "sink",
        Choice(SINK),
        "buffer",
        "where read data goes: into memory, or dropped in the kernel unread (sockets)",
    ),
    key("op_timeout", Form::SpanOrNone, "60s", "timeout of an operation; none: no limit"),
    key(
        "placement",
        Named("placement"),
        "each job on its own core",
        "cores to run the jobs on, one each in turn; 0-7 alone is short for cores",
    ),
    key("job", Named("job"), "none", "one stream of operations per job over named files, like fio's jobs"),
    key(
        "pass",
        Named("pass"),
        "none",
        "each job goes once through its numbered files below the target's directory, as mdtest and smallfile do; they stay",
    ),
    key("group", Named("group"), "none", "jobs with the same group number run concurrently"),
    key(
        "agents",
        Named("agents"),
        "all",
        "how many of the fleet's agents run this workload, counted from the first",
    ),
    key("scale", Named("scale"), "the file's", "scale of this workload; none: all agents only"),
    key("find", Named("find"), "none", "search for the highest rate at which a latency goal holds"),
    key("sweep", Named("sweep"), "none", "load sweep: one measurement at each of several rates"),
    key("matrix", Named("axes"), "the file's", "matrix of this workload, instead of the file's"),
    key("stages", Named("stages"), "the file's", "stages of this workload"),
    key("steady", Named("steady"), "the file's", "steady-state rule of this workload"),
    key("gates", Named("gates"), "none", "gates of this workload, in addition to the file's"),
    key("errors", Named("errors"), "the file's", "error policy of this workload"),
    key("cache", Choice(CACHE), "the file's", "cache control of this workload"),
];

pub(crate) const FILES: &[Key] = &[
    key(
        "count",
        Count(1),
        "as many as are listed; with a format 1",
        "number of files; of a list, the first ones",
    ),
    key(
        "names",
        Named("file_names"),
        "none: numbered files in a directory of the run's own",
        "names below the target's directory or export: a list, or {format: db.$filenum}; such files stay",
    ),
    key(
        "tree",
        Text,
        "none",
        "directory below the target's directory or export whose files exist and are only read; walked once before the load",
    ),
    key(
        "entries",
        Count(1),
        "1000000",
        "with tree: most files, symbolic links and directories (each) that are kept in memory; at most 10000000",
    ),
    key(
        "beyond",
        Choice(BEYOND),
        "refuse",
        "with tree: what to do with one that has more entries: refuse it, or use a sample of that size",
    ),
];

/// Values of `beyond`.
pub(crate) const BEYOND: &[&str] = &["refuse", "sample"];

/// Values of `sink`.
pub(crate) const SINK: &[&str] = &["buffer", "discard"];

/// Workload keys that the file may set for all workloads.
pub(crate) const SHARED: &[&str] = &["stages", "steady", "errors", "cache"];

pub(crate) const STAGES: &[Key] = &[
    key(
        "prepare",
        Choice(PREPARE),
        "fill; keep for files with names; none if ops only use what they create and nothing is verified",
        "fill: write every byte unless an earlier cell left this data set; fill_always: write it before every cell; \
         keep: use what is there; none: write nothing",
    ),
    key("warm_up", Span, "10s", "load before the measurement starts"),
    key(
        "measure",
        Named("measure"),
        "at_least: 60s",
        "how long to measure; a duration alone is short for at_least",
    ),
    key("verify", Flag, "the workload's verify", "read everything once after the measurement and compare it"),
    key(
        "probe",
        Span,
        "0s: none",
        "at last, try half and twice as much in flight for this long each, for the verdict only",
    ),
    key("clean_up", Flag, "true", "remove the data set after the last cell that uses it"),
];

/// Values of `prepare`.
pub(crate) const PREPARE: &[&str] = &["fill", "fill_always", "keep", "none"];

pub(crate) const MEASURE: &[Key] = &[
    key("at_least", Span, "60s", "minimum length of a measurement; with `steady: none` its exact length"),
    key("at_most", Span, "30m, or at_least", "maximum length of a measurement, steady or not"),
    key("at_least_bytes", Size, "0", "minimum amount of data moved before a measurement is called steady"),
];

pub(crate) const MATRIX: &[Key] = &[
    key(
        "order",
        Choice(ORDER),
        "given",
        "given: the last key changes fastest; shuffled: random, from the seed",
    ),
    key("repetitions", Count(1), "1", "how often each point is measured; every round visits all points once"),
];

/// Values of `order`.
pub(crate) const ORDER: &[&str] = &["given", "shuffled"];

pub(crate) const FIND: &[Key] = &[
    key("goal", Text, "", "latency condition such as p99 <= 2 ms"),
    key("from", Rate, "10/s", "lowest rate to try"),
    key("to", Rate, "the rate a closed loop reaches", "highest rate to try"),
    key("tolerance", Share, "2%", "precision of the rate at which the search ends"),
    key("trial", Span, "30s", "length of each trial"),
];

pub(crate) const PLACEMENT: &[Key] = &[
    key("cores", Named("numbers"), "all", "core numbers: 0-7,16 or [0, 1]"),
    key("numa_nodes", Named("numbers"), "all", "NUMA nodes whose cores run the jobs"),
    key(
        "numa",
        Choice(&["any", "nic"]),
        "any",
        "nic: cores on the NUMA node of the network card that reaches the target",
    ),
];

pub(crate) const THINK: &[Key] = &[
    key("pause", Span, "", "length of a pause; 0s: no pauses"),
    key("spin", Span, "0", "part of the pause spent computing instead of sleeping"),
    key("after", Count(1), "1", "operations between pauses"),
    key("after_time", Span, "0", "load time between pauses, instead of operations; 0: count operations"),
];

pub(crate) const SWEEP: &[Key] = &[
    key("rates", Named("rates"), "ten equal steps up to the rate a closed loop reaches", "the rates"),
    key("point", Span, "30s", "length of each measurement"),
];

/// Names of accesses.
pub(crate) const ACCESS: &[&str] =
    &["sequential", "random", "shuffled", "zipf", "pareto", "hotspot", "strided"];

pub(crate) const HOTSPOT: &[Key] = &[
    key("ops", Share, "80%", "share of the operations"),
    key("space", Share, "20%", "share of the space, from its beginning"),
];

/// Names of arrivals.
pub(crate) const RATE: &[&str] = &["constant", "poisson", "ramp", "steps", "times"];

pub(crate) const RAMP: &[Key] = &[
    key("from", Rate, "", "the rate at the beginning"),
    key("to", Rate, "", "the rate at the end, which then holds"),
    key("over", Span, "", "duration of the ramp"),
];

pub(crate) const STEP: &[Key] =
    &[key("rate", Rate, "", "the rate; 0/s is a pause"), key("for", Span, "", "how long it holds")];

pub(crate) const TIME: &[Key] =
    &[key("at", Span, "", "start time"), key("rate", Rate, "", "the rate from then on; 0/s is a pause")];

pub(crate) const ERRORS: &[Key] =
    &[key("stop_cell_after", Count(1), "", "end the cell after this many errors, and continue the run")];
