//! Walks through trees of files that exist: what walks of directories and of exports have in common.

use content::{EntryKind, PathList, TreeTooLarge};

use crate::DriverError;

/// Notes an entry: its kind, its path, and its size in bytes if it is a file.
pub type VisitEntry<'a> = &'a mut dyn FnMut(EntryKind, &str, u64) -> Result<(), TreeTooLarge>;

/// Why a tree was not walked to its end.
#[derive(Debug, thiserror::Error)]
pub enum WalkError {
    /// A directory cannot be read.
    #[error(transparent)]
    Driver(#[from] DriverError),
    /// There is more in it than fits.
    #[error(transparent)]
    TooLarge(#[from] TreeTooLarge),
}

/// What a walk left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// Names that are no UTF-8.
    pub names: u64,
    /// Entries that are neither file, symbolic link nor directory.
    pub others: u64,
    /// Directories of other file systems.
    pub mounts: u64,
}

/// The directories that are still to be walked, each with what finds it. Their paths have at most as many bytes as those that
/// are kept.
pub(crate) struct Pending<T> {
    all: Vec<(String, T)>,
    bytes: usize,
}

impl<T> Pending<T> {
    /// A walk from this directory on.
    pub(crate) fn from(top: String, found_by: T) -> Self {
        Pending { bytes: top.len(), all: vec![(top, found_by)] }
    }

    pub(crate) fn next(&mut self) -> Option<(String, T)> {
        let next = self.all.pop()?;
        self.bytes -= next.0.len();
        Some(next)
    }

    pub(crate) fn add(&mut self, path: String, found_by: T) -> Result<(), TreeTooLarge> {
        let bytes = self.bytes + path.len();
        if bytes + size_of::<(String, T)>() > PathList::MAX_BYTES {
            return Err(TreeTooLarge::Paths);
        }
        self.bytes = bytes;
        self.all.push((path, found_by));
        Ok(())
    }
}

/// The path of an entry of a directory; `.` is the top.
pub(crate) fn below(directory: &str, name: &str) -> String {
    match directory {
        "." => name.to_owned(),
        _ => format!("{directory}/{name}"),
    }
}

/// A tree's top without redundant parts: `a/./b/` is `a/b`, and nothing is `.`.
pub(crate) fn top_of(path: &str) -> String {
    let absolute = if path.starts_with('/') { "/" } else { "" };
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    match parts.is_empty() {
        true if absolute.is_empty() => ".".to_owned(),
        _ => format!("{absolute}{}", parts.join("/")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tops_are_written_in_one_way() {
        for (path, top) in
            [(".", "."), ("./", "."), ("a/./b/", "a/b"), ("/", "/"), ("/x//y", "/x/y"), ("..a", "..a")]
        {
            assert_eq!(top_of(path), top);
        }
        assert_eq!((below(".", "x"), below("a/b", "x")), ("x".to_owned(), "a/b/x".to_owned()));
    }
}
