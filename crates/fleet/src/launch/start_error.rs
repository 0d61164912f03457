//! Why an agent could not be started on a host.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

/// Why an agent could not be started. Reads after the host's name.
#[derive(Debug, thiserror::Error)]
pub enum AgentStartError {
    /// The tool that starts it cannot be run.
    #[error("{program} cannot be started: {error}")]
    Spawn {
        /// The tool.
        program: String,
        /// What the system says.
        error: io::Error,
    },
    /// The tool was started without pipes.
    #[error("{0} has no pipes")]
    NoPipes(String),
    /// The pipe from it cannot be read.
    #[error("its output cannot be read: {0}")]
    Output(io::Error),
    /// The tool ended, or closed its output: how, and what it said last.
    #[error("{0}")]
    Ended(String),
    /// Nothing came in time.
    #[error("no answer {waited}{}", last_said(said))]
    NoAnswer {
        /// `within 30 s`.
        waited: String,
        /// What the tool said last; may be empty.
        said: String,
    },
    /// A line too long to belong to the start of an agent.
    #[error("it printed a very long line where one of an agent's start was expected")]
    LongLine,
    /// Something else than an allocation's number and nodes.
    #[error("it said {0:?} where a job's number was expected")]
    NoJobNumber(String),
    /// The program could not be brought to the host, or is not there.
    #[error(transparent)]
    Copy(#[from] CopyError),
    /// One of these, with what to do next.
    #[error("{what}{error}; next: {next}")]
    Advised {
        /// What was tried, as in `srun on it: `; may be empty.
        what: String,
        /// Why it failed.
        error: Box<AgentStartError>,
        /// What to do next.
        next: String,
    },
}

impl AgentStartError {
    /// The error with what was tried (empty, or as a prefix) and what to do next.
    pub(super) fn advised(self, what: impl Into<String>, next: impl Into<String>) -> Self {
        Self::Advised { what: what.into(), error: Box::new(self), next: next.into() }
    }
}

fn last_said(said: &str) -> String {
    if said.is_empty() { String::new() } else { format!("; it last said: {said}") }
}

/// Why this program could not be brought to a host.
#[derive(Clone, Debug, thiserror::Error)]
pub enum CopyError {
    /// It cannot be read to compute its hash.
    #[error("the program to be copied, {}, cannot be read: {error}", path.display())]
    NotHashed {
        /// The program here.
        path: PathBuf,
        /// What the system says.
        error: Arc<io::Error>,
    },
    /// It cannot be read to be sent.
    #[error("the program cannot be read: {0}")]
    NotRead(Arc<io::Error>),
    /// It cannot be compressed.
    #[error("the program cannot be compressed: {0}")]
    NotCompressed(Arc<io::Error>),
    /// The pipe to the host cannot be written.
    #[error("sending the program failed: {0}")]
    NotSent(Arc<io::Error>),
    /// The time is over: `within 30 s`.
    #[error("the program was not copied there {0}; give a longer start_timeout")]
    NotInTime(String),
    /// The host's login shell prints more than the script's output can be found in.
    #[error("its login prints without end")]
    EndlessLogin,
    /// The program is for another kind of machine.
    #[error("it is another kind of machine: {there}, and this program is for {here}")]
    OtherMachine {
        /// The host's kernel and CPU architecture.
        there: String,
        /// Those of this host.
        here: String,
    },
    /// The host has no tool that computes the hash.
    #[error(
        "it has none of sha256sum, shasum and openssl to see what was copied; install one, or install manometer there \
         and give its path with --agent-binary"
    )]
    NoHashTool,
    /// What arrived is not what was sent.
    #[error(
        "what was copied there has the SHA-256 {there}, not {here}; the copy was removed; is its disk full or faulty?"
    )]
    WrongHash {
        /// The SHA-256 of the copy.
        there: String,
        /// The SHA-256 of the program.
        here: String,
    },
    /// There is no such program on the host.
    #[error("there is no {0}: command not found")]
    NoProgram(String),
    /// The script failed on the host.
    #[error("the host {failure}: {said}")]
    Script {
        /// What it reports, such as `cannot make DIRECTORY`.
        failure: String,
        /// How it ended, and what it said last.
        said: String,
    },
}
