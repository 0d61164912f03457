//! `manometer check`: from its arguments to its report.

pub mod arguments;
mod report;
mod request;

use std::path::Path;
use std::sync::Arc;

use anyhow::Context;
use checks::{CheckAccess, CheckError, CheckReport, CheckRequest, CheckSource};
use drivers::s3::{Credentials, CredentialsError};
use runner::{Events, StopReason, StopToken};
use targets::{AccessKey, HeldSecrets, ProcessEnvironment, Secrets as _, no_keys};

use crate::exit;
use crate::interrupt::{self, Manner};
use crate::messages::Messages;
use crate::progress::ProgressView;
use arguments::CheckArguments;
use report::ReportDestination;

/// Runs a check from start to end; returns the process's exit code.
pub fn run(arguments: CheckArguments, messages: &Messages) -> u8 {
    let request = match request::read(&arguments, |name| std::env::var(name).ok()) {
        Ok(request) => request,
        Err(error) => return exit::usage(messages, "check", &error.to_string()),
    };
    let destination = match ReportDestination::open(arguments.output, arguments.output_file.as_deref()) {
        Ok(destination) => destination,
        Err(error) => {
            return exit::usage(
                messages,
                "check",
                &format!("--output-file: {error}: name a file that can be written"),
            );
        }
    };
    let secrets = match secrets(&request) {
        Ok(secrets) => secrets,
        Err(error) => return exit::failure(messages, &no_keys(&error)),
    };
    let stop = match interrupt::listen(messages, Manner::Check) {
        Ok(stop) => stop,
        Err(refusal) => return refusal.tell(messages),
    };
    let events: Arc<dyn Events> = Arc::new(ProgressView::new(messages));
    match checks::check(request, &events, &stop, &secrets) {
        Ok(report) => show(&report, destination, &stop, messages),
        Err(CheckError::Usage(line)) => exit::usage(messages, "check", &line),
        Err(CheckError::Failure(line)) => exit::failure(messages, &line),
        Err(error @ CheckError::Stopped(_)) => {
            messages.note(&error.to_string());
            stop.reason().map_or(1, exit::of_reason)
        }
    }
}

/// Writes the report; returns the exit code.
fn show(report: &CheckReport, destination: ReportDestination, stop: &StopToken, messages: &Messages) -> u8 {
    let written = destination.write(report, &mut std::io::stdout().lock());
    // Once the terminal is gone, nobody can see output.
    if stop.reason() != Some(StopReason::HangUp)
        && let Err(error) = written.context("the report cannot be written")
    {
        return exit::failure(messages, &format!("{error:#}"));
    }
    match stop.reason() {
        Some(reason) => exit::of_reason(reason),
        None if report.success() => 0,
        None => 1,
    }
}

/// The credentials of existing buckets.
fn secrets(request: &CheckRequest) -> Result<HeldSecrets, CredentialsError> {
    let CheckSource::Existing(given) = &request.source else { return Ok(HeldSecrets::default()) };
    let with_keys = |access: &&CheckAccess| access.checked && access.protocol.has_keys;
    let named = |access: &&CheckAccess| given.iter().any(|one| std::ptr::eq(one.protocol, access.protocol));
    let key = |access: &CheckAccess| {
        let file = access.options.get("credentials_file").map(Path::new);
        let (id, secret, token) = credentials(file)?.into_texts();
        Ok((access.protocol.kind.scheme.to_owned(), AccessKey { id, secret, token }))
    };
    request.access.iter().filter(with_keys).filter(named).map(key).collect()
}

/// S3 keys from this file, else from where the AWS tools look.
fn credentials(file: Option<&Path>) -> Result<Credentials, CredentialsError> {
    Credentials::find_in(file, &|name| ProcessEnvironment.variable(name))
}
