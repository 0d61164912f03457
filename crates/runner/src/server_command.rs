//! A command that changes or inspects the server: run to its end, with a timeout.

use std::io::{BufRead, BufReader, PipeReader, Read};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use reactor::clock;
use rustix::process::{Pid, Signal, kill_process_group};

/// Maximum length of a line of output.
const LINE_BYTES: u64 = 1000;
/// Polling interval of the wait.
const LOOK: Duration = Duration::from_millis(20);
/// Characters of a command that messages show.
const SHOWN: usize = 120;
/// Time for output to arrive after the end.
const LAST_OUTPUT: Duration = Duration::from_millis(200);

/// Why a command did not succeed.
#[derive(Debug, thiserror::Error)]
pub enum ServerCommandError {
    /// It cannot be started.
    #[error("{command} cannot be started: {error}; next: check the program's name and rights")]
    Start {
        /// The command as shown to people.
        command: String,
        /// The system's error.
        error: std::io::Error,
    },
    /// It failed.
    #[error("{command} ended with {status}{said}; next: run it by hand")]
    Failed {
        /// The command.
        command: String,
        /// `exit status: 1`.
        status: ExitStatus,
        /// Its last line of output, after a colon; or nothing.
        said: String,
    },
    /// It took too long, and was killed with its children.
    #[error(
        "{command} did not end within {seconds} s and was killed{said}; next: run it by hand, or raise timeout"
    )]
    TimedOut {
        /// The command.
        command: String,
        /// The timeout.
        seconds: f64,
        /// As above.
        said: String,
    },
    /// The condition did not hold in time.
    #[error("{command} did not succeed within {seconds} s{said}; next: look at the server, or raise timeout")]
    NotReady {
        /// The condition.
        command: String,
        /// The timeout of all attempts together.
        seconds: f64,
        /// As above.
        said: String,
    },
    /// The run must end; the command was killed with its children.
    #[error("{0} was stopped")]
    Stopped(String),
}

/// Runs a command without input; returns its last line of output. What it leaves running after it succeeded is not
/// killed: it may have started a server.
///
/// # Errors
/// [`ServerCommandError`].
pub fn run(
    words: &[String],
    timeout: Duration,
    stop: &dyn Fn() -> bool,
) -> Result<String, ServerCommandError> {
    let command = format!("`{}`", shown(words));
    let start = |error| ServerCommandError::Start { command: command.clone(), error };
    let (program, arguments) =
        words.split_first().ok_or_else(|| start(std::io::ErrorKind::InvalidInput.into()))?;
    let (reader, writer) = std::io::pipe().map_err(start)?;
    let errors = writer.try_clone().map_err(start)?;
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(writer)
        .stderr(errors)
        .process_group(0)
        .spawn()
        .map_err(start)?;
    let output = Output::follow(reader);
    let began_ns = clock::now_ns();
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) => {}
            Err(error) => {
                kill(&mut child);
                return Err(start(error));
            }
        }
        if stop() {
            kill(&mut child);
            return Err(ServerCommandError::Stopped(command));
        }
        if clock::now_ns().saturating_sub(began_ns) >= u64::try_from(timeout.as_nanos()).unwrap_or(u64::MAX) {
            kill(&mut child);
            let said = output.said();
            return Err(ServerCommandError::TimedOut { command, seconds: timeout.as_secs_f64(), said });
        }
        std::thread::sleep(LOOK);
    };
    let last = output.last();
    match status.success() {
        true => Ok(last),
        false => Err(ServerCommandError::Failed { said: output.said(), command, status }),
    }
}

/// The command in one line, of which a long script gets the beginning.
fn shown(words: &[String]) -> String {
    let line = words.iter().flat_map(|word| word.split_whitespace()).collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", line[..end].trim_end()),
        None => line,
    }
}

/// Kills the command with its children.
fn kill(child: &mut Child) {
    if let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        // It may have ended meanwhile.
        let _gone = kill_process_group(group, Signal::KILL);
    }
    let _reaped = child.wait();
}

