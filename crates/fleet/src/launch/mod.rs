//! Starting agents with the tools that people run already.
//!
//! Whatever the tool, an agent is a process of this host whose standard input and output are the pipe. It is given back
//! once it has said its first byte, so that a tool that starts and never gets there is found here, with what it printed.

mod command;
mod deadline;
mod local;
mod process;
mod start;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use experiment::Launcher;
use provision::Secret;

pub use deadline::Deadline;
pub use process::{AgentProcess, Launched};

/// Where a launcher tells people what it waits for, and afterwards what it could not give back.
pub type Say = Arc<dyn Fn(&str) + Send + Sync>;

/// How agents are started, whatever starts them.
pub struct LaunchSettings<'a> {
    /// This program, as `local` starts it and `ssh` copies it.
    pub program: PathBuf,
    /// The arguments that make it an agent.
    pub agent: Vec<String>,
    /// The program's version: part of the path on hosts that it is copied to.
    pub version: String,
    /// The password for ssh, when a password is to be used.
    pub password: Option<Secret>,
    /// The longest that starting all agents may take.
    pub start_timeout: Duration,
    /// Says that the user wants no agents any more.
    pub stop: &'a (dyn Fn() -> bool + Sync),
}

impl<'a> LaunchSettings<'a> {
    /// The settings of a program that is started with `agent` as its only argument.
    pub fn new(version: &str, start_timeout: Duration, stop: &'a (dyn Fn() -> bool + Sync)) -> Self {
        Self {
            // The very program that runs, also when another has taken its name meanwhile.
            program: PathBuf::from("/proc/self/exe"),
            agent: vec!["agent".to_owned()],
            version: version.to_owned(),
            password: None,
            start_timeout,
            stop,
        }
    }
}

/// Why there are no agents.
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    /// What was asked for cannot be: wrong usage.
    #[error("{0}")]
    Input(String),
    /// The tool that starts them all failed.
    #[error("{0}")]
    Tool(String),
    /// Some hosts could not be started.
    #[error("{}", lines(.0).join("; "))]
    Hosts(Vec<HostFailure>),
}

/// A host whose agent could not be started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostFailure {
    /// The host.
    pub name: String,
    /// What was tried, what came back, what to do next.
    pub text: String,
}

impl LaunchError {
    /// One line for each thing that went wrong.
    pub fn lines(&self) -> Vec<String> {
        match self {
            Self::Input(text) | Self::Tool(text) => vec![text.clone()],
            Self::Hosts(failures) => lines(failures),
        }
    }
}

fn lines(failures: &[HostFailure]) -> Vec<String> {
    failures.iter().map(|failure| format!("{}: {}", failure.name, failure.text)).collect()
}

/// Starts the agents of a fleet, all at once. Each is ended when its [`AgentProcess`] is dropped, and what the launcher
/// holds for all of them (an allocation, a job) is given back with the last.
///
/// # Errors
/// One line for each host that could not be started; no agent stays then.
pub fn launch(
    launcher: &Launcher,
    settings: &LaunchSettings<'_>,
    _say: &Say,
) -> Result<Vec<Launched>, LaunchError> {
    match launcher {
        Launcher::Local { count } => local::launch(*count, settings),
        Launcher::Command { hosts, command } => command::launch(hosts, command, settings),
        Launcher::Ssh { .. } | Launcher::Slurm { .. } | Launcher::Kubernetes(_) => {
            Err(LaunchError::Input("this launcher is not part of this program".to_owned()))
        }
    }
}

#[cfg(test)]
mod tests;
