//! Starts agents with tools that people already use.
//!
//! With every tool, an agent is a process of this host whose standard input and output are the pipe. It is returned
//! after its first byte, so that a tool that starts but never gets there is detected here, with its output.

mod askpass;
mod command;
mod copy;
mod deadline;
mod gzip;
mod idle;
mod kubernetes;
mod local;
mod once;
mod process;
mod sending;
mod slurm;
mod ssh;
mod start;
mod start_error;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use experiment::Launcher;
use provision::ApiSecret;

pub use askpass::askpass;
pub use copy::quoted;
pub use deadline::Deadline;
pub use idle::idle;
pub use once::{OutputError, output_of};
pub use process::{AgentProcess, Launched};
pub use start_error::{AgentStartError, CopyError};

/// Where a launcher tells people what it waits for, and at the end what it could not release.
pub type Say = Arc<dyn Fn(&str) + Send + Sync>;

/// How a fleet logs in by ssh, beside what the user's own configuration says.
#[derive(Clone, Debug, Default)]
pub struct SshLogin {
    /// Password of all hosts.
    pub password: Option<ApiSecret>,
    /// Options that come before the fleet's own: ssh uses the first value of each.
    pub options: Vec<String>,
}

/// How agents are started, for all launchers.
pub struct LaunchSettings<'a> {
    /// This program, as `local` starts it and `ssh` copies it.
    pub program: PathBuf,
    /// The arguments that make it an agent.
    pub agent: Vec<String>,
    /// The program's version: part of its path on hosts that it is copied to.
    pub version: String,
    /// How to log in by ssh.
    pub login: SshLogin,
    /// Timeout of starting all agents.
    pub start_timeout: Duration,
    /// A directory to search for ssh, srun and the like; `None`: the PATH.
    pub tools: Option<PathBuf>,
    /// Whether the user has cancelled.
    pub stop: &'a (dyn Fn() -> bool + Sync),
}

impl<'a> LaunchSettings<'a> {
    /// Settings for a program that is started with `agent` as its only argument.
    pub fn new(version: &str, start_timeout: Duration, stop: &'a (dyn Fn() -> bool + Sync)) -> Self {
        Self {
            // The very program that is running, even if another has replaced its file.
            program: PathBuf::from("/proc/self/exe"),
            agent: vec!["agent".to_owned()],
            version: version.to_owned(),
            login: SshLogin::default(),
            tools: None,
            start_timeout,
            stop,
        }
    }

    fn tool(&self, name: &str) -> PathBuf {
        self.tools.as_ref().map_or_else(|| PathBuf::from(name), |directory| directory.join(name))
    }
}

/// Why the agents could not be started.
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    /// The request is impossible: a usage error.
    #[error("{0}")]
    Input(String),
    /// The tool that starts all of them failed.
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
    /// One line per problem.
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

/// Starts the agents of a fleet, all at once. Each is ended when its [`AgentProcess`] is dropped; what the launcher
/// holds for all of them (an allocation, a job) is released with the last.
///
/// # Errors
/// The hosts that could not be started, or the tool that failed for all of them; no agent is left running then.
pub fn launch(
    launcher: &Launcher,
    settings: &LaunchSettings<'_>,
    say: &Say,
) -> Result<Vec<Launched>, LaunchError> {
    match launcher {
        Launcher::Local { count } => local::launch(*count, settings),
        Launcher::Command { hosts, command } => command::launch(hosts, command, settings),
        Launcher::Ssh { hosts, options, binary } => {
            ssh::launch(&ssh::Ssh { hosts, options, binary: binary.as_deref() }, settings, say)
        }
        Launcher::Slurm { nodes, options, binary } => {
            let slurm = slurm::Slurm { nodes: *nodes, options, binary: binary.as_deref() };
            slurm::launch(&slurm, slurm::within(), settings, say)
        }
        Launcher::Kubernetes(pods) => kubernetes::launch(pods, settings, say),
    }
}

#[cfg(test)]
mod tests;
