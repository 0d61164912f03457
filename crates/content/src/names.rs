//! User-defined file names.

use std::fmt::{self, Write};
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{PathList, is_default};

/// How files are named. Paths are relative to the target's directory unless they start with `/`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct FileNames {
    /// Directories, assigned to workers round-robin; empty for the target's own.
    #[serde(skip_serializing_if = "is_default")]
    pub directories: Vec<String>,
    /// The names, the same for all workers. If empty, names follow `format`.
    #[serde(skip_serializing_if = "is_default")]
    pub listed: Vec<String>,
    /// Format with `$jobname`, `$jobnum` (number of the worker), `$filenum` and `$clientuid`, the host of a fleet,
    /// empty without one. If empty: `$jobname.$jobnum.$filenum`.
    #[serde(skip_serializing_if = "is_default")]
    pub format: String,
    /// The paths of a tree that exists, found by a walk; they come before all others. Nobody writes them down.
    #[serde(skip)]
    pub found: Option<Arc<PathList>>,
}

/// The default name format.
pub const USUAL_FORMAT: &str = "$jobname.$jobnum.$filenum";

impl FileNames {
    /// The path of a file of the worker with this number (counted over all clones of the job).
    pub fn path(&self, job: &str, number: u32, file: u32) -> String {
        let mut path = String::new();
        // Writing to a string cannot fail.
        let _ = self.write_path(job, number, file, &mut path);
        path
    }

    /// Writes the same path without allocating.
    ///
    /// # Errors
    /// If `out` fails.
    pub fn write_path(&self, job: &str, number: u32, file: u32, out: &mut impl Write) -> fmt::Result {
        let directory = match self.directories.len() {
            0 => None,
            count => Some(&self.directories[number as usize % count]),
        };
        let mut first = FirstByte(None);
        if directory.is_some() {
            // It ends with an error once the first byte is known.
            let _ = self.write_name(job, number, file, &mut first);
        }
        if let Some(directory) = directory.filter(|_| first.0 != Some(b'/')) {
            out.write_str(directory.trim_end_matches('/'))?;
            out.write_char('/')?;
        }
        self.write_name(job, number, file, out)
    }

    fn write_name(&self, job: &str, number: u32, file: u32, out: &mut impl Write) -> fmt::Result {
        if let Some(found) = &self.found {
            return found.get(file as usize).map_or(Err(fmt::Error), |path| out.write_str(path));
        }
        match self.listed.get(file as usize) {
            Some(name) => out.write_str(name),
            None => {
                let format = if self.format.is_empty() { USUAL_FORMAT } else { &self.format };
                write_format(format, Some(job), (number, file), out)
            }
        }
    }

    /// The number of the first worker with the same files as this worker: workers whose files have the same paths share
    /// them.
    pub fn worker_of(&self, number: u32) -> u32 {
        let listed = !self.listed.is_empty() || self.found.is_some();
        let own = !listed && (self.format.is_empty() || self.format.contains("$jobnum"));
        let absolute = listed && self.listed.iter().all(|name| name.starts_with('/'));
        match self.directories.len() as u32 {
            _ if own => number,
            0 | 1 => 0,
            _ if absolute => 0,
            several => number % several,
        }
    }

    /// The number that identifies a file in operations: the same for all workers that share the file. `number` is the
    /// worker's, counted over all clones of the job.
    pub fn object(&self, number: u32, file: u32) -> u64 {
        u64::from(self.worker_of(number)) << 32 | u64::from(file)
    }

    /// The file identified by a number: the first worker that has it, and the file's number.
    pub const fn file_of(object: u64) -> (u32, u32) {
        ((object >> 32) as u32, object as u32)
    }

    /// Whether they are those of a tree that exists, which is only read.
    pub const fn are_found(&self) -> bool {
        self.found.is_some()
    }

    /// Whether all workers use the same files.
    pub fn are_shared(&self) -> bool {
        (0..self.directories.len().max(2) as u32).all(|number| self.worker_of(number) == 0)
    }
}

