//! A tree of files that exists, as a walk finds it: within a stated number of entries, however large it is.

use std::collections::BinaryHeap;
use std::ops::Range;

use crate::{PathList, finalized, mixed};

/// What an entry of a tree is; other kinds, such as sockets, are left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKind {
    /// A regular file.
    File,
    /// A symbolic link.
    Link,
    /// A directory.
    Directory,
}

impl EntryKind {
    /// Every kind; `self as usize` indexes it.
    pub const ALL: [EntryKind; 3] = [EntryKind::File, EntryKind::Link, EntryKind::Directory];

    /// Name of several.
    pub const fn plural(self) -> &'static str {
        match self {
            EntryKind::File => "files",
            EntryKind::Link => "symbolic links",
            EntryKind::Directory => "directories",
        }
    }
}

/// What is kept of a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TreeLimits {
    /// Max number of entries of each kind.
    pub entries: u64,
    /// With more of them a sample of that size is kept, drawn with this seed; `None` refuses the tree.
    pub sample: Option<u64>,
    /// The kinds that are kept, by number.
    pub kinds: [bool; 3],
}

/// Why a tree is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TreeTooLarge {
    /// There are more entries of a kind.
    #[error("it has more than {limit} {}", .kind.plural())]
    Entries {
        /// Of this kind.
        kind: EntryKind,
        /// Than this many.
        limit: u64,
    },
    /// Their paths are too long together.
    #[error("the paths of its entries have more than {} MiB together", PathList::MAX_BYTES >> 20)]
    Paths,
}

/// An entry that is kept. Samples keep those whose paths have the lowest hashes, so the order of the walk does not matter, and
/// every host that walks the tree keeps the same.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Kept {
    hash: u64,
    path: Box<str>,
    bytes: u64,
}

/// A walk through a tree.
#[derive(Debug)]
pub struct TreeWalk {
    limits: TreeLimits,
    kept: [BinaryHeap<Kept>; 3],
    seen: [u64; 3],
    path_bytes: usize,
}

impl TreeWalk {
    /// A walk that has found nothing yet.
    pub fn new(limits: TreeLimits) -> Self {
        TreeWalk { limits, kept: Default::default(), seen: [0; 3], path_bytes: 0 }
    }

    /// Notes an entry with its path, and its size in bytes if it is a file.
    ///
    /// # Errors
    /// The tree is too large.
    pub fn add(&mut self, kind: EntryKind, path: &str, bytes: u64) -> Result<(), TreeTooLarge> {
        let TreeLimits { entries, sample, kinds } = self.limits;
        self.seen[kind as usize] += 1;
        if !kinds[kind as usize] {
            return Ok(());
        }
        let kept = &mut self.kept[kind as usize];
        let is_full = kept.len() as u64 >= entries;
        let hash = match sample {
            None if is_full => return Err(TreeTooLarge::Entries { kind, limit: entries }),
            None => 0,
            Some(seed) => hash_of(seed, path),
        };
        if is_full {
            if kept.peek().is_none_or(|highest| highest.hash <= hash) {
                return Ok(());
            }
            self.path_bytes -= kept.pop().map_or(0, |highest| highest.path.len());
        }
        self.path_bytes += path.len();
        if self.path_bytes > PathList::MAX_BYTES {
            return Err(TreeTooLarge::Paths);
        }
        kept.push(Kept { hash, path: path.into(), bytes });
        Ok(())
    }

    /// What was found, each kind in the order of its paths.
    ///
    /// # Errors
    /// The tree is too large.
    pub fn finish(self) -> Result<FoundTree, TreeTooLarge> {
        let mut all = self.kept.map(BinaryHeap::into_vec);
        for kept in &mut all {
            kept.sort_unstable_by(|one, other| one.path.cmp(&other.path));
        }
        let paths = PathList::of(all.iter().flatten().map(|kept| &*kept.path)).ok_or(TreeTooLarge::Paths)?;
        let sizes = all[EntryKind::File as usize].iter().map(|kept| kept.bytes).collect();
        Ok(FoundTree { paths, sizes, kept: all.map(|kept| kept.len() as u64), seen: self.seen })
    }
}

