//! Targets are checked before anything is created: every fault is reported at once, by a dry run as by a run.

#![allow(clippy::unwrap_used)] // a test may fail loudly

mod run_support;
mod support;

use std::net::TcpListener;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

use array::{Array, Config};
use run_support::{Lab, names};
use serde_json::Value;
use support::{Ended, run};

const WORKLOADS: &str = "
defaults: {ops: read, file_size: 1MiB}
workloads: {a: {target: one}, b: {target: two}}
stages: {warm_up: 0s, measure: {at_least: 1s, at_most: 1s}}
steady: none
";

/// `manometer run` with the arguments in one line.
fn line(lab: &Lab, words: &str) -> Ended {
    let words = words.replace("DATA", &lab.data().display().to_string());
    run(lab.command().args(words.split(' ')))
}

/// The lines that report faults.
fn errors(ended: &Ended) -> Vec<&str> {
    ended.stderr.lines().filter_map(|line| line.strip_prefix("error: ")).collect()
}

/// Refused by a dry run and by the run with the same single line, and nothing was created.
fn assert_refused(lab: &Lab, words: &str, code: i32, parts: &[&str]) {
    let dry = line(lab, &format!("{words} --dry-run"));
    let real = line(lab, words);
    for ended in [&dry, &real] {
        assert_eq!(ended.code, Some(code), "{words}: {ended:#?}");
        let [error] = errors(ended)[..] else { panic!("{words}: {ended:#?}") };
        assert!(parts.iter().all(|part| error.contains(part)), "{words}: {error}");
    }
    // The free space may change between the two.
    let said = |ended: &Ended| errors(ended).join("\n").replace(|c: char| c.is_ascii_digit() || c == '.', "");
    assert_eq!(said(&dry), said(&real));
    lab.assert_clean();
}

#[test]
fn a_data_set_that_has_no_room_is_refused_before_a_byte_is_written() {
    let lab = Lab::new();
    let parts = ["/data: the data set of target data takes 100 TiB, but only ", " are free; next: "];
    assert_refused(&lab, "file://DATA --file-size 100TiB --for 1s", 1, &parts);
    assert_eq!(names(&lab.data()), Vec::<String>::new());
    let fits = line(&lab, "file://DATA --file-size 1MiB --dry-run");
    assert_eq!((fits.code, errors(&fits).len()), (Some(0), 0), "{fits:#?}");
    assert!(fits.stdout.contains("Targets\n  data: the directory can be used; "), "{}", fits.stdout);
    assert!(
        fits.stdout.ends_with(", 1.00 MiB needed\n\nNothing was created or written.\n"),
        "{}",
        fits.stdout
    );
}

#[test]
fn an_export_is_asked_how_much_is_free() {
    let lab = Lab::new();
    let exports = vec!["bench".to_owned()];
    let array = Array::start(Config { exports, capacity_bytes: 64 << 20, ..Config::loopback() }).unwrap();
    let data = &array.data()[0];
    let url = format!("nfs://{}:{}/bench?mount_port={}", data.ip, data.nfs_port, data.mount_port);
    let parts = ["the data set of target data takes 1.00 GiB, but only 64.0 MiB are free"];
    assert_refused(&lab, &format!("{url} --for 1s"), 1, &parts);
    let seen = line(&lab, &format!("{url} --file-size 1MiB --dry-run --output json"));
    let json: Value = serde_json::from_str(&seen.stdout).unwrap();
    assert_eq!(json["preflight"]["targets"][0]["seen"], "the export answers", "{seen:#?}");
    assert_eq!(json["preflight"]["targets"][0]["available_bytes"], 64 << 20);
    let unseen = line(&lab, &format!("{url} --file-size 1GiB --dry-run --no-preflight --output json"));
    let json: Value = serde_json::from_str(&unseen.stdout).unwrap();
    assert!(unseen.code == Some(0) && json["preflight"].is_null(), "{unseen:#?}");
    assert_refused(&lab, &url.replace("/bench", "/other"), 1, &["there is no such export"]);
}

#[test]
fn what_is_no_directory_is_said() {
    let lab = Lab::new();
    std::fs::write(lab.data().join("file"), "").unwrap();
    assert_refused(&lab, "file://DATA/none", 2, &["/data/none", "there is no such directory"]);
    assert_refused(&lab, "file://DATA/file", 2, &["/data/file", "it is a file; name a directory"]);
    let text = format!("targets: {{one: {{url: file://DATA, directory: file}}, two: 'sim:'}}{WORKLOADS}");
    let ended = lab.run(&text);
    let [error] = errors(&ended)[..] else { panic!("{ended:#?}") };
    assert!(ended.code == Some(1) && error.contains("/data/file is a file, not a directory"), "{error}");
}

