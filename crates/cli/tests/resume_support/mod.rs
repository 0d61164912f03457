//! Runs whose service was killed, on whatever database.

#![allow(dead_code, reason = "each test program uses a part of it")]

use rustix::process::{Signal, test_kill_process};
use serde_json::{Value, json};
use store::{State, Store};
use tempfile::TempDir;

use crate::run_support::names;
use crate::serve_support::{Answer, Served, state};
use crate::support::{children, wait_until};

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

/// Asks a service to resume a run.
pub fn resume(served: &Served, run: &str, headers: &str, body: &str) -> Answer {
    served.request("POST", &format!("/api/v3/runs/{run}/resume"), headers, body)
}

/// How a run ended.
pub fn ended(served: &Served, run: &str) -> String {
    let last = served.all_events(run).pop().unwrap();
    assert_eq!(last.kind, "end");
    last.data["state"].as_str().unwrap().to_owned()
}

/// Kills the service.
pub fn kill(served: Served) {
    served.signal(Signal::KILL);
    assert_eq!(served.finish().0, None);
}

/// Kills a service with these flags in the middle of a run, and resumes the run: its data up to the last interval is there,
/// its agents have ended, and nothing is left behind. `results` opens what the service stores.
pub fn killed_and_resumed(directory: &TempDir, flags: &[&str], results: &dyn Fn() -> Store) {
    let data = directory.path().join("data");
    std::fs::create_dir(&data).unwrap();
    let flags = [&["--allow-local", "--allow-path", data.to_str().unwrap()][..], flags].concat();
    let served = Served::start(directory, &flags);
    let experiment = MATRIX.replace("DATA", data.to_str().unwrap());
    let id = served.run(&experiment);
    // Events come before what they tell is stored: a kill between the two would leave nothing of the cell.
    served.wait_for_intervals_of(&id, 1, 1);
    let agents = children(served.id());
    assert_eq!(agents.len(), 2, "{agents:?}");
    kill(served);
    wait_until("the agents' end", || agents.iter().all(|pid| test_kill_process(*pid).is_err()));

    let served = Served::start(directory, &flags);
    let found = served.get_json(&format!("/api/v3/runs/{id}"));
    assert_eq!(found["state"], "interrupted");
    assert!(found["reason"].as_str().unwrap().contains("next: resume it"), "{found}");
    let before = results();
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
    let after = results();
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
    assert_eq!(names(&state(directory, "journal")), Vec::<String>::new());
}
