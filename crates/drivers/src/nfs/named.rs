//! Files that the user names, below the export's root, instead of numbered ones in our own directory.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;

use content::FileNames;
use wire::nfs3::FileHandle;

use super::lane::{LanePath, name_of};

/// How files are named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExportFiles {
    /// Value of `$jobname` in their names.
    pub job: String,
    /// Their names.
    pub names: FileNames,
    /// Number of the first worker.
    pub first_number: u32,
    /// Files of each worker, to size the cache of their handles: about 320 bytes for each, up to half a million.
    pub files: u32,
}

impl ExportFiles {
    /// Path of the file with this object number, relative to the export's root, without a leading `/`.
    pub fn path(&self, object: u64) -> String {
        let mut path = String::new();
        self.write_path(object, &mut path);
        path
    }

    /// Writes the same path over the contents of `path`; allocates nothing once that is long enough.
    pub(super) fn write_path(&self, object: u64, path: &mut String) {
        let (number, file) = FileNames::file_of(object);
        path.clear();
        let mut parts = Parts { path, part: 0 };
        // Writing to a string cannot fail.
        let _ = self.names.write_path(&self.job, number, file, &mut parts);
        parts.end();
    }
}

/// Writes a path without its redundant parts: empty ones and `.`.
struct Parts<'a> {
    path: &'a mut String,
    /// Where the last part starts.
    part: usize,
}

impl Parts<'_> {
    /// Ends a part, removing a redundant one.
    fn end_part(&mut self) {
        if &self.path[self.part..] == "." {
            self.path.truncate(self.part);
        }
    }

    fn end(&mut self) {
        self.end_part();
        if self.path.len() == self.part {
            self.path.truncate(self.part.saturating_sub(1));
        }
    }
}

impl fmt::Write for Parts<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for piece in text.split_inclusive('/') {
            self.path.push_str(piece.trim_end_matches('/'));
            if piece.ends_with('/') {
                self.end_part();
                if self.path.len() > self.part {
                    self.path.push('/');
                    self.part = self.path.len();
                }
            }
        }
        Ok(())
    }
}

/// The name of a file in its directory.
pub(super) enum FileName<'a> {
    /// Of an object in our directory.
    Numbered([u8; 16]),
    /// Of a named file: its path, and where the name starts in it.
    Named(LanePath<'a>, usize),
}

impl FileName<'_> {
    pub(super) fn numbered(object: u64) -> Self {
        FileName::Numbered(name_of(object))
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        match self {
            FileName::Numbered(name) => name,
            FileName::Named(path, at) => &path.text.as_bytes()[*at..],
        }
    }
}

/// The directory of a path and the name in it.
pub(super) fn split(path: &str) -> (&str, &str) {
    path.rsplit_once('/').unwrap_or(("", path))
}

/// The directory handles seen so far, by path.
#[derive(Default)]
pub(super) struct Directories(RefCell<BTreeMap<String, FileHandle>>);

impl Directories {
    pub(super) fn get(&self, path: &str) -> Option<FileHandle> {
        self.0.borrow().get(path).copied()
    }

    pub(super) fn insert(&self, path: &str, handle: FileHandle) {
        self.0.borrow_mut().insert(path.to_owned(), handle);
    }

    /// Forgets all: one of them may be stale.
    pub(super) fn forget(&self) {
        self.0.borrow_mut().clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_begin_at_the_root() {
        let names =
            FileNames { directories: vec!["/a/".to_owned(), "./b//c".to_owned()], ..FileNames::default() };
        let named = ExportFiles { job: "w".to_owned(), names, first_number: 0, files: 1 };
        assert_eq!(named.path(0), "a/w.0.0");
        assert_eq!(named.path((1 << 32) | 5), "b/c/w.1.5");
        for (format, expected) in [
            ("./x", "x"),
            ("x/.", "x"),
            ("x//./y/", "x/y"),
            ("/", ""),
            ("../x", "../x"),
            (".x/y.", ".x/y."),
            ("$clientuid./x", "x"),
        ] {
            let names = FileNames { format: format.to_owned(), ..FileNames::default() };
            let named = ExportFiles { job: "w".to_owned(), names, first_number: 0, files: 1 };
            assert_eq!(named.path(0), expected, "{format}");
        }
        assert_eq!(split("b/c/w.1.5"), ("b/c", "w.1.5"));
        assert_eq!(split("w"), ("", "w"));
    }
}
