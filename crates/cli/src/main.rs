//! manometer: what storage can really do, and what limits it.

mod agent;
mod array_command;
mod calibrate;
mod check;
mod cleanup;
mod completions;
#[cfg(test)]
mod documented;
mod exit;
mod exports;
mod fio;
mod fleet;
mod init;
mod interrupt;
mod live;
mod manual;
mod messages;
mod network;
mod progress;
mod report_commands;
mod results;
mod run;
mod serve;
mod smallfile;
mod stdout;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Measures what storage really delivers to this client, and names what holds it back.
#[derive(Parser, Debug)]
#[command(version, max_term_width = 100, after_help = WHERE_TO_START)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

const WHERE_TO_START: &str = "\
Where to start:
  manometer run file:///mnt/data --read 70% --for 30s    measure a directory
  manometer check --nfs nfs://filer/export               test the path to a server
  manometer init nightly.yaml nfs://filer/export         write an experiment file
  manometer report                                       write the last run as an HTML report

`manometer help COMMAND` explains a command in full, with examples.";

#[derive(Subcommand, Debug)]
enum Command {
    // Measuring.
    Run(Box<run::arguments::RunArguments>),
    Check(Box<check::arguments::CheckArguments>),
    Network(Box<network::arguments::NetworkArguments>),
    Fio(fio::arguments::FioArguments),
    Smallfile(smallfile::SmallfileArguments),
    Calibrate(calibrate::arguments::CalibrateArguments),
    Init(Box<init::InitArguments>),
    Serve(Box<serve::ServeArguments>),
    // Results.
    List(results::list::ListArguments),
    Show(results::show::ShowArguments),
    Report(report_commands::report::ReportArguments),
    Compare(report_commands::compare::CompareArguments),
    Notebook(report_commands::notebook::NotebookArguments),
    Export(results::export::ExportArguments),
    Forget(results::forget::ForgetArguments),
    // Other commands.
    Cleanup(cleanup::CleanupArguments),
    Array(Box<array_command::ArrayArguments>),
    Completions(completions::CompletionsArguments),
    Man(manual::ManArguments),
    #[command(hide = true)]
    Agent(agent::AgentArguments),
}

fn main() -> ExitCode {
    // ssh starts this same program to ask for a password.
    if let Some(code) = ::fleet::launch::askpass() {
        return code;
    }
    let cli = Cli::parse();
    let messages = messages::Messages::new();
    if stdout::was_closed() {
        let line = "standard output is closed, so that no result could be printed; next: send it somewhere, such as > file";
        return ExitCode::from(exit::failure(&messages, line));
    }
    ExitCode::from(match cli.command {
        Command::Agent(arguments) => agent::run(&arguments, &messages),
        Command::Array(arguments) => array_command::run(*arguments, &messages),
        Command::Calibrate(arguments) => calibrate::run(&arguments, &messages),
        Command::Check(arguments) => check::run(*arguments, &messages),
        Command::Cleanup(arguments) => cleanup::run(arguments, &messages),
        Command::Compare(arguments) => report_commands::compare::run(&arguments, &messages),
        Command::Completions(arguments) => completions::run(&arguments, &messages),
        Command::Man(arguments) => manual::run(&arguments, &messages),
        Command::Network(arguments) => network::run(&arguments, &messages),
        Command::Notebook(arguments) => report_commands::notebook::run(&arguments, &messages),
        Command::Report(arguments) => report_commands::report::run(&arguments, &messages),
        Command::Init(arguments) => init::run(*arguments, &messages),
        Command::Run(arguments) => run::run(*arguments, &messages),
        Command::Fio(arguments) => fio::run(arguments, &messages),
        Command::Smallfile(arguments) => smallfile::run(&arguments, &messages),
        Command::Export(arguments) => results::export::run(&arguments, &messages),
        Command::Forget(arguments) => results::forget::run(&arguments, &messages),
        Command::List(arguments) => results::list::run(&arguments, &messages),
        Command::Serve(arguments) => serve::run(*arguments, &messages),
        Command::Show(arguments) => results::show::run(&arguments, &messages),
    })
}
