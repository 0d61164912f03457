//! Passes a password to ssh: never in arguments, environment, files or logs.
//!
//! ssh runs the program that `SSH_ASKPASS` names, which is this program again. Its environment names a socket in a
//! directory that only this user can enter, and it gets the password there, after the other side has verified through
//! the kernel (`SO_PEERCRED`) that it belongs to the same user and is the child of an ssh started for this fleet. The
//! ssh of a jump host is no such child, so it does not receive the hosts' password.

use std::collections::HashSet;
use std::ffi::OsString;
use std::io::{Read, Write};
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use provision::ApiSecret;

/// What ssh's output begins with when a question was not for the password; ssh passes it on.
pub(super) const SILENCE: &str = "manometer does not answer";

/// Names the socket. Not a secret: only this user's processes with the right parent get an answer there.
const SOCKET_VARIABLE: &str = "MANOMETER_ASKPASS_SOCKET";

/// Maximum length of a question or answer.
const MAX_BYTES: u64 = 4096;

/// How long each side waits for the other.
const PATIENCE: Duration = Duration::from_secs(5);

/// Why ssh's password prompts cannot be answered.
#[derive(Debug, thiserror::Error)]
pub(super) enum AskpassError {
    #[error(
        "no directory for the socket of ssh's password questions can be made in {}: {error}; set TMPDIR",
        parent.display()
    )]
    Directory { parent: PathBuf, error: std::io::Error },
    #[error("the socket for ssh's password questions cannot be made in {}: {error}", directory.display())]
    Socket { directory: PathBuf, error: std::io::Error },
}

/// A question of ssh's that gets no password.
#[derive(Debug, thiserror::Error)]
#[error("{SILENCE}: {question}")]
struct Unanswered {
    question: String,
}

/// Answers ssh's password prompts. Dropping it removes the directory and the socket.
#[derive(Debug)]
pub(super) struct Askpass {
    directory: PathBuf,
    /// The program that ssh runs: this one.
    program: PathBuf,
    allowed: Arc<Mutex<HashSet<u32>>>,
    ended: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Askpass {
    /// Starts answering.
    ///
    /// # Errors
    /// The socket cannot be created.
    pub(super) fn begin(password: ApiSecret, program: &Path) -> Result<Askpass, AskpassError> {
        let directory = private_directory()?;
        let cannot = |error: std::io::Error| {
            let _gone = std::fs::remove_dir_all(&directory);
            AskpassError::Socket { directory: directory.clone(), error }
        };
        let listener = UnixListener::bind(socket_in(&directory)).map_err(cannot)?;
        listener.set_nonblocking(true).map_err(cannot)?;
        let allowed = Arc::new(Mutex::new(HashSet::new()));
        let ended = Arc::new(AtomicBool::new(false));
        let (known, over) = (allowed.clone(), ended.clone());
        let thread = std::thread::Builder::new()
            .name("askpass".to_owned())
            .spawn(move || {
                while !over.load(Ordering::Relaxed) {
                    match listener.accept() {
                        Ok((stream, _)) => answer(stream, &password, &known),
                        Err(_) => std::thread::sleep(Duration::from_millis(20)),
                    }
                }
            })
            .map_err(cannot)?;
        // The link below /proc leads to the very program that is running, also from another process.
        let program = match program.to_str() {
            Some("/proc/self/exe") => PathBuf::from(format!("/proc/{}/exe", std::process::id())),
            _ => program.to_owned(),
        };
        Ok(Askpass { directory, program, allowed, ended, thread: Some(thread) })
    }

    /// Configures an ssh command to ask here.
    pub(super) fn equip(&self, command: &mut Command) {
        command
            .env("SSH_ASKPASS", &self.program)
            .env("SSH_ASKPASS_REQUIRE", "force")
            .env(SOCKET_VARIABLE, socket_in(&self.directory));
    }

    /// Allows the children of this ssh process to get the password.
    pub(super) fn allow(&self, ssh: u32) {
        self.allowed.lock().unwrap_or_else(PoisonError::into_inner).insert(ssh);
    }
}

impl Drop for Askpass {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ended = thread.join();
        }
        let _gone = std::fs::remove_dir_all(&self.directory);
    }
}

fn socket_in(directory: &Path) -> PathBuf {
    directory.join("askpass")
}

/// A new directory that only this user can enter.
fn private_directory() -> Result<PathBuf, AskpassError> {
    let parent = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|path| path.is_absolute());
    let create = |parent: PathBuf| {
        let directory = parent.join(format!("manometer-{:016x}", fastrand::u64(..)));
        match std::fs::DirBuilder::new().mode(0o700).create(&directory) {
            Ok(()) => Ok(directory),
            Err(error) => Err(AskpassError::Directory { parent, error }),
        }
    };
    parent.and_then(|parent| create(parent).ok()).map_or_else(|| create(std::env::temp_dir()), Ok)
}

