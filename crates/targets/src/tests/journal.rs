//! What the journal records of places, and how protocols remove them from it.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use drivers::tree::{DirectoryTree, TreeLayout};
use provision::{
    ApiSecret, BucketAccess, CleanupOptions, CleanupReport, Helper, Journal, PlaceError, RecordedPlace, Run,
    RunId, cleanup,
};
use serde_json::{Value, json};

use crate::nfs_place::PlaceVersion;
use crate::{HeldSecrets, JournaledPlace, LocalPlace, NfsPlace, PlaceEntry, Removal, S3Place};

/// The protocols alone, without an array.
struct Protocols(Removal);

impl Helper for Protocols {
    fn token_for(&mut self, address: &str) -> Option<ApiSecret> {
        panic!("there is no array: {address}")
    }

    fn remove(&mut self, place: &RecordedPlace, _: Option<&BucketAccess>) -> Result<(), PlaceError> {
        Ok(self.0.remove(place, None)?)
    }
}

/// A run's journal whose lock is released with places outstanding, as when its process dies.
fn dead_run(at: &Path, made: impl FnOnce(&Run)) -> Journal {
    let journal = Journal::open(at).unwrap();
    let run = journal.begin(&"abcdefgh".parse::<RunId>().unwrap()).unwrap();
    made(&run);
    journal
}

fn clean(journal: &Journal) -> CleanupReport {
    let options = CleanupOptions {
        call_timeout: Duration::from_secs(1),
        trust: None,
        time_limit: Duration::from_secs(60),
    };
    cleanup(
        journal,
        &options,
        &mut Protocols(Removal::new(Arc::new(HeldSecrets::default()), None, None)),
        &mut |_| {},
    )
    .unwrap()
}

fn s3_place() -> S3Place {
    S3Place {
        fingerprint: None,
        endpoint: "http://127.0.0.1:9000".into(),
        connect_to: None,
        bucket: "bucket".into(),
        prefix: "manometer-abcdefgh/".into(),
        region: "us-east-1".into(),
        path_style: true,
        ca_file: None,
        insecure: false,
        credentials_file: None,
        profile: None,
        may_have_parts: false,
    }
}

fn nfs_place() -> NfsPlace {
    NfsPlace {
        version: Default::default(),
        server: [127, 0, 0, 1].into(),
        export: "/export".into(),
        directory: "manometer-abcdefgh".into(),
        nfs_port: Some(2049),
        mount_port: None,
        portmap_port: 111,
        uid: 0,
        gid: 0,
        tree: DirectoryTree::default(),
    }
}

#[test]
fn a_prefix_where_parts_may_lie_stays_one_whatever_is_put_later() {
    let directory = tempfile::tempdir().unwrap();
    let run = Journal::open(directory.path()).unwrap().begin(&RunId::random()).unwrap();
    let small = s3_place();
    let large = S3Place { may_have_parts: true, ..small.clone() };
    let (small, large) = (PlaceEntry::of(&small), PlaceEntry::of(&large));
    let may_have_parts = || small.find(&run).unwrap().1.place["may_have_parts"].clone();
    let first = small.record(&run).unwrap();
    assert_eq!(small.record(&run).unwrap(), first, "it is known");
    assert_eq!(may_have_parts(), json!(false));
    let second = large.record(&run).unwrap();
    assert_ne!(second, first);
    assert_eq!(small.record(&run).unwrap(), second, "small objects do not undo it");
    assert_eq!(may_have_parts(), json!(true));
    assert_eq!(run.remaining().len(), 1, "{:?}", run.remaining());
    run.removed(second).unwrap();
    assert!(run.remaining().is_empty());
}

