//! `manometer serve`: what remains of a run whose service was killed, and resuming it.

#![allow(clippy::unwrap_used)] // a test may fail loudly

mod run_support;
mod serve_support;
mod support;

use std::process::Command;

use run_support::names;
use rustix::process::{Signal, test_kill_process};
use serde_json::{Value, json};
use serve_support::{Answer, Served, directory, state};
use store::{State, Store};
use support::{children, run, wait_until};
use tempfile::TempDir;

/// Two cells on files, from two agents.
const MATRIX: &str = "
name: matrix
targets: {t: 'file://DATA'}
workloads: {w: {ops: read, file_size: 1MiB, rate: 400/s}}
stages: {warm_up: 0s, measure: {at_least: 4s, at_most: 4s}}
matrix: {block_size: [4KiB, 8KiB]}
steady: none
fleet: {local: 2}
";

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

fn resume(served: &Served, run: &str, headers: &str, body: &str) -> Answer {
    served.request("POST", &format!("/api/v3/runs/{run}/resume"), headers, body)
}

fn ended(served: &Served, run: &str) -> String {
    let last = served.all_events(run).pop().unwrap();
    assert_eq!(last.kind, "end");
    last.data["state"].as_str().unwrap().to_owned()
}

fn results(directory: &TempDir) -> Store {
    Store::open_existing(&state(directory, "results.sqlite")).unwrap()
}

/// Kills the service.
fn kill(served: Served) {
    served.signal(Signal::KILL);
    assert_eq!(served.finish().0, None);
}

#[test]
fn a_run_of_a_killed_service_is_resumed_under_its_id() {
    let directory = directory();
    let data = directory.path().join("data");
    std::fs::create_dir(&data).unwrap();
    let flags = ["--allow-local", "--allow-path", data.to_str().unwrap()];
    let served = Served::start(&directory, &flags);
    let experiment = MATRIX.replace("DATA", data.to_str().unwrap());
    let id = served.run(&experiment);
    // Events come before what they tell is stored: a kill between the two would leave nothing of the cell.
    served.wait_for_intervals_of(&id, 1, 1);
    let agents = children(served.id());
    assert_eq!(agents.len(), 2, "{agents:?}");
    kill(served);
    wait_until("the agents' end", || agents.iter().all(|pid| test_kill_process(*pid).is_err()));

    let served = Served::start(&directory, &flags);
    let found = served.get_json(&format!("/api/v3/runs/{id}"));
    assert_eq!(found["state"], "interrupted");
    assert!(found["reason"].as_str().unwrap().contains("next: resume it"), "{found}");
    let before = results(&directory);
    assert_eq!(before.run(&id).unwrap().state, State::Interrupted);
    let (first, second) = (before.cells(&id).unwrap().remove(0), before.cells(&id).unwrap().remove(1));
    assert_eq!((first.state, second.state), (State::Finished, State::Running));
    let intervals = served.get_json(&format!("/api/v3/runs/{id}/intervals?cell=1"));
    assert!(!intervals["intervals"].as_array().unwrap().is_empty(), "{intervals}");

    let accepted = resume(&served, &id, "", "");
    assert_eq!((accepted.status, &accepted.json()["id"]), (202, &json!(id)), "{accepted:?}");
    let started = accepted.json()["started"].clone();
    assert_eq!(started, found["started"], "its first start");
    let again = resume(&served, &id, "", "");
    assert_eq!(again.status, 200, "it is under way: {again:?}");
    let events = served.all_events(&id);
    let states: Vec<&Value> =
        events.iter().filter(|event| event.kind != "message").map(|event| &event.data["state"]).collect();
    assert_eq!((states[0], states[1]), (&json!("queued"), &json!("running")), "{events:#?}");
    assert_eq!(events.last().unwrap().data, json!({ "state": "finished", "reason": null }));
    assert!(events.iter().all(|event| event.kind != "cell" || event.data["cell"] == 1), "{events:#?}");
    let after = results(&directory);
    let cells = after.cells(&id).unwrap();
    assert_eq!(cells[0], first, "a cell that was finished stays as it is");
    assert_eq!(cells[1].state, State::Finished);
    let total = &cells[1].result.as_ref().unwrap().total;
    // Each of the two agents starts 400 operations per second for 4 s.
    assert!(total.failed == 0 && total.ok > 0, "{total:#?}");
    assert_eq!(after.run(&id).unwrap().state, State::Finished);
    let run = served.get_json(&format!("/api/v3/runs/{id}"));
    assert_eq!((&run["state"], &run["reason"]), (&json!("finished"), &Value::Null), "{run}");
    let summary = served.get_json(&format!("/api/v3/runs/{id}/summary"));
    assert_eq!(summary["cells"]["ended"], 2);
    let refused = resume(&served, &id, "", "");
    assert_eq!((refused.status, &*refused.problem()), (409, "finished"));
    assert_eq!(names(&data), Vec::<String>::new(), "nothing is left on the target");
    assert_eq!(names(&state(&directory, "journal")), Vec::<String>::new());
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