/// A hash of a path that is the same on every machine.
fn hash_of(seed: u64, path: &str) -> u64 {
    let fold = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3);
    finalized(path.bytes().fold(mixed(seed), fold))
}

/// What a walk found: files first, then symbolic links, then directories, numbered from 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundTree {
    /// The paths of all entries that are kept, relative to the target's directory.
    pub paths: PathList,
    /// The sizes of the files, in bytes.
    pub sizes: Vec<u64>,
    kept: [u64; 3],
    seen: [u64; 3],
}

impl FoundTree {
    /// The numbers of the entries of a kind that are kept.
    pub fn numbers(&self, kind: EntryKind) -> Range<u64> {
        let first: u64 = self.kept[..kind as usize].iter().sum();
        first..first + self.kept[kind as usize]
    }

    /// How many entries of a kind the tree has, whether kept or not.
    pub fn seen(&self, kind: EntryKind) -> u64 {
        self.seen[kind as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [bool; 3] = [true; 3];

    fn walk(limits: TreeLimits, files: impl Iterator<Item = u64>) -> Result<FoundTree, TreeTooLarge> {
        let mut walk = TreeWalk::new(limits);
        walk.add(EntryKind::Directory, "d", 0)?;
        walk.add(EntryKind::Link, "l", 0)?;
        for file in files {
            walk.add(EntryKind::File, &format!("d/{file:05}"), file)?;
        }
        walk.finish()
    }

    #[test]
    fn entries_are_numbered_by_kind_and_path() {
        let found = walk(TreeLimits { entries: 3, sample: None, kinds: ALL }, [2, 0, 1].into_iter()).unwrap();
        let paths: Vec<_> = (0..found.paths.len()).map(|at| found.paths.get(at).unwrap()).collect();
        assert_eq!(paths, ["d/00000", "d/00001", "d/00002", "l", "d"]);
        assert_eq!(found.sizes, [0, 1, 2]);
        assert_eq!(EntryKind::ALL.map(|kind| found.numbers(kind)), [0..3, 3..4, 4..5]);
        assert_eq!(EntryKind::ALL.map(|kind| found.seen(kind)), [3, 1, 1]);
    }

    #[test]
    fn kinds_that_no_operation_uses_are_counted_and_not_kept() {
        let kinds = [false, true, false];
        let found = walk(TreeLimits { entries: 1, sample: None, kinds }, 0..100).unwrap();
        assert_eq!((found.paths.get(0), found.paths.len()), (Some("l"), 1));
        assert_eq!((found.seen(EntryKind::File), found.numbers(EntryKind::Directory)), (100, 1..1));
    }

    #[test]
    fn a_tree_with_too_many_entries_is_refused() {
        let refused = walk(TreeLimits { entries: 99, sample: None, kinds: ALL }, 0..100).unwrap_err();
        assert_eq!(refused.to_string(), "it has more than 99 files");
    }

    #[test]
    fn a_sample_is_the_same_in_any_order_and_differs_with_the_seed() {
        let sample = |seed, forward: bool| {
            let limits = TreeLimits { entries: 500, sample: Some(seed), kinds: ALL };
            let files = (0..10_000).map(|file| if forward { file } else { 9_999 - file });
            walk(limits, files).unwrap()
        };
        let one = sample(1, true);
        assert_eq!((one.sizes.len(), one.seen(EntryKind::File)), (500, 10_000));
        assert_eq!(one, sample(1, false));
        assert_ne!(one, sample(2, true));
        // Evenly spread: a fifth of the tree has about a fifth of the sample (standard deviation 9).
        let low = one.sizes.iter().filter(|file| **file < 2000).count();
        assert!((60..140).contains(&low), "{low}");
        assert_eq!(one.numbers(EntryKind::Link), 500..501);
    }
}
