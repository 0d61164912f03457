//! What is ours is always removed; what is not ours is never touched.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod support;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use provision::{Management, ProvisionError, Want, Wanted};
use serde_json::json;
use support::store::Store;
use support::{Fake, Reply, Scene};

const NAME: &str = "manometer-abcdefgh";

/// An array on which `strike` may answer instead of the store.
fn array(
    store: &Store,
    mut strike: impl FnMut(&support::Seen, &Store) -> Option<Reply> + Send + 'static,
) -> Fake {
    let store = store.clone();
    Fake::logged_in(&["2.29"], move |seen| strike(seen, &store).unwrap_or_else(|| store.answer(seen)))
}

#[test]
fn a_name_that_is_taken_is_an_error_and_stays() {
    for resource in ["file-systems", "object-store-accounts", "buckets"] {
        let store = Store::default();
        store.put(resource, json!({ "name": NAME }));
        let before = store.listing();
        let fake = array(&store, |_, _| None);
        let scene = Scene::new();
        let mut session = scene.open(&fake.management()).unwrap();
        let error = session.create(&Wanted::both()).unwrap_err();
        assert!(
            matches!(error, ProvisionError::NotOurs { .. }) && error.to_string().contains(NAME),
            "{error}"
        );
        session.remove().unwrap();
        assert_eq!(store.listing(), before, "{resource}");
        drop(session);
        assert_eq!(scene.run.remaining(), [""; 0]);
    }
}

#[test]
fn a_name_that_is_taken_between_the_look_and_the_creation_stays_too() {
    let store = Store::default();
    let fake = array(&store, |seen, store| {
        if seen.method == "POST" && seen.path().ends_with("/buckets") {
            store.put("buckets", json!({ "name": NAME, "account": { "name": "somebody" } }));
        }
        None
    });
    let scene = Scene::new();
    let mut session = scene.open(&fake.management()).unwrap();
    let error = session.create(&Wanted::both()).unwrap_err();
    assert!(matches!(error, ProvisionError::NotOurs { .. }), "{error}");
    session.remove().unwrap();
    assert_eq!(store.listing(), [format!("buckets/{NAME}")]);
    assert!(scene.text().contains("\"void\""), "{}", scene.text());
}

#[test]
fn a_creation_that_is_done_but_never_answered_is_removed() {
    for resource in
        ["file-systems", "object-store-accounts", "object-store-users", "object-store-access-keys", "buckets"]
    {
        let store = Store::default();
        let fake = array(&store, move |seen, store| {
            (seen.method == "POST" && seen.path().ends_with(resource)).then(|| {
                store.answer(seen);
                Reply::Hang
            })
        });
        let scene = Scene::new();
        let management = Management { call_timeout: Duration::from_millis(300), ..fake.management() };
        let mut session = scene.open(&management).unwrap();
        let error = session.create(&Wanted::both()).unwrap_err().to_string();
        assert!(error.contains("no answer within 0.3 s"), "{error}");
        assert!(store.listing().iter().any(|object| object.starts_with(resource)));
        session.remove().unwrap();
        assert_eq!(store.listing(), [""; 0], "{resource}");
        // It was requested only once: a second request might have conflicted with the first.
        let posts =
            fake.lines().iter().filter(|line| line.starts_with("POST") && line.contains(resource)).count();
        assert_eq!(posts, 1);
    }
}

#[test]
fn a_creation_that_takes_effect_after_its_deadline_is_waited_for() {
    let store = Store::default();
    let late = store.clone();
    let fake = array(&store, move |seen, _| {
        (seen.method == "POST").then(|| {
            let (late, seen) = (late.clone(), seen.clone());
            std::thread::spawn(move || {
                std::thread::sleep(Duration::from_millis(1300));
                late.answer(&seen);
            });
            Reply::Hang
        })
    });
    let scene = Scene::new();
    let management = Management { call_timeout: Duration::from_secs(1), ..fake.management() };
    let mut session = scene.open(&management).unwrap();
    session
        .create(&Wanted { filesystem: Some(Want::Create), bucket: None, ..Wanted::default() })
        .unwrap_err();
    session.remove().unwrap();
    assert_eq!(store.listing(), [""; 0]);
    assert!(fake.lines().last().unwrap().starts_with("DELETE"), "{:?}", fake.lines());
}

#[test]
fn a_refused_creation_leaves_nothing_to_look_for() {
    let store = Store::default();
    let fake = array(&store, |seen, _| {
        (seen.method == "POST").then(|| Reply::error(400, "Name is not allowed.", NAME))
    });
    let scene = Scene::new();
    let mut session = scene.open(&fake.management()).unwrap();
    let error = session.create(&Wanted::both()).unwrap_err().to_string();
    assert!(
        error.contains("HTTP 400: Name is not allowed. (manometer-abcdefgh)") && error.contains("next:"),
        "{error}"
    );
    let calls = fake.lines().len();
    session.remove().unwrap();
    assert_eq!(fake.lines().len(), calls);
}

#[test]
fn dropping_a_session_removes_what_it_created_also_in_a_panic() {
    let store = Store::default();
    let fake = array(&store, |_, _| None);
    let scene = Scene::new();
    let management = fake.management();
    let run = scene.run.clone();
    let outcome = std::thread::spawn(move || {
        let mut session =
            provision::ArraySession::open(&management, &run, &provision::Cancel::new()).unwrap();
        session.create(&Wanted::both()).unwrap();
        panic!("on purpose");
    })
    .join();
    assert!(outcome.is_err());
    assert_eq!(store.listing(), [""; 0]);
    assert_eq!(scene.run.remaining(), [""; 0]);
    assert_eq!(fake.seen().last().unwrap().path(), "/api/logout");
}

