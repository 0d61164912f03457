//! A pass: each worker performs the same steps on each of its numbered files once, in order, and ends.
//!
//! The files lie below a directory of the user's and stay after the run, so that one workload or run creates them, the
//! next one reads them, and a last one removes them. smallfile's command lines are parsed into passes, and in an
//! experiment file a pass is the key `pass:` of a workload.

use content::{FileTree, MAX_TREE_WORKERS, TreeRole};
use metrics::OpKind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::job::WITHOUT_LIMIT_S;
use crate::job::is_default;
use crate::plan::{Prepare, Stages, WeightedOp};

/// Bytes of a read or write of a pass, unless it says otherwise.
const USUAL_RECORD_BYTES: u64 = 1 << 20;
/// A drawn size is at most this multiple of the mean.
const SIZE_LIMIT: u64 = 8;
/// Drawn sizes are multiples of this, in bytes.
const SIZE_UNIT: u64 = 1024;

/// One pass over numbered files. The number of workers (`jobs`) is in the [`Workload`](crate::Workload).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Pass {
    /// What is done to each file, in this order.
    pub steps: Vec<PassStep>,
    /// Files of each worker.
    pub files: u32,
    /// Size of each file in bytes.
    #[serde(skip_serializing_if = "is_default")]
    pub file_bytes: u64,
    /// How sizes are distributed.
    #[serde(skip_serializing_if = "is_default")]
    pub sizes: FileSizes,
    /// Bytes of each read or write call; 0: the whole file, at most 1 MiB.
    #[serde(skip_serializing_if = "is_default")]
    pub record_bytes: u64,
    /// Where the files are, and their names.
    pub tree: FileTree,
    /// Commit (fsync) a file that was written before closing it.
    #[serde(skip_serializing_if = "is_default")]
    pub fsync: bool,
    /// Pause before each file, in seconds.
    #[serde(skip_serializing_if = "is_default")]
    pub pause_s: f64,
    /// Extended attributes of each file.
    #[serde(skip_serializing_if = "is_default")]
    pub attributes: FileAttributes,
    /// Compare what is read with what was written.
    #[serde(skip_serializing_if = "is_default")]
    pub verify: bool,
    /// What the others do once the first worker of a host has finished all its files.
    #[serde(skip_serializing_if = "is_default")]
    pub stonewall: Stonewall,
    /// In a fleet each host works on the files of the next one, which another host made.
    #[serde(skip_serializing_if = "is_default")]
    pub next_host: bool,
}

impl Default for Pass {
    fn default() -> Self {
        Pass {
            steps: Vec::new(),
            files: 200,
            file_bytes: 0,
            sizes: FileSizes::Fixed,
            record_bytes: 0,
            tree: FileTree::default(),
            fsync: false,
            pause_s: 0.0,
            attributes: FileAttributes::default(),
            verify: false,
            stonewall: Stonewall::None,
            next_host: false,
        }
    }
}

/// The sizes of a pass's files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FileSizes {
    /// All the same.
    #[default]
    Fixed,
    /// Exponentially distributed around `file_bytes` in whole KiB, at least 1 KiB and at most eight times the mean. A
    /// file's number determines its size, so that a later pass knows it.
    Exponential,
}

/// Extended attributes of a file: `user.smallfile-0` and so on, each with a value that the file determines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct FileAttributes {
    /// How many.
    pub count: u32,
    /// Bytes of each value.
    pub bytes: u32,
}

/// What happens once the first worker of a host has finished.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Stonewall {
    /// Nothing: every worker is counted to its own end.
    #[default]
    None,
    /// The others are counted up to then, and finish their files.
    EndCounting,
    /// The others end too.
    End,
}

/// A step of a pass, on one file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PassStep {
    /// Create it with all its content; it must be new.
    WriteFile,
    /// Create it with all its content under a temporary name.
    WriteTemporary,
    /// Append its size at its end.
    Append,
    /// Overwrite it.
    Overwrite,
    /// Empty it, and write it again.
    TruncateOverwrite,
    /// Read all of it.
    ReadFile,
    /// Query its attributes.
    Stat,
    /// Set its permissions.
    Chmod,
    /// The same under its temporary name.
    ChmodTemporary,
    /// Set its extended attributes.
    Setxattr,
    /// The same under its temporary name.
    SetxattrTemporary,
    /// Read its extended attributes.
    Getxattr,
    /// Create a symbolic link to it, in the second tree.
    Symlink,
    /// Create a directory of its number.
    Mkdir,
    /// Remove that.
    Rmdir,
    /// List the directory: once for each, when its first file is reached; it must contain the worker's files.
    Readdir,
    /// Move it to the second tree.
    Rename,
    /// Give it its name instead of the temporary one.
    RenameTemporary,
    /// Remove it.
    Remove,
    /// Remove it from the second tree.
    RemoveRenamed,
    /// Remove whatever a pass may have made of it, and at the end the directories.
    CleanUp,
}

