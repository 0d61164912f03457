//! Flags that select a command's hosts: the same for `run`, `check` and `network`, and equivalent to the section
//! `fleet` of an experiment file.

mod password;
mod pods;
#[cfg(test)]
mod tests;
mod words;

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use experiment::{FailurePolicy, Fleet, HostsFileError, Launcher, Sharing, host_list};
use fleet::launch::SshLogin;
use provision::ApiSecret;

/// The fleet's flags. What is given here wins over the experiment file.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Fleet")]
pub struct FleetArguments {
    /// Load hosts, reached over ssh: a,b,c or node[01-16] or @FILE with one host per line; also
    /// user@host:port
    #[arg(long, value_name = "HOSTS", conflicts_with_all = ["local", "slurm", "kubernetes"])]
    pub hosts: Option<String>,
    /// Run this many agents on this host
    #[arg(long, value_name = "N", conflicts_with_all = ["slurm", "kubernetes"])]
    pub local: Option<u32>,
    /// Slurm nodes: nodes=12[,partition=NAME,…] (other keys are salloc options) [without a value: the nodes
    /// of the current allocation]
    #[arg(long, value_name = "nodes=N,…", num_args = 0..=1, default_missing_value = "", conflicts_with = "kubernetes")]
    pub slurm: Option<String>,
    /// Pods: count=12,image=NAME[,namespace=…,host_network,claim=NAME:/PATH,cpu=…,memory=…,node_selector.KEY=VALUE,…]
    #[arg(long, value_name = "count=N,image=NAME,…")]
    pub kubernetes: Option<String>,
    /// Start agents with this command instead of ssh: "podman exec -i {host} manometer agent"
    #[arg(long, value_name = "COMMAND", requires = "hosts")]
    pub launcher_command: Option<String>,
    /// Path of manometer on the hosts [default: ssh copies this program there; Slurm uses the path it has
    /// here]
    #[arg(long, value_name = "PATH")]
    pub agent_binary: Option<String>,
    /// Pass an option to ssh: "-F FILE", "-i KEY" or Name=value; may be repeated
    #[arg(long, value_name = "OPTION", requires = "hosts", allow_hyphen_values = true)]
    pub ssh_option: Vec<String>,
    /// Ask for the hosts' password on the terminal
    #[arg(long, requires = "hosts", conflicts_with_all = ["ssh_password_file", "ssh_password_fd"])]
    pub ssh_ask_password: bool,
    /// File with the hosts' password; only you may be able to read it
    #[arg(long, value_name = "FILE", requires = "hosts", conflicts_with = "ssh_password_fd")]
    pub ssh_password_file: Option<PathBuf>,
    /// File descriptor to read the hosts' password from
    #[arg(long, value_name = "N", requires = "hosts")]
    pub ssh_password_fd: Option<u32>,
    /// What to do when a host fails [default: the experiment file's setting, else go-on]
    #[arg(long, value_name = "WHAT")]
    pub on_host_failure: Option<OnHostFailure>,
    /// How hosts share a cell's data [default: the experiment file's setting, else own]
    #[arg(long, value_name = "HOW")]
    pub sharing: Option<SharedHow>,
}

/// What to do when a host fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum OnHostFailure {
    /// Continue with the others, and report the loss
    GoOn,
    /// Repeat the cell with the others
    RepeatCell,
    /// Stop the run
    Stop,
}

/// How hosts share data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SharedHow {
    /// Each host has its own directory or bucket prefix
    Own,
    /// One place; each host has its own files in it
    Disjoint,
    /// One place; every host loads all files
    Common,
    /// One place; each host reads what the next one wrote
    Neighbour,
}

impl FleetArguments {
    /// How to start agents, if a flag says so.
    ///
    /// # Errors
    /// One line: which flag is wrong, and what to write.
    pub fn launcher(&self) -> Result<Option<Launcher>, String> {
        let binary = self.agent_binary.clone();
        if let Some(path) = binary.as_ref().filter(|path| path.is_empty() || path.starts_with('-')) {
            return Err(format!("--agent-binary: {path:?} is no path; write such as /opt/manometer"));
        }
        let launcher = if let Some(hosts) = &self.hosts {
            let hosts = hosts_of(hosts)?;
            match &self.launcher_command {
                Some(command) => {
                    let command =
                        words::split(command).map_err(|error| format!("--launcher-command: {error}"))?;
                    Launcher::Command { hosts, command }
                }
                None => {
                    Launcher::Ssh { hosts, options: ssh_words(&self.ssh_option)?, binary: binary.clone() }
                }
            }
        } else if let Some(count) = self.local {
            if count == 0 {
                return Err("--local 0: a fleet needs at least 1 agent; write --local 1 or more".to_owned());
            }
            Launcher::Local { count }
        } else if let Some(text) = &self.slurm {
            slurm(text, binary.clone())?
        } else if let Some(text) = &self.kubernetes {
            Launcher::Kubernetes(Box::new(pods::read(text)?))
        } else {
            return match binary {
                Some(_) => {
                    Err("--agent-binary needs --hosts or --slurm; write which hosts have it".to_owned())
                }
                None => Ok(None),
            };
        };
        let uses = matches!(launcher, Launcher::Ssh { .. } | Launcher::Slurm { .. });
        if binary.is_some() && !uses {
            return Err(format!("--agent-binary is nothing for {}; remove it", launcher.word()));
        }
        let ssh = matches!(launcher, Launcher::Ssh { .. });
        if !ssh && (!self.ssh_option.is_empty() || self.has_password()) {
            return Err("--ssh-… options go with --hosts alone; remove them or --launcher-command".to_owned());
        }
        Ok(Some(launcher))
    }