/// Expands a format; the job's name may contain variables too, but not itself.
fn write_format(
    mut format: &str,
    job: Option<&str>,
    (number, file): (u32, u32),
    out: &mut impl Write,
) -> fmt::Result {
    while let Some(at) = format.find('$') {
        out.write_str(&format[..at])?;
        format = &format[at..];
        format = if let (Some(job), Some(rest)) = (job, format.strip_prefix("$jobname")) {
            write_format(job, None, (number, file), out)?;
            rest
        } else if let Some(rest) = format.strip_prefix("$clientuid") {
            rest
        } else if let Some(rest) = format.strip_prefix("$jobnum") {
            write!(out, "{number}")?;
            rest
        } else if let Some(rest) = format.strip_prefix("$filenum") {
            write!(out, "{file}")?;
            rest
        } else {
            out.write_char('$')?;
            &format[1..]
        };
    }
    out.write_str(format)
}

/// Accepts the first byte, then fails.
struct FirstByte(Option<u8>);

impl Write for FirstByte {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0 = text.bytes().next();
        if self.0.is_some() { Err(fmt::Error) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_say_where_files_are() {
        let path = |directories: &[&str], format: &str, job: &str| {
            let directories = directories.iter().map(|name| (*name).to_owned()).collect();
            let names = FileNames { directories, format: format.to_owned(), ..FileNames::default() };
            names.path(job, 13, 7)
        };
        assert_eq!(path(&[], "", "job"), "job.13.7");
        assert_eq!(path(&[], "f.$clientuid.$jobnum.$filenum", "job"), "f..13.7");
        assert_eq!(path(&["/a/", "b//"], "", "job"), "b/job.13.7");
        assert_eq!(path(&["a"], "/x/$filenum", "job"), "/x/7");
        assert_eq!(path(&["a"], "$jobname", "/x"), "/x");
        assert_eq!(path(&["a"], "$clientuid/$jobname", "x"), "/x");
        assert_eq!(path(&[], "$$jobnum$x$", "job"), "$13$x$");
        assert_eq!(path(&[], "$jobname-$jobnumber", "j$filenum$jobname"), "j7$jobname-13ber");
        let listed = FileNames { listed: vec!["one".to_owned(), "/two".to_owned()], ..FileNames::default() };
        assert_eq!([0, 1, 2].map(|file| listed.path("j", 0, file)), ["one", "/two", "j.0.2"]);
    }

    #[test]
    fn the_files_of_a_tree_have_their_own_paths() {
        let found = PathList::of(["a/b", "c"]).map(Arc::new);
        let names = FileNames { found, format: "x".to_owned(), ..FileNames::default() };
        assert_eq!([0, 1].map(|file| names.path("j", 7, file)), ["a/b", "c"]);
        assert!(names.are_found() && names.are_shared());
        assert_eq!(names.object(3, 1), 1);
        assert_eq!(names.write_path("j", 0, 2, &mut String::new()), Err(fmt::Error));
    }

    #[test]
    fn workers_share_files_whose_paths_are_the_same() {
        let names = |directories: &[&str], listed: &[&str], format: &str| FileNames {
            directories: directories.iter().map(|name| (*name).to_owned()).collect(),
            listed: listed.iter().map(|name| (*name).to_owned()).collect(),
            format: format.to_owned(),
            found: None,
        };
        for names in [
            names(&[], &[], ""),
            names(&["d", "e"], &[], ""),
            names(&[], &["x"], ""),
            names(&["d", "e"], &["x"], ""),
            names(&["d", "e"], &["/x"], ""),
            names(&[], &[], "$jobname.$filenum"),
            names(&["d", "e", "f"], &[], "$filenum"),
            names(&[], &[], "$jobnum/$filenum"),
        ] {
            for number in 0..8 {
                for other in 0..8 {
                    let same = names.path("a", number, 0) == names.path("a", other, 0);
                    assert_eq!(same, names.worker_of(number) == names.worker_of(other), "{names:?}");
                }
            }
        }
    }
}