impl PassStep {
    /// The operation that it is counted as.
    pub const fn op(self) -> OpKind {
        match self {
            PassStep::WriteFile | PassStep::WriteTemporary => OpKind::WriteFile,
            PassStep::Append => OpKind::Append,
            PassStep::Overwrite => OpKind::Overwrite,
            PassStep::TruncateOverwrite => OpKind::TruncateOverwrite,
            PassStep::ReadFile => OpKind::ReadFile,
            PassStep::Stat => OpKind::Stat,
            PassStep::Chmod | PassStep::ChmodTemporary => OpKind::Chmod,
            PassStep::Setxattr | PassStep::SetxattrTemporary => OpKind::Setxattr,
            PassStep::Getxattr => OpKind::Getxattr,
            PassStep::Symlink => OpKind::Symlink,
            PassStep::Mkdir => OpKind::Mkdir,
            PassStep::Rmdir => OpKind::Rmdir,
            PassStep::Readdir => OpKind::Readdir,
            PassStep::Rename | PassStep::RenameTemporary => OpKind::Rename,
            PassStep::Remove | PassStep::RemoveRenamed | PassStep::CleanUp => OpKind::Remove,
        }
    }

    /// The path that it works on.
    pub const fn role(self) -> TreeRole {
        match self {
            PassStep::WriteTemporary
            | PassStep::ChmodTemporary
            | PassStep::SetxattrTemporary
            | PassStep::RenameTemporary => TreeRole::Temporary,
            PassStep::Symlink => TreeRole::Symlink,
            PassStep::Mkdir | PassStep::Rmdir => TreeRole::Directory,
            PassStep::RemoveRenamed => TreeRole::Renamed,
            PassStep::CleanUp => TreeRole::All,
            _ => TreeRole::File,
        }
    }

    /// The other path, for a step on two.
    pub const fn other_role(self) -> TreeRole {
        match self {
            PassStep::Rename => TreeRole::Renamed,
            _ => TreeRole::File,
        }
    }

    /// Whether it makes something that needs its directory.
    pub const fn makes(self) -> bool {
        matches!(
            self,
            PassStep::WriteFile
                | PassStep::WriteTemporary
                | PassStep::Symlink
                | PassStep::Mkdir
                | PassStep::Rename
        )
    }

    /// Whether it moves the bytes of a file.
    pub const fn moves_bytes(self) -> bool {
        self.op().traits().direction.is_some()
    }
}

/// Why a pass cannot be carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PassFault {
    /// Nothing to do.
    #[error("a pass needs at least one step")]
    NoStep,
    /// Nothing to do it to.
    #[error("a pass needs at least one file for each worker")]
    NoFile,
    /// More workers than a tree has numbers for.
    #[error("a pass has at most {MAX_TREE_WORKERS} workers on each host")]
    Workers,
    /// A directory of no files.
    #[error("a directory holds at least one file, and at least two directories")]
    Directories,
    /// Listing with hashed directories.
    #[error("readdir needs directories that are filled one after the other: take out hashed")]
    Hashed,
    /// A value that no buffer holds.
    #[error(
        "a value of an extended attribute has at most {MAX_ATTRIBUTE_BYTES} bytes, and a file at most {MAX_ATTRIBUTES}"
    )]
    Attributes,
    /// A name that is not one.
    #[error("prefix, suffix and host are parts of names: without /")]
    Name,
}

/// Maximum length of an attribute's value in bytes.
pub const MAX_ATTRIBUTE_BYTES: u32 = 2048;
/// Maximum number of a file's attributes.
pub const MAX_ATTRIBUTES: u32 = 16;

