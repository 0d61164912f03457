//! Exit codes, and the one-line message for each.

use checks::CheckError;
use runner::{RunError, RunOutcome, StopReason};
use targets::{Finding, FindingKind};

use crate::messages::Messages;
use crate::results::WrongInput;

/// Why a command does nothing, or stopped.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// A usage error, or a fault in a file: one line.
    #[error("{0}")]
    Usage(String),
    /// Faults in a file: each with its position, in several lines.
    #[error("{0}")]
    Faults(String),
    /// Targets that cannot be used: a line each.
    #[error("{}", .0.iter().map(|fault| &*fault.text).collect::<Vec<_>>().join("; "))]
    NotReady(Vec<Finding>),
    /// Anything else: one line.
    #[error("{0}")]
    Failure(String),
}

impl From<RunError> for CommandError {
    fn from(error: RunError) -> Self {
        match error {
            RunError::Usage(line) => CommandError::Usage(line),
            RunError::NotReady(faults) => CommandError::NotReady(faults),
            RunError::Failure(line) => CommandError::Failure(line),
        }
    }
}

impl CommandError {
    /// Prints it; returns the exit code.
    pub fn tell(self, messages: &Messages) -> u8 {
        match self {
            CommandError::Usage(line) => input(messages, &line),
            CommandError::Faults(text) => {
                messages.paragraph(&text);
                2
            }
            CommandError::NotReady(faults) => {
                faults.iter().for_each(|fault| messages.error(&fault.text));
                if faults.iter().all(|fault| fault.kind == FindingKind::Misuse) { 2 } else { 1 }
            }
            CommandError::Failure(line) => failure(messages, &line),
        }
    }
}

/// Converts the error of a check into one that commands return.
pub fn of_check_error(error: CheckError) -> anyhow::Error {
    match error {
        CheckError::Usage(line) => anyhow::anyhow!(WrongInput(line)),
        CheckError::Failure(line) | CheckError::Stopped(line) => anyhow::anyhow!(line),
    }
}

/// Reports why a run ended early and what it left behind, and keeps it as a baseline if requested; returns the exit
/// code.
pub fn of_run(outcome: &RunOutcome, save_baseline: Option<&str>, messages: &Messages) -> u8 {
    if let Some(line) = &outcome.failure {
        messages.error(line);
    }
    if !outcome.left_behind.is_empty() {
        let left = outcome.left_behind.join(", ");
        messages.error(&format!("left behind: {left}; next: run `manometer cleanup`"));
    }
    let code = match outcome.stopped {
        Some(reason) => of_reason(reason),
        None => u8::from(!outcome.succeeded()),
    };
    let Some(name) = save_baseline else { return code };
    match outcome.keep_as_baseline(name) {
        Ok(told) => {
            messages.note(&told);
            code
        }
        Err(error) => {
            messages.error(&error.to_string());
            code.max(1)
        }
    }
}

/// The exit code for the signal that ended a command.
pub fn of_reason(reason: StopReason) -> u8 {
    match reason {
        StopReason::HangUp => 129,
        StopReason::Interrupt => 130,
        StopReason::Terminate => 143,
        StopReason::Caller => 1,
    }
}

/// A usage error: the arguments of this command could not be parsed.
pub fn usage(messages: &Messages, command: &str, line: &str) -> u8 {
    messages.error(line);
    messages.note(&format!("`manometer {command} --help` lists every flag"));
    2
}

/// The input cannot be used; the line says everything.
pub fn input(messages: &Messages, line: &str) -> u8 {
    messages.error(line);
    2
}

/// The command was valid but failed.
pub fn failure(messages: &Messages, line: &str) -> u8 {
    messages.error(line);
    1
}
