//! The files of a pass on an export: where they are, and the directories that it makes and removes.

use drivers::nfs::{ExportFiles, ExportNames, ExportTree, export_path};
use experiment::{FileTree, Pass};

use super::TargetError;
use super::nfs::NfsTarget;
use super::pass_tree::{self, CHMOD_MODE, all_directories};
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
        let paths = all_directories(&pass.tree, pass.files, lanes).map(|path| export_path(&path));
        Ok(self.driver.make_directories(paths, PATIENCE)?)
    }

    /// Removes the directories of a pass's files, as far as they are empty.
    ///
    /// # Errors
    /// The first empty one that cannot be removed.
    pub(super) fn remove_directories(&self, pass: &Pass, lanes: u32) -> Result<(), TargetError> {
        let directories = all_directories(&pass.tree, pass.files, lanes)
            .map(|path| (export_path(&path), top_of(&pass.tree, &path)));
        Ok(self.driver.remove_directories(directories, PATIENCE)?)
    }
}

fn top_of(tree: &FileTree, directory: &str) -> String {
    let top = pass_tree::top_of(tree, directory, |path| export_path(path).into());
    top.to_string_lossy().into_owned()
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
