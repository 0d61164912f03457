//! Reads kernel statistics from files below a root, so that tests can supply a tree of their own.

use std::fs;
use std::path::{Path, PathBuf};

/// The root of the files.
#[derive(Clone, Debug)]
pub(super) struct Source {
    root: PathBuf,
}

impl Source {
    /// This host.
    pub(super) fn host() -> Self {
        Self::below(Path::new("/"))
    }

    /// A tree that looks like a host's.
    pub(super) fn below(root: &Path) -> Self {
        Self { root: root.to_owned() }
    }

    /// The path of a file.
    pub(super) fn path(&self, file: &str) -> PathBuf {
        self.root.join(file)
    }

    /// A file's text; `None` where it is missing or not readable.
    pub(super) fn text(&self, file: &str) -> Option<String> {
        fs::read_to_string(self.path(file)).ok()
    }

    /// A file's only number.
    pub(super) fn number(&self, file: &str) -> Option<i64> {
        self.text(file)?.trim().parse().ok()
    }

    /// The first `most` names in a directory, sorted.
    pub(super) fn names(&self, directory: &str, most: usize) -> Vec<String> {
        let entries = fs::read_dir(self.path(directory)).into_iter().flatten().filter_map(Result::ok);
        let mut names: Vec<String> =
            entries.filter_map(|entry| entry.file_name().into_string().ok()).take(most).collect();
        names.sort();
        names
    }
}

/// A part of a whole, from 0 to 1, rounded to a thousandth.
pub(super) fn share(part: f64, whole: f64) -> f32 {
    if whole > 0.0 { thousandth((part / whole).clamp(0.0, 1.0)) } else { 0.0 }
}

/// A number rounded to a thousandth.
pub(super) fn thousandth(value: f64) -> f32 {
    ((value * 1000.0).round() / 1000.0) as f32
}

/// Rate per second over this many nanoseconds.
pub(super) fn per_second(count: u64, length_ns: u64) -> f64 {
    if length_ns == 0 { 0.0 } else { count as f64 * 1e9 / length_ns as f64 }
}