#[test]
fn what_does_not_answer_is_said_while_it_is_waited_for_and_then_once() {
    let lab = Lab::new();
    // It accepts connections and never answers.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = silent.local_addr().unwrap().port();
    let url = format!("nfs://127.0.0.1:{port}/export?mount_port={port}");
    let ended = line(&lab, &format!("{url} --dry-run"));
    let waiting = format!("connecting to {url} (for at most 10 s)\n");
    assert!(ended.stderr.contains(&waiting), "{}", ended.stderr);
    let [error] = errors(&ended)[..] else { panic!("{ended:#?}") };
    assert!(ended.code == Some(1) && error.contains("no answer within 10 s"), "{error}");
    drop(silent);
    assert_refused(&lab, &url, 1, &["127.0.0.1", "cannot connect", "check the address"]);
}

/// A mounted device, if this machine has one, and in any case one with a file system on it.
#[test]
fn a_device_that_holds_something_is_refused_by_a_dry_run_too() {
    let lab = Lab::new();
    let image = lab.path("image");
    // The mark of ext2, ext3 and ext4: 0xEF53, 56 bytes into the superblock at 1024.
    let mut bytes = vec![0; 4 << 20];
    bytes[1024 + 56..1024 + 58].copy_from_slice(&[0x53, 0xEF]);
    std::fs::write(&image, &bytes).unwrap();
    let url = format!("block://{}?direct=false", image.display());
    assert_refused(&lab, &format!("{url} --write"), 2, &["ext", "nothing was written", "--destroy"]);
    assert_eq!(std::fs::read(&image).unwrap(), bytes);
    assert_eq!(line(&lab, &format!("{url} --write --dry-run --destroy {}", image.display())).code, Some(0));
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
    let sources = mounts.lines().filter_map(|line| line.split_once(" - ")?.1.split(' ').nth(1));
    let device = |path: &&str| {
        let found = std::fs::metadata(path).is_ok_and(|found| found.file_type().is_block_device());
        // Containers show devices that they may not open.
        found && std::fs::File::open(path).is_ok()
    };
    if let Some(mounted) = sources.filter(|path| Path::new(path).is_absolute()).find(device) {
        // Only a dry run: nothing here may depend on the refusal.
        let ended = line(&lab, &format!("block://{mounted} --write --dry-run"));
        assert!(ended.code == Some(2) && ended.stderr.contains("is mounted"), "{ended:#?}");
    }
}

#[test]
fn all_faults_are_said_at_once() {
    let lab = Lab::new();
    let targets = "targets: {one: file:///no/such, two: 'nfs://127.0.0.1:1/export?mount_port=1'}";
    let file = lab.experiment("two.yaml", &format!("{targets}{WORKLOADS}"));
    for flags in [&["--dry-run"][..], &[]] {
        let ended = run(lab.command().arg(&file).args(flags));
        let [first, second] = errors(&ended)[..] else { panic!("{ended:#?}") };
        assert!(first.contains("file:///no/such") && first.contains("no such directory"), "{first}");
        assert!(second.starts_with("target two: ") && second.contains("127.0.0.1"), "{second}");
        assert_eq!(ended.code, Some(1), "not only wrong usage");
    }
    assert!(lab.store().runs().unwrap().is_empty(), "a run that cannot begin was written down");
}

#[test]
fn each_host_of_a_fleet_looks_for_itself() {
    let lab = Lab::new();
    std::fs::create_dir(lab.data().join("local-0")).unwrap();
    let ended = line(&lab, "file://DATA/{host} --file-size 1MiB --local 3 --dry-run");
    let [error] = errors(&ended)[..] else { panic!("{ended:#?}") };
    assert!(ended.code == Some(2) && error.starts_with("local-1 (and another host): "), "{error}");
    // Their shared space must be enough for all of them. Three quarters leave room either way for
    // what else uses this disk meanwhile.
    let free = rustix::fs::statvfs(lab.data()).unwrap();
    let most = (free.f_bavail * free.f_frsize / 4 * 3) >> 20;
    let ended = line(&lab, &format!("file://DATA --file-size {most}MiB --local 2 --dry-run"));
    assert!(
        ended.code == Some(1) && ended.stderr.contains("the data set of target data takes"),
        "{ended:#?}"
    );
    assert_eq!(line(&lab, &format!("file://DATA --file-size {most}MiB --local 1 --dry-run")).code, Some(0));
}

#[test]
fn imaginary_targets_are_not_looked_at() {
    let lab = Lab::new();
    let ended = line(&lab, "sim: --local 2 --dry-run");
    assert_eq!((ended.code, errors(&ended).len()), (Some(0), 0), "{ended:#?}");
    assert!(ended.stdout.ends_with("Nothing was touched.\n"), "{}", ended.stdout);
    assert!(!ended.stderr.contains("hosts are ready"), "{}", ended.stderr);
}
