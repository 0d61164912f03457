//! Chores of this repository: `cargo xtask tidy` checks rules that no compiler checks, and `cargo xtask test` runs all tests.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command-line tool talks by printing")]

mod test;
mod tidy;

use std::path::PathBuf;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.split_first().map(|(command, options)| (&**command, options)) {
        Some(("tidy", [])) => run_tidy(),
        Some(("test", options)) => run_tests(options),
        _ => {
            eprintln!(
                "usage: cargo xtask tidy|test [--only '-p CRATE --test NAME']... [OPTIONS OF CARGO TEST]"
            );
            ExitCode::from(2)
        }
    }
}

/// The repository: where cargo says that this crate is now, which may be a copy of where it was built.
fn root() -> PathBuf {
    let here = std::env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| env!("CARGO_MANIFEST_DIR").into(), PathBuf::from);
    here.parent().expect("xtask lies in the workspace").to_owned()
}

fn run_tidy() -> ExitCode {
    match tidy::check(&root()) {
        Ok(findings) if findings.is_empty() => {
            println!("tidy: nothing to fix");
            ExitCode::SUCCESS
        }
        Ok(findings) => {
            for finding in &findings {
                eprintln!("{finding}");
            }
            eprintln!("tidy: {} to fix", findings.len());
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("tidy could not look: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run_tests(mut options: &[String]) -> ExitCode {
    let mut only = Vec::new();
    while let [option, name, rest @ ..] = options
        && option == "--only"
    {
        only.push(name.clone());
        options = rest;
    }
    match test::run(&root(), options, &only) {
        Ok(failed) if failed.is_empty() => ExitCode::SUCCESS,
        Ok(failed) => {
            for name in &failed {
                eprintln!("failed: cargo test {name}");
            }
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("the tests did not run: {error:#}");
            ExitCode::FAILURE
        }
    }
}
