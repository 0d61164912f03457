//! After prepare, every byte must be on the storage: a hole in a file would be read at memory speed.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use engine::{DataSet, DataShape};
use targets::OpenTarget;
use units::Size;

/// Unit of the block count in `stat(2)`, in bytes, regardless of the file system's own blocks.
const STAT_BLOCK: u64 = 512;
/// Smaller files may be stored in their inode, without any block.
const SMALL: u64 = 4096;

/// A file that is not completely on the storage.
#[derive(Debug, thiserror::Error)]
#[error(
    "{}: {fault}; run with `prepare: fill_always`, and look at the file system if it comes again",
    path.display()
)]
pub struct IncompleteFile {
    /// The file.
    pub path: PathBuf,
    /// What is wrong with it.
    pub fault: FileFault,
}

/// What is wrong with a file.
#[derive(Debug, thiserror::Error)]
pub enum FileFault {
    /// It is missing, or cannot be looked at.
    #[error("{0}")]
    Unreadable(std::io::Error),
    /// It has another size.
    #[error("it has {bytes} bytes and should have {wanted_bytes}")]
    Size {
        /// Its size.
        bytes: u64,
        /// The size that was written.
        wanted_bytes: u64,
    },
    /// Parts of it are not allocated.
    #[error("only {} of {} are allocated: the file has holes", Size(*allocated_bytes).rounded(), Size(*bytes).rounded())]
    Holes {
        /// Bytes that are allocated.
        allocated_bytes: u64,
        /// Its size.
        bytes: u64,
    },
}

/// Checks the size of every file of a data set on this machine, and that space is allocated for all of it.
///
/// # Errors
/// The first file that is missing, has another size, or has holes.
pub fn check(opened: &dyn OpenTarget, data_set: &DataSet) -> Result<(), IncompleteFile> {
    let Some(directory) = opened.directory() else { return Ok(()) };
    if !matches!(data_set.shape(), DataShape::Files { .. }) {
        return Ok(());
    }
    let compresses = compressing(directory);
    for (number, size) in data_set.sizes() {
        let Some(path) = opened.path_of(number) else { continue };
        check_file(&path, size, compresses, opened.by_name().is_some())?;
    }
    Ok(())
}

/// The first of the user's files with holes, in a line: what they hold is read at memory speed.
pub fn holes(opened: &dyn OpenTarget, data_set: &DataSet) -> Option<String> {
    let compresses = compressing(opened.directory()?);
    let paths = data_set.sizes().filter_map(|(number, _)| opened.path_of(number));
    let sparse = paths.filter_map(|path| {
        let facts = std::fs::metadata(&path).ok().filter(|facts| facts.is_file())?;
        let allocated = allocated_of(&facts, facts.len(), compresses)?;
        Some(format!(
            "file {} has holes: only {} of {} are allocated; next: keep in mind that holes are read at memory speed, or \
             name a file without them",
            path.display(),
            Size(allocated).rounded(),
            Size(facts.len()).rounded()
        ))
    });
    sparse.into_iter().next()
}

/// `named` files may be larger than the part that is used, and devices need no allocation.
fn check_file(path: &Path, size: u64, compresses: bool, named: bool) -> Result<(), IncompleteFile> {
    let incomplete = |fault| IncompleteFile { path: path.to_owned(), fault };
    let facts = std::fs::metadata(path).map_err(|error| incomplete(FileFault::Unreadable(error)))?;
    if named && !facts.is_file() {
        return Ok(());
    }
    if facts.len() != size && !(named && facts.len() > size) {
        return Err(incomplete(FileFault::Size { bytes: facts.len(), wanted_bytes: size }));
    }
    match allocated_of(&facts, size, compresses) {
        Some(allocated_bytes) => Err(incomplete(FileFault::Holes { allocated_bytes, bytes: size })),
        None => Ok(()),
    }
}

/// Allocated bytes of a file that has holes in its `size` bytes; `None` if it has none.
fn allocated_of(facts: &Metadata, size: u64, compresses: bool) -> Option<u64> {
    let allocated = facts.blocks() * STAT_BLOCK;
    (allocated < size && size >= SMALL && !compresses).then_some(allocated)
}

/// File systems that may allocate fewer blocks than bytes without holes: they compress, or update the count late.
fn compressing(directory: &Path) -> bool {
    let mount = super::environment::mount_of(directory);
    mount.is_some_and(|(_, kind)| {
        ["btrfs ", "zfs ", "bcachefs ", "f2fs ", "erofs ", "ntfs"].iter().any(|name| kind.starts_with(name))
    })
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn a_file_with_a_hole_is_told_from_a_full_one() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("0");
        let mut file = std::fs::File::create(&path).unwrap();
        file.write_all(&vec![7; 1 << 20]).unwrap();
        file.sync_all().unwrap();
        check_file(&path, 1 << 20, false, false).unwrap();
        let short = check_file(&path, 2 << 20, false, false).unwrap_err().to_string();
        assert!(short.contains("has 1048576 bytes and should have 2097152"), "{short}");
        file.set_len(2 << 20).unwrap();
        file.sync_all().unwrap();
        let sparse = check_file(&path, 2 << 20, false, false).unwrap_err().to_string();
        assert!(sparse.contains("1.00 MiB of 2.00 MiB are allocated: the file has holes"), "{sparse}");
        check_file(&path, 2 << 20, true, false).unwrap();
        check_file(&path, 1 << 20, false, true).unwrap(); // A named file may be larger.
        assert!(check_file(&directory.path().join("1"), 1, false, false).is_err());
    }
}
