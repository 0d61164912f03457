//! `cleanup` removes what dead runs left: what their journals list, and nothing else.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod support;

use std::time::Duration;

use provision::{
    ApiSecret, BucketAccess, CleanupOptions, CleanupReport, EntryId, Helper, Journal, PlaceError,
    RecordedPlace, RunId, Want, Wanted, cleanup, forget,
};
use serde_json::json;
use support::places::{local_place, nfs_place, s3_place};
use support::store::Store;
use support::{Fake, Reply, Scene, TOKEN};

const OPTIONS: CleanupOptions = CleanupOptions {
    call_timeout: Duration::from_secs(30),
    trust: None,
    time_limit: Duration::from_secs(600),
};

/// Records what it is asked for.
#[derive(Default)]
struct Noting {
    asked: Vec<String>,
    refuse: bool,
}

impl Helper for Noting {
    fn token_for(&mut self, address: &str) -> Option<ApiSecret> {
        self.asked.push(format!("token {}", address.split(':').next().unwrap()));
        Some(ApiSecret::new(TOKEN))
    }

    fn remove(&mut self, place: &RecordedPlace, access: Option<&BucketAccess>) -> Result<(), PlaceError> {
        let text = |field: &str| place.place[field].as_str().unwrap();
        let keys = access.map_or("own keys", |access| &access.access_key);
        self.asked.push(match &*place.scheme {
            "nfs" => format!("directory {}:{}/{}", text("server"), text("export"), text("directory")),
            "s3" => format!("objects {}/{} with {keys}", text("bucket"), text("prefix")),
            _ => format!("local {}", text("path")),
        });
        if self.refuse { Err("the server is away".into()) } else { Ok(()) }
    }
}

/// The journal as a killed process leaves it: its text, with the lock released.
fn killed(scene: Scene, session: Option<provision::ArraySession>) -> (tempfile::TempDir, Journal) {
    let text = scene.text();
    let path = scene.run.path().to_owned();
    let Scene { directory, journal, run } = scene;
    // A killed process neither drops nor removes; forgetting the session leaks its lock, so the journal is copied to a
    // place of its own.
    std::mem::forget(session);
    std::mem::forget(run);
    let dead = directory.path().join("dead");
    let journal_of_the_dead = Journal::open(&dead).unwrap();
    std::fs::write(dead.join(path.file_name().unwrap()), text).unwrap();
    drop(journal);
    (directory, journal_of_the_dead)
}

fn clean(journal: &Journal, helper: &mut Noting) -> (CleanupReport, Vec<String>) {
    let mut said = Vec::new();
    let report = cleanup(journal, &OPTIONS, helper, &mut |line| said.push(line.to_owned())).unwrap();
    (report, said)
}

fn files(journal: &Journal) -> usize {
    std::fs::read_dir(journal.directory()).unwrap().count()
}

#[test]
fn a_killed_run_is_finished_and_a_second_cleanup_finds_nothing() {
    for version in ["1.12", "2.29"] {
        let store = Store::default();
        store.put("file-systems", json!({ "name": "theirs" }));
        store.put("buckets", json!({ "name": "manometer-other222" }));
        let before = store.listing();
        let shared = store.clone();
        let fake = Fake::logged_in(&[version], move |seen| shared.answer(seen));
        let scene = Scene::new();
        let mut session = scene.open(&fake.management()).unwrap();
        let targets = session.create(&Wanted::both()).unwrap();
        scene.run.record_place(&nfs_place(&targets.export.unwrap())).unwrap();
        scene.run.record_place(&s3_place(&targets.bucket.unwrap().bucket)).unwrap();
        let (_directory, journal) = killed(scene, Some(session));

        let mut helper = Noting::default();
        let (report, said) = clean(&journal, &mut helper);
        assert_eq!(report, CleanupReport { cleaned: vec!["abcdefgh".into()], ..CleanupReport::default() });
        // The contents of the file system and the bucket are removed with them.
        assert_eq!(helper.asked, ["token http"]);
        assert!(
            said.iter().any(|line| line.contains("bucket manometer-abcdefgh is to be removed")),
            "{said:?}"
        );
        assert_eq!(store.listing(), before);
        assert_eq!(files(&journal), 0);
        assert_eq!(clean(&journal, &mut helper).0, CleanupReport::default());
    }
}

