//! A process whose standard input and output are an agent's: started, waited for, read, ended.

use std::any::Any;
use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, kill_process_group};

use super::deadline::Deadline;
use super::start_error::AgentStartError;

/// Lines kept of an agent's log, and the maximum length of each.
const KEPT_LINES: usize = 12;
const KEPT_LINE_BYTES: u64 = 1000;

/// Polling interval of waits.
const LOOK: Duration = Duration::from_millis(20);

/// A started agent: both directions of its frames, and the process that carries them.
#[derive(Debug)]
pub struct Launched {
    /// The host's name in results.
    pub name: String,
    /// To the agent. The agent ends when this is closed.
    pub input: ChildStdin,
    /// From the agent: only frames.
    pub output: ChildStdout,
    /// The process that carries both.
    pub process: AgentProcess,
}

impl Launched {
    /// Starts a command in a process group of its own, so that Ctrl-C reaches the coordinator and not its tools.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn spawn(name: &str, command: &mut Command) -> Result<Launched, AgentStartError> {
        let child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()
            .map_err(|error| AgentStartError::Spawn { program: program(command), error })?;
        let mut process = AgentProcess { child, log: Log::default(), held: None };
        let pipes = (process.child.stdin.take(), process.child.stdout.take(), process.child.stderr.take());
        let (Some(input), Some(output), Some(errors)) = pipes else {
            return Err(AgentStartError::NoPipes(program(command)));
        };
        process.log.follow(errors);
        Ok(Launched { name: name.to_owned(), input, output, process })
    }

    /// Waits for the agent's output: its first byte is ready to be read.
    ///
    /// # Errors
    /// It ended, the time is over, or `stop` says so.
    pub fn wait_for_output(&mut self, deadline: &Deadline<'_>) -> Result<(), AgentStartError> {
        loop {
            let mut fds = [PollFd::new(&self.output, PollFlags::IN)];
            let wait = Timespec { tv_sec: 0, tv_nsec: LOOK.as_nanos() as i64 };
            match poll(&mut fds, Some(&wait)) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(AgentStartError::Output(error.into())),
            }
            let seen = fds[0].revents();
            if seen.contains(PollFlags::IN) {
                return Ok(());
            }
            if seen.intersects(PollFlags::HUP | PollFlags::ERR) {
                return Err(AgentStartError::Ended(self.process.last_words()));
            }
            if let Some(waited) = deadline.over() {
                return Err(AgentStartError::NoAnswer { waited, said: self.process.log.last() });
            }
        }
    }

    /// Reads one line, byte by byte so that nothing after it is consumed.
    ///
    /// # Errors
    /// As [`Self::wait_for_output`], or the line is too long.
    pub fn read_line(&mut self, deadline: &Deadline<'_>) -> Result<String, AgentStartError> {
        let mut line = Vec::new();
        loop {
            self.wait_for_output(deadline)?;
            let mut byte = [0];
            match self.output.read(&mut byte) {
                Ok(0) => return Err(AgentStartError::Ended(self.process.last_words())),
                Ok(_) if byte[0] == b'\n' => return Ok(String::from_utf8_lossy(&line).into_owned()),
                Ok(_) => line.push(byte[0]),
                Err(error) => return Err(AgentStartError::Output(error)),
            }
            if line.len() as u64 > KEPT_LINE_BYTES {
                return Err(AgentStartError::LongLine);
            }
        }
    }
}

fn program(command: &Command) -> String {
    command.get_program().display().to_string()
}

/// The process behind an agent. Dropping it kills it.
#[derive(Debug)]
pub struct AgentProcess {
    child: Child,
    log: Log,
    /// Something to keep while the agent lives, released with the last agent that holds it.
    held: Option<Arc<dyn Any + Send + Sync>>,
}

impl AgentProcess {
    /// Its process id on this host.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Keeps something alive until the agent is gone.
    pub fn hold(&mut self, held: Arc<dyn Any + Send + Sync>) {
        self.held = Some(held);
    }

