//! A tree of directories for files with numbers: an object's directory is computed from its number, and no list is kept.
//!
//! Each level has the same number of directories, named by two hexadecimal digits. Files are only in the leaves, the
//! directories of the last level: object 10 may be `0a/3f/000000000000000a`.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use crate::numbers::{COUNT_BITS, LANE_BITS, OWN};

/// Maximum number of levels.
pub const MAX_DEPTH: u32 = 8;
/// Maximum number of directories per level, which two hexadecimal digits name.
pub const MAX_DIRECTORIES: u32 = 256;
/// Maximum number of leaves.
pub const MAX_LEAVES: u32 = 1 << 16;
/// Maximum length of a leaf's path in bytes, with a `/` at its end.
pub const MAX_LEAF_LEN: usize = MAX_DEPTH as usize * LEVEL_LEN;
/// Bytes of a level in a path: two digits and `/`.
const LEVEL_LEN: usize = 3;
/// Files of the data set with consecutive numbers that share a leaf in [`TreeLayout::Own`].
const RUN: u64 = 1000;

/// Which leaf holds an object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TreeLayout {
    /// The one that a hash of the object's number selects.
    #[default]
    Hashed,
    /// For files that a lane creates, the lane's own; for those of the data set, the same one for 1,000 consecutive
    /// numbers.
    Own,
    /// The only one: each level has a single directory.
    Shared,
}

impl TreeLayout {
    /// The names of all layouts.
    pub const NAMES: &[&str] = &["hashed", "own", "shared"];

    fn name(self) -> &'static str {
        match self {
            TreeLayout::Hashed => "hashed",
            TreeLayout::Own => "own",
            TreeLayout::Shared => "shared",
        }
    }
}

impl FromStr for TreeLayout {
    type Err = TreeError;

    fn from_str(text: &str) -> Result<Self, TreeError> {
        let all = [TreeLayout::Hashed, TreeLayout::Own, TreeLayout::Shared];
        all.into_iter().find(|layout| layout.name() == text).ok_or(TreeError::Text)
    }
}

/// Why there is no such tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TreeError {
    /// Too many levels.
    #[error("a tree has at most {MAX_DEPTH} levels of directories")]
    Depth,
    /// No directories in a level, or too many.
    #[error("a level has 1 to {MAX_DIRECTORIES} directories")]
    Directories,
    /// Too many leaves.
    #[error("{0} levels of {1} directories are more than {MAX_LEAVES} in the last level: use fewer")]
    Leaves(u32, u32),
    /// Text that describes no tree.
    #[error("it describes no tree")]
    Text,
}

/// A tree of directories; by default flat, without any.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DirectoryTree {
    depth: u32,
    directories: u32,
    layout: TreeLayout,
    leaves: u32,
    /// Directories of all levels above the last.
    above: u32,
}

impl Default for DirectoryTree {
    fn default() -> Self {
        Self { depth: 0, directories: 1, layout: TreeLayout::Hashed, leaves: 1, above: 0 }
    }
}

impl DirectoryTree {
    /// A tree with `depth` levels of `directories` each; in [`TreeLayout::Shared`], one per level.
    ///
    /// # Errors
    /// More levels, directories or leaves than the maximum.
    pub fn new(depth: u32, directories: u32, layout: TreeLayout) -> Result<Self, TreeError> {
        if depth > MAX_DEPTH {
            return Err(TreeError::Depth);
        }
        if !(1..=MAX_DIRECTORIES).contains(&directories) {
            return Err(TreeError::Directories);
        }
        if depth == 0 {
            return Ok(Self::default());
        }
        let directories = if layout == TreeLayout::Shared { 1 } else { directories };
        let leaves = directories.checked_pow(depth).filter(|leaves| *leaves <= MAX_LEAVES);
        let leaves = leaves.ok_or(TreeError::Leaves(depth, directories))?;
        let above = (1..depth).map(|level| directories.pow(level)).sum();
        Ok(Self { depth, directories, layout, leaves, above })
    }

    /// Whether there are no directories.
    pub fn is_flat(&self) -> bool {
        self.depth == 0
    }

    /// Levels of directories.
    pub fn depth(&self) -> u32 {
        self.depth
    }

    /// Directories per level.
    pub fn directories(&self) -> u32 {
        self.directories
    }

