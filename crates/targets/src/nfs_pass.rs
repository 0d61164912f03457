//! The files of a pass on an export: where they are, and the directories that it makes and removes.

use drivers::nfs::{ExportFiles, ExportNames, ExportTree, export_path};
use experiment::{FileTree, Pass, PassStep};

use super::TargetError;
use super::nfs::NfsTarget;
use super::pass_tree::{CHMOD_MODE, directories, lanes_with_directories};
use super::place::PATIENCE;

/// The files, and how they are used.
pub(super) fn files(pass: &Pass) -> ExportFiles {
    let tree = ExportTree {
        tree: pass.tree.clone(),
        files: pass.files,
        record_bytes: u32::try_from(pass.record()).unwrap_or(u32::MAX),
        mode: CHMOD_MODE,
    };
    ExportFiles { names: ExportNames::Tree(tree), first_number: 0, files: pass.files }
}

impl NfsTarget {
    /// Makes the directories of a pass's files.
    ///
    /// # Errors
    /// The first that cannot be made.
    pub(super) fn make_directories(&self, pass: &Pass, lanes: u32) -> Result<(), TargetError> {
        if !pass.does(PassStep::makes) {
            return Ok(());
        }
        for lane in lanes_with_directories(&pass.tree, lanes) {
            let paths: Vec<String> =
                directories(&pass.tree, pass.files, lane).iter().map(|path| export_path(path)).collect();
            self.driver.make_directories(&paths, PATIENCE)?;
        }
        Ok(())
    }

    /// Removes the directories of a pass that cleans up, as far as they are empty.
    ///
    /// # Errors
    /// The first empty one that cannot be removed.
    pub(super) fn remove_directories(&self, pass: &Pass, lanes: u32) -> Result<(), TargetError> {
        if !pass.does(|step| step == PassStep::CleanUp) {
            return Ok(());
        }
        for lane in lanes_with_directories(&pass.tree, lanes) {
            let paths: Vec<(String, String)> = directories(&pass.tree, pass.files, lane)
                .iter()
                .map(|path| (export_path(path), top_of(&pass.tree, path)))
                .collect();
            self.driver.remove_directories(&paths, PATIENCE)?;
        }
        Ok(())
    }
}

/// Where the part of the tree with a directory begins: one of the user's directories, or the export's root.
fn top_of(tree: &FileTree, directory: &str) -> String {
    let path = export_path(directory);
    let tops = tree.directories.iter().map(|top| export_path(top));
    let within = |top: &String| path.strip_prefix(top.as_str()).is_some_and(|rest| rest.starts_with('/'));
    tops.filter(within).max_by_key(String::len).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_below_the_users_directories_is_removed() {
        let tree = FileTree { directories: vec!["/a".to_owned(), "a/b".to_owned()], ..FileTree::default() };
        assert_eq!(top_of(&tree, "/a/file_srcdir/thrd_00"), "a");
        assert_eq!(top_of(&tree, "a/b/file_srcdir/thrd_00"), "a/b");
        assert_eq!(top_of(&FileTree::default(), "file_srcdir"), "");
    }
}