    /// Whether it has ended.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().ok().flatten()
    }

    /// Waits for its end; after the timeout asks it to end, and after the same time again kills it.
    pub fn end(&mut self, patience: Duration) -> Option<ExitStatus> {
        if let Some(status) = self.wait(patience) {
            return Some(status);
        }
        self.terminate();
        if let Some(status) = self.wait(patience) {
            return Some(status);
        }
        self.kill();
        self.child.try_wait().ok().flatten()
    }

    /// Asks it and its children to end.
    pub fn terminate(&mut self) {
        self.signal(Signal::TERM);
    }

    /// Kills it and its children.
    pub fn kill(&mut self) {
        self.signal(Signal::KILL);
        let _gone = self.child.wait();
    }

    /// The last lines of its log so far, in one line.
    pub(super) fn said(&self) -> String {
        self.log.last()
    }

    /// The last lines of its log and how it ended, in one line: why the agent is gone.
    pub fn last_words(&mut self) -> String {
        let status = self.wait(Duration::from_secs(1));
        // Its last output may still be in the pipe.
        self.log.wait_for_end(Duration::from_millis(500));
        let how = match status {
            Some(status) => match (status.code(), status.signal()) {
                (Some(code), _) => format!("ended with exit code {code}"),
                (None, Some(signal)) => format!("ended by signal {signal}"),
                (None, None) => "ended".to_owned(),
            },
            None => "closed its output".to_owned(),
        };
        match self.log.last() {
            said if said.is_empty() => format!("{how} without a word"),
            said => format!("{how}: {said}"),
        }
    }

    fn wait(&mut self, patience: Duration) -> Option<ExitStatus> {
        let deadline = Deadline::after(patience, &|| false);
        loop {
            match self.child.try_wait() {
                Ok(Some(status)) => return Some(status),
                Ok(None) if deadline.over().is_none() => std::thread::sleep(LOOK),
                _ => return None,
            }
        }
    }

    fn signal(&mut self, signal: Signal) {
        // A process that was waited for has no valid pid any more.
        if self.child.try_wait().ok().flatten().is_none()
            && let Some(group) = Pid::from_raw(self.child.id() as i32)
        {
            let _gone = kill_process_group(group, signal);
        }
    }
}

impl Drop for AgentProcess {
    fn drop(&mut self) {
        self.kill();
    }
}

/// The end of an agent's standard error.
#[derive(Clone, Debug, Default)]
struct Log(Arc<(Mutex<Kept>, Condvar)>);

#[derive(Debug, Default)]
struct Kept {
    lines: VecDeque<String>,
    ended: bool,
}

impl Log {
    /// Reads to the end in a thread of its own, keeping only the last lines.
    fn follow(&self, errors: ChildStderr) {
        let log = self.clone();
        let reading = move || {
            let mut reader = BufReader::new(errors);
            let mut line = Vec::new();
            while reader.by_ref().take(KEPT_LINE_BYTES).read_until(b'\n', &mut line).is_ok_and(|n| n > 0) {
                let text = printable(&String::from_utf8_lossy(&line));
                if !text.is_empty() {
                    let mut kept = log.0.0.lock().unwrap_or_else(PoisonError::into_inner);
                    if kept.lines.len() == KEPT_LINES {
                        kept.lines.pop_front();
                    }
                    kept.lines.push_back(text);
                }
                line.clear();
            }
            log.0.0.lock().unwrap_or_else(PoisonError::into_inner).ended = true;
            log.0.1.notify_all();
        };
        let thread = std::thread::Builder::new().name("agent-log".to_owned()).stack_size(128 << 10);
        // Without a thread the log is closed: only the agent's lines are lost.
        if thread.spawn(reading).is_err() {
            self.0.0.lock().unwrap_or_else(PoisonError::into_inner).ended = true;
        }
    }

    fn last(&self) -> String {
        let kept = self.0.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.lines.iter().map(String::as_str).collect::<Vec<_>>().join(" | ")
    }

    fn wait_for_end(&self, patience: Duration) {
        let kept = self.0.0.lock().unwrap_or_else(PoisonError::into_inner);
        let _waited = self.0.1.wait_timeout_while(kept, patience, |kept| !kept.ended);
    }
}

/// Text of another host, without characters that move a terminal's cursor.
pub(crate) fn printable(text: &str) -> String {
    text.trim().chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}
