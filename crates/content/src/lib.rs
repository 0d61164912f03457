//! Data content: the bytes of blocks, how they are marked and compared, and the names and sizes of the files that hold
//! them.
//!
//! Values only: experiments hold them, drivers act on them.

mod bytes;
mod check;
mod file_tree;
mod found_tree;
mod names;
mod path_list;
mod sizes;
mod split_mix;

pub use bytes::{Content, ContentKind, PatternPiece};
pub use check::{Check, CheckMethod};
pub use file_tree::{FileTree, MAX_TREE_WORKERS, TreeFile, TreeRole};
pub use found_tree::{EntryKind, FoundTree, TreeLimits, TreeTooLarge, TreeWalk};
pub use names::{FileNames, USUAL_FORMAT};
pub use path_list::PathList;
pub use sizes::{SIZE_PERIOD, SizeDistribution, SizeLaw, SizeSums, SizeTable};
pub use split_mix::{finalized, mixed, split_mix};

/// Whether a field has its default value and need not be serialised.
pub fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