#[test]
fn removal_is_tried_again_after_passing_failures() {
    let store = Store::default();
    let struck = Arc::new(Mutex::new(std::collections::HashSet::new()));
    // Every removing call fails the first time, half of them after taking effect.
    let fake = array(&store, move |seen, store| {
        let first =
            seen.method != "GET" && seen.method != "POST" && struck.lock().unwrap().insert(seen.line());
        first.then(|| {
            if seen.method == "DELETE" {
                store.answer(seen);
            }
            Reply::error(503, "Server is busy", "")
        })
    });
    let scene = Scene::new();
    let mut session = scene.open(&fake.management()).unwrap();
    session.create(&Wanted::both()).unwrap();
    session.remove().unwrap();
    assert_eq!(store.listing(), [""; 0]);
}

#[test]
fn removal_goes_on_past_what_fails_and_reports_all_of_it() {
    let store = Store::default();
    let stuck = Arc::new(AtomicUsize::new(1));
    let switch = Arc::clone(&stuck);
    let fake = array(&store, move |seen, _| {
        let stuck = switch.load(Ordering::SeqCst) == 1;
        (stuck && seen.method == "DELETE" && seen.path().ends_with("/buckets"))
            .then(|| Reply::error(400, "Eradication is disabled.", NAME))
    });
    let scene = Scene::new();
    let mut session = scene.open(&fake.management()).unwrap();
    session.create(&Wanted::both()).unwrap();
    let error = session.remove().unwrap_err();
    assert_eq!(error.remaining.len(), 2, "{error}");
    assert!(error.remaining[0].contains("Eradication is disabled."), "{error}");
    assert!(error.to_string().contains("manometer cleanup"), "{error}");
    assert_eq!(store.listing(), [format!("buckets/{NAME}"), format!("object-store-accounts/{NAME}")]);
    assert_eq!(scene.run.remaining(), [format!("object store account {NAME}"), format!("bucket {NAME}")]);
    stuck.store(0, Ordering::SeqCst);
    session.remove().unwrap();
    assert_eq!(store.listing(), [""; 0]);
}

#[test]
fn answers_of_any_shape_end_in_an_error_and_what_exists_is_still_removed() {
    let shapes = [
        json!(null),
        json!([]),
        json!({}),
        json!("text"),
        json!({ "items": null }),
        json!({ "items": {} }),
        json!({ "items": [1, "x", null, []] }),
        json!({ "items": [{}] }),
        json!({ "items": [{ "name": 7 }] }),
    ];
    let resources = [
        "file-systems",
        "object-store-accounts",
        "object-store-users",
        "object-store-access-keys",
        "buckets",
    ];
    for shape in shapes {
        for resource in resources {
            // Only responses to queries and to key creation matter; others are ignored.
            let method = if resource == "object-store-access-keys" { "POST" } else { "GET" };
            let store = Store::default();
            let healthy = Arc::new(AtomicUsize::new(0));
            let (switch, answer) = (Arc::clone(&healthy), shape.clone());
            let fake = array(&store, move |seen, store| {
                let strike = switch.load(Ordering::SeqCst) == 0
                    && seen.method == method
                    && seen.path().ends_with(resource);
                strike.then(|| {
                    if method == "POST" {
                        store.answer(seen);
                    }
                    Reply::Json(200, answer.clone())
                })
            });
            let scene = Scene::new();
            let mut session = scene.open(&fake.management()).unwrap();
            let error = session.create(&Wanted::both()).unwrap_err();
            assert!(error.to_string().contains("makes no sense"), "{resource} {shape}: {error}");
            healthy.store(1, Ordering::SeqCst);
            session.remove().unwrap();
            assert_eq!(store.listing(), [""; 0], "{resource} {shape}");
        }
    }
}

#[test]
fn nothing_is_created_without_a_journal() {
    let store = Store::default();
    let fake = array(&store, |_, _| None);
    let scene = Scene::new();
    let mut session = scene.open(&fake.management()).unwrap();
    // Writing fails from now on: the descriptor is replaced by one of /dev/full.
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let path = std::fs::canonicalize(scene.run.path()).unwrap();
    let ours = std::fs::read_dir("/proc/self/fd").unwrap().find_map(|entry| {
        let entry = entry.unwrap().path();
        (std::fs::read_link(&entry).ok()? == path)
            .then(|| entry.file_name()?.to_str()?.parse::<i32>().ok())?
    });
    replace_descriptor(&full, ours.unwrap());
    let error = session.create(&Wanted::both()).unwrap_err();
    assert!(matches!(error, ProvisionError::Journal { .. }), "{error}");
    assert!(error.to_string().contains("--journal-dir"), "{error}");
    assert_eq!(store.listing(), [""; 0]);
    assert!(fake.lines().iter().all(|line| line.starts_with("GET")), "{:?}", fake.lines());
}

fn replace_descriptor(with: &std::fs::File, descriptor: i32) {
    use std::os::fd::{AsFd, FromRawFd, IntoRawFd, OwnedFd};
    // SAFETY: the descriptor was just found open in this process, and is returned (into_raw_fd) to its owner.
    let mut target = unsafe { OwnedFd::from_raw_fd(descriptor) };
    rustix::io::dup2(with.as_fd(), &mut target).unwrap();
    let _ = target.into_raw_fd();
}
