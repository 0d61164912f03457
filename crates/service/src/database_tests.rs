//! What a file of an earlier version becomes.

use super::*;

#[test]
fn runs_of_an_earlier_version_are_experiments() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("service.sqlite");
    let earlier = TableLayout { schema: LAYOUT.schema, migrations: &LAYOUT.migrations[..4] };
    let connection = Connection::open_file(&path, "service.sqlite").unwrap();
    connection.migrate(&earlier).unwrap();
    connection
        .execute(
            "INSERT INTO runs (id, name, experiment, hosts, state, asked, has_keys, digest)
             VALUES (?1, 'nightly', 'name: nightly', '[\"a\"]', 'queued', '2026-11-22T08:00:00Z', ?2, ?3)",
            params!["aaaaaaaa", false, &b"digest"[..]],
        )
        .unwrap();
    drop(connection);
    let database = Database::open(&path).unwrap();
    let run = database.run("aaaaaaaa").unwrap().unwrap();
    assert_eq!((run.kind, &*run.name, run.state), (RunKind::Experiment, "nightly", AskedState::Queued));
    assert_eq!(database.request(&run.id).unwrap(), "name: nightly");
    assert_eq!(database.result(&run.id).unwrap(), None);

    let new = NewRun {
        id: "bbbbbbbb",
        kind: RunKind::Check,
        name: "check",
        request: "{}",
        hosts: &[],
        asked: run.asked,
        has_keys: false,
        storperf: None,
        idempotency_key: None,
        digest: b"x",
    };
    database.add(&new).unwrap();
    database.set_result(new.id, "{\"success\": true}").unwrap();
    drop(database);
    let database = Database::open(&path).unwrap();
    let kinds: Vec<RunKind> = database.page(i64::MAX, 9).unwrap().iter().map(|run| run.kind).collect();
    assert_eq!(kinds, [RunKind::Check, RunKind::Experiment]);
    assert_eq!(database.result(new.id).unwrap().as_deref(), Some("{\"success\": true}"));
}