#[test]
fn what_lies_on_foreign_servers_is_removed_through_the_helper() {
    let scene = Scene::new();
    scene.run.record_place(&nfs_place("/export")).unwrap();
    scene.run.record_place(&s3_place("theirs")).unwrap();
    let done = scene.run.record_place(&nfs_place("/done")).unwrap();
    scene.run.removed(done).unwrap();
    let (_directory, journal) = killed(scene, None);

    let mut helper = Noting { refuse: true, ..Noting::default() };
    let (report, _) = clean(&journal, &mut helper);
    assert_eq!(report.failures.len(), 2, "{report:?}");
    assert!(
        report.failures[0].contains("the server is away") && report.failures[0].contains("/export"),
        "{report:?}"
    );
    assert_eq!(files(&journal), 1);

    let mut helper = Noting::default();
    let (report, _) = clean(&journal, &mut helper);
    assert_eq!(report.cleaned, ["abcdefgh"]);
    assert_eq!(
        helper.asked,
        [
            "directory 127.0.0.1:/export/manometer-abcdefgh",
            "objects theirs/manometer-abcdefgh/ with own keys"
        ]
    );
    assert_eq!(files(&journal), 0);
}

#[test]
fn a_bucket_that_must_be_empty_is_emptied_with_a_fresh_key() {
    let store = Store::default();
    let shared = store.clone();
    let fake = Fake::logged_in(&["2.0"], move |seen| {
        // Simplified, without the data path: the bucket counts as emptied once a second key was created.
        let destroys = seen.method == "PATCH" && seen.path().ends_with("/buckets");
        if destroys && !shared.listing().iter().any(|object| object.ends_with("/PSFBKEY")) {
            return Reply::error(400, "Bucket is not empty.", "");
        }
        shared.answer(seen)
    });
    let scene = Scene::new();
    let mut session = scene.open(&fake.management()).unwrap();
    session.create(&Wanted::both()).unwrap();
    scene.run.record_place(&s3_place("manometer-abcdefgh")).unwrap();
    // As if the key had been removed before the process was killed.
    let keys = |seen: &support::Seen| seen.path().ends_with("access-keys");
    let delete = support::Seen {
        method: "DELETE".into(),
        target: "/api/2.0/object-store-access-keys?names=PSFBKEY".into(),
        head: String::new(),
        body: serde_json::Value::Null,
    };
    assert!(keys(&delete));
    store.answer(&delete);
    let (_directory, journal) = killed(scene, Some(session));
    let mut helper = Noting::default();
    let (report, _) = clean(&journal, &mut helper);
    assert_eq!(report.failures, [""; 0]);
    assert_eq!(helper.asked[1], "objects manometer-abcdefgh/manometer-abcdefgh/ with PSFBKEY");
    assert_eq!(store.listing(), [""; 0]);
}

#[test]
fn a_living_run_is_left_alone() {
    let scene = Scene::new();
    scene.run.record_place(&nfs_place("/export")).unwrap();
    let mut helper = Noting::default();
    let (report, said) = clean(&scene.journal, &mut helper);
    assert_eq!(report, CleanupReport { alive: vec!["abcdefgh".into()], ..CleanupReport::default() });
    assert!(helper.asked.is_empty() && said[0].contains("still running"), "{said:?}");
    assert_eq!(scene.run.remaining().len(), 1);
}

#[test]
fn a_journal_that_ends_anywhere_is_read() {
    let scene = Scene::new();
    scene.run.record_place(&nfs_place("/first")).unwrap();
    scene.run.record_place(&nfs_place("/second")).unwrap();
    let whole = scene.text();
    for cut in 0..=whole.len() {
        let directory = tempfile::tempdir().unwrap();
        let journal = Journal::open(directory.path()).unwrap();
        std::fs::write(directory.path().join("abcdefgh.jsonl"), &whole[..cut]).unwrap();
        let mut helper = Noting::default();
        let (report, _) = clean(&journal, &mut helper);
        assert_eq!(report.failures, [""; 0], "cut at {cut}");
        // An incomplete line was never acted upon; a complete one may have been.
        let announced = whole[..cut].matches('\n').count().saturating_sub(1);
        assert_eq!(helper.asked.len(), announced, "cut at {cut}");
        assert_eq!(files(&journal), 0, "cut at {cut}");
    }
}

#[test]
fn a_torn_line_is_not_continued_by_the_next_one() {
    let scene = Scene::new();
    scene.run.record_place(&nfs_place("/first")).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let journal = Journal::open(directory.path()).unwrap();
    std::fs::write(directory.path().join("abcdefgh.jsonl"), scene.text() + "{\"intend\":{\"n\":1,").unwrap();
    // The first cleanup fails and writes nothing, the second one succeeds and appends after the torn line.
    for (refuse, left) in [(true, 1), (false, 0)] {
        let (report, _) = clean(&journal, &mut Noting { refuse, ..Noting::default() });
        assert_eq!((report.failures.len(), files(&journal)), (left, left), "{report:?}");
    }
}

