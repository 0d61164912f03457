//! The files of a job: their names, sizes and creation, and which part of them is used.

use content::FileNames;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Amount, is_default};

/// The files that a job works on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct JobFiles {
    /// Names of the files.
    pub names: FileNames,
    /// Files per worker (`nrfiles`); 0: one, or as many as are listed.
    #[serde(skip_serializing_if = "is_default")]
    pub count: u32,
    /// Size of each file in bytes, or the minimum if `most_bytes` is larger. 0: the region's size divided by the
    /// number of files.
    #[serde(skip_serializing_if = "is_default")]
    pub bytes: u64,
    /// Maximum size; each file's size is drawn from the job's seed.
    #[serde(skip_serializing_if = "is_default")]
    pub most_bytes: u64,
    /// Files each worker keeps open; 0: all.
    #[serde(skip_serializing_if = "is_default")]
    pub open: u32,
    /// Order in which files are used.
    #[serde(skip_serializing_if = "is_default")]
    pub service: FileService,
    /// How files are created and removed.
    #[serde(skip_serializing_if = "is_default")]
    pub layout: Layout,
}

impl JobFiles {
    /// Number of files per worker.
    pub fn per_worker(&self) -> u32 {
        match (self.count, self.names.listed.len()) {
            (0, 0) => 1,
            (0, listed) => listed as u32,
            (count, 0) => count,
            (count, listed) => count.min(listed as u32),
        }
    }
}

/// Which file comes next.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FileService {
    /// In turn, this many operations each.
    RoundRobin(u32),
    /// One file completely before the next.
    Sequential,
    /// Random, this many operations each.
    Random(u32),
    /// Zipf-distributed with this theta, this many operations each.
    Zipf(f64, u32),
    /// Pareto-distributed with this power, this many operations each.
    Pareto(f64, u32),
    /// Normally distributed with this deviation in percent, this many operations each.
    Normal(f64, u32),
}

impl Default for FileService {
    fn default() -> Self {
        FileService::RoundRobin(1)
    }
}

/// How files are created before the load and removed after it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Layout {
    /// Create files that are missing or too short: filled for loads that read or overwrite, otherwise only
    /// allocated. False: they must exist in full size (`allow_file_create=0`).
    pub create: bool,
    /// End after laying out the files (`create_only`).
    pub create_only: bool,
    /// Create files when the load first opens them, not before (`create_on_open`).
    pub create_on_open: bool,
    /// Commit files after creating them (`create_fsync`).
    pub create_fsync: bool,
    /// How to allocate a file's space before it is written (`fallocate`): `none`, `native`, `posix`, `keep`,
    /// `truncate`.
    pub allocate: Allocate,
    /// Overwrite existing data: fill missing files first (`overwrite`).
    pub overwrite: bool,
    /// Append writes to existing data (`file_append`).
    pub append: bool,
    /// Read everything once before the load (`pre_read`).
    pub pre_read: bool,
    /// Drop the client's cached pages of the files before the load (`invalidate`).
    pub invalidate: bool,
    /// Access advice to the kernel (`fadvise_hint`): by the pattern, none, `sequential` or `random`.
    pub advice: Advice,
    /// Remove the files when the job ends (`unlink`).
    pub unlink: bool,
    /// Remove and recreate the files with each loop (`unlink_each_loop`).
    pub unlink_each_loop: bool,
    /// Allow writing to a mounted device (`allow_mounted_write`).
    pub mounted_device: bool,
}

impl Default for Layout {
    fn default() -> Self {
        Layout {
            create: true,
            create_only: false,
            create_on_open: false,
            create_fsync: true,
            allocate: Allocate::Native,
            overwrite: false,
            append: false,
            pre_read: false,
            invalidate: true,
            advice: Advice::ByPattern,
            unlink: false,
            unlink_each_loop: false,
            mounted_device: false,
        }
    }
}

/// How a new file's space is allocated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Allocate {
    /// Not allocated.
    None,
    /// By fallocate(2); not allocated if that is unsupported.
    #[default]
    Native,
    /// By posix_fallocate(3), which writes if fallocate is unsupported.
    Posix,
    /// By fallocate(2) beyond the end of the file (`FALLOC_FL_KEEP_SIZE`).
    Keep,
    /// By ftruncate(2): a sparse file.
    Truncate,
}

/// Advice to the kernel (posix_fadvise(2)).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Advice {
    /// Random or sequential, according to the pattern.
    #[default]
    ByPattern,
    /// None.
    None,
    /// Sequential reads.
    Sequential,
    /// Random reads.
    Random,
}

/// Which part of the files is used, and how much data is moved.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Region {
    /// Start of the region in each file (`offset`).
    #[serde(skip_serializing_if = "is_default")]
    pub offset: Amount,
    /// Added to the start for each worker after the first (`offset_increment`).
    #[serde(skip_serializing_if = "is_default")]
    pub offset_increment: Amount,
    /// Round the start up to a multiple of this (`offset_align`), in bytes; 0: no rounding.
    #[serde(skip_serializing_if = "is_default")]
    pub offset_align: u64,
    /// Size of the region over all files of a worker (`size`); 0 bytes: everything that exists.
    pub size: Amount,
    /// Data each worker moves per loop (`io_size`); 0 bytes: the region's size. A larger amount wraps around.
    #[serde(skip_serializing_if = "is_default")]
    pub io_bytes: Amount,
    /// Maximum operations per loop (`number_ios`); 0: no limit.
    #[serde(skip_serializing_if = "is_default")]
    pub operations: u64,
    /// Write until the file system is full (`fill_device`).
    #[serde(skip_serializing_if = "is_default")]
    pub fill_device: bool,
    /// Use only zones of the region (`zonemode=strided`).
    #[serde(skip_serializing_if = "is_default")]
    pub zones: Option<Zones>,
}

impl Default for Region {
    fn default() -> Self {
        Region {
            offset: Amount::Bytes(0),
            offset_increment: Amount::Bytes(0),
            offset_align: 0,
            size: Amount::Bytes(0),
            io_bytes: Amount::Bytes(0),
            operations: 0,
            fill_device: false,
            zones: None,
        }
    }
}

/// Zones: move an amount in one zone, then skip to the next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Zones {
    /// Data to move in a zone before the next (`zonesize`), in bytes.
    pub bytes: u64,
    /// Length of a zone, from its start (`zonerange`), in bytes.
    pub range: u64,
    /// Gap between the end of one zone and the start of the next (`zoneskip`), in bytes.
    pub skip: u64,
}
