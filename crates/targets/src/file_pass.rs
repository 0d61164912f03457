//! The files of a pass on this machine: where they are, and the directories that it makes and removes.

use std::collections::BTreeSet;
use std::fs;
use std::io::ErrorKind as Io;
use std::path::{Path, PathBuf};

use drivers::DriverError;
use drivers::file::{Place as Where, TreeFiles};
use experiment::{Pass, PassStep, TreeFile, TreeRole};
use metrics::ErrorKind;

use super::file::{FileTarget, no_directory};
use super::{OpenRequest, TargetError};

/// The permissions that a pass's chmod sets.
const CHMOD_MODE: u32 = 0o646;

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
    pub(super) fn make_directories(&self, pass: &Pass, lanes: u32) -> Result<(), TargetError> {
        if !pass.does(PassStep::makes) {
            return Ok(());
        }
        let files = self.tree()?;
        for lane in lanes_with_directories(files, lanes) {
            for directory in directories(files, lane) {
                let path = files.directory.join(directory);
                fs::create_dir_all(&path).map_err(|error| failed("making directory", &path, &error))?;
            }
        }
        Ok(())
    }

    /// Removes the directories of a pass that cleans up, as far as they are empty.
    pub(super) fn remove_directories(&self, pass: &Pass, lanes: u32) -> Result<(), TargetError> {
        if !pass.does(|step| step == PassStep::CleanUp) {
            return Ok(());
        }
        let files = self.tree()?;
        for lane in lanes_with_directories(files, lanes) {
            for directory in directories(files, lane) {
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
        }
        Ok(())
    }
}

/// The lanes whose directories differ.
fn lanes_with_directories(files: &TreeFiles, lanes: u32) -> std::ops::Range<u32> {
    0..if files.tree.shared { 1 } else { lanes }
}

/// Where the part of the tree with a directory begins: one of the user's directories.
fn top_of(files: &TreeFiles, directory: &str) -> PathBuf {
    let tops = files.tree.directories.iter().map(|top| files.directory.join(top));
    let path = files.directory.join(directory);
    tops.filter(|top| path.starts_with(top)).max().unwrap_or_else(|| files.directory.clone())
}

/// The directories of a lane's files in both trees.
fn directories(files: &TreeFiles, lane: u32) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    let tree = &files.tree;
    for file in 1..=files.files {
        if !tree.hashed && tree.first_of(file, files.files).is_none() {
            continue;
        }
        for role in [TreeRole::File, TreeRole::Renamed] {
            let mut path = String::new();
            let of = TreeFile { role, host: 0, worker: lane, file };
            // Writing to a string cannot fail.
            let _ = tree.write_directory(of, files.files, &mut path);
            all.insert(path);
        }
    }
    all
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
    fn a_lane_has_the_directories_of_all_its_files() {
        let tops = vec!["/a".to_owned(), "b".to_owned()];
        for hashed in [false, true] {
            let tree =
                FileTree { files_per_directory: 3, hashed, directories: tops.clone(), ..FileTree::default() };
            let files = files(tree, 40);
            let made = directories(&files, 2);
            for file in 1..=40 {
                for role in [TreeRole::File, TreeRole::Renamed, TreeRole::Symlink, TreeRole::Directory] {
                    let path = files.tree.path(TreeFile { role, host: 0, worker: 2, file }, 40);
                    let (directory, _) = path.rsplit_once('/').unwrap();
                    assert!(made.contains(directory), "{path} has no directory");
                }
            }
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
