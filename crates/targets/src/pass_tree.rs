//! The directories of a pass's files, on whatever target.

use std::collections::BTreeSet;

use experiment::{FileTree, TreeFile, TreeRole};

/// The permissions that a pass's chmod sets.
pub(super) const CHMOD_MODE: u32 = 0o646;

/// The lanes whose directories differ.
pub(super) fn lanes_with_directories(tree: &FileTree, lanes: u32) -> std::ops::Range<u32> {
    0..if tree.shared { 1 } else { lanes }
}

/// The directories of a lane's files in both trees.
pub(super) fn directories(tree: &FileTree, files: u32, lane: u32) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    for file in 1..=files {
        if !tree.hashed && tree.first_of(file, files).is_none() {
            continue;
        }
        for role in [TreeRole::File, TreeRole::Renamed] {
            let mut path = String::new();
            let of = TreeFile { role, host: 0, worker: lane, file };
            // Writing to a string cannot fail.
            let _ = tree.write_directory(of, files, &mut path);
            all.insert(path);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lane_has_the_directories_of_all_its_files() {
        let tops = vec!["/a".to_owned(), "b".to_owned()];
        for hashed in [false, true] {
            let tree =
                FileTree { files_per_directory: 3, hashed, directories: tops.clone(), ..FileTree::default() };
            let made = directories(&tree, 40, 2);
            for file in 1..=40 {
                for role in [TreeRole::File, TreeRole::Renamed, TreeRole::Symlink, TreeRole::Directory] {
                    let path = tree.path(TreeFile { role, host: 0, worker: 2, file }, 40);
                    let (directory, _) = path.rsplit_once('/').unwrap();
                    assert!(made.contains(directory), "{path} has no directory");
                }
            }
        }
    }
}