#[test]
fn a_damaged_journal_is_named_and_does_not_keep_others_from_being_cleaned() {
    let scene = Scene::new();
    scene.run.record_place(&nfs_place("/export")).unwrap();
    let (_directory, journal) = killed(scene, None);
    std::fs::write(journal.directory().join("aaaaaaaa.jsonl"), "rubbish\n{}\n").unwrap();
    std::fs::write(journal.directory().join("notes.txt"), "not ours").unwrap();
    let (report, _) = clean(&journal, &mut Noting::default());
    assert_eq!(report.cleaned, ["abcdefgh"]);
    assert!(
        report.failures[0].contains("aaaaaaaa.jsonl: line 1") && report.failures[0].contains("next:"),
        "{report:?}"
    );
    assert_eq!(files(&journal), 2);
}

#[test]
fn an_array_that_is_away_leaves_the_journal_for_the_next_time() {
    let store = Store::default();
    let shared = store.clone();
    let fake = Fake::logged_in(&["2.0"], move |seen| shared.answer(seen));
    let scene = Scene::new();
    let mut session = scene.open(&fake.management()).unwrap();
    session.create(&Wanted { filesystem: Some(Want::Create), bucket: None, ..Wanted::default() }).unwrap();
    let text = scene.text();
    let (_directory, journal) = killed(scene, Some(session));
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let file = journal.directory().join("abcdefgh.jsonl");
    std::fs::write(&file, text.replace(&fake.address.to_string(), &closed.to_string())).unwrap();
    let (report, _) = clean(&journal, &mut Noting::default());
    assert!(
        report.failures[0].contains("no connection") && report.failures[0].contains(&closed.to_string()),
        "{report:?}"
    );
    std::fs::write(&file, text).unwrap();
    assert_eq!(clean(&journal, &mut Noting::default()).0.failures, [""; 0]);
    assert_eq!(store.listing(), [""; 0]);
}

#[test]
fn two_runs_of_one_id_and_a_directory_that_cannot_be_made_are_refused() {
    let scene = Scene::new();
    let error = scene.journal.begin(scene.run.id()).unwrap_err().to_string();
    assert!(error.contains("there is a run of this id"), "{error}");
    let file = scene.directory.path().join("file");
    std::fs::write(&file, "").unwrap();
    let error = Journal::open(&file.join("journal")).unwrap_err().to_string();
    assert!(error.contains("--journal-dir"), "{error}");
}

#[test]
fn an_empty_journal_vanishes_with_its_run() {
    let scene = Scene::new();
    let path = scene.run.path().to_owned();
    let id = scene.run.record_place(&nfs_place("/export")).unwrap();
    scene.run.finish().unwrap();
    assert!(path.exists());
    scene.run.not_ours(id, "it was there").unwrap();
    drop(scene.run);
    assert!(!path.exists());
}

/// A run's journal whose lock is released with resources outstanding, as when its process dies.
fn dead_run(made: impl FnOnce(&provision::Run)) -> (tempfile::TempDir, Journal, RunId) {
    let directory = tempfile::tempdir().unwrap();
    let journal = Journal::open(directory.path()).unwrap();
    let run = journal.begin(&"abcdefgh".parse().unwrap()).unwrap();
    made(&run);
    let id = run.id().clone();
    drop(run);
    (directory, journal, id)
}

/// The unsettled entry of a place.
fn entry_of(run: &provision::Run, place: &RecordedPlace) -> Option<EntryId> {
    run.find_place(|known| known == place).map(|(id, _)| id)
}

#[test]
fn an_interrupted_run_knows_its_places_again() {
    let local = local_place("/data/manometer-abcdefgh");
    let (nfs, s3) = (nfs_place("/export"), s3_place("bucket"));
    let (_directory, journal, id) = dead_run(|run| {
        run.record_place(&local).unwrap();
        run.record_place(&nfs).unwrap();
        let id = run.record_place(&s3).unwrap();
        run.removed(id).unwrap();
    });
    let run = journal.reopen(&id).unwrap();
    assert!(entry_of(&run, &local).is_some());
    assert!(entry_of(&run, &local_place("/data/other")).is_none());
    assert!(entry_of(&run, &s3).is_none(), "it was removed");
    let error = journal.reopen(&id).unwrap_err().to_string();
    assert!(error.contains("still running"), "{error}");
    run.removed(entry_of(&run, &local).unwrap()).unwrap();
    run.removed(entry_of(&run, &nfs).unwrap()).unwrap();
    run.finish().unwrap();
    drop(run);
    // Nothing was left, so the journal was deleted: it is started again under the same id.
    let run = journal.reopen(&id).unwrap();
    assert_eq!((run.id(), run.remaining().len()), (&id, 0));
}

