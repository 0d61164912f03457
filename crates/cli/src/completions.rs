//! `manometer completions`: shell completion scripts for commands and flags.

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use crate::Cli;
use crate::exit::CommandError;
use crate::messages::Messages;
use crate::stdout;

/// Prints the completion script of a shell.
///
/// Exit code: 0 printed, 1 standard output cannot be written, 2 wrong usage.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct CompletionsArguments {
    /// The shell
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

const EXAMPLES: &str = "\
Examples:
  manometer completions bash > ~/.local/share/bash-completion/completions/manometer
  manometer completions zsh > ~/.zfunc/_manometer        (with fpath+=~/.zfunc before compinit in ~/.zshrc)
  manometer completions fish > ~/.config/fish/completions/manometer.fish";

/// Prints the script; returns the process's exit code.
pub fn run(arguments: &CompletionsArguments, messages: &Messages) -> u8 {
    let mut text = Vec::new();
    clap_complete::generate(arguments.shell, &mut Cli::command(), "manometer", &mut text);
    stdout::print(&String::from_utf8_lossy(&text), "write it to a file with room")
        .map_or_else(|refusal: CommandError| refusal.tell(messages), |()| 0)
}
