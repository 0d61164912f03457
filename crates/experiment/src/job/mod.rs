//! A job: each worker runs one stream of operations over named files, shared by its lanes.
//!
//! In a workload without a job each lane has its own places. The lanes of a job's worker take the next operation of a
//! shared stream instead, so that a queue depth of 32 means 32 consecutive blocks in flight. A job ends when it has
//! moved its amount, not only by the clock. Jobs in fio's job files have the same meaning (HOWTO of fio 3.33, "Job file
//! parameters"), and job files are parsed into them; in an experiment file a job is the key `job:` of a workload.
//!
//! Everything is a value with a default; files and results only contain what differs.

mod ending;
mod files;
mod iolog;
mod logs;
mod pace;
mod part;
mod pattern;
mod report;
mod short;
mod sizes;
mod summary;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(crate) use content::is_default;
pub use content::{Check, CheckMethod, Content, ContentKind, FileNames, PatternPiece, USUAL_FORMAT};
pub use ending::*;
pub use files::*;
pub use iolog::*;
pub use logs::*;
pub use pace::*;
pub use part::*;
pub use pattern::*;
pub use report::*;
pub use summary::WITHOUT_LIMIT_S;

/// One stream of operations per worker. The operations with their weights, the queue depth and the number of
/// workers (`jobs`) are in the [`Workload`](crate::Workload).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Job {
    /// Name of the job in file names and output; in an experiment file it defaults to the workload's.
    #[serde(skip_serializing_if = "is_default")]
    pub name: String,
    /// Number of the first worker, for file names, offsets and seeds: a job whose clones are reported separately
    /// has one cell per clone.
    #[serde(skip_serializing_if = "is_default")]
    pub first_number: u32,
    /// Seed of all random draws; each worker mixes its number in. In an experiment file it defaults to the
    /// experiment's.
    #[serde(skip_serializing_if = "is_default")]
    pub seed: u64,
    /// The files, and how they are created.
    #[serde(skip_serializing_if = "is_default")]
    pub files: JobFiles,
    /// Which part of the files is used, and how much data is moved.
    #[serde(skip_serializing_if = "is_default")]
    pub region: Region,
    /// Which operation comes next, and where.
    #[serde(skip_serializing_if = "is_default")]
    pub pattern: Pattern,
    /// Block sizes.
    #[serde(skip_serializing_if = "is_default")]
    pub block_sizes: BlockSizes,
    /// How the queue is filled.
    #[serde(skip_serializing_if = "is_default")]
    pub queue: Queue,
    /// When written data is made durable.
    #[serde(skip_serializing_if = "is_default")]
    pub commits: Commits,
    /// Rates and pauses.
    #[serde(skip_serializing_if = "is_default")]
    pub pace: Pace,
    /// Content of writes.
    #[serde(skip_serializing_if = "is_default")]
    pub content: Content,
    /// Whether and how reads are verified.
    #[serde(skip_serializing_if = "is_default")]
    pub check: Option<Check>,
    /// When the job ends.
    #[serde(skip_serializing_if = "is_default")]
    pub ending: Ending,
    /// Operations to replay instead of drawing them: a file in fio's iolog format, version 2 or 3.
    #[serde(skip_serializing_if = "is_default")]
    pub replay: Option<Replay>,
    /// Log files written while it runs.
    #[serde(skip_serializing_if = "is_default")]
    pub logs: Logs,
    /// How its figures are shown in fio's formats.
    #[serde(skip_serializing_if = "is_default")]
    pub report: Reporting,
    /// Cores and memory of the workers.
    #[serde(skip_serializing_if = "is_default")]
    pub placement: Placement,
}

/// A value for each direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(bound = "T: Default + Serialize + JsonSchema")]
pub struct Directions<T> {
    /// Value for reads.
    pub read: T,
    /// Value for writes.
    pub write: T,
    /// Value for trims.
    pub trim: T,
}

impl<T: Clone> Directions<T> {
    /// The same value for all directions.
    pub fn all(value: T) -> Self {
        Self { read: value.clone(), write: value.clone(), trim: value }
    }
}

/// A size in bytes, or a share of the file or device.
///
/// In experiment files also as text: `64MiB`, `50%`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(transform = short::or_text)]
pub enum Amount {
    /// Bytes.
    Bytes(u64),
    /// Percent of the file's size, 0 to 100.
    Percent(f64),
}

impl Default for Amount {
    fn default() -> Self {
        Amount::Bytes(0)
    }
}

impl Amount {
    /// The amount in bytes, given the size of the whole.
    pub fn of(self, whole_bytes: u64) -> u64 {
        match self {
            Amount::Bytes(bytes) => bytes,
            Amount::Percent(percent) => (whole_bytes as f64 * percent / 100.0) as u64,
        }
    }
}

/// Cores and memory of the workers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Placement {
    /// Cores the workers may run on; empty: all cores the process may use.
    #[serde(skip_serializing_if = "is_default")]
    pub cores: Vec<u32>,
    /// Pin each worker to one of the cores, in turn, instead of allowing all.
    #[serde(skip_serializing_if = "is_default")]
    pub split_cores: bool,
    /// NUMA nodes whose cores the workers may run on.
    #[serde(skip_serializing_if = "is_default")]
    pub numa_nodes: Vec<u32>,
    /// Run the workers on the NUMA node of the NIC that reaches the target.
    #[serde(skip_serializing_if = "is_default")]
    pub near_card: bool,
    /// Memory policy, in numactl(8)'s notation: `default`, `prefer:0`, `bind:0,1`, `interleave:0-3`, `local`.
    #[serde(skip_serializing_if = "is_default")]
    pub numa_memory: Option<String>,
    /// Increment of the workers' nice value (nice(2)).
    #[serde(skip_serializing_if = "is_default")]
    pub nice: i32,
    /// I/O priority class and level (ioprio_set(2)).
    #[serde(skip_serializing_if = "is_default")]
    pub io_priority: Option<(u8, u8)>,
}
