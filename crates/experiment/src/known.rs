//! Every key of an experiment file with its default and what it does: the one table from which unknown keys are
//! told, the JSON schema is made, and against which the documentation is checked.

mod fleet;
mod reference;
mod rules;

pub(crate) use fleet::*;
pub use reference::reference;
pub(crate) use rules::*;

/// What the value of a key looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Text,
    Flag,
    /// A whole number from this on.
    Count(u64),
    Size,
    Span,
    /// A duration, or the word `none`.
    SpanOrNone,
    Share,
    Rate,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// A form with a definition of its own in the schema.
    Named(&'static str),
}

/// A key.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Key {
    pub name: &'static str,
    pub form: Form,
    /// For people; empty when the key is required.
    pub default: &'static str,
    pub about: &'static str,
}

const fn key(name: &'static str, form: Form, default: &'static str, about: &'static str) -> Key {
    Key { name, form, default, about }
}

use Form::{Choice, Count, Flag, Named, Rate, Share, Size, Span, Text};

pub(crate) const FILE: &[Key] = &[
    key("name", Text, "the file's name", "the experiment's name in results and reports"),
    key("description", Text, "none", "what it is for, in your words"),
    key("seed", Count(0), "1", "seed of everything random: order of cells, accesses, arrivals, payload"),
    key("results", Text, "the user's data folder", "the results file, unless --results names another"),
    key(
        "parameters",
        Named("parameters"),
        "none",
        "values that are used as ${name} and can be set from outside",
    ),
    key("fleet", Named("fleet"), "none: this host", "the hosts that carry the experiment out together"),
    key("targets", Named("targets"), "", "what is loaded, by name: a URL, or a map with url and options"),
    key(
        "defaults",
        Named("workload"),
        "none",
        "keys that hold for every workload which does not give its own",
    ),
    key("workloads", Named("workloads"), "", "what is done to the targets, by name"),
    key(
        "scale",
        Named("scale"),
        "none",
        "every workload is repeated with each of these numbers of agents, or of addresses of the target",
    ),
    key("matrix", Named("matrix"), "none", "keys with lists of values that are crossed with each other"),
    key("stages", Named("stages"), "see the table of stages", "what happens around the measurement"),
    key("steady", Named("steady"), "default", "the rule that says when a measurement may end"),
    key("gates", Named("gates"), "none", "conditions on the result that set the exit code"),
    key("errors", Named("errors"), "continue", "what happens when operations fail"),
    key(
        "cache",
        Choice(CACHE),
        "invalidate for file and block, else keep",
        "what happens to this client's caches before each cell",
    ),
];

/// Words of `cache`.
pub(crate) const CACHE: &[&str] = &["keep", "invalidate", "drop"];

pub(crate) const WORKLOAD: &[Key] = &[
    key("target", Text, "the only target", "the target's name"),
    key("ops", Named("ops"), "", "the operation, or a map of operations and their shares"),
    key("access", Named("access"), "random", "which block or object comes next"),
    key(
        "block_size",
        Named("block_size"),
        "4KiB; of objects: the object",
        "size of reads and writes, or a map of sizes and their shares",
    ),
    key("queue_depth", Count(1), "1", "operations that each job keeps in flight"),
    key("jobs", Count(1), "1", "threads with connections of their own"),
    key("files", Count(1), "1", "files in the data set"),
    key(
        "file_size",
        Size,
        "1GiB; of block devices: all",
        "size of each file; of a block device the part that is used",
    ),
    key("objects", Count(1), "64", "objects in the data set of an S3 target"),
    key("object_size", Size, "8MiB; of memcached: 4KiB", "size of each object"),
    key(
        "rate",
        Named("rate"),
        "none",
        "when operations start: as soon as possible, or at a rate (open loop)",
    ),
    key(
        "backlog",
        Count(1),
        "100000",
        "operations of a rate that may wait for a free lane; more are shed and counted",
    ),
    key(
        "think",
        Named("think"),
        "none",
        "pauses of each lane, or with job of the whole worker; 1ms alone is short for pause",
    ),
    key(
        "fsync_every",
        Count(0),
        "0",
        "a lane, or with job the worker, commits (fsync) after this many writes; 0: never",
    ),
    key("fdatasync", Flag, "false", "the commit is an fdatasync where the target knows the difference"),
    key("compressible", Share, "0%", "share of each 4 KiB that compresses to nothing"),
    key("dedupe", Share, "0%", "share of the 4 KiB chunks that occur elsewhere too"),
    key("verify", Flag, "false", "everything read is compared with what was written"),
    key(
        "sink",
        Choice(SINK),
        "buffer",
        "where read data goes: into memory, or dropped in the kernel unseen (sockets)",
    ),
    key(
        "op_timeout",
        Form::SpanOrNone,
        "60s",
        "the longest that an operation may take; none: as long as it takes",
    ),
    key(
        "placement",
        Named("placement"),
        "each job on a core of its own",
        "cores on which the jobs run, one each in turn; 0-7 alone is short for cores",
    ),
    key(
        "job",
        Named("job"),
        "none",
        "one stream of operations for each job over named files, as fio's jobs are; see the section on jobs",
    ),
    key("group", Named("group"), "none", "jobs with the same group number run at the same time"),
    key("agents", Named("agents"), "all", "how many agents of the fleet work on it, the first ones"),
    key("scale", Named("scale"), "the file's", "scale of this workload; none: all agents alone"),
    key("find", Named("find"), "none", "a search: the highest rate at which a latency goal holds"),
    key("sweep", Named("sweep"), "none", "a load sweep: one measurement at each of several rates"),
    key(
        "matrix",
        Named("axes"),
        "the file's",
        "keys that are crossed for this workload, instead of the file's",
    ),
    key("stages", Named("stages"), "the file's", "stages of this workload"),
    key("steady", Named("steady"), "the file's", "steady-state rule of this workload"),
    key("gates", Named("gates"), "none", "gates of this workload, besides the file's"),
    key("errors", Named("errors"), "the file's", "error policy of this workload"),
    key("cache", Choice(CACHE), "the file's", "cache control of this workload"),
];