/// A journal of format 1, in which each protocol's places had a kind of their own.
const FIRST_FORMAT: &str = include_str!("data/journal-format-1.jsonl");

#[test]
fn a_journal_of_the_first_format_is_read() {
    let directory = tempfile::tempdir().unwrap();
    let journal = Journal::open(directory.path()).unwrap();
    std::fs::write(directory.path().join("abcdefgh.jsonl"), FIRST_FORMAT).unwrap();
    let run = journal.reopen(&"abcdefgh".parse().unwrap()).unwrap();
    assert!(entry_of(&run, &nfs_place("/export")).is_some());
    assert_eq!(
        run.remaining(),
        [
            "directory manometer-abcdefgh on 127.0.0.1:/export",
            "objects manometer-abcdefgh/ in bucket theirs at http://127.0.0.1:9000",
            "objects manometer-abcdefgh/ in bucket older at http://127.0.0.1:9000",
            "directory /data/manometer-abcdefgh on here",
        ]
    );
    drop(run);
    let mut helper = Noting::default();
    assert_eq!(clean(&journal, &mut helper).0.cleaned, ["abcdefgh"]);
    assert_eq!(
        helper.asked,
        [
            "directory 127.0.0.1:/export/manometer-abcdefgh",
            "objects theirs/manometer-abcdefgh/ with own keys",
            "objects older/manometer-abcdefgh/ with own keys",
            "local /data/manometer-abcdefgh",
        ]
    );
    assert_eq!(files(&journal), 0);
}

#[test]
fn a_journal_of_a_later_format_is_named_and_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    let journal = Journal::open(directory.path()).unwrap();
    let later = FIRST_FORMAT.replace("\"format\":1", "\"format\":3");
    std::fs::write(directory.path().join("abcdefgh.jsonl"), later).unwrap();
    let (report, _) = clean(&journal, &mut Noting::default());
    assert!(report.failures[0].contains("its format is 3"), "{report:?}");
    assert_eq!(files(&journal), 1);
}

/// Names that are not the run's are refused, with a line each; what belongs to the run is still cleaned up.
#[test]
fn what_does_not_bear_the_runs_name_is_never_touched() {
    let foreign = [
        r#"{"kind":"file-system","name":"exp"}"#,
        r#"{"kind":"file-system","name":"manometer-other222"}"#,
        r#"{"kind":"bucket","name":"theirs"}"#,
        r#"{"kind":"account","name":"theirs"}"#,
        r#"{"kind":"user","name":"manometer-abcdefgh/them"}"#,
        r#"{"kind":"user","name":"/manometer-abcdefgh"}"#,
        r#"{"kind":"access-key","user":"theirs/them"}"#,
        r#"{"kind":"directory","server":"127.0.0.1","export":"/export","directory":"home","nfs_port":1,"mount_port":1,"portmap_port":111,"uid":0,"gid":0}"#,
        r#"{"kind":"local-directory","host":"HOST","path":"/home"}"#,
        r#"{"kind":"local-directory","host":"HOST","path":"/data/manometer-abcdefgh/.."}"#,
        r#"{"kind":"objects","endpoint":"http://127.0.0.1:9000","connect_to":null,"bucket":"b","prefix":"","region":"r","path_style":true,"ca_file":null,"insecure":false,"credentials_file":null,"profile":null}"#,
        r#"{"kind":"objects","endpoint":"http://127.0.0.1:9000","connect_to":null,"bucket":"b","prefix":"manometer-abcdefg","region":"r","path_style":true,"ca_file":null,"insecure":false,"credentials_file":null,"profile":null}"#,
        r#"{"kind":"place","scheme":"nfs","name":"home","title":"directory home","place":{}}"#,
        r#"{"kind":"place","scheme":"s3","name":"","title":"objects","within":{"bucket":"b"},"place":{}}"#,
    ];
    let store = Store::default();
    for name in ["exp", "manometer-other222"] {
        store.put("file-systems", json!({ "name": name }));
    }
    store.put("buckets", json!({ "name": "theirs" }));
    let before = store.listing();
    let shared = store.clone();
    let fake = Fake::logged_in(&["2.29"], move |seen| shared.answer(seen));
    let scene = Scene::new();
    let mut session = scene.open(&fake.management()).unwrap();
    session.create(&Wanted::both()).unwrap();
    let (_directory, journal) = killed(scene, Some(session));
    let path = journal.directory().join("abcdefgh.jsonl");
    let mut text = std::fs::read_to_string(&path).unwrap();
    let first = text.matches("\"intend\"").count();
    for (at, thing) in foreign.iter().enumerate() {
        let thing = thing.replace("HOST", &provision::this_host());
        text.push_str(&format!("{{\"intend\":{{\"n\":{},\"at_s\":1,\"thing\":{thing}}}}}\n", first + at));
    }
    std::fs::write(&path, text).unwrap();
    let mut helper = Noting::default();
    let (report, _) = clean(&journal, &mut helper);
    assert_eq!(report.failures.len(), foreign.len(), "{report:#?}");
    for failure in &report.failures {
        assert!(failure.contains("refused") && failure.contains("manometer-abcdefgh"), "{failure}");
    }
    assert_eq!(helper.asked, ["token http"], "nothing foreign was contacted");
    assert_eq!(store.listing(), before, "what is ours is gone, what is theirs is there");
    assert_eq!(files(&journal), 1, "the journal stays and says so again");
    assert_eq!(clean(&journal, &mut helper).0.failures.len(), foreign.len());
    // Only forgetting removes it.
    let forgotten = forget(&journal, &"abcdefgh".parse().unwrap()).unwrap();
    assert_eq!((forgotten.not_removed.len(), forgotten.unreadable), (foreign.len(), None));
    assert_eq!(files(&journal), 0);
}