/// Answers one question, if the caller is allowed to ask.
fn answer(mut stream: UnixStream, password: &ApiSecret, allowed: &Mutex<HashSet<u32>>) {
    let patient = stream.set_nonblocking(false).is_ok()
        && stream.set_read_timeout(Some(PATIENCE)).is_ok()
        && stream.set_write_timeout(Some(PATIENCE)).is_ok();
    let mut question = String::new();
    if !patient || !may_ask(&stream, allowed) {
        return;
    }
    if (&stream).take(MAX_BYTES).read_to_string(&mut question).is_ok() && asks_for_password(&question) {
        let _closed = stream.write_all(password.reveal().as_bytes());
    }
}

fn may_ask(stream: &UnixStream, allowed: &Mutex<HashSet<u32>>) -> bool {
    let Ok(peer) = rustix::net::sockopt::socket_peercred(stream) else { return false };
    if peer.uid != rustix::process::getuid() {
        return false;
    }
    let parent = parent_of(peer.pid.as_raw_nonzero().get());
    parent.is_some_and(|parent| allowed.lock().unwrap_or_else(PoisonError::into_inner).contains(&parent))
}

/// The parent of a process (proc(5): the second field after the name in parentheses).
fn parent_of(process: i32) -> Option<u32> {
    let status = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    status.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}

/// Whether ssh asks for a login password: not for the confirmation of a host key, not for a key's passphrase, and not
/// for a new password because the old one has expired.
fn asks_for_password(question: &str) -> bool {
    let question = question.trim().to_lowercase();
    let other = ["yes/no", "passphrase", "new password", "retype", "current", "old password", "one-time"];
    question.contains("password")
        && question.ends_with(':')
        && !other.iter().any(|word| question.contains(word))
}

/// The askpass role of this program: `None` when ssh did not start it to ask. To be called before anything else.
pub fn askpass() -> Option<ExitCode> {
    let socket = std::env::var_os(SOCKET_VARIABLE)?;
    std::env::var_os("SSH_ASKPASS")?;
    let mut arguments = std::env::args_os().skip(1);
    let (question, None) = (arguments.next()?, arguments.next()) else { return None };
    let said = fetch(&PathBuf::from(socket), &question);
    let told = match &said {
        Ok(answer) => std::io::stdout().write_all(answer.as_bytes()).and_then(|()| std::io::stdout().flush()),
        Err(unanswered) => writeln!(std::io::stderr(), "{unanswered}"),
    };
    Some(if said.is_ok() && told.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The password of a question, as a line.
fn fetch(socket: &Path, question: &OsString) -> Result<String, Unanswered> {
    let ask = || -> std::io::Result<String> {
        let mut stream = UnixStream::connect(socket)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.write_all(question.to_string_lossy().as_bytes())?;
        stream.shutdown(std::net::Shutdown::Write)?;
        let mut answer = String::new();
        stream.take(MAX_BYTES).read_to_string(&mut answer)?;
        Ok(answer)
    };
    match ask() {
        Ok(answer) if !answer.is_empty() => Ok(format!("{answer}\n")),
        _ => Err(Unanswered { question: question.to_string_lossy().trim().replace('\n', " ") }),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn only_questions_for_the_login_password_are_answered() {
        for question in ["me@node1's password: ", "(me@node1) Password: ", "Password for me@EXAMPLE.ORG:"] {
            assert!(asks_for_password(question), "{question}");
        }
        for question in [
            "The authenticity of host … can't be established.\nAre you sure you want to continue connecting \
             (yes/no/[fingerprint])? ",
            "Please type 'yes', 'no' or the fingerprint: ",
            "Enter passphrase for key '/x/password': ",
            "(me@node1) Verification code: ",
            "New password: ",
            "Retype new password: ",
            "(me@node1) Current password: ",
            "password",
            "",
        ] {
            assert!(!asks_for_password(question), "{question}");
        }
    }

    #[test]
    fn the_password_is_told_to_children_of_the_right_process_only() {
        let askpass = Askpass::begin(ApiSecret::new("s3cret"), Path::new("/x")).unwrap();
        let mode = std::fs::metadata(&askpass.directory).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
        let socket = socket_in(&askpass.directory);
        let question = OsString::from("me@a's password: ");
        // This process is the child of the test runner.
        let refused = fetch(&socket, &question).unwrap_err().to_string();
        assert_eq!(refused, "manometer does not answer: me@a's password:");
        askpass.allow(std::os::unix::process::parent_id());
        assert_eq!(fetch(&socket, &question).unwrap(), "s3cret\n");
        assert!(fetch(&socket, &OsString::from("Are you sure (yes/no)? ")).is_err());
        let directory = askpass.directory.clone();
        assert!(!format!("{askpass:?}").contains("s3cret"));
        drop(askpass);
        assert!(!directory.exists());
        assert!(fetch(&socket, &question).is_err());
    }
}
