//! A tree of files that exists and is only read: what is kept of it, and what it is called.

use std::ops::Range;
use std::sync::Arc;

use content::{EntryKind, FileNames, FoundTree, PathList, SizeTable, TreeLimits, TreeTooLarge, TreeWalk};
use drivers::{LeftOut, VisitEntry, WalkError};
use engine::{BesideFiles, DataSet, DataShape};
use experiment::{ExistingTree, Workload};
use metrics::OpKind;
use units::Size;

use super::TargetError;

/// The entries of a tree that a load uses.
#[derive(Clone, Debug)]
pub(super) struct TreeEntries {
    path: String,
    paths: Arc<PathList>,
    sizes: Arc<SizeTable>,
    max_bytes: u64,
    bytes: u64,
    files: u64,
    beside: BesideFiles,
    /// How many entries of each kind the tree has.
    seen: [u64; 3],
    left_out: LeftOut,
}

/// The kinds of entries that a load uses, each with an operation that does.
fn users(workload: &Workload) -> [Option<OpKind>; 3] {
    let user = |is: fn(OpKind) -> bool| workload.ops.iter().map(|weighted| weighted.op).find(|op| is(*op));
    let links = |op| op == OpKind::Readlink;
    let directories = |op| matches!(op, OpKind::List | OpKind::Readdir);
    [
        user(|op| !matches!(op, OpKind::Readlink | OpKind::List | OpKind::Readdir)),
        user(links),
        user(directories),
    ]
}

impl TreeEntries {
    /// Walks a workload's tree by `walk`.
    ///
    /// # Errors
    /// It cannot be walked, it is too large, or it has none of what an operation needs.
    pub(super) fn of(
        tree: &ExistingTree,
        workload: &Workload,
        walk: impl FnOnce(VisitEntry<'_>) -> Result<LeftOut, WalkError>,
    ) -> Result<Self, TargetError> {
        let users = users(workload);
        let limits = TreeLimits {
            entries: tree.entries,
            sample: tree.sample,
            kinds: users.map(|user| user.is_some()),
        };
        let mut found = TreeWalk::new(limits);
        let left_out = match walk(&mut |kind, path, bytes| found.add(kind, path, bytes)) {
            Ok(left_out) => left_out,
            Err(WalkError::Driver(error)) => return Err(error.into()),
            Err(WalkError::TooLarge(error)) => return Err(too_large(tree, error)),
        };
        let found = found.finish().map_err(|error| too_large(tree, error))?;
        for (kind, user) in EntryKind::ALL.into_iter().zip(users) {
            if let Some(op) = user.filter(|_| found.numbers(kind).is_empty()) {
                let text = format!(
                    "tree {}: it has no {}, which {op} needs; next: take {op} out of ops, or name another tree",
                    tree.path,
                    kind.plural()
                );
                return Err(TargetError::Input(text));
            }
        }
        let entries = Self::kept(tree, found, left_out);
        if workload.does(OpKind::is_of_ranges) && entries.bytes == 0 {
            let text = format!(
                "tree {}: its files are empty, so nothing can be read; next: name another tree",
                tree.path
            );
            return Err(TargetError::Input(text));
        }
        Ok(entries)
    }

    fn kept(tree: &ExistingTree, found: FoundTree, left_out: LeftOut) -> Self {
        let numbers = |kind| found.numbers(kind);
        Self {
            path: tree.path.clone(),
            max_bytes: found.sizes.iter().copied().max().unwrap_or(0),
            bytes: found.sizes.iter().sum(),
            files: numbers(EntryKind::File).end,
            beside: BesideFiles {
                links: numbers(EntryKind::Link),
                directories: numbers(EntryKind::Directory),
            },
            seen: EntryKind::ALL.map(|kind| found.seen(kind)),
            left_out,
            paths: Arc::new(found.paths),
            sizes: Arc::new(SizeTable::listed(found.sizes)),
        }
    }

    /// The names of all entries.
    pub(super) fn names(&self) -> FileNames {
        FileNames { found: Some(Arc::clone(&self.paths)), ..FileNames::default() }
    }

    /// Number of entries of all kinds.
    pub(super) fn entries(&self) -> usize {
        self.paths.len()
    }

    /// Number of files.
    pub(super) fn files(&self) -> u64 {
        self.files
    }

    /// Some of the files, with everything beside them.
    pub(super) fn data_set(&self, numbers: Range<u64>, block_bytes: u64) -> DataSet {
        let shape = DataShape::Files { file_bytes: self.max_bytes.max(1), block_bytes };
        DataSet::laid_out_from(shape, numbers.start, numbers.end - numbers.start)
            .drawn_from(Some(Arc::clone(&self.sizes)))
            .beside(self.beside.clone())
    }

    /// What is used of the tree, in words.
    pub(super) fn shown(&self) -> String {
        let kept = [self.files, span(&self.beside.links), span(&self.beside.directories)];
        let mut parts = Vec::new();
        for (kind, (kept, seen)) in EntryKind::ALL.into_iter().zip(kept.into_iter().zip(self.seen)) {
            let of = if kept < seen { format!(" of {seen}") } else { String::new() };
            let size = match kind {
                EntryKind::File if kept > 0 => format!(" with {}", Size(self.bytes).rounded()),
                _ => String::new(),
            };
            if kept > 0 {
                parts.push(format!("{kept}{of} {}{size}", kind.plural()));
            }
        }
        let LeftOut { names, others, mounts } = self.left_out;
        for (count, what) in [
            (names, "names that are no UTF-8"),
            (others, "special files"),
            (mounts, "directories of other file systems"),
        ] {
            if count > 0 {
                parts.push(format!("without {count} {what}"));
            }
        }
        format!("tree {}: {}", self.path, parts.join(", "))
    }
}

fn span(numbers: &Range<u64>) -> u64 {
    numbers.end - numbers.start
}

fn too_large(tree: &ExistingTree, error: TreeTooLarge) -> TargetError {
    let next = match error {
        TreeTooLarge::Entries { .. } => "name a smaller part of it, write more entries, or beyond: sample",
        TreeTooLarge::Paths => "name a smaller part of it, or fewer entries and beyond: sample",
    };
    TargetError::Input(format!("tree {}: {error}; next: {next}", tree.path))
}
