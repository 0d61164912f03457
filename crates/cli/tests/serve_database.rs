//! `manometer serve --database`: several services on one PostgreSQL server, one of which is killed; lost connections; and
//! no password on the command line.
//!
//! It needs a server and runs only if it is named: `tests/real/postgres.sh cargo test -p manometer --test serve_database`.

#![allow(clippy::unwrap_used)] // a test may fail loudly

mod resume_support;
mod run_support;
mod serve_support;
mod support;

use std::process::Command;

use database::{Connection, DatabaseServer, params};
use resume_support::{killed_and_resumed, resume};
use rustix::process::Signal;
use serde_json::{Value, json};
use serve_support::{Served, directory, state};
use store::Store;
use support::wait_until;
use tempfile::TempDir;

/// A load of this host that lasts until it is stopped, and leaves it idle.
const LONG: &str = "
name: long
targets: {t: 'null:'}
workloads: {w: {ops: read, rate: 200/s, block_size: 4KiB, file_size: 1MiB}}
stages: {warm_up: 0s, measure: {at_least: 600s, at_most: 600s}}
steady: none
";

fn url() -> String {
    std::env::var("MANOMETER_TEST_DATABASE").expect("next: run it by tests/real/postgres.sh")
}

fn password_file() -> String {
    std::env::var("MANOMETER_TEST_PASSWORD_FILE").expect("next: run it by tests/real/postgres.sh")
}

fn start(directory: &TempDir) -> Served {
    Served::start(directory, &["--database", &url(), "--database-password-file", &password_file()])
}

/// How to log in to the server.
fn server() -> DatabaseServer {
    let password = std::fs::read_to_string(password_file()).unwrap();
    DatabaseServer::new(&url(), Some(password.trim()), None).unwrap()
}

fn shown(served: &Served, run: &str) -> Value {
    served.get_json(&format!("/api/v3/runs/{run}"))
}

/// The numbers of a run's measured intervals.
fn intervals(served: &Served, run: &str) -> Vec<u64> {
    let found = served.get_json(&format!("/api/v3/runs/{run}/intervals"));
    let found = found["intervals"].as_array().unwrap();
    found.iter().map(|interval| interval["interval"].as_u64().unwrap()).collect()
}

#[test]
fn a_killed_service_marks_its_own_run_and_no_other_service_does() {
    let (here, there) = (directory(), directory());
    let (killed, other) = (start(&here), start(&there));
    let run = killed.run(LONG);
    let others = other.run(LONG);
    killed.wait_for_intervals(&run, 3);
    other.wait_for_intervals(&others, 1);
    assert_eq!(shown(&other, &run)["state"], "running", "history is shared");
    let stop = other.request("POST", &format!("/api/v3/runs/{run}/stop"), "", "");
    assert_eq!((stop.status, &*stop.problem()), (409, "another-service"));
    let before = intervals(&killed, &run);
    killed.signal(Signal::KILL);
    assert_eq!(killed.finish().0, None);

    // Another service neither ends nor takes over the run, even if it starts now.
    let third = directory();
    let new = start(&third);
    assert_eq!(shown(&new, &run)["state"], "running");
    new.signal(Signal::TERM);
    assert_eq!(new.finish().0, Some(0));

    let again = start(&here);
    let marked = shown(&again, &run);
    assert_eq!(marked["state"], "interrupted");
    assert!(marked["reason"].as_str().unwrap().contains("the service ended while it ran"), "{marked}");
    for served in [&again, &other] {
        let kept = intervals(served, &run);
        assert!(kept.len() >= before.len(), "{before:?} {kept:?}");
        assert_eq!(kept, (0..kept.len() as u64).collect::<Vec<_>>(), "without gaps");
    }
    assert_eq!(shown(&other, &others)["state"], "running", "the other service's run goes on");
    assert!(!state(&here, "results.sqlite").exists() && !state(&here, "service.sqlite").exists());

    // Its journal is in the directory of its service.
    let refused = resume(&other, &run, "", "");
    assert_eq!((refused.status, &*refused.problem()), (409, "another-service"));
    assert_eq!(resume(&again, &run, "", "").status, 202);
    assert!(again.events(&run, 0).any(|event| event.kind == "interval"), "it measures again");
}