    /// The layout's name.
    pub fn layout_name(&self) -> &'static str {
        self.layout.name()
    }

    /// Number of leaves: 1 in a flat tree.
    pub fn leaves(&self) -> u32 {
        self.leaves
    }

    /// The leaf that holds an object, below [`Self::leaves`].
    #[inline]
    pub fn leaf_of(&self, object: u64) -> u32 {
        let leaves = u64::from(self.leaves);
        let leaf = match self.layout {
            TreeLayout::Shared => 0,
            TreeLayout::Hashed => {
                ((u128::from(content::finalized(object)) * u128::from(leaves)) >> 64) as u64
            }
            TreeLayout::Own if object & OWN != 0 => (object >> COUNT_BITS & ((1 << LANE_BITS) - 1)) % leaves,
            TreeLayout::Own => object / RUN % leaves,
        };
        leaf as u32
    }

    /// Writes the path of a leaf to the start of a buffer of at least [`MAX_LEAF_LEN`] bytes, with a `/` at its end;
    /// returns its length, which is 0 in a flat tree.
    #[inline]
    pub fn write_leaf(&self, mut leaf: u32, buffer: &mut [u8]) -> usize {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let len = self.depth as usize * LEVEL_LEN;
        for level in buffer[..len].as_chunks_mut::<LEVEL_LEN>().0.iter_mut().rev() {
            let name = (leaf % self.directories) as usize;
            *level = [DIGITS[name >> 4], DIGITS[name & 15], b'/'];
            leaf /= self.directories;
        }
        len
    }

    /// The directories from the first level down to a leaf: the name of each, and its number among all in the tree,
    /// below [`Self::all_directories`].
    pub fn way_to(&self, leaf: u32) -> impl Iterator<Item = ([u8; 2], u32)> {
        let mut path = [0; MAX_LEAF_LEN];
        self.write_leaf(leaf, &mut path);
        let Self { depth, directories, .. } = *self;
        let (mut first, mut of_level, mut at) = (0, directories, 0);
        (0..depth as usize).map(move |level| {
            let name = [path[level * LEVEL_LEN], path[level * LEVEL_LEN + 1]];
            let digits = std::str::from_utf8(&name).expect("digits");
            at = at * directories + u32::from_str_radix(digits, 16).expect("digits");
            let number = first + at;
            first += of_level;
            of_level = of_level.saturating_mul(directories);
            (name, number)
        })
    }

    /// Number of a leaf among all directories, as [`Self::way_to`] counts them.
    #[inline]
    pub fn number_of_leaf(&self, leaf: u32) -> u32 {
        self.above + leaf
    }

    /// Number of directories of all levels.
    pub fn all_directories(&self) -> u32 {
        if self.is_flat() { 0 } else { self.above + self.leaves }
    }

    /// The path of an object's file. Allocates.
    pub fn path_of(&self, object: u64) -> PathBuf {
        let mut leaf = [0; MAX_LEAF_LEN];
        let len = self.write_leaf(self.leaf_of(object), &mut leaf);
        PathBuf::from(format!("{}{object:016x}", String::from_utf8_lossy(&leaf[..len])))
    }

    /// Whether a directory of this tree may have this name.
    pub fn names_directory(&self, name: &[u8]) -> bool {
        let digits = name.len() == 2 && name.iter().all(|c| matches!(c, b'0'..=b'9' | b'a'..=b'f'));
        let number = std::str::from_utf8(name).ok().and_then(|text| u32::from_str_radix(text, 16).ok());
        digits && number.is_some_and(|number| number < self.directories)
    }
}

/// The name of directory `number` of a level.
pub(crate) fn directory_name(number: u32) -> String {
    format!("{number:02x}")
}

impl fmt::Display for DirectoryTree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { depth, directories, layout, .. } = self;
        write!(f, "depth {depth}, directories {directories}, layout {}", layout.name())
    }
}

impl FromStr for DirectoryTree {
    type Err = TreeError;

