//! manometer: what storage can really do, and what is holding it back.

mod agent;
mod array_command;
mod calibrate;
mod check;
mod cleanup;
mod exit;
mod fio;
mod fleet;
mod init;
mod interrupt;
mod live;
mod messages;
mod network;
mod progress;
mod report_commands;
mod results;
mod run;
mod stdout;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Tells what storage can really do from this client, and what is holding it back.
#[derive(Parser, Debug)]
#[command(version, max_term_width = 100, disable_help_subcommand = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    Calibrate(calibrate::arguments::CalibrateArguments),
    Check(Box<check::arguments::CheckArguments>),
    Run(Box<run::arguments::RunArguments>),
    Init(Box<init::InitArguments>),
    Network(Box<network::arguments::NetworkArguments>),
    Fio(fio::arguments::FioArguments),
    List(results::list::ListArguments),
    Show(results::show::ShowArguments),
    Report(report_commands::report::ReportArguments),
    Compare(report_commands::compare::CompareArguments),
    Notebook(report_commands::notebook::NotebookArguments),
    Export(results::export::ExportArguments),
    Forget(results::forget::ForgetArguments),
    Cleanup(cleanup::CleanupArguments),
    Array(Box<array_command::ArrayArguments>),
    #[command(hide = true)]
    Agent(agent::AgentArguments),
}

fn main() -> ExitCode {
    // ssh starts this very program to be told a password.
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
        Command::Network(arguments) => network::run(&arguments, &messages),
        Command::Notebook(arguments) => report_commands::notebook::run(&arguments, &messages),
        Command::Report(arguments) => report_commands::report::run(&arguments, &messages),
        Command::Init(arguments) => init::run(*arguments, &messages),
        Command::Run(arguments) => run::run(*arguments, &messages),
        Command::Fio(arguments) => fio::run(arguments, &messages),
        Command::Export(arguments) => results::export::run(&arguments, &messages),
        Command::Forget(arguments) => results::forget::run(&arguments, &messages),
        Command::List(arguments) => results::list::run(&arguments, &messages),
        Command::Show(arguments) => results::show::run(&arguments, &messages),
    })
}
