//! `manometer man`: the manual as pages for `man`.

use std::path::PathBuf;

use clap::{Args, CommandFactory};

use crate::Cli;
use crate::exit;
use crate::messages::Messages;

/// Writes the manual pages: manometer.1 and one page per command.
///
/// Exit code: 0 written, 1 the directory cannot be written, 2 wrong usage.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct ManArguments {
    /// Directory for the pages; it is created if needed
    #[arg(value_name = "DIRECTORY")]
    directory: PathBuf,
}

const EXAMPLES: &str = "\
Example:
  manometer man ~/.local/share/man/man1 && man manometer-run";

/// Writes the pages; returns the process's exit code.
pub fn run(arguments: &ManArguments, messages: &Messages) -> u8 {
    let directory = &arguments.directory;
    // Pages for `help` would repeat each command's own page.
    let command = Cli::command().disable_help_subcommand(true);
    let written =
        std::fs::create_dir_all(directory).and_then(|()| clap_mangen::generate_to(command, directory));
    match written {
        Ok(()) => {
            messages.note(&format!("wrote the pages; next: man {}/manometer.1", directory.display()));
            0
        }
        Err(error) => {
            let line =
                format!("{}: {error}; next: name a directory that can be written", directory.display());
            exit::failure(messages, &line)
        }
    }
}
