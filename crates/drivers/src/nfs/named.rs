//! Files that the user names, below the export's root, instead of numbered ones in a directory of ours.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;

use content::FileNames;
use wire::nfs3::FileHandle;

use super::lane::{LanePath, name_of};

/// How files are named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExportFiles {
    /// What `$jobname` stands for in their names.
    pub job: String,
    /// Their names.
    pub names: FileNames,
    /// Number of the first worker.
    pub first_number: u32,
    /// Files of each worker, so that room is made for their handles.
    pub files: u32,
}

impl ExportFiles {
    /// The path of the file that operations name by this number, from the export's root on, without a `/` before it.
    pub fn path(&self, object: u64) -> String {
        let mut path = String::new();
        self.write_path(object, &mut path);
        path
    }

    /// Puts the same path in the place of what `path` holds; nothing is allocated once that is long enough.
    pub(super) fn write_path(&self, object: u64, path: &mut String) {
        let (number, file) = FileNames::file_of(object);
        path.clear();
        let mut parts = Parts { path, part: 0 };
        // A string has room for everything.
        let _ = self.names.write_path(&self.job, number, file, &mut parts);
        parts.end();
    }
}

/// Writes a path without the parts that mean nothing: empty ones and `.`.
struct Parts<'a> {
    path: &'a mut String,
    /// Where the last part begins.
    part: usize,
}

impl Parts<'_> {
    /// Ends a part: one that means nothing is gone again.
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
    /// Of a named file: its path, and where in that the name begins.
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

/// A path in its directory and the name in it.
pub(super) fn split(path: &str) -> (&str, &str) {
    path.rsplit_once('/').unwrap_or(("", path))
}

/// The handles of the directories that were met, by path.
#[derive(Default)]
pub(super) struct Directories(RefCell<BTreeMap<String, FileHandle>>);

impl Directories {
    pub(super) fn get(&self, path: &str) -> Option<FileHandle> {
        self.0.borrow().get(path).copied()
    }

    pub(super) fn insert(&self, path: &str, handle: FileHandle) {
        self.0.borrow_mut().insert(path.to_owned(), handle);
    }

    /// Forgets all: one may be stale.
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