    /// The fleet: the experiment file's, overridden by flags; `None` if neither specifies one.
    ///
    /// # Errors
    /// One line: which flag is wrong, and what to write.
    pub fn fleet(&self, plan: Option<Fleet>) -> Result<Option<Fleet>, String> {
        let Some(mut fleet) = (match (self.launcher()?, plan) {
            (Some(launcher), Some(plan)) => Some(Fleet { launcher, ..plan }),
            (Some(launcher), None) => Some(Fleet::of(launcher)),
            (None, plan) => plan,
        }) else {
            return match (self.on_host_failure, self.sharing) {
                (None, None) => Ok(None),
                (Some(_), _) => {
                    Err("--on-host-failure needs hosts; give --hosts, --local or another".to_owned())
                }
                (None, Some(_)) => Err("--sharing needs hosts; give --hosts, --local or another".to_owned()),
            };
        };
        if let Some(what) = self.on_host_failure {
            fleet.on_failure = match what {
                OnHostFailure::GoOn => FailurePolicy::GoOn,
                OnHostFailure::RepeatCell => FailurePolicy::RepeatCell,
                OnHostFailure::Stop => FailurePolicy::Stop,
            };
        }
        if let Some(how) = self.sharing() {
            fleet.sharing = how;
        }
        Ok(Some(fleet))
    }

    /// How hosts share data, if a flag says so.
    pub fn sharing(&self) -> Option<Sharing> {
        self.sharing.map(|how| match how {
            SharedHow::Own => Sharing::Own,
            SharedHow::Disjoint => Sharing::Disjoint,
            SharedHow::Common => Sharing::Common,
            SharedHow::Neighbour => Sharing::Neighbour,
        })
    }

    /// How to log in; the password is prompted for or read as the flags say. Call it once, before anything else uses the
    /// terminal.
    ///
    /// # Errors
    /// One line: why no password could be obtained.
    pub fn login(&self) -> Result<SshLogin, String> {
        Ok(SshLogin { password: self.password()?, options: Vec::new() })
    }

    fn password(&self) -> Result<Option<ApiSecret>, String> {
        if let Some(path) = &self.ssh_password_file {
            return password::from_file(path).map(Some);
        }
        if let Some(number) = self.ssh_password_fd {
            return password::from_descriptor(number).map(Some);
        }
        if self.ssh_ask_password {
            let hosts = self.hosts.as_deref().unwrap_or_default();
            return password::ask(&format!("Password for ssh to {hosts}: ")).map(Some);
        }
        Ok(None)
    }

    fn has_password(&self) -> bool {
        self.ssh_ask_password || self.ssh_password_file.is_some() || self.ssh_password_fd.is_some()
    }
}

/// Options of `--ssh-option` as words of ssh's command line: a bare `Name=value` becomes an `-o`.
///
/// # Errors
/// One line: which option is none.
pub fn ssh_words(given: &[String]) -> Result<Vec<String>, String> {
    let mut options = Vec::new();
    for option in given {
        let words = words::split(option).map_err(|error| format!("--ssh-option: {error}"))?;
        match words.first() {
            Some(first) if first.starts_with('-') && first.len() > 1 => options.extend(words),
            Some(first) if first.contains('=') => options.extend(["-o".to_owned(), words.join(" ")]),
            _ => return Err(format!("--ssh-option {option:?}: write -F FILE, -i KEY or Name=value")),
        }
    }
    Ok(options)
}

/// The hosts of `--hosts`: a list, or the file that `@FILE` names.
///
/// # Errors
/// One line: why this is no list of hosts.
pub fn hosts_of(text: &str) -> Result<Vec<String>, String> {
    match text.strip_prefix('@') {
        Some(file) => host_list(&read_hosts(file).map_err(|error| error.to_string())?)
            .map_err(|error| format!("--hosts @{file}: {error}")),
        None => host_list(text).map_err(|error| format!("--hosts: {error}")),
    }
}

/// The text of a file of hosts.
///
/// # Errors
/// It cannot be read.
pub fn read_hosts(file: &str) -> Result<String, HostsFileError> {
    /// Maximum size: a larger file is something else.
    const MAX_BYTES: u64 = 4 << 20;
    let cannot = |error| HostsFileError::Unreadable { file: file.to_owned(), error };
    let mut text = String::new();
    let opened = std::fs::File::open(file).map_err(cannot)?;
    std::io::Read::read_to_string(&mut std::io::Read::take(opened, MAX_BYTES), &mut text).map_err(cannot)?;
    Ok(text)
}

/// `nodes=4,partition=x,exclusive`: the number of nodes, and options of salloc.
fn slurm(text: &str, binary: Option<String>) -> Result<Launcher, String> {
    let (mut nodes, mut options) = (None, Vec::new());
    for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        let (key, value) = part.split_once('=').unwrap_or((part, ""));
        if key == "nodes" {
            let count = value.parse::<u32>().ok().filter(|count| *count > 0);
            nodes = Some(
                count.ok_or_else(|| format!("--slurm {part}: write a number of nodes, such as nodes=4"))?,
            );
            continue;
        }
        let plain = !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        if !plain || key.starts_with('-') {
            return Err(format!(
                "--slurm {part:?}: write nodes=N and options of salloc, such as partition=NAME"
            ));
        }
        options.push(format!("--{part}"));
    }
    Ok(Launcher::Slurm { nodes, options, binary })
}