/// The last line of a command's output.
struct Output {
    last: Arc<Mutex<String>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Output {
    /// Reads to the end, which a server that the command started may delay beyond the command's own.
    fn follow(reader: PipeReader) -> Self {
        let last = Arc::new(Mutex::new(String::new()));
        let kept = Arc::clone(&last);
        let read = move || {
            let mut reader = BufReader::new(reader);
            let mut line = Vec::new();
            while reader.by_ref().take(LINE_BYTES).read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
                let text = String::from_utf8_lossy(&line).trim().replace(char::is_control, " ");
                if !text.is_empty() {
                    *kept.lock().unwrap_or_else(PoisonError::into_inner) = text;
                }
                line.clear();
            }
        };
        // Without the thread, only the last line is unknown.
        let thread = std::thread::Builder::new().name("server-command".to_owned()).spawn(read).ok();
        Self { last, thread }
    }

    fn last(&self) -> String {
        let mut waited = Duration::ZERO;
        while waited < LAST_OUTPUT && self.thread.as_ref().is_some_and(|thread| !thread.is_finished()) {
            std::thread::sleep(LOOK);
            waited += LOOK;
        }
        self.last.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn said(&self) -> String {
        match self.last() {
            last if last.is_empty() => String::new(),
            last => format!(": {last}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(text: &str, timeout: Duration) -> Result<String, ServerCommandError> {
        run(&["sh".into(), "-c".into(), text.into()], timeout, &|| false)
    }

    #[test]
    fn the_last_line_is_kept_and_a_failure_says_it() {
        let long = Duration::from_secs(60);
        assert_eq!(shell("echo one; echo two >&2; echo", long).unwrap(), "two");
        let error = shell("echo no such pool; exit 3", long).unwrap_err().to_string();
        assert!(error.contains("exit status: 3: no such pool; next"), "{error}");
        let error = run(&["/nonexistent/x".into()], long, &|| false).unwrap_err().to_string();
        assert!(error.starts_with("`/nonexistent/x` cannot be started"), "{error}");
    }

    #[test]
    fn a_script_is_told_in_one_line_that_is_not_long() {
        let error = shell("exit 1 # first\n  and second\n", Duration::from_secs(60)).unwrap_err().to_string();
        assert!(error.starts_with("`sh -c exit 1 # first and second` ended with"), "{error}");
        let long = format!("exit 1\n{}", "# and so on\n".repeat(100));
        let error = shell(&long, Duration::from_secs(60)).unwrap_err().to_string();
        assert!(error.contains("…` ended with exit status: 1"), "{error}");
        assert!(!error.contains('\n') && error.chars().count() < 200, "{error}");
    }

    #[test]
    fn a_command_is_killed_with_its_children() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("pid");
        let text = format!("sleep 1000 & echo $! > {}; wait", file.display());
        let stop = || std::fs::read_to_string(&file).is_ok_and(|pid| pid.ends_with('\n'));
        let ended = run(&["sh".into(), "-c".into(), text], Duration::from_secs(60), &stop);
        assert!(matches!(ended, Err(ServerCommandError::Stopped(_))), "{ended:?}");
        let pid = std::fs::read_to_string(&file).unwrap();
        // A killed child of a dead parent is gone once the kernel has come to it, or a zombie until it is reaped.
        let is_alive = || {
            let state = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim()));
            state.is_ok_and(|text| !text.contains(") Z "))
        };
        let mut waited = Duration::ZERO;
        while is_alive() {
            assert!(waited < Duration::from_secs(60), "process {pid} was not killed");
            std::thread::sleep(LOOK);
            waited += LOOK;
        }
        let error = shell("sleep 1000", Duration::from_millis(1)).unwrap_err();
        assert!(matches!(error, ServerCommandError::TimedOut { .. }), "{error}");
    }
}
