//! The user's own `kubectl`, called with a timeout.

use std::ffi::OsString;
use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::Duration;

use serde_json::Value;

use super::super::deadline::Deadline;
use super::super::process::printable;
use super::AGENT;

/// Maximum bytes read of an answer: the pods of a thousand nodes need a tenth of it.
const LONGEST_ANSWER: u64 = 256 << 20;
/// Maximum bytes read of standard error.
const LONGEST_COMPLAINT: u64 = 64 << 10;
/// Time for the rest of an answer after the program has ended.
const REST: Duration = Duration::from_secs(5);

/// `kubectl` for one context and namespace.
#[derive(Clone, Debug)]
pub(super) struct Kubectl {
    program: OsString,
    place: Vec<String>,
}

/// Why a call failed.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Failure {
    /// kubectl reported an error.
    #[error("{0}")]
    Refused(String),
    /// It did not end in time, or was stopped: its effect is unknown.
    #[error("{0}")]
    Unknown(String),
}

/// Why the end of a call did not come. Reads after the command.
#[derive(Debug, thiserror::Error)]
enum NoEnd {
    #[error("cannot be waited for ({0})")]
    Unknown(std::io::Error),
    /// `within 30 s`.
    #[error("did not end {0}")]
    Late(String),
}

impl Kubectl {
    pub(super) fn new(program: OsString, context: Option<&str>, namespace: Option<&str>) -> Self {
        let context = context.map(|context| format!("--context={context}"));
        let namespace = namespace.map(|namespace| format!("--namespace={namespace}"));
        Self { program, place: context.into_iter().chain(namespace).collect() }
    }

    /// The command with its arguments, in a process group of its own: Ctrl-C is for this program, which ends it.
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.place).args(arguments).process_group(0);
        command
    }

    /// An agent in a pod, with its pipe as the command's standard input and output.
    pub(super) fn agent(&self, pod: &str, agent: &[String]) -> Command {
        let mut command = self.command(&["exec", "-i", pod, "-c", AGENT, "--", "manometer"]);
        command.args(agent);
        command
    }

    /// The command line as a person would type it.
    pub(super) fn shown(&self, arguments: &[&str]) -> String {
        let words = self.place.iter().map(String::as_str).chain(arguments.iter().copied());
        std::iter::once("kubectl").chain(words).collect::<Vec<_>>().join(" ")
    }

    /// Runs it to its end, with `input` on its standard input; returns what it printed.
    pub(super) fn run(
        &self,
        arguments: &[&str],
        input: Option<String>,
        deadline: &Deadline<'_>,
    ) -> Result<Vec<u8>, Failure> {
        let mut command = self.command(arguments);
        command
            .stdin(if input.is_some() { Stdio::piped() } else { Stdio::null() })
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|error| {
            Failure::Refused(format!(
                "kubectl cannot be run ({error}); next: install it, and see that `kubectl get pods` works"
            ))
        })?;
        if let (Some(text), Some(mut pipe)) = (input, child.stdin.take()) {
            // It may end without reading all; then it says why.
            std::thread::spawn(move || pipe.write_all(text.as_bytes()));
        }
        let answer = reader(child.stdout.take(), LONGEST_ANSWER);
        let complaint = reader(child.stderr.take(), LONGEST_COMPLAINT);
        let status = wait(&mut child, deadline).map_err(|why| {
            Failure::Unknown(format!("{} {why}{}", self.shown(arguments), said(&complaint, Duration::ZERO)))
        })?;
        if !status.success() {
            let told = said(&complaint, REST);
            let told = no_cluster(&told).unwrap_or(told);
            return Err(Failure::Refused(format!("{} failed{told}", self.shown(arguments))));
        }
        answer
            .recv_timeout(REST)
            .map_err(|_| Failure::Unknown(format!("{} did not close its answer", self.shown(arguments))))
    }

    /// Asks for objects.
    pub(super) fn get(&self, arguments: &[&str], deadline: &Deadline<'_>) -> Result<Value, Failure> {
        let words: Vec<&str> =
            ["get"].into_iter().chain(arguments.iter().copied()).chain(["-o", "json"]).collect();
        let answer = self.run(&words, None, deadline)?;
        serde_json::from_slice(&answer)
            .map_err(|error| Failure::Refused(format!("{} answered no JSON: {error}", self.shown(&words))))
    }
}

/// Reads a pipe to its end in another thread, keeping at most the first `most` bytes.
fn reader(pipe: Option<impl Read + Send + 'static>, most: u64) -> Receiver<Vec<u8>> {
    let (send, receive) = sync_channel(1);
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            let _ = pipe.by_ref().take(most).read_to_end(&mut bytes);
            // Drains the rest, so that the writer does not block.
            let _ = std::io::copy(&mut pipe, &mut std::io::sink());
        }
        let _ = send.send(bytes);
    });
    receive
}

/// Waits for the end.
fn wait(child: &mut Child, deadline: &Deadline<'_>) -> Result<ExitStatus, NoEnd> {
    let why = loop {
        match child.try_wait() {
            Ok(Some(status)) => return Ok(status),
            Ok(None) => {}
            Err(error) => break NoEnd::Unknown(error),
        }
        if let Some(waited) = deadline.over() {
            break NoEnd::Late(waited);
        }
        std::thread::sleep(Duration::from_millis(10));
    };
    let _ = child.kill();
    let _ = child.wait();
    Err(why)
}

/// The message that no cluster answers, without kubectl's advice to turn off validation, when fetching the cluster's
/// schema failed.
fn no_cluster(told: &str) -> Option<String> {
    let (_, cause) = told.split_once("failed to download openapi: ")?;
    let cause = cause.split("; if you choose to ignore").next().unwrap_or(cause);
    Some(format!(
        ": the cluster does not answer ({cause}); next: see that `kubectl get pods` works, with the context and namespace that are meant"
    ))
}

/// The last lines of standard error, on one line.
fn said(complaint: &Receiver<Vec<u8>>, within: Duration) -> String {
    let text = complaint.recv_timeout(within).unwrap_or_default();
    let text = one_line(&String::from_utf8_lossy(&text));
    if text.is_empty() { text } else { format!(": {text}") }
}

/// The last three lines joined, at most 600 characters.
fn one_line(text: &str) -> String {
    let mut lines: Vec<String> = text.lines().map(printable).filter(|line| !line.is_empty()).collect();
    lines.drain(..lines.len().saturating_sub(3));
    lines.join("; ").chars().take(600).collect()
}
