//! The directories of a pass's files, on whatever target.

use std::collections::BTreeSet;
use std::path::PathBuf;

use experiment::{FileTree, TreeFile, TreeRole};

/// The permissions that a pass's chmod sets.
pub(super) const CHMOD_MODE: u32 = 0o646;

/// The directories of all lanes' files in both trees; a lane's are together.
pub(super) fn all_directories(tree: &FileTree, files: u32, lanes: u32) -> impl Iterator<Item = String> {
    let lanes_with_directories = 0..if tree.shared { 1 } else { lanes };
    lanes_with_directories.flat_map(move |lane| directories(tree, files, lane))
}

/// Where the part of the tree with a directory begins: one of the user's directories, or the target's. `placed` turns a path of
/// the tree's into the target's.
pub(super) fn top_of(tree: &FileTree, directory: &str, placed: impl Fn(&str) -> PathBuf) -> PathBuf {
    let path = placed(directory);
    let tops = tree.directories.iter().map(|top| placed(top));
    tops.filter(|top| path.starts_with(top)).max().unwrap_or_else(|| placed(""))
}

/// The directories of a lane's files in both trees.
fn directories(tree: &FileTree, files: u32, lane: u32) -> BTreeSet<String> {
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
