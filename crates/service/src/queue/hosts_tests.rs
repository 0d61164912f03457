//! What the runs of a queue say about hosts.

use jiff::Timestamp;

use super::*;
use crate::work::RunKind;

fn run(number: i64, hosts: &[&str], state: AskedState, server: Option<&str>) -> AskedRun {
    AskedRun {
        number,
        id: format!("run-{number}"),
        kind: RunKind::Experiment,
        name: "nightly".to_owned(),
        hosts: hosts.iter().map(|&host| host.to_owned()).collect(),
        state,
        asked: Timestamp::UNIX_EPOCH,
        started: None,
        finished: None,
        reason: None,
        has_keys: false,
        digest: Vec::new(),
        server: server.map(str::to_owned),
    }
}

fn ids(host: &KnownHost) -> Vec<&str> {
    host.runs.iter().map(|run| &*run.id).collect()
}

#[test]
fn a_service_without_runs_knows_its_own_host() {
    let found = hosts_of(std::iter::empty(), |_| true);
    assert_eq!(found.keys().collect::<Vec<_>>(), [THIS_HOST]);
    let host = &found[THIS_HOST];
    assert_eq!((&host.occupied_by, host.waiting, host.runs.len()), (&None, 0, 0));
}

#[test]
fn a_host_is_occupied_by_the_run_under_way_and_counts_those_that_wait() {
    let runs = [
        run(4, &["a"], AskedState::Queued, None),
        run(3, &["a", "b"], AskedState::Queued, None),
        run(2, &["a"], AskedState::Running, None),
        run(1, &["b"], AskedState::Failed, None),
    ];
    let found = hosts_of(runs.into_iter(), |_| true);
    let (a, b) = (&found["a"], &found["b"]);
    assert_eq!((a.occupied_by.as_deref(), a.waiting), (Some("run-2"), 2));
    assert_eq!((b.occupied_by.as_deref(), b.waiting), (None, 1));
    assert_eq!((ids(a), ids(b)), (vec!["run-4", "run-3", "run-2"], vec!["run-3", "run-1"]));
}

#[test]
fn the_own_host_of_another_service_is_not_this_one_and_its_runs_occupy_nothing_here() {
    let runs = [
        run(2, &[THIS_HOST, "a"], AskedState::Running, Some("other")),
        run(1, &[THIS_HOST], AskedState::Finished, Some("own")),
    ];
    let found = hosts_of(runs.into_iter(), |run| run.server.as_deref() == Some("own"));
    assert_eq!(ids(&found[THIS_HOST]), ["run-1"]);
    assert_eq!((ids(&found["a"]), &found["a"].occupied_by), (vec!["run-2"], &None));
}

#[test]
fn the_newest_runs_of_a_host_are_kept() {
    let runs = (0..50).rev().map(|number| run(number, &["a"], AskedState::Finished, None));
    let found = hosts_of(runs, |_| true);
    let expected: Vec<String> = (30..50).rev().map(|number| format!("run-{number}")).collect();
    assert_eq!(ids(&found["a"]), expected);
}
