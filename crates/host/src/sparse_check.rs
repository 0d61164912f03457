//! After prepare, every byte must be on the storage: a hole in a file would be read at memory speed.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use engine::{DataSet, DataShape};
use targets::OpenTarget;
use units::Size;

/// Unit of the block count in `stat(2)`, in bytes, regardless of the file system's own blocks.
const STAT_BLOCK: u64 = 512;
/// Smaller files may be stored in their inode, without any block.
const SMALL: u64 = 4096;

/// Checks the size of every file of a data set on this machine, and that space is allocated for all of it.
///
/// # Errors
/// The first file that is missing, has another size, or has holes; one line.
pub fn check(opened: &dyn OpenTarget, data_set: &DataSet) -> Result<(), String> {
    let Some(directory) = opened.directory() else { return Ok(()) };
    if !matches!(data_set.shape(), DataShape::Files { .. }) {
        return Ok(());
    }
    let compresses = compressing(directory);
    for (number, size) in data_set.sizes() {
        let path = directory.join(format!("{number:016x}"));
        check_file(&path, size, compresses)?;
    }
    Ok(())
}

fn check_file(path: &Path, size: u64, compresses: bool) -> Result<(), String> {
    let next = "run with `prepare: fill_always`, and look at the file system if it comes again";
    let facts = std::fs::metadata(path).map_err(|error| format!("{}: {error}; {next}", path.display()))?;
    if facts.len() != size {
        return Err(format!(
            "{}: it has {} bytes and should have {size}; {next}",
            path.display(),
            facts.len()
        ));
    }
    let allocated = facts.blocks() * STAT_BLOCK;
    if allocated < size && size >= SMALL && !compresses {
        return Err(format!(
            "{}: only {} of {} are allocated: the file has holes; {next}",
            path.display(),
            Size(allocated).rounded(),
            Size(size).rounded()
        ));
    }
    Ok(())
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
        assert_eq!(check_file(&path, 1 << 20, false), Ok(()));
        let short = check_file(&path, 2 << 20, false).unwrap_err();
        assert!(short.contains("has 1048576 bytes and should have 2097152"), "{short}");
        file.set_len(2 << 20).unwrap();
        file.sync_all().unwrap();
        let sparse = check_file(&path, 2 << 20, false).unwrap_err();
        assert!(sparse.contains("1.00 MiB of 2.00 MiB are allocated: the file has holes"), "{sparse}");
        assert_eq!(check_file(&path, 2 << 20, true), Ok(()));
        assert!(check_file(&directory.path().join("1"), 1, false).is_err());
    }
}
