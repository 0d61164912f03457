//! The input of `parse`: the file's text, and everything from outside it.

use crate::fleet::{Launcher, Sharing};
use crate::kind::TargetKind;

/// An experiment file's text and its name for messages.
#[derive(Clone, Copy, Debug)]
pub struct SourceText<'a> {
    /// The file's name for messages; its stem is the default name of the experiment.
    pub file: &'a str,
    /// The whole text.
    pub text: &'a str,
}

/// The file of hosts that `hosts: "@file"` or `--hosts @file` names is not read.
#[derive(Debug, thiserror::Error)]
pub enum HostsFileError {
    /// It cannot be read.
    #[error("the file of hosts {file:?} cannot be read: {error}; check its path")]
    Unreadable {
        /// The file, as named.
        file: String,
        /// What the system says.
        error: std::io::Error,
    },
    /// Experiments from elsewhere see no files of this host.
    #[error("the service reads no files; write the hosts as a list")]
    NotAllowed,
}

/// Input from the command line and the environment.
#[derive(Clone, Copy)]
pub struct Settings<'a> {
    /// The available kinds of targets, in the order of the documentation.
    pub kinds: &'a [&'static TargetKind],
    /// `--set KEY=VALUE`, in the order given: a parameter's name or a dotted path in the file, and its value.
    pub set: &'a [(String, String)],
    /// Looks up an environment variable: `MANOMETER_SET_name` for parameters, `NAME` for `${env:NAME}`.
    pub environment: &'a dyn Fn(&str) -> Option<String>,
    /// `--hosts`, `--local` and the like: overrides the file's launcher.
    pub launcher: Option<&'a Launcher>,
    /// `--sharing`: overrides the file's.
    pub sharing: Option<Sharing>,
    /// Reads the file for `hosts: "@file"`.
    pub read_hosts: &'a dyn Fn(&str) -> Result<String, HostsFileError>,
}

impl<'a> Settings<'a> {
    /// No settings and an empty environment.
    pub fn of(kinds: &'a [&'static TargetKind]) -> Self {
        let read_hosts = &|file: &str| {
            let error = std::io::Error::new(std::io::ErrorKind::Unsupported, "no files are read here");
            Err(HostsFileError::Unreadable { file: file.to_owned(), error })
        };
        Self { kinds, set: &[], environment: &|_| None, launcher: None, sharing: None, read_hosts }
    }
}

impl std::fmt::Debug for Settings<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Settings")
            .field("set", &self.set)
            .field("launcher", &self.launcher)
            .finish_non_exhaustive()
    }
}
