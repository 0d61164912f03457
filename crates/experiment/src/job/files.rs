//! The files of a job: their names, sizes and creation, and which part of them is used.

use content::FileNames;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Amount, is_default};

/// The files that a job works on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct JobFiles {
    /// Their names.
    pub names: FileNames,
    /// Files of each worker (`nrfiles`); 0 means one, or as many as are listed.
    #[serde(skip_serializing_if = "is_default")]
    pub count: u32,
    /// Size of each file in bytes, or the least when `most_bytes` is larger. 0: the region's size divided by the number of files.
    #[serde(skip_serializing_if = "is_default")]
    pub bytes: u64,
    /// The largest size; each file's is drawn, by the job's seed.
    #[serde(skip_serializing_if = "is_default")]
    pub most_bytes: u64,
    /// Files that a worker keeps open; 0: all.
    #[serde(skip_serializing_if = "is_default")]
    pub open: u32,
    /// Which file comes next.
    #[serde(skip_serializing_if = "is_default")]
    pub service: FileService,
    /// How they come to be.
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
    /// One after the other, this many operations each.
    RoundRobin(u32),
    /// A file is done before the next is begun.
    Sequential,
    /// At random, this many operations each.
    Random(u32),
    /// At random, zipf with this theta, this many operations each.
    Zipf(f64, u32),
    /// At random, pareto with this power, this many operations each.
    Pareto(f64, u32),
    /// At random, normal with this deviation in percent, this many operations each.
    Normal(f64, u32),
}

impl Default for FileService {
    fn default() -> Self {
        FileService::RoundRobin(1)
    }
}

/// How files come to be before the load, and go after it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Layout {
    /// Files that are missing or too short are made: filled for loads that read or overwrite, otherwise only allocated.
    /// False: they must be there in full size (`allow_file_create=0`).
    pub create: bool,
    /// The load ends when the files are laid out (`create_only`).
    pub create_only: bool,
    /// Files are made when the load first opens them, not before (`create_on_open`).
    pub create_on_open: bool,
    /// A commit follows the creation (`create_fsync`).
    pub create_fsync: bool,
    /// What is done to a file's space before it is written (`fallocate`): `none`, `native`, `posix`, `keep`, `truncate`.
    pub allocate: Allocate,
    /// Writes go over what is there: a file that is missing is filled before (`overwrite`).
    pub overwrite: bool,
    /// Writes go behind what is there (`file_append`).
    pub append: bool,
    /// Reads everything once before the load (`pre_read`).
    pub pre_read: bool,
    /// Gives up the client's cached pages of the files before the load (`invalidate`).
    pub invalidate: bool,
    /// Advice on how it will be read (`fadvise_hint`): by the pattern, none, or `sequential`, `random`.
    pub advice: Advice,
    /// Files are removed when the job is over (`unlink`).
    pub unlink: bool,
    /// Files are removed and made again with each loop (`unlink_each_loop`).
    pub unlink_each_loop: bool,
    /// A device that is mounted may be written (`allow_mounted_write`).
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

/// What is done to a new file's space.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Allocate {
    /// Nothing.
    None,
    /// Reserved by fallocate(2), and nothing where that is not supported.
    #[default]
    Native,
    /// Reserved by posix_fallocate(3), which writes where fallocate is not supported.
    Posix,
    /// Reserved behind the file's end (`FALLOC_FL_KEEP_SIZE`).
    Keep,
    /// Extended by ftruncate(2): a hole.
    Truncate,
}

/// Advice to the kernel (posix_fadvise(2)).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Advice {
    /// Random or sequential, as the pattern is.
    #[default]
    ByPattern,
    /// None.
    None,
    /// It will be read in order.
    Sequential,
    /// It will be read at random.
    Random,
}

/// Which part of the files is used, and how much is moved.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Region {
    /// Where it begins, in each file (`offset`).
    #[serde(skip_serializing_if = "is_default")]
    pub offset: Amount,
    /// Added for each worker after the first (`offset_increment`).
    #[serde(skip_serializing_if = "is_default")]
    pub offset_increment: Amount,
    /// Offsets that are not whole multiples of this are rounded up (`offset_align`), in bytes; 0: no.
    #[serde(skip_serializing_if = "is_default")]
    pub offset_align: u64,
    /// Size of the region over all files of a worker (`size`); bytes 0: all that is there.
    pub size: Amount,
    /// Moved by one loop, of each worker (`io_size`); bytes 0: as much as the region's size. More than that goes round again.
    #[serde(skip_serializing_if = "is_default")]
    pub io_bytes: Amount,
    /// Operations of one loop at most (`number_ios`); 0: no such limit.
    #[serde(skip_serializing_if = "is_default")]
    pub operations: u64,
    /// Writes go on until the file system is full (`fill_device`).
    #[serde(skip_serializing_if = "is_default")]
    pub fill_device: bool,
    /// Only zones of the region are used (`zonemode=strided`).
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

/// This many bytes are moved in a zone, then this many are skipped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Zones {
    /// Moved in a zone before the next is entered (`zonesize`), in bytes.
    pub bytes: u64,
    /// From one zone's beginning on, operations lie within this (`zonerange`), in bytes.
    pub range: u64,
    /// Between the end of one zone's range and the beginning of the next (`zoneskip`), in bytes.
    pub skip: u64,
}
