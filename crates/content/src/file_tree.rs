//! Names of the files of a pass: a tree of directories below a directory of the user's, computed from numbers.
//!
//! The layout is smallfile's (README of smallfile 3, "Use of subdirectories"), so that either program finds the files that
//! the other one made.

use std::fmt::{self, Write};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::is_default;

/// How the files of a pass are spread over directories.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct FileTree {
    /// Directories that hold the tree, used in turn, such as several mounts of one file system; relative ones start at the
    /// target's directory. Empty: the target's directory itself.
    #[serde(skip_serializing_if = "is_default")]
    pub directories: Vec<String>,
    /// Name of the host in paths; empty: none, and in a fleet the host's own name.
    #[serde(skip_serializing_if = "is_default")]
    pub host: String,
    /// Maximum number of files in a directory.
    pub files_per_directory: u32,
    /// Maximum number of directories in a directory.
    pub directories_per_directory: u32,
    /// A hash of a file's number selects its directory; otherwise one directory is filled after the other.
    #[serde(skip_serializing_if = "is_default")]
    pub hashed: bool,
    /// All workers share the directories; otherwise each has its own.
    #[serde(skip_serializing_if = "is_default")]
    pub shared: bool,
    /// Begins the names of files.
    #[serde(skip_serializing_if = "is_default")]
    pub prefix: String,
    /// Ends the names of files.
    #[serde(skip_serializing_if = "is_default")]
    pub suffix: String,
}

impl Default for FileTree {
    fn default() -> Self {
        FileTree {
            directories: Vec::new(),
            host: String::new(),
            files_per_directory: 100,
            directories_per_directory: 10,
            hashed: false,
            shared: false,
            prefix: String::new(),
            suffix: String::new(),
        }
    }
}

/// What a path of a file's belongs to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum TreeRole {
    /// The file under its first name.
    #[default]
    File,
    /// The file under its second name, in a tree of its own.
    Renamed,
    /// A symbolic link to the file.
    Symlink,
    /// A directory of the file's number.
    Directory,
    /// The file before it has its first name.
    Temporary,
    /// Everything that a file can leave.
    All,
}

const ROLES: [TreeRole; 6] = [
    TreeRole::File,
    TreeRole::Renamed,
    TreeRole::Symlink,
    TreeRole::Directory,
    TreeRole::Temporary,
    TreeRole::All,
];

impl TreeRole {
    /// The paths of a file, in an order in which they can be removed.
    pub const PATHS: [TreeRole; 5] =
        [TreeRole::Symlink, TreeRole::File, TreeRole::Renamed, TreeRole::Temporary, TreeRole::Directory];
}

/// Maximum number of workers on a host, whose numbers fit into an object's number.
pub const MAX_TREE_WORKERS: u32 = 1 << 12;

/// A file of a tree, by its numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TreeFile {
    /// Which of its paths.
    pub role: TreeRole,
    /// The host's number ([`FileTree::host_number`]).
    pub host: u16,
    /// The worker, below [`MAX_TREE_WORKERS`].
    pub worker: u32,
    /// The file, counted from 1.
    pub file: u32,
}

impl TreeFile {
    /// The number that identifies it in operations.
    pub const fn object(self) -> u64 {
        (self.role as u64) << 60 | (self.host as u64) << 44 | (self.worker as u64) << 32 | self.file as u64
    }

    /// The number of the file's first name, which its content belongs to whatever its current name.
    pub fn first_name(object: u64) -> u64 {
        TreeFile { role: TreeRole::File, ..TreeFile::of(object) }.object()
    }

    /// The file with this number.
    pub fn of(object: u64) -> Self {
        TreeFile {
            role: ROLES.get((object >> 60) as usize).copied().unwrap_or_default(),
            host: (object >> 44) as u16,
            worker: (object >> 32) as u32 & (MAX_TREE_WORKERS - 1),
            file: object as u32,
        }
    }
}

/// A prime far above the number of files, for the hash of a file's number; its value is part of the layout.
const PRIME: u64 = 900_593;

