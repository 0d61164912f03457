//! Agents through OpenSSH as the user has set it up: configuration, keys, key agents, jump hosts and known hosts are
//! ssh's.

use std::process::Command;
use std::time::Duration;

use super::askpass::{Askpass, SILENCE};
use super::copy::{self, Program};
use super::deadline::Deadline;
use super::process::Launched;
use super::start::start_all;
use super::start_error::{AgentStartError, CopyError};
use super::{LaunchError, LaunchSettings, Say};

/// Concurrent logins: many go through one jump host, and sshd rejects unauthenticated connections beyond 10
/// (`MaxStartups`).
const AT_ONCE: usize = 8;

/// Attempts at a login that sshd rejected before it began.
const TRIES: usize = 4;

/// The settings of `experiment::Launcher::Ssh`.
pub(super) struct Ssh<'a> {
    pub(super) hosts: &'a [String],
    pub(super) options: &'a [String],
    /// The agent's path on the hosts; `None`: this program is copied.
    pub(super) binary: Option<&'a str>,
}

pub(super) fn launch(
    ssh: &Ssh<'_>,
    settings: &LaunchSettings<'_>,
    say: &Say,
) -> Result<Vec<Launched>, LaunchError> {
    let destinations = ssh.hosts.iter().map(|host| destination(host)).collect::<Result<Vec<_>, _>>()?;
    let program = match ssh.binary {
        Some(path) => Program::there(path),
        None => Program::here(&settings.program, &settings.version)
            .map_err(|error| LaunchError::Tool(error.to_string()))?,
    };
    let password = PasswordPrompt::begin(settings)?;
    let deadline = Deadline::after(settings.start_timeout, settings.stop);
    start_all(ssh.hosts, AT_ONCE, |index, host| {
        let attempt = || -> Result<Launched, AgentStartError> {
            let mut command = password.command(&destinations[index], ssh.options, settings);
            command.arg(copy::remote_command(&program, &settings.agent));
            let mut launched = Launched::spawn(host, &mut command)?;
            password.allow(&launched);
            let told = |text: &str| say(&format!("{host}: {text}"));
            if copy::begin(&mut launched, &program, &deadline, &told)? {
                say(&format!("{host}: copied this program there"));
            }
            Ok(launched)
        };
        let mut tried = attempt();
        for again in 1..TRIES {
            match &tried {
                Err(AgentStartError::Ended(said)) if turned_away(said) && deadline.over().is_none() => {
                    std::thread::sleep(Duration::from_millis(500 * again as u64).min(deadline.left()));
                    tried = attempt();
                }
                _ => break,
            }
        }
        tried.map_err(|error| {
            let next = advice(&error, host);
            error.advised("", next)
        })
    })
}

/// Where a host's name leads.
pub(super) fn destination(host: &str) -> Result<Destination, LaunchError> {
    Destination::of(host).map_err(|error| LaunchError::Input(error.to_string()))
}

/// The password for logins, if there is one, and how ssh gets it.
pub(super) struct PasswordPrompt(Option<Askpass>);

impl PasswordPrompt {
    /// # Errors
    /// The password cannot be passed on.
    pub(super) fn begin(settings: &LaunchSettings<'_>) -> Result<Self, LaunchError> {
        let password = settings.login.password.clone();
        let askpass = password.map(|password| Askpass::begin(password, &settings.program)).transpose();
        askpass.map(Self).map_err(|error| LaunchError::Tool(error.to_string()))
    }

    /// ssh without the remote command.
    pub(super) fn command(
        &self,
        to: &Destination,
        options: &[String],
        settings: &LaunchSettings<'_>,
    ) -> Command {
        let mut command = command(to, options, self.0.is_some(), settings);
        if let Some(askpass) = &self.0 {
            askpass.equip(&mut command);
        }
        command
    }

    /// Lets the started ssh have the password.
    pub(super) fn allow(&self, launched: &Launched) {
        if let Some(askpass) = &self.0 {
            askpass.allow(launched.process.id());
        }
    }
}

/// ssh without the remote command. The user's options come first: ssh uses the first value of each.
fn command(to: &Destination, options: &[String], password: bool, settings: &LaunchSettings<'_>) -> Command {
    let mut command = Command::new(settings.tool("ssh"));
    command.args(&settings.login.options).args(options).args(["-T", "-x", "-a"]);
    let seconds = (settings.start_timeout.as_secs() * 2 / 3).max(1);
    let fixed = [
        // Without a password ssh never prompts; with one it prompts once, instead of three times.
        if password { "BatchMode=no" } else { "BatchMode=yes" }.to_owned(),
        "NumberOfPasswordPrompts=1".to_owned(),
        format!("ConnectTimeout={seconds}"),
        // Detects a broken connection within 15 s.
        "ServerAliveInterval=5".to_owned(),
        "ServerAliveCountMax=3".to_owned(),
        // An existing master may be used; a new one would outlive the run.
        "ControlMaster=no".to_owned(),
        "ClearAllForwardings=yes".to_owned(),
        "RemoteCommand=none".to_owned(),
        "PermitLocalCommand=no".to_owned(),
    ];
    for option in fixed {
        command.arg("-o").arg(option);
    }
    if let Some(port) = to.port {
        command.arg("-p").arg(port.to_string());
    }
    command.arg("--").arg(&to.name);
    command
}

