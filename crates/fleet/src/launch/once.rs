//! Runs a command to its end, here or on another host, with the tools that start agents.

use std::io::{Read, Write};
use std::process::Command;
use std::time::Duration;

use experiment::Via;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::command::shown;
use super::copy::quoted;
use super::deadline::Deadline;
use super::process::Launched;
use super::ssh;
use super::start_error::AgentStartError;
use super::{LaunchError, LaunchSettings};

/// Maximum output of a command, in bytes.
const MAX_OUTPUT_BYTES: usize = 16 << 20;

/// Maximum input of a command, in bytes: less than a pipe takes at once.
const MAX_INPUT_BYTES: usize = 4096;

/// Longest wait for output between two looks at the deadline.
const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 20_000_000 };

/// A command that did not do its work. One line: the command, what came of it, and for ssh what to do next.
#[derive(Debug, thiserror::Error)]
#[error("{command}: {why}")]
pub struct OutputError {
    /// The command as a person would type it, in backquotes.
    command: String,
    /// What came of it.
    why: OutputFailure,
}

/// What came of a command.
#[derive(Debug, thiserror::Error)]
enum OutputFailure {
    /// It could not be started, failed, or took too long.
    #[error(transparent)]
    Ended(#[from] AgentStartError),
    /// Its output does not end.
    #[error("it printed more than {} MiB", MAX_OUTPUT_BYTES >> 20)]
    Endless,
    /// Its input would not fit into a pipe.
    #[error("its input is longer than {MAX_INPUT_BYTES} bytes")]
    LongInput,
    /// The login cannot be tried.
    #[error(transparent)]
    Login(#[from] LaunchError),
}

/// Runs a command with this short input, and returns what it printed; its timeout is that of `settings`.
///
/// # Errors
/// It could not be started, failed, printed too much or took too long; then it is ended.
pub fn output_of(
    words: &[String],
    input: &str,
    via: Option<&Via>,
    settings: &LaunchSettings<'_>,
) -> Result<String, OutputError> {
    match via {
        None => run(&mut plain(words.iter()), input, settings),
        Some(Via::Command { command }) => run(&mut plain(command.iter().chain(words)), input, settings),
        Some(Via::Ssh { host, options }) => {
            let failed = |why| OutputError { command: format!("`ssh {host} {}`", words.join(" ")), why };
            let login = ssh::destination(host).and_then(|to| Ok((to, ssh::PasswordPrompt::begin(settings)?)));
            let (to, password) = login.map_err(|error| failed(error.into()))?;
            let mut command = password.command(&to, options, settings);
            let quoted: Vec<String> = words.iter().map(|word| quoted(word)).collect();
            command.arg(quoted.join(" "));
            collect(&mut command, input, settings, |launched| password.allow(launched)).map_err(|why| {
                match why {
                    OutputFailure::Ended(error) => {
                        let next = ssh::advice(&error, host);
                        failed(error.advised("", next).into())
                    }
                    why => failed(why),
                }
            })
        }
    }
}

fn plain<'w>(mut words: impl Iterator<Item = &'w String>) -> Command {
    let mut command = Command::new(words.next().map_or("", String::as_str));
    command.args(words);
    command
}

fn run(command: &mut Command, input: &str, settings: &LaunchSettings<'_>) -> Result<String, OutputError> {
    collect(command, input, settings, |_| ()).map_err(|why| OutputError { command: shown(command), why })
}

fn collect(
    command: &mut Command,
    text: &str,
    settings: &LaunchSettings<'_>,
    started: impl FnOnce(&Launched),
) -> Result<String, OutputFailure> {
    if text.len() > MAX_INPUT_BYTES {
        return Err(OutputFailure::LongInput);
    }
    let deadline = Deadline::after(settings.start_timeout, settings.stop);
    let launched = Launched::spawn("", command)?;
    started(&launched);
    let Launched { mut input, mut output, mut process, .. } = launched;
    // A pipe takes that much at once. A command that does not read it fails by itself, or does not need it.
    let _unread = input.write_all(text.as_bytes());
    drop(input);
    let mut text = Vec::new();
    loop {
        if let Some(waited) = deadline.over() {
            return Err(AgentStartError::NoAnswer { waited, said: process.said() }.into());
        }
        match poll(&mut [PollFd::new(&output, PollFlags::IN)], Some(&LOOK)) {
            Ok(0) | Err(rustix::io::Errno::INTR) => continue,
            Ok(_) => {}
            Err(error) => return Err(AgentStartError::Output(error.into()).into()),
        }
        let mut part = [0; 1 << 16];
        match output.read(&mut part).map_err(AgentStartError::Output)? {
            0 => break,
            count => text.extend_from_slice(&part[..count]),
        }
        if text.len() > MAX_OUTPUT_BYTES {
            return Err(OutputFailure::Endless);
        }
    }
    let status = process.end(deadline.left().min(Duration::from_secs(5)));
    if !status.is_some_and(|status| status.success()) {
        return Err(AgentStartError::Ended(process.last_words()).into());
    }
    Ok(String::from_utf8_lossy(&text).into_owned())
}
