//! A server's command line tool, here or on another host.

use std::time::Duration;

use experiment::{BRICK_HOST, Provision, Via};
use fleet::launch::{LaunchSettings, OutputError, SshLogin, output_of, quoted};

/// A script that prints those of its arguments that exist.
pub(crate) const PRESENT: &str =
    r#"for p; do if [ -e "$p" ] || [ -L "$p" ]; then printf '%s\n' "$p"; fi; done"#;

/// How commands are run, whatever they do.
pub struct ToolAccess<'a> {
    /// How to log in by ssh.
    pub login: SshLogin,
    /// Whether the user has cancelled.
    pub stop: &'a (dyn Fn() -> bool + Sync),
}

/// A tool with the options that the user gave it.
pub(crate) struct Tool<'a> {
    /// The program with its first arguments.
    program: Vec<String>,
    provision: &'a Provision,
    access: &'a ToolAccess<'a>,
}

impl<'a> Tool<'a> {
    /// A program with its first arguments, followed by the user's options.
    pub fn new(program: &[&str], provision: &'a Provision, access: &'a ToolAccess<'a>) -> Self {
        let words = program.iter().map(|word| (*word).to_owned());
        Self { program: words.chain(provision.options.iter().cloned()).collect(), provision, access }
    }

    /// Calls the tool; returns what it printed.
    pub fn call<W: AsRef<str>>(&self, words: &[W]) -> Result<String, OutputError> {
        self.run(&self.words(words), "", self.provision.via.as_ref())
    }

    /// Whether a call prints this name on a line of its own.
    pub fn lists(&self, words: &[&str], name: &str) -> Result<bool, OutputError> {
        Ok(self.call(words)?.lines().any(|line| line.trim() == name))
    }

    /// Calls the tool from a shell that reads the command from its input: it is in no argument list but the tool's own.
    pub fn call_hidden(&self, words: &[&str]) -> Result<String, OutputError> {
        let line: Vec<String> = self.words(words).iter().map(|word| quoted(word)).collect();
        let shell = ["sh".to_owned()];
        self.run(&shell, &format!("{}\n", line.join(" ")), self.provision.via.as_ref())
    }

    /// Runs a shell script with arguments where the tool runs.
    pub fn script(&self, script: &str, arguments: &[&str]) -> Result<String, OutputError> {
        self.run(&script_words(script, arguments), "", self.provision.via.as_ref())
    }

    /// Runs a shell script on one of the server's hosts: `via` with the host's name, or where the tool runs.
    pub fn script_on(
        &self,
        host: &str,
        via: Option<&Via>,
        script: &str,
        arguments: &[&str],
    ) -> Result<String, OutputError> {
        let named = |word: &String| word.replace(BRICK_HOST, host);
        let via = match via {
            Some(Via::Ssh { host, options }) => {
                Some(Via::Ssh { host: named(host), options: options.clone() })
            }
            Some(Via::Command { command }) => {
                Some(Via::Command { command: command.iter().map(named).collect() })
            }
            None => self.provision.via.clone(),
        };
        self.run(&script_words(script, arguments), "", via.as_ref())
    }

    fn words<W: AsRef<str>>(&self, words: &[W]) -> Vec<String> {
        self.program.iter().cloned().chain(words.iter().map(|word| word.as_ref().to_owned())).collect()
    }

    fn run(&self, words: &[String], input: &str, via: Option<&Via>) -> Result<String, OutputError> {
        let timeout = Duration::from_millis(self.provision.timeout_ms);
        let mut settings = LaunchSettings::new(env!("CARGO_PKG_VERSION"), timeout, self.access.stop);
        settings.login = self.access.login.clone();
        output_of(words, input, via, &settings)
    }
}

fn script_words(script: &str, arguments: &[&str]) -> Vec<String> {
    ["sh", "-c", script, "sh"].iter().chain(arguments).map(|word| (*word).to_owned()).collect()
}
