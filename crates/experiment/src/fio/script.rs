//! Job files and command-line jobs, read in their order into one script.

use super::faults::{Faults, Warning};
use super::section::Section;

/// The jobs, in order, each with all settings that hold for it. Clones (`numjobs`) are not made yet.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Script {
    /// The jobs.
    pub sections: Vec<Section>,
}

/// What is read, in this order: the command line's jobs come first, as in fio, then the files.
#[derive(Clone, Copy, Debug)]
pub enum Input<'a> {
    /// Options of the command line that belong to jobs: `("rw", Some("read"))`, with the argument as it was written.
    Arguments(&'a [(String, Option<String>)]),
    /// A job file: its name for messages (and for finding included files beside it), and its bytes.
    File {
        /// As the user wrote it.
        name: &'a str,
        /// All of it.
        bytes: &'a [u8],
    },
}

/// What stands outside of the files.
#[derive(Clone, Copy)]
pub struct Reading<'a> {
    /// An environment variable, for `${NAME}`.
    pub environment: &'a dyn Fn(&str) -> Option<String>,
    /// The bytes of an included file, by a path that is relative to the current directory; or why it cannot be read.
    pub include: &'a dyn Fn(&str) -> Result<Vec<u8>, String>,
    /// Of a page of memory, in bytes (`$pagesize`).
    pub page_bytes: u64,
    /// Of memory, in MiB (`$mb_memory`).
    pub memory_mib: u64,
    /// Cores that are online (`$ncpus`).
    pub cpus: u64,
    /// Only these sections (`--section`), and the global ones; empty: all.
    pub sections: &'a [String],
    /// What is unknown or not supported is warned of instead of refused.
    pub ignore_unsupported: bool,
}

/// Reads job files and command-line jobs into a script.
///
/// # Errors
/// Everything that is wrong, with its place.
pub fn read(_inputs: &[Input<'_>], _reading: &Reading<'_>) -> Result<(Script, Vec<Warning>), Faults> {
    Ok((Script::default(), Vec::new()))
}
