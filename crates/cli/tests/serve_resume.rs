//! `manometer serve`: what remains of a run whose service was killed, and resuming it.

#![allow(clippy::unwrap_used)] // a test may fail loudly

mod resume_support;
mod run_support;
mod serve_support;
mod support;

use std::process::Command;

use resume_support::{ended, kill, killed_and_resumed, resume};
use rustix::process::Signal;
use serde_json::json;
use serve_support::{Served, directory, state};
use store::Store;
use support::run;
use tempfile::TempDir;

/// Lasts until it is stopped.
const LONG: &str = "
name: long
targets: {t: 'null:'}
workloads: {w: {ops: read, rate: 200/s, block_size: 4KiB, file_size: 1MiB}}
stages: {warm_up: 0s, measure: {at_least: 600s, at_most: 600s}}
steady: none
";

/// Finished at once, on a virtual clock.
const EXACT: &str = "
name: exact
targets: {t: 'sim:?latency=1ms'}
workloads: {w: {ops: read, queue_depth: 4, block_size: 4KiB, file_size: 1MiB}}
stages: {warm_up: 1s, measure: {at_least: 10s, at_most: 10s}}
steady: none
";

fn results(directory: &TempDir) -> Store {
    Store::open_existing(&state(directory, "results.sqlite")).unwrap()
}

#[test]
fn a_run_of_a_killed_service_is_resumed_under_its_id() {
    let directory = directory();
    killed_and_resumed(&directory, &[], &|| results(&directory));
}

#[test]
fn a_stopped_run_is_resumed_and_a_second_kill_interrupts_it_again() {
    let directory = directory();
    let served = Served::start(&directory, &[]);
    let id = served.run(LONG);
    served.wait_for_intervals(&id, 1);
    served.request("POST", &format!("/api/v3/runs/{id}/stop"), "", "");
    assert_eq!(ended(&served, &id), "interrupted");
    assert_eq!(resume(&served, &id, "", "").status, 202);
    let mut events = served.events(&id, 0);
    assert!(events.any(|event| event.kind == "interval"), "it measures again");
    drop(events);
    kill(served);
    let served = Served::start(&directory, &[]);
    assert_eq!(served.state(&id), "interrupted");
    assert_eq!(resume(&served, &id, "", "").status, 202);
    let mut events = served.events(&id, 0);
    assert!(events.any(|event| event.kind == "interval"));
    drop(events);
    served.request("POST", &format!("/api/v3/runs/{id}/stop"), "", "");
    assert_eq!(ended(&served, &id), "interrupted");
    // A resumed run that waits, and is taken from the queue, can be resumed again; one that waits survives a restart.
    let other = served.run(LONG);
    served.wait_for_intervals(&other, 1);
    assert_eq!(resume(&served, &id, "", "").json()["state"], "queued");
    let taken = served.request("DELETE", &format!("/api/v3/runs/{id}"), "", "");
    assert_eq!(taken.json()["state"], "interrupted", "{taken:?}");
    assert_eq!(resume(&served, &id, "", "").json()["state"], "queued");
    kill(served);
    let served = Served::start(&directory, &[]);
    assert!(served.events(&id, 0).any(|event| event.kind == "interval"), "its turn has come");
    assert_eq!(served.state(&other), "interrupted");
}

#[test]
fn what_cannot_be_resumed_says_why() {
    let directory = directory();
    let served = Served::start(&directory, &[]);
    let refused = |served: &Served, run: &str, status: u16, code: &str, next: &str| {
        let answer = resume(served, run, "", "");
        assert_eq!((answer.status, &*answer.problem()), (status, code), "{answer:?}");
        let detail = answer.json()["detail"].as_str().unwrap().to_owned();
        assert!(!detail.contains('\n') && detail.contains(next), "{detail}");
    };
    refused(&served, "aaaaaaaa", 404, "no-such-run", "next: GET /api/v3/runs");
    let finished = served.run(EXACT);
    assert_eq!(ended(&served, &finished), "finished");
    refused(&served, &finished, 409, "finished", "next: GET /api/v3/runs/");
    let keyed = served.run_with_keys(LONG, json!({ "t": { "id": "of the user", "secret": "xyzzy" } }));
    let cancelled = served.run(LONG);
    served.request("DELETE", &format!("/api/v3/runs/{cancelled}"), "", "");
    refused(&served, &cancelled, 409, "no-results", "next: post its experiment again");
    served.wait_for_intervals(&keyed, 1);
    kill(served);

    let served = Served::start(&directory, &[]);
    refused(&served, &keyed, 409, "secrets", "next: send them again as JSON");
    let json = "content-type: application/json\r\n";
    for (headers, body, status, code) in [
        (json, "{\"keys\": {\"t\": {\"id\": \"a\", \"secret\": 7}}}", 400, "json"),
        (json, "\"keys\"", 400, "json"),
        ("content-type: application/yaml\r\n", "keys: {}", 415, "content-type"),
        ("origin: http://evil.example\r\n", "", 403, "cross-site"),
    ] {
        let answer = resume(&served, &keyed, headers, body);
        assert_eq!((answer.status, &*answer.problem()), (status, code), "{body}: {answer:?}");
    }
    let keys = json!({ "keys": { "t": { "id": "of the user", "secret": "xyzzy" } } }).to_string();
    let accepted = resume(&served, &keyed, json, &keys);
    assert_eq!(accepted.status, 202, "{accepted:?}");
    assert!(served.events(&keyed, 0).any(|event| event.kind == "interval"));
    served.request("POST", &format!("/api/v3/runs/{keyed}/stop"), "", "");
    assert_eq!(ended(&served, &keyed), "interrupted");

    let mut forget = Command::new(env!("CARGO_BIN_EXE_manometer"));
    let forgotten =
        run(forget.args(["forget", &keyed, "--results"]).arg(state(&directory, "results.sqlite")));
    assert_eq!(forgotten.code, Some(0), "{forgotten:#?}");
    let answer = resume(&served, &keyed, json, &keys);
    assert_eq!((answer.status, &*answer.problem()), (409, "no-results"), "{answer:?}");
    served.signal(Signal::TERM);
    let (_, messages) = served.finish();
    assert!(!messages.contains("xyzzy"));
}
