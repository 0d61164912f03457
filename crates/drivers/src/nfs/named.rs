//! Files at paths of the user's, below the export's root, instead of numbered ones in our own directory.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::fmt;

use content::{FileNames, FileTree, TreeFile};
use wire::nfs3::FileHandle;

use super::lane::LanePath;

/// How files are named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExportNames {
    /// As the files of a job or a mix, or those of a tree that exists.
    Files {
        /// Value of `$jobname` in their names.
        job: String,
        /// Their names.
        names: FileNames,
    },
    /// As the files of a pass.
    Tree(ExportTree),
}

/// The files of a pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExportTree {
    /// Where they are; its directories are below the export's root.
    pub tree: FileTree,
    /// Files of each of the tree's workers.
    pub files: u32,
    /// Maximum number of bytes of a READ or WRITE.
    pub record_bytes: u32,
    /// The permissions that chmod sets.
    pub mode: u32,
}

/// Files at paths below the export's root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExportFiles {
    /// Their names.
    pub names: ExportNames,
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
        write_normal(path, |parts| match &self.names {
            ExportNames::Files { job, names } => {
                let (number, file) = FileNames::file_of(object);
                names.write_path(job, number, file, parts)
            }
            ExportNames::Tree(of) => of.tree.write_path(TreeFile::of(object), of.files, parts),
        });
    }

    /// Writes the path of the directory that an operation on an object lists.
    pub(super) fn write_listed(&self, object: u64, path: &mut String) {
        match &self.names {
            // A tree that exists: its directories are objects too.
            ExportNames::Files { .. } => self.write_path(object, path),
            ExportNames::Tree(of) => {
                write_normal(path, |parts| of.tree.write_directory(TreeFile::of(object), of.files, parts));
            }
        }
    }

    /// The files of a pass; `None` if these are others.
    pub(super) fn tree(&self) -> Option<&ExportTree> {
        match &self.names {
            ExportNames::Tree(tree) => Some(tree),
            ExportNames::Files { .. } => None,
        }
    }

    /// Whether the files are those of a tree that exists, which are only read.
    pub(super) fn are_found(&self) -> bool {
        matches!(&self.names, ExportNames::Files { names, .. } if names.are_found())
    }

    /// The object that a file's content belongs to, whatever the file's name at the time.
    #[inline]
    pub(super) fn content_of(&self, object: u64) -> u64 {
        match &self.names {
            ExportNames::Tree(_) => TreeFile::first_name(object),
            ExportNames::Files { .. } => object,
        }
    }
}

/// A path without its redundant parts, relative to the export's root.
pub fn export_path(text: &str) -> String {
    let mut path = String::new();
    write_normal(&mut path, |parts| fmt::Write::write_str(parts, text));
    path
}

/// Writes a path over the contents of `path`, without its redundant parts.
fn write_normal(path: &mut String, write: impl FnOnce(&mut Parts<'_>) -> fmt::Result) {
    path.clear();
    let mut parts = Parts { path, part: 0 };
    // Writing to a string cannot fail.
    let _ = write(&mut parts);
    parts.end();
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

impl<'a> FileName<'a> {
    /// Of a named file; its path is written into a lane's buffer.
    pub(super) fn named(named: &ExportFiles, object: u64, buffer: &'a Cell<String>) -> Self {
        let mut path = LanePath::take(buffer);
        named.write_path(object, &mut path.text);
        let at = path.text.len() - split(&path.text).1.len();
        FileName::Named(path, at)
    }

    /// The path of a named file's directory.
    pub(super) fn parent(&self) -> &str {
        match self {
            FileName::Numbered(_) => "",
            FileName::Named(path, _) => split(&path.text).0,
        }
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
    use content::TreeRole;

    use super::*;

    fn of(names: FileNames) -> ExportFiles {
        let names = ExportNames::Files { job: "w".to_owned(), names };
        ExportFiles { names, first_number: 0, files: 1 }
    }

    #[test]
    fn the_files_of_a_pass_are_in_its_tree() {
        let tree = FileTree { directories: vec!["/a/./b".to_owned()], ..FileTree::default() };
        let names = ExportNames::Tree(ExportTree { tree, files: 10, record_bytes: 1, mode: 0 });
        let named = ExportFiles { names, first_number: 0, files: 10 };
        let object = |role| TreeFile { role, host: 0, worker: 2, file: 7 }.object();
        assert_eq!(named.path(object(TreeRole::File)), "a/b/file_srcdir/thrd_02/d_000/__02_7_");
        assert_eq!(named.path(object(TreeRole::Renamed)), "a/b/file_dstdir/thrd_02/d_000/__02_7_");
        let mut listed = String::new();
        named.write_listed(object(TreeRole::File), &mut listed);
        assert_eq!(listed, "a/b/file_srcdir/thrd_02/d_000");
        assert_eq!(named.content_of(object(TreeRole::Temporary)), object(TreeRole::File));
        assert_eq!(export_path("//x/./y/"), "x/y");
    }

    #[test]
    fn paths_begin_at_the_root() {
        let names =
            FileNames { directories: vec!["/a/".to_owned(), "./b//c".to_owned()], ..FileNames::default() };
        let named = of(names);
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
            assert_eq!(of(names).path(0), expected, "{format}");
        }
        assert_eq!(split("b/c/w.1.5"), ("b/c", "w.1.5"));
        assert_eq!(split("w"), ("", "w"));
    }
}