/// A destination for ssh.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Destination {
    /// `host` or `user@host`, in ssh's form.
    name: String,
    /// The port, if given.
    port: Option<u16>,
}

/// A text that names no destination for ssh.
#[derive(Debug, thiserror::Error)]
#[error("{host:?}{fault}")]
struct DestinationError {
    host: String,
    fault: DestinationFault,
}

/// What is wrong with a destination. Reads after it.
#[derive(Debug, thiserror::Error)]
enum DestinationFault {
    #[error(": the bracket of the address is not closed")]
    OpenBracket,
    #[error(": write a port as [address]:port")]
    AfterBracket,
    #[error(" is no host for ssh; write host, user@host, host:port or [address]:port")]
    NoHost,
    #[error(": {0:?} is no port; write a number from 1 to 65535")]
    Port(String),
}

impl Destination {
    /// Parses `host`, `user@host`, `host:port`, `[v6]:port` or `v6`.
    fn of(host: &str) -> Result<Destination, DestinationError> {
        let wrong = |fault| DestinationError { host: host.to_owned(), fault };
        let (user, place) = match host.rsplit_once('@') {
            Some((user, place)) => (Some(user), place),
            None => (None, host),
        };
        let (name, port) = if let Some(rest) = place.strip_prefix('[') {
            let (address, behind) =
                rest.split_once(']').ok_or_else(|| wrong(DestinationFault::OpenBracket))?;
            match behind.strip_prefix(':') {
                Some(port) => (address, Some(port)),
                None if behind.is_empty() => (address, None),
                None => return Err(wrong(DestinationFault::AfterBracket)),
            }
        } else {
            match place.split_once(':') {
                Some((name, port)) if !port.contains(':') => (name, Some(port)),
                _ => (place, None),
            }
        };
        let strange = |text: &str| text.chars().any(|c| c.is_whitespace() || c.is_control());
        if name.is_empty()
            || name.starts_with('-')
            || host.starts_with('-')
            || strange(host)
            || user == Some("")
        {
            return Err(wrong(DestinationFault::NoHost));
        }
        let port = port.map(|port| match port.parse::<u16>() {
            Ok(number) if number > 0 => Ok(number),
            _ => Err(wrong(DestinationFault::Port(port.to_owned()))),
        });
        let name = user.map_or_else(|| name.to_owned(), |user| format!("{user}@{name}"));
        Ok(Destination { name, port: port.transpose()? })
    }
}

/// sshd closed the connection before a login began: too many at once.
fn turned_away(said: &str) -> bool {
    ["kex_exchange_identification", "Exceeded MaxStartups", "Connection reset by peer"]
        .iter()
        .any(|sign| said.contains(sign))
}

pub(super) fn advice(error: &AgentStartError, host: &str) -> String {
    let by_hand = || format!("try by hand: ssh {host} true");
    match error {
        AgentStartError::Copy(CopyError::OtherMachine { .. }) => {
            "install manometer there and give its path with --agent-binary".to_owned()
        }
        AgentStartError::Copy(CopyError::NoProgram(_)) => NO_PROGRAM.to_owned(),
        AgentStartError::Ended(said)
        | AgentStartError::NoAnswer { said, .. }
        | AgentStartError::Copy(CopyError::Script { said, .. }) => {
            advice_on(said).map_or_else(by_hand, str::to_owned)
        }
        _ => by_hand(),
    }
}

const NO_PROGRAM: &str = "give the path of manometer on the hosts with --agent-binary";

/// What to do about the last output of ssh and of what it runs.
fn advice_on(said: &str) -> Option<&'static str> {
    let known = [
        (
            "Host key verification failed",
            "connect once by hand and answer ssh's question about the host's key",
        ),
        ("Permission denied", "load a key into your ssh agent, or give --ssh-password-file"),
        (SILENCE, "load a key into your ssh agent for what it asks"),
        ("Could not resolve hostname", "check the host's name"),
        ("GLIBC", "install a manometer made for that system there, and give its path with --agent-binary"),
        ("command not found", NO_PROGRAM),
    ];
    known.iter().find(|(sign, _)| said.contains(sign)).map(|(_, advice)| *advice)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_read_as_people_write_them() {
        for (host, name, port) in [
            ("node1", "node1", None),
            ("me@node1", "me@node1", None),
            ("node1:2222", "node1", Some(2222)),
            ("me@node1:2222", "me@node1", Some(2222)),
            ("[fd00::1]:22", "fd00::1", Some(22)),
            ("me@[fd00::1]", "me@fd00::1", None),
            ("fd00::1", "fd00::1", None),
            ("me@example.org@node1", "me@example.org@node1", None),
        ] {
            assert_eq!(Destination::of(host).unwrap(), Destination { name: name.to_owned(), port }, "{host}");
        }
        for host in [
            "",
            "-oProxyCommand=x",
            "me@-x",
            "a b",
            "a:0",
            "a:x",
            "a:99999",
            "[fd00::1",
            "[::1]22",
            "@a",
            "a\n",
        ] {
            assert!(Destination::of(host).is_err(), "{host}");
        }
    }
}
