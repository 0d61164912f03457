//! Walks through a tree of directories that exists.

use std::fs;
use std::io;
use std::os::linux::fs::MetadataExt;
use std::path::Path;

use content::EntryKind;

use super::manage::failed;
use crate::tree_walk::{LeftOut, Pending, VisitEntry, WalkError, below, top_of};

/// Walks the tree at `path`, which is relative to `base` unless it starts with `/`. Entries are visited with paths of the same
/// kind. Symbolic links are not followed, and other file systems not entered. What vanishes meanwhile is left out.
///
/// # Errors
/// A directory cannot be read, or what `visit` returns.
pub fn walk_tree(base: &Path, path: &str, visit: VisitEntry<'_>) -> Result<LeftOut, WalkError> {
    let top = top_of(path);
    let facts = fs::metadata(base.join(&top)).map_err(|e| failed("directory", &base.join(&top), &e))?;
    if !facts.is_dir() {
        let error = io::Error::from(io::ErrorKind::NotADirectory);
        return Err(failed("directory", &base.join(&top), &error).into());
    }
    let mut left_out = LeftOut::default();
    visit(EntryKind::Directory, &top, 0)?;
    let mut pending = Pending::from(top, ());
    while let Some((directory, ())) = pending.next() {
        let place = base.join(&directory);
        let entries = match fs::read_dir(&place) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            entries => entries.map_err(|e| failed("directory", &place, &e))?,
        };
        for entry in entries {
            let entry = entry.map_err(|e| failed("directory", &place, &e))?;
            let name = entry.file_name();
            let Some(name) = name.to_str() else {
                left_out.names += 1;
                continue;
            };
            // That of the link itself, if it is one.
            let found = match entry.metadata() {
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                found => found.map_err(|e| failed("file", &place.join(name), &e))?,
            };
            let path = below(&directory, name);
            if found.is_dir() {
                if found.st_dev() != facts.st_dev() {
                    left_out.mounts += 1;
                    continue;
                }
                visit(EntryKind::Directory, &path, 0)?;
                pending.add(path, ())?;
            } else if found.is_symlink() {
                visit(EntryKind::Link, &path, 0)?;
            } else if found.is_file() {
                visit(EntryKind::File, &path, found.len())?;
            } else {
                left_out.others += 1;
            }
        }
    }
    Ok(left_out)
}
