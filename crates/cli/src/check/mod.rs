//! `manometer check`: is the plumbing between this client and its storage right?
//!
//! The stages, one way: arguments, request, ground (provisioning), rows, removal, report.

pub mod arguments;
mod demo;
mod ground;
mod limit;
mod paths;
mod place;
pub mod report;
mod request;
pub mod row;
mod sampler;
mod stage;
mod targets;
mod url;
pub mod verdict;
mod walk;

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use drivers::Payload;
use provision::{Journal, Run, RunId};
use reactor::{Backend, Reactor};

pub use ground::credentials;
pub use place::Place;
pub use targets::no_keys;

use crate::check::report::{Destination, ReactorFacts, Report};
use crate::exit;
use crate::interrupt::{self, Manner};
use crate::messages::Messages;
use arguments::CheckArguments;
use demo::Demo;
use ground::Ground;
use request::{Request, Source};
use row::Row;
use runner::{StopReason, StopToken, timestamp};
use stage::Bench;

/// Makes a check from beginning to end; the process's exit code.
pub fn run(arguments: CheckArguments, messages: &Messages) -> u8 {
    let request = match Request::new(arguments, |name| std::env::var(name).ok()) {
        Ok(request) => request,
        Err(error) => return exit::usage(messages, &error.to_string()),
    };
    let destination = match Destination::open(request.format, request.output_file.as_deref()) {
        Ok(destination) => destination,
        Err(error) => {
            return exit::usage(
                messages,
                &format!("--output-file: {error}: name a file that can be written"),
            );
        }
    };
    match check(request, destination, messages) {
        Ok(code) => code,
        Err(error) if ground::is_usage(&error) => exit::usage(messages, &format!("{error:#}")),
        Err(error) => exit::failure(messages, &format!("{error:#}")),
    }
}

fn check(mut request: Request, destination: Destination, messages: &Messages) -> Result<u8> {
    let started = timestamp::now();
    let demo = match request.source {
        Source::Demo => Some(Demo::start(&mut request)?),
        _ => None,
    };
    let ports = demo.as_ref().map_or_else(BTreeMap::new, |demo| demo.ports.clone());
    let reactor = choose_reactor(request.load.reactor, messages)?;
    let stop = interrupt::listen(messages, Manner::Check)?;
    let run = begin(&request)?;
    stop.set_leftovers(Some(runner::what_may_be_left(&run, request.journal_dir.as_deref())));

    let ground = match Ground::prepare(&request, &run, &stop, messages, &ports) {
        Ok(ground) => ground,
        Err(error) => return abandon(&run, &stop, messages, error),
    };
    let array = ground.array.clone();
    let mut bench = Bench {
        load: request.load.clone(),
        payload: Payload::new(seed(run.id())),
        messages: messages.clone(),
        interrupt: stop.clone(),
        alone: runner::bottleneck::Alone::of_this_host(),
    };
    let rows = ground.targets.iter().zip(0..).map(|(target, number)| {
        // Other bytes in each row: what one left behind must not pass for what the next one wrote, nor make it cheaper.
        bench.payload = Payload::new(seed(run.id()).wrapping_add(number));
        walk::walk(&mut bench, target, &run)
    });
    let rows: Vec<Row> = rows.collect();
    let left_behind = ground.remove(&run, messages);
    drop(demo);

    let report = Report {
        run_id: run.id().to_string(),
        started,
        finished: timestamp::now(),
        settings: request.settings(),
        array,
        reactor,
        verdict: verdict::verdict(&rows),
        rows,
        left_behind,
        interrupted_by: stop.reason().map(StopReason::name),
    };
    let written = destination.write(&report, &mut std::io::stdout().lock());
    if stop.reason() != Some(StopReason::HangUp) {
        written.context("the report cannot be written")?;
    }
    if !report.left_behind.is_empty() {
        messages.error(&left_behind_line(&report.left_behind));
    }
    Ok(match stop.reason() {
        Some(reason) => exit::of_reason(reason),
        None if report.success() => 0,
        None => 1,
    })
}

/// Tries the reactor before anything is made, and says so when io_uring is refused.
fn choose_reactor(choice: reactor::Choice, messages: &Messages) -> Result<ReactorFacts> {
    let reactor = Reactor::open(choice).with_context(|| format!("--reactor {choice}"))?;
    let refusal = reactor.refusal();
    if let Some(reason) = &refusal {
        messages.note(&format!("io_uring is refused, epoll is used: {reason}"));
    }
    let backend = match reactor.backend() {
        Backend::Epoll => "epoll",
        Backend::Uring | Backend::Simulated => "io_uring",
    };
    Ok(ReactorFacts { backend, refusal })
}

fn begin(request: &Request) -> Result<Run> {
    let directory = match &request.journal_dir {
        Some(directory) => directory.clone(),
        None => Journal::default_directory()?,
    };
    Ok(Journal::open(&directory)?.begin(&RunId::random())?)
}

/// Ends a check whose ground could not be prepared.
fn abandon(run: &Run, stop: &StopToken, messages: &Messages, error: anyhow::Error) -> Result<u8> {
    if let Err(error) = run.finish() {
        messages.warn(&error.to_string());
    }
    let remaining = run.remaining();
    if !remaining.is_empty() {
        messages.error(&left_behind_line(&remaining));
    }
    match stop.reason() {
        Some(reason) => {
            messages.note(&format!("stopped before anything was measured: {error:#}"));
            Ok(exit::of_reason(reason))
        }
        None => Err(error),
    }
}

fn left_behind_line(remaining: &[String]) -> String {
    format!("left behind: {}; next: run `manometer cleanup`", remaining.join(", "))
}

/// The payload of a run is its own, so that nothing left by another can pass for it.
fn seed(run: &RunId) -> u64 {
    run.as_str().bytes().fold(0, |seed, byte| seed << 8 | u64::from(byte))
}