#[test]
fn a_directory_is_one_place_over_both_versions_of_nfs() {
    let three = nfs_place();
    let four = NfsPlace { version: PlaceVersion::V4_1, nfs_port: None, ..three.clone() };
    assert_eq!(three.united(&four), Some(three.clone()));
    for other in [
        NfsPlace { export: "/other".into(), ..four.clone() },
        NfsPlace { directory: "manometer-abcdefgi".into(), ..four.clone() },
        NfsPlace { server: [127, 0, 0, 2].into(), ..four.clone() },
        NfsPlace { nfs_port: Some(2050), ..three.clone() },
        NfsPlace { nfs_port: Some(2050), ..four.clone() },
        NfsPlace { uid: 7, ..four.clone() },
        NfsPlace { tree: DirectoryTree::new(2, 2, TreeLayout::Own).unwrap(), ..four.clone() },
        NfsPlace { gid: 7, ..four },
    ] {
        assert_eq!(three.united(&other), None, "{other:?}");
    }
    let asks = NfsPlace { nfs_port: None, ..three };
    assert_eq!(asks.united(&NfsPlace { portmap_port: 112, ..asks.clone() }), None, "another portmapper");
}

#[test]
fn servers_on_two_ports_of_an_address_have_an_entry_each() {
    let directory = tempfile::tempdir().unwrap();
    let run = Journal::open(directory.path()).unwrap().begin(&RunId::random()).unwrap();
    let first = nfs_place();
    let second = NfsPlace { nfs_port: Some(2050), ..first.clone() };
    let ids = [&first, &second, &first, &second].map(|place| PlaceEntry::of(place).record(&run).unwrap());
    assert!(ids[0] == ids[2] && ids[1] == ids[3] && ids[0] != ids[1]);
    assert_eq!(run.remaining().len(), 2, "{:?}", run.remaining());
}

#[test]
fn a_directory_of_a_user_or_a_tree_bears_the_name_of_its_run() {
    let run = "manometer-abcdefgh";
    let named = [
        &[][..],
        &[("depth", "2")],
        &[("depth", "3")],
        &[("depth", "2"), ("layout", "own")],
        &[("uid", "7")],
        &[("gid", "7")],
        &[("uid", "7"), ("gid", "7"), ("depth", "2")],
    ];
    let mut known = Vec::new();
    for options in named {
        let options = options.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
        let target = experiment::Target::new("t", "nfs://127.0.0.1/export", options);
        let directory = format!("{run}{}", target.directory_suffix());
        assert!(!known.contains(&directory), "{directory}");
        known.push(directory.clone());
        assert_eq!(NfsPlace { directory: directory.clone(), ..nfs_place() }.name(), Some(run));
        assert_eq!(LocalPlace::here(Path::new("/data").join(directory)).name(), Some(run));
    }
    let stranger = NfsPlace { directory: "manometer-abcdefgi-depth2".into(), ..nfs_place() };
    assert_ne!(stranger.name(), Some(run));
    let longer = NfsPlace { directory: "manometer-abcdefghi".into(), ..nfs_place() };
    assert_ne!(longer.name(), Some(run));
}

/// Today's protocols read the values that journals of every version hold, and find their names in them.
#[test]
fn places_of_journals_of_the_first_format_are_read() {
    fn read<P: JournaledPlace>(value: Value) -> P {
        let place: P = serde_json::from_value(value).unwrap();
        assert_eq!(place.name(), Some("manometer-abcdefgh"));
        place
    }
    let text = include_str!("../../../provision/tests/data/journal-format-1.jsonl");
    let mut read_of_kind = [0; 3];
    for line in text.lines() {
        let record: Value = serde_json::from_str(line).unwrap();
        let thing = &record["intend"]["thing"];
        match thing["kind"].as_str() {
            Some("directory") => {
                assert_eq!(read::<NfsPlace>(thing.clone()), nfs_place());
                read_of_kind[0] += 1;
            }
            Some("objects") => {
                // An entry that does not say may have unfinished uploads.
                let place: S3Place = read(thing.clone());
                assert_eq!(place.may_have_parts, place.bucket == "older");
                read_of_kind[1] += 1;
            }
            Some("local-directory") => {
                assert_eq!(read::<LocalPlace>(thing.clone()).host, "here");
                read_of_kind[2] += 1;
            }
            _ => {}
        }
    }
    assert_eq!(read_of_kind, [1, 2, 2]);
}