#[test]
fn a_run_of_a_killed_service_is_resumed_under_its_id() {
    let flags = ["--database", &url(), "--database-password-file", &password_file()];
    killed_and_resumed(&directory(), &flags, &|| Store::open_server(&server()).unwrap());
}

#[test]
fn a_check_and_its_result_are_in_the_database() {
    let (here, there) = (directory(), directory());
    let (served, other) = (start(&here), start(&there));
    let body = json!({ "demo": true, "duration": "200ms", "dataset": "8MiB", "lanes": 2, "no_probe": true });
    let id = served.work("/api/v3/checks", &body);
    let last = served.all_events(&id).pop().unwrap();
    assert_eq!(last.data["state"], "finished", "{last:?}");
    assert_eq!(shown(&other, &id)["kind"], "check", "history is shared");
    let result = other.get_json(&format!("/api/v3/runs/{id}/result"));
    assert_eq!(result["run_id"], id);
    let cells = other.get_json(&format!("/api/v3/runs/{id}/cells"));
    assert_eq!(cells["cells"].as_array().unwrap().len(), 8);
    assert!(!state(&here, "results.sqlite").exists() && !state(&here, "service.sqlite").exists());
}

#[test]
fn a_run_survives_lost_connections_without_a_gap() {
    let directory = directory();
    let served = start(&directory);
    let run = served.run(LONG);
    served.wait_for_intervals(&run, 2);
    let password = std::fs::read_to_string(password_file()).unwrap();
    let admin = Connection::open_server(&server(), "manometer_results").unwrap();
    let ended = admin
        .rows(
            "SELECT pg_terminate_backend(a.pid) FROM pg_stat_activity AS a
             WHERE a.pid <> pg_backend_pid() AND a.backend_type = 'client backend'
                 AND a.datname = current_database() AND EXISTS (SELECT 1 FROM runs WHERE id = ?1)",
            params![run],
            |_| Ok(()),
        )
        .unwrap();
    assert!(!ended.is_empty(), "there were connections");
    served.wait_for_intervals(&run, 5);
    served.request("POST", &format!("/api/v3/runs/{run}/stop"), "", "");
    wait_until("the end of the run", || shown(&served, &run)["state"] == "interrupted");
    let kept = intervals(&served, &run);
    assert!(kept.len() >= 5 && kept == (0..kept.len() as u64).collect::<Vec<_>>(), "{kept:?}");
    let messages = served.messages();
    assert!(
        messages.contains("the connection was lost") && messages.contains("connected again"),
        "{messages}"
    );
    assert!(!messages.contains(password.trim()), "{messages}");
}

#[test]
fn a_wrong_password_is_one_line_without_it() {
    let directory = directory();
    let file = directory.path().join("password");
    std::fs::write(&file, "canary-password\n").unwrap();
    let mode = |mode: &str| Command::new("chmod").arg(mode).arg(&file).status().unwrap();
    mode("600");
    let refused = |url: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_manometer"));
        command.args(["serve", "--listen", "127.0.0.1:0", "--database", url, "--database-password-file"]);
        let output =
            command.arg(&file).arg("--directory").arg(directory.path().join("state")).output().unwrap();
        let text = String::from_utf8(output.stderr).unwrap();
        assert!(!text.contains("canary-password") && text.contains("next: "), "{text}");
        (output.status.code(), text)
    };
    let (code, text) = refused(&url());
    assert!(code == Some(1) && text.contains("password authentication failed"), "{text}");
    // Nothing listens at the discard port.
    let (code, text) = refused("postgres://manometer@127.0.0.1:9/postgres");
    assert!(code == Some(1) && text.contains("cannot be reached"), "{text}");
    mode("644");
    let (code, text) = refused(&url());
    assert!(code == Some(2) && text.contains("chmod 600"), "{text}");
}
