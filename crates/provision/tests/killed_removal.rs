//! A run killed while it removes what it created: the next cleanup completes it, at whatever point it was.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod support;

use std::time::Duration;

use provision::{
    ApiSecret, BucketAccess, CleanupOptions, Helper, Journal, PlaceError, RecordedPlace, Wanted, cleanup,
};
use support::places::{nfs_place, s3_place};
use support::store::Store;
use support::{Fake, Scene, TOKEN};

/// Supplies the token, and is asked for nothing else.
struct TokenOnly;

impl Helper for TokenOnly {
    fn token_for(&mut self, _: &str) -> Option<ApiSecret> {
        Some(ApiSecret::new(TOKEN))
    }

    fn remove(&mut self, place: &RecordedPlace, _: Option<&BucketAccess>) -> Result<(), PlaceError> {
        panic!("it went with its file system or bucket: {place:?}")
    }
}

#[test]
fn a_removal_that_was_killed_anywhere_is_finished() {
    let store = Store::default();
    let shared = store.clone();
    let fake = Fake::logged_in(&["2.29"], move |seen| shared.answer(seen));
    let scene = Scene::new();
    let mut session = scene.open(&fake.management()).unwrap();
    session.create(&Wanted::both()).unwrap();
    scene.run.record_place(&nfs_place("/manometer-abcdefgh")).unwrap();
    scene.run.record_place(&s3_place("manometer-abcdefgh")).unwrap();
    let made = scene.text().lines().count();
    session.remove().unwrap();
    let text = scene.text();
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines.len() >= made + 6, "each thing is noted: {text}");
    let options = CleanupOptions {
        call_timeout: Duration::from_secs(1),
        trust: None,
        time_limit: Duration::from_secs(600),
    };
    for killed_after in made..lines.len() {
        let directory = tempfile::tempdir().unwrap();
        let journal = Journal::open(directory.path()).unwrap();
        let text = lines[..killed_after].join("\n") + "\n";
        std::fs::write(directory.path().join("abcdefgh.jsonl"), &text).unwrap();
        let report = cleanup(&journal, &options, &mut TokenOnly, &mut |_| {}).unwrap();
        assert_eq!(report.failures, [""; 0], "{text}");
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0, "the journal stays: {text}");
    }
}

/// A journal of a version that recorded the user before the key.
#[test]
fn a_key_whose_user_is_gone_does_not_keep_a_journal() {
    let fake = Fake::logged_in(&["2.29"], |_| support::Reply::Json(200, serde_json::json!({ "items": [] })));
    let scene = Scene::new();
    let mut session = scene.open(&fake.management()).unwrap();
    session.close().unwrap();
    let key = r#"{"intend":{"n":0,"at_s":1,"thing":{"kind":"access-key","user":"manometer-abcdefgh/manometer-abcdefgh"}}}"#;
    let directory = tempfile::tempdir().unwrap();
    let journal = Journal::open(directory.path()).unwrap();
    let text = format!("{}{key}\n{{\"created\":{{\"n\":0}}}}\n", scene.text());
    std::fs::write(directory.path().join("abcdefgh.jsonl"), &text).unwrap();
    let options = CleanupOptions {
        call_timeout: Duration::from_secs(1),
        trust: None,
        time_limit: Duration::from_secs(600),
    };
    let report = cleanup(&journal, &options, &mut TokenOnly, &mut |_| {}).unwrap();
    assert_eq!((report.failures, report.cleaned), (vec![], vec!["abcdefgh".to_owned()]));
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
}