/// Words of `sink`.
pub(crate) const SINK: &[&str] = &["buffer", "discard"];

/// Keys of a workload that the file may give for all workloads.
pub(crate) const SHARED: &[&str] = &["stages", "steady", "errors", "cache"];

pub(crate) const STAGES: &[Key] = &[
    key(
        "prepare",
        Choice(PREPARE),
        "fill; none when ops are only put, create, remove or delete and nothing is verified",
        "fill: every byte is written unless an earlier cell left this data set; fill_always: before every cell; \
         keep: what is there is used; none: nothing",
    ),
    key("warm_up", Span, "10s", "load before anything is measured"),
    key(
        "measure",
        Named("measure"),
        "at_least: 60s",
        "how long is measured; a duration is short for at_least",
    ),
    key("verify", Flag, "the workload's verify", "afterwards everything is read once and compared"),
    key("clean_up", Flag, "true", "after the last cell that uses it the data set is removed"),
];

/// Words of `prepare`.
pub(crate) const PREPARE: &[&str] = &["fill", "fill_always", "keep", "none"];

pub(crate) const MEASURE: &[Key] = &[
    key("at_least", Span, "60s", "no measurement is shorter; with steady: none it lasts exactly so long"),
    key("at_most", Span, "30m, or at_least", "no measurement is longer; one that is not steady then says so"),
    key("at_least_bytes", Size, "0", "so much must have moved before anything is called steady"),
];

pub(crate) const MATRIX: &[Key] = &[
    key(
        "order",
        Choice(ORDER),
        "given",
        "given: the last key changes fastest; shuffled: at random, from the seed",
    ),
    key("repetitions", Count(1), "1", "how often every point is measured; each round visits all points once"),
];

/// Words of `order`.
pub(crate) const ORDER: &[&str] = &["given", "shuffled"];

pub(crate) const FIND: &[Key] = &[
    key("goal", Text, "", "the condition on latency: p99 <= 2 ms"),
    key("from", Rate, "10/s", "the lowest rate that is tried"),
    key("to", Rate, "what a closed loop reaches", "the highest rate that is tried"),
    key("tolerance", Share, "2%", "the search ends when the rate is known so closely"),
    key("trial", Span, "30s", "length of each trial"),
];

pub(crate) const PLACEMENT: &[Key] = &[
    key("cores", Named("numbers"), "all", "numbers of cores: 0-7,16 or [0, 1]"),
    key("numa_nodes", Named("numbers"), "all", "NUMA nodes on whose cores the jobs run"),
    key(
        "numa",
        Choice(&["any", "nic"]),
        "any",
        "nic: the cores of the NUMA node on which the network card is that the target is reached by",
    ),
];

pub(crate) const THINK: &[Key] = &[
    key("pause", Span, "", "how long a pause is; 0s makes none"),
    key("spin", Span, "0", "of that, spent computing instead of sleeping"),
    key("after", Count(1), "1", "a pause comes after this many operations"),
    key("after_time", Span, "0", "or after this much time of load; 0: after operations"),
];

pub(crate) const SWEEP: &[Key] = &[
    key("rates", Named("rates"), "ten equal steps up to what a closed loop reaches", "the rates"),
    key("point", Span, "30s", "length of each measurement"),
];

/// Names of accesses.
pub(crate) const ACCESS: &[&str] =
    &["sequential", "random", "shuffled", "zipf", "pareto", "hotspot", "strided"];

pub(crate) const HOTSPOT: &[Key] = &[
    key("ops", Share, "80%", "share of the operations"),
    key("space", Share, "20%", "share of the space, at its beginning"),
];

/// Names of arrivals.
pub(crate) const RATE: &[&str] = &["constant", "poisson", "ramp", "steps", "times"];

pub(crate) const RAMP: &[Key] = &[
    key("from", Rate, "", "the rate at the beginning"),
    key("to", Rate, "", "the rate at the end, which stays"),
    key("over", Span, "", "how long it takes"),
];

pub(crate) const STEP: &[Key] =
    &[key("rate", Rate, "", "the rate; 0/s is a pause"), key("for", Span, "", "how long it holds")];

pub(crate) const TIME: &[Key] =
    &[key("at", Span, "", "when it begins"), key("rate", Rate, "", "the rate from then on; 0/s is a pause")];

pub(crate) const ERRORS: &[Key] =
    &[key("stop_cell_after", Count(1), "", "the cell ends after this many errors and the run goes on")];