    fn from_str(text: &str) -> Result<Self, TreeError> {
        let mut parts = text.split(", ");
        let mut part = |name| {
            let value = parts.next().and_then(|part| part.strip_prefix(name)?.strip_prefix(' '));
            value.ok_or(TreeError::Text)
        };
        let depth = part("depth")?.parse().map_err(|_| TreeError::Text)?;
        let directories = part("directories")?.parse().map_err(|_| TreeError::Text)?;
        Self::new(depth, directories, part("layout")?.parse()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(depth: u32, directories: u32, layout: TreeLayout) -> DirectoryTree {
        DirectoryTree::new(depth, directories, layout).unwrap()
    }

    #[test]
    fn paths_name_the_leaf_level_by_level() {
        assert_eq!(DirectoryTree::default().path_of(10).to_str(), Some("000000000000000a"));
        let shared = tree(3, 16, TreeLayout::Shared);
        assert_eq!(shared.path_of(10).to_str(), Some("00/00/00/000000000000000a"));
        let own = tree(2, 16, TreeLayout::Own);
        assert_eq!(own.path_of(OWN | 0x2f << COUNT_BITS | 1).to_str(), Some("02/0f/800005e000000001"));
        assert_eq!(own.path_of(17_000).to_str(), Some("01/01/0000000000004268"));
    }

    #[test]
    fn every_leaf_has_a_path_of_its_own_with_names_of_the_tree() {
        for (depth, directories) in [(1, 256), (2, 256), (8, 4), (8, 1), (3, 7)] {
            let tree = tree(depth, directories, TreeLayout::Hashed);
            let mut paths = std::collections::BTreeSet::new();
            for leaf in 0..tree.leaves() {
                let mut path = [0; MAX_LEAF_LEN];
                let len = tree.write_leaf(leaf, &mut path);
                assert!(path[..len].chunks(3).all(|level| tree.names_directory(&level[..2])));
                paths.insert(path);
            }
            assert_eq!(paths.len(), tree.leaves() as usize);
        }
        assert!(!tree(2, 16, TreeLayout::Hashed).names_directory(b"10"));
        assert!(
            !DirectoryTree::default().names_directory(b"+0")
                && !DirectoryTree::default().names_directory(b"0")
        );
    }

    #[test]
    fn the_way_to_a_leaf_numbers_each_directory_once() {
        for (depth, directories) in [(1, 256), (2, 16), (8, 4), (8, 1), (3, 7)] {
            let tree = tree(depth, directories, TreeLayout::Hashed);
            let mut seen = std::collections::BTreeMap::new();
            for leaf in 0..tree.leaves() {
                let mut path = Vec::new();
                for (name, number) in tree.way_to(leaf) {
                    path.extend(name);
                    assert_eq!(seen.entry(number).or_insert_with(|| path.clone()), &path);
                    path.push(b'/');
                }
                let mut buffer = [0; MAX_LEAF_LEN];
                let len = tree.write_leaf(leaf, &mut buffer);
                assert_eq!(path, buffer[..len]);
                assert_eq!(tree.way_to(leaf).last().unwrap().1, tree.number_of_leaf(leaf));
            }
            assert!(seen.keys().copied().eq(0..tree.all_directories()));
        }
        assert_eq!(DirectoryTree::default().way_to(0).count(), 0);
        assert_eq!(DirectoryTree::default().all_directories(), 0);
    }

    #[test]
    fn hashing_fills_the_leaves_evenly() {
        let tree = tree(2, 16, TreeLayout::Hashed);
        for first in [0, OWN | 5 << COUNT_BITS] {
            let mut counts = [0_u32; 256];
            for object in first..first + 256_000 {
                counts[tree.leaf_of(object) as usize] += 1;
            }
            let chi_square: f64 =
                counts.iter().map(|count| (f64::from(*count) - 1000.0).powi(2) / 1000.0).sum();
            // 255 degrees of freedom: below 345 with probability 0.9999.
            assert!(chi_square < 345.0, "{chi_square}");
        }
    }

    #[test]
    fn lanes_have_directories_of_their_own() {
        let tree = tree(2, 16, TreeLayout::Own);
        let leaves = |lane: u64| tree.leaf_of(OWN | lane << COUNT_BITS);
        assert!((0..256).all(|lane| leaves(lane) == lane as u32));
        assert!((0..2000).all(|count| tree.leaf_of(OWN | 7 << COUNT_BITS | count) == 7));
    }

    #[test]
    fn trees_beyond_the_bounds_are_refused() {
        assert_eq!(DirectoryTree::new(9, 1, TreeLayout::Hashed), Err(TreeError::Depth));
        assert_eq!(DirectoryTree::new(1, 257, TreeLayout::Hashed), Err(TreeError::Directories));
        assert_eq!(DirectoryTree::new(1, 0, TreeLayout::Hashed), Err(TreeError::Directories));
        assert_eq!(DirectoryTree::new(3, 256, TreeLayout::Hashed), Err(TreeError::Leaves(3, 256)));
        assert_eq!(DirectoryTree::new(8, 256, TreeLayout::Hashed), Err(TreeError::Leaves(8, 256)));
    }

    #[test]
    fn what_is_printed_reads_back() {
        for tree in [DirectoryTree::default(), tree(2, 16, TreeLayout::Own), tree(8, 3, TreeLayout::Shared)] {
            assert_eq!(tree.to_string().parse(), Ok(tree));
        }
        for text in
            ["", "depth 2", "depth x, directories 2, layout own", "depth 1, directories 2, layout odd"]
        {
            assert_eq!(text.parse::<DirectoryTree>(), Err(TreeError::Text), "{text}");
        }
    }
}