#[test]
fn directories_of_this_machine_are_removed_and_those_of_others_are_named() {
    let directory = tempfile::tempdir().unwrap();
    let own = directory.path().join("manometer-abcdefgh");
    // It lacks our mark, so it is not removed.
    fs::create_dir(&own).unwrap();
    fs::write(own.join("theirs"), "").unwrap();
    let elsewhere = LocalPlace { host: "elsewhere".into(), path: "/data/manometer-abcdefgh".into() };
    let journal = dead_run(&directory.path().join("journal"), |run| {
        PlaceEntry::of(&LocalPlace::here(own.clone())).record(run).unwrap();
        PlaceEntry::of(&elsewhere).record(run).unwrap();
    });
    let report = clean(&journal);
    assert_eq!(report.failures.len(), 2, "{report:?}");
    assert!(report.failures[0].contains(own.to_str().unwrap()), "{report:?}");
    assert!(report.failures[1].contains("on elsewhere: it is on another machine"), "{report:?}");
    fs::remove_dir_all(&own).unwrap();
    let report = clean(&journal);
    assert_eq!(report.failures.len(), 1, "only the other machine's is left: {report:?}");
    assert_eq!(fs::read_dir(journal.directory()).unwrap().count(), 1);
}

/// The entry bears the run's name, but its place does not: the protocols refuse it and contact nobody.
#[test]
fn a_place_that_does_not_bear_the_runs_name_is_refused_by_its_protocol() {
    let directory = tempfile::tempdir().unwrap();
    let home = directory.path().join("home");
    fs::create_dir(&home).unwrap();
    let foreign: Vec<(&str, Value)> = vec![
        ("nfs", json!(NfsPlace { directory: "home".into(), ..nfs_place() })),
        ("nfs", json!(NfsPlace { directory: "manometer-abcdefgh/..".into(), ..nfs_place() })),
        ("s3", json!(S3Place { prefix: String::new(), ..s3_place() })),
        ("s3", json!(S3Place { prefix: "manometer-abcdefgh".into(), ..s3_place() })),
        ("s3", json!(S3Place { prefix: "manometer-abcdefg/".into(), ..s3_place() })),
        ("file", json!(LocalPlace::here(home.clone()))),
        ("file", json!(LocalPlace::here("/data/manometer-abcdefgh/..".into()))),
        ("file", json!(LocalPlace::here("manometer-abcdefgh".into()))),
    ];
    let count = foreign.len();
    let journal = dead_run(&directory.path().join("journal"), |run| {
        for (scheme, place) in foreign {
            let (scheme, name) = (scheme.to_owned(), "manometer-abcdefgh".to_owned());
            run.record_place(&RecordedPlace {
                scheme,
                name,
                title: "a place".into(),
                within: None,
                holds: None,
                place,
            })
            .unwrap();
        }
    });
    let report = clean(&journal);
    assert_eq!(report.failures.len(), count, "{report:#?}");
    for failure in &report.failures {
        assert!(failure.contains("refused") && failure.contains("manometer-abcdefgh"), "{failure}");
    }
    assert!(home.exists());
}

#[test]
fn a_place_of_a_protocol_that_is_not_here_stays_in_the_journal() {
    let directory = tempfile::tempdir().unwrap();
    let journal = dead_run(directory.path(), |run| {
        for scheme in ["gopher", "null"] {
            let (scheme, name) = (scheme.to_owned(), "manometer-abcdefgh".to_owned());
            let title = format!("a burrow in {scheme}");
            run.record_place(&RecordedPlace {
                scheme,
                name,
                title,
                within: None,
                holds: None,
                place: Value::Null,
            })
            .unwrap();
        }
    });
    let report = clean(&journal);
    assert!(
        report.failures[0].contains("a burrow in gopher: this program has no protocol gopher:"),
        "{report:?}"
    );
    assert!(report.failures[1].contains("no protocol null:"), "{report:?}");
    assert_eq!(report.unfinished, ["abcdefgh"]);
}