impl FileTree {
    /// A number for the host: the content of files differs between hosts, wherever they stand in a list.
    pub fn host_number(&self) -> u16 {
        // FNV-1a (Fowler, Noll, Vo), folded to 16 bits.
        let hash = self
            .host
            .bytes()
            .fold(0x811C_9DC5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
        (hash >> 16) as u16 ^ hash as u16
    }

    /// The directory of a file among those of its worker, by number; hashed trees have none.
    pub fn directory_of(&self, file: u32) -> u32 {
        file / self.files_per_directory.max(1)
    }

    /// If this is the first file of a worker's in its directory, how many of `files` are there.
    pub fn first_of(&self, file: u32, files: u32) -> Option<u32> {
        let turns = self.directories.len().max(1) as u32;
        let (directory, per_directory) = (self.directory_of(file), self.files_per_directory.max(1));
        let first = file <= turns || self.directory_of(file - turns) != directory;
        let last = ((u64::from(directory) + 1) * u64::from(per_directory) - 1).min(files.into()) as u32;
        first.then(|| (last - file) / turns + 1)
    }

    /// Writes a path. `files` is the number of files of each worker.
    ///
    /// # Errors
    /// If `out` fails.
    pub fn write_path(&self, of: TreeFile, files: u32, out: &mut impl Write) -> fmt::Result {
        self.write_directory(of, files, out)?;
        let TreeFile { role, worker, file, .. } = of;
        let FileTree { prefix, host, suffix, .. } = self;
        write!(out, "/{prefix}_{host}_{worker:02}_{file}_{suffix}")?;
        out.write_str(match role {
            TreeRole::File | TreeRole::Renamed | TreeRole::All => "",
            TreeRole::Symlink => ".s",
            TreeRole::Directory => ".d",
            TreeRole::Temporary => ".tmp",
        })
    }

    /// Writes the path of the directory that holds it.
    ///
    /// # Errors
    /// If `out` fails.
    pub fn write_directory(&self, of: TreeFile, files: u32, out: &mut impl Write) -> fmt::Result {
        if let Some(top) = self.directories.get(of.file as usize % self.directories.len().max(1)) {
            out.write_str(top.trim_end_matches('/'))?;
            out.write_char('/')?;
        }
        out.write_str(match of.role {
            TreeRole::Renamed | TreeRole::Symlink => "file_dstdir",
            TreeRole::File | TreeRole::Directory | TreeRole::Temporary | TreeRole::All => "file_srcdir",
        })?;
        if !self.shared {
            if !self.host.is_empty() {
                write!(out, "/{}", self.host)?;
            }
            write!(out, "/thrd_{:02}", of.worker)?;
        }
        if self.hashed { self.write_hashed(of.file, files, out) } else { self.write_filled(of.file, out) }
    }

    /// The number of the directory in base `directories_per_directory`, a digit a level.
    fn write_filled(&self, file: u32, out: &mut impl Write) -> fmt::Result {
        let base = u64::from(self.directories_per_directory.max(2));
        let directory = u64::from(self.directory_of(file));
        let mut weight = 1;
        while weight * base <= directory {
            weight *= base;
        }
        let mut left = directory;
        while weight > 0 {
            write!(out, "/d_{:03}", left / weight)?;
            left %= weight;
            weight /= base;
        }
        Ok(())
    }

    fn write_hashed(&self, file: u32, files: u32, out: &mut impl Write) -> fmt::Result {
        let base = u64::from(self.directories_per_directory.max(2));
        let directory =
            u64::from(file) * PRIME % u64::from(files.max(1)) / u64::from(self.files_per_directory.max(1));
        let mut weight = 1;
        while directory / (weight * base) > 1 {
            weight *= base;
        }
        while weight > 0 {
            let level = directory / weight;
            if level > 1 {
                write!(out, "/h_{:03}", level * PRIME % base)?;
            }
            weight /= base;
        }
        Ok(())
    }

    /// The path as text.
    pub fn path(&self, of: TreeFile, files: u32) -> String {
        let mut path = String::new();
        // Writing to a string cannot fail.
        let _ = self.write_path(of, files, &mut path);
        path
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(role: TreeRole, worker: u32, file: u32) -> TreeFile {
        TreeFile { role, host: 7, worker, file }
    }

    fn tree() -> FileTree {
        FileTree { host: "node1".to_owned(), ..FileTree::default() }
    }

    #[test]
    fn numbers_read_back() {
        for role in ROLES {
            for (worker, number) in [(0, 1), (4095, u32::MAX), (7, 1000)] {
                let of = file(role, worker, number);
                assert_eq!(TreeFile::of(of.object()), of);
            }
        }
    }

    #[test]
    fn paths_are_those_of_smallfile() {
        let path = |role, worker, number| tree().path(file(role, worker, number), 5000);
        assert_eq!(path(TreeRole::File, 0, 1), "file_srcdir/node1/thrd_00/d_000/_node1_00_1_");
        assert_eq!(path(TreeRole::File, 12, 100), "file_srcdir/node1/thrd_12/d_001/_node1_12_100_");
        assert_eq!(path(TreeRole::File, 0, 1099), "file_srcdir/node1/thrd_00/d_001/d_000/_node1_00_1099_");
        assert_eq!(path(TreeRole::Renamed, 0, 3210), "file_dstdir/node1/thrd_00/d_003/d_002/_node1_00_3210_");
        assert_eq!(path(TreeRole::Symlink, 0, 1), "file_dstdir/node1/thrd_00/d_000/_node1_00_1_.s");
        assert_eq!(path(TreeRole::Directory, 0, 1), "file_srcdir/node1/thrd_00/d_000/_node1_00_1_.d");
        let named = FileTree {
            directories: vec!["/mnt/a/".to_owned(), "/mnt/b".to_owned()],
            shared: true,
            prefix: "p".to_owned(),
            suffix: "s".to_owned(),
            ..tree()
        };
        assert_eq!(named.path(file(TreeRole::File, 3, 1), 9), "/mnt/b/file_srcdir/d_000/p_node1_03_1_s");
        assert_eq!(named.path(file(TreeRole::File, 3, 2), 9), "/mnt/a/file_srcdir/d_000/p_node1_03_2_s");
    }

    #[test]
    fn hashed_directories_are_those_of_smallfile() {
        let hashed =
            FileTree { hashed: true, files_per_directory: 2, directories_per_directory: 4, ..tree() };
        // 900593 = 3 mod 10: file 5 has hash 5, directory 2; file 3 hash 9, directory 4, that is 4 then 4 / 4 = 1.
        let directory = |number| {
            let mut text = String::new();
            hashed.write_directory(file(TreeRole::File, 0, number), 10, &mut text).unwrap();
            text
        };
        assert_eq!(directory(10), "file_srcdir/node1/thrd_00");
        assert_eq!(directory(5), "file_srcdir/node1/thrd_00/h_002");
        assert_eq!(directory(3), "file_srcdir/node1/thrd_00/h_000");
    }

    #[test]
    fn every_directory_is_listed_once_with_all_its_files() {
        for (tops, files, per_directory) in [(1, 1000, 100), (3, 1000, 100), (2, 7, 3), (5, 3, 2), (1, 1, 1)]
        {
            let tree = FileTree {
                directories: (0..tops).map(|top| format!("/t{top}")).collect(),
                files_per_directory: per_directory,
                ..tree()
            };
            let mut counts = std::collections::BTreeMap::new();
            let mut listed = std::collections::BTreeMap::new();
            for number in 1..=files {
                let mut directory = String::new();
                tree.write_directory(file(TreeRole::File, 0, number), files, &mut directory).unwrap();
                if let Some(count) = tree.first_of(number, files) {
                    assert_eq!(listed.insert(directory.clone(), count), None, "{directory} twice");
                }
                *counts.entry(directory).or_insert(0) += 1;
            }
            assert_eq!(listed, counts, "{tops} {files} {per_directory}");
        }
    }
}