#[test]
fn a_dead_run_is_forgotten_and_a_living_one_is_not() {
    let (_directory, journal, id) = dead_run(|run| {
        run.record_place(&nfs_place("/export")).unwrap();
        let id = run.record_place(&nfs_place("/done")).unwrap();
        run.removed(id).unwrap();
    });
    let run = journal.reopen(&id).unwrap();
    let error = forget(&journal, &id).unwrap_err().to_string();
    assert!(error.contains("still running"), "{error}");
    assert_eq!(files(&journal), 1);
    drop(run);
    let forgotten = forget(&journal, &id).unwrap();
    assert_eq!(forgotten.not_removed, ["directory manometer-abcdefgh on 127.0.0.1:/export"]);
    assert_eq!(files(&journal), 0);
    assert!(forget(&journal, &id).unwrap_err().to_string().contains("no journal of run abcdefgh"));
    std::fs::write(journal.directory().join("aaaaaaaa.jsonl"), "rubbish\n{}\n").unwrap();
    let forgotten = forget(&journal, &"aaaaaaaa".parse().unwrap()).unwrap();
    assert_eq!(forgotten.not_removed, ["rubbish", "{}"]);
    assert!(forgotten.unreadable.unwrap().contains("line 1"));
    assert_eq!(files(&journal), 0);
}

#[test]
fn an_array_that_is_silent_is_waited_for_once() {
    let scene = Scene::new();
    let fake = Fake::start(|_| Reply::Hang);
    let text = scene.text();
    let line = |n: u32| {
        format!(
            "{{\"intend\":{{\"n\":{n},\"at_s\":1,\"thing\":{{\"kind\":\"bucket\",\"name\":\"NAME\"}}}}}}\n"
        )
    };
    let array = format!(
        "{{\"array\":{{\"address\":\"http://{}\",\"trust\":\"system\",\"api\":\"2.0\"}}}}\n",
        fake.address
    );
    let directory = tempfile::tempdir().unwrap();
    let journal = Journal::open(directory.path()).unwrap();
    for id in ["aaaaaaaa", "bbbbbbbb", "cccccccc"] {
        let text = format!("{text}{array}{}", line(0).replace("NAME", &format!("manometer-{id}")));
        std::fs::write(directory.path().join(format!("{id}.jsonl")), text).unwrap();
    }
    let options = CleanupOptions { call_timeout: Duration::from_millis(300), ..OPTIONS };
    let mut said = Vec::new();
    let report =
        cleanup(&journal, &options, &mut Noting::default(), &mut |line| said.push(line.to_owned())).unwrap();
    assert_eq!(report.unfinished, ["aaaaaaaa", "bbbbbbbb", "cccccccc"]);
    assert!(report.failures[1].contains("did not answer for an earlier journal"), "{report:#?}");
    assert!(said.iter().any(|line| line == "run bbbbbbbb: journal 2 of 3"), "{said:#?}");
    let asked = fake.seen().len();

    let spent = CleanupOptions { time_limit: Duration::ZERO, ..options };
    let report = cleanup(&journal, &spent, &mut Noting::default(), &mut |_| {}).unwrap();
    assert!(report.failures[0].contains("--time-limit"), "{report:#?}");
    assert_eq!(fake.seen().len(), asked, "nothing more is begun");
}
