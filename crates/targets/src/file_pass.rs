//! The files of a pass on this machine: where they are, and the directories that it makes and removes.

use std::fs;
use std::io::ErrorKind as Io;
use std::path::{Path, PathBuf};

use drivers::DriverError;
use drivers::file::{Place as Where, TreeFiles};
use experiment::{Pass, PassStep};
use metrics::ErrorKind;

use super::file::{FileTarget, no_directory};
use super::pass_tree::{self, CHMOD_MODE, all_directories};
use super::{OpenRequest, TargetError};

/// Location of the files, and how they are used.
pub(super) fn place(
    request: &OpenRequest<'_>,
    directory: PathBuf,
    pass: &Pass,
) -> Result<Where, TargetError> {
    let makes = pass.does(PassStep::makes) && !directory.exists();
    if !directory.is_dir() && !makes {
        return Err(no_directory(request, &directory));
    }
    Ok(Where::Tree(TreeFiles {
        directory,
        tree: pass.tree.clone(),
        files: pass.files,
        record_bytes: pass.record(),
        attributes: pass.attributes.count,
        attribute_bytes: pass.attributes.bytes,
        mode: CHMOD_MODE,
    }))
}

impl FileTarget {
    fn tree(&self) -> Result<&TreeFiles, TargetError> {
        match &self.driver.config().place {
            Where::Tree(files) => Ok(files),
            _ => Err(TargetError::Input(
                "the target was opened for other files than those of a pass".to_owned(),
            )),
        }
    }

    /// Makes the directories of a pass's files.
    pub(super) fn make_directories(&self, lanes: u32) -> Result<(), TargetError> {
        let files = self.tree()?;
        for directory in all_directories(&files.tree, files.files, lanes) {
            let path = files.directory.join(directory);
            fs::create_dir_all(&path).map_err(|error| failed("making directory", &path, &error))?;
        }
        Ok(())
    }

    /// Removes the directories of a pass's files, as far as they are empty.
    pub(super) fn remove_directories(&self, lanes: u32) -> Result<(), TargetError> {
        let files = self.tree()?;
        for directory in all_directories(&files.tree, files.files, lanes) {
            let path = files.directory.join(&directory);
            let top = top_of(files, &directory);
            let within = path.ancestors().take_while(|path| path.starts_with(&top) && *path != top);
            for path in within {
                match fs::remove_dir(path) {
                    Ok(()) => {}
                    Err(error) if error.kind() == Io::NotFound => {}
                    // Somebody else's files, or another lane's.
                    Err(error) if error.kind() == Io::DirectoryNotEmpty => break,
                    Err(error) => return Err(failed("removing directory", path, &error)),
                }
            }
        }
        Ok(())
    }
}

fn top_of(files: &TreeFiles, directory: &str) -> PathBuf {
    pass_tree::top_of(&files.tree, directory, |path| files.directory.join(path))
}

fn failed(what: &str, path: &Path, error: &std::io::Error) -> TargetError {
    let kind = match error.kind() {
        Io::PermissionDenied => ErrorKind::AccessDenied,
        _ => ErrorKind::Local,
    };
    DriverError::new(kind, format!("{what} {}: {error}", path.display())).into()
}

#[cfg(test)]
mod tests {
    use experiment::FileTree;

    use super::*;

    fn files(tree: FileTree, files: u32) -> TreeFiles {
        TreeFiles {
            directory: "/mnt".into(),
            tree,
            files,
            record_bytes: 1,
            attributes: 0,
            attribute_bytes: 0,
            mode: CHMOD_MODE,
        }
    }

    #[test]
    fn only_what_is_below_the_users_directories_is_removed() {
        let tree = FileTree { directories: vec!["/a".to_owned(), "b".to_owned()], ..FileTree::default() };
        let files = files(tree, 9);
        assert_eq!(top_of(&files, "/a/file_srcdir/thrd_00"), Path::new("/a"));
        assert_eq!(top_of(&files, "b/file_srcdir/thrd_00"), Path::new("/mnt/b"));
        assert_eq!(top_of(&self::files(FileTree::default(), 9), "file_srcdir"), Path::new("/mnt"));
    }
}