impl Pass {
    /// What is wrong with it, for this many workers on each host.
    pub fn fault(&self, workers: u32) -> Option<PassFault> {
        let tree = &self.tree;
        let faults = [
            (self.steps.is_empty(), PassFault::NoStep),
            (self.files == 0, PassFault::NoFile),
            (workers > MAX_TREE_WORKERS, PassFault::Workers),
            (tree.files_per_directory == 0 || tree.directories_per_directory < 2, PassFault::Directories),
            (tree.hashed && self.steps.contains(&PassStep::Readdir), PassFault::Hashed),
            (
                self.attributes.bytes > MAX_ATTRIBUTE_BYTES || self.attributes.count > MAX_ATTRIBUTES,
                PassFault::Attributes,
            ),
            ([&tree.prefix, &tree.suffix, &tree.host].iter().any(|part| part.contains('/')), PassFault::Name),
        ];
        faults.into_iter().find(|(is, _)| *is).map(|(_, fault)| fault)
    }

    /// Bytes of each read or write call.
    pub fn record(&self) -> u64 {
        match self.record_bytes {
            0 if self.sizes == FileSizes::Fixed => self.file_bytes.clamp(1, USUAL_RECORD_BYTES),
            0 => USUAL_RECORD_BYTES,
            bytes => bytes,
        }
    }

    /// The size of a worker's file in bytes; `object` identifies it.
    pub fn bytes_of(&self, object: u64) -> u64 {
        match self.sizes {
            FileSizes::Fixed => self.file_bytes,
            FileSizes::Exponential => {
                let mean = self.file_bytes / SIZE_UNIT;
                let drawn = -unit(object).ln() * mean as f64;
                (drawn as u64).min(mean * SIZE_LIMIT).max(1) * SIZE_UNIT
            }
        }
    }

    /// Whether it does this.
    pub fn does(&self, is: impl Fn(PassStep) -> bool) -> bool {
        self.steps.iter().any(|step| is(*step))
    }

    /// Its operations, all equally frequent.
    pub fn ops(&self) -> Vec<WeightedOp> {
        let mut kinds: Vec<OpKind> = Vec::new();
        for step in &self.steps {
            if !kinds.contains(&step.op()) {
                kinds.push(step.op());
            }
        }
        let weight = 1.0 / kinds.len().max(1) as f64;
        kinds.into_iter().map(|op| WeightedOp { op, weight }).collect()
    }
}

impl Stages {
    /// The stages around a pass, which ends when every file is done.
    pub fn of_pass() -> Self {
        Stages {
            prepare: Prepare::None,
            warm_up_s: 0.0,
            measure_at_least_s: 0.0,
            measure_at_least_bytes: 0,
            measure_at_most_s: WITHOUT_LIMIT_S,
            probe_s: 0.0,
            verify: false,
            clean_up: false,
        }
    }
}

/// A number above 0, up to 1, that looks random.
fn unit(number: u64) -> f64 {
    ((content::mixed(number) >> 11) + 1) as f64 / (1u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exponential_sizes_have_their_mean_and_bounds() {
        let pass = Pass { file_bytes: 64 << 10, sizes: FileSizes::Exponential, ..Pass::default() };
        let sizes: Vec<u64> = (0..100_000).map(|object| pass.bytes_of(object)).collect();
        assert!(sizes.iter().all(|bytes| bytes.is_multiple_of(1024) && (1024..=512 << 10).contains(bytes)));
        let mean = sizes.iter().sum::<u64>() as f64 / 1e5;
        // Rounding down costs half a KiB; the deviation of the mean is 0.2 KiB.
        assert!((mean / 1024.0 - 63.5).abs() < 1.0, "{mean}");
        let below = sizes.iter().filter(|bytes| **bytes <= 44 << 10).count();
        assert!((49_000..51_500).contains(&below), "the median is ln 2 of the mean: {below}");
    }

    #[test]
    fn what_cannot_be_done_is_said() {
        let good = Pass { steps: vec![PassStep::Stat], ..Pass::default() };
        assert_eq!(good.fault(8), None);
        assert_eq!(Pass::default().fault(1), Some(PassFault::NoStep));
        assert_eq!(good.fault(5000), Some(PassFault::Workers));
        let hashed = FileTree { hashed: true, ..FileTree::default() };
        let listing = Pass { steps: vec![PassStep::Readdir], tree: hashed, ..Pass::default() };
        assert_eq!(listing.fault(1), Some(PassFault::Hashed));
    }
}
