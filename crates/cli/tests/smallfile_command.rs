//! `manometer smallfile`: the command lines of smallfile's README, their output, and what they leave on disk.

#![allow(clippy::unwrap_used)] // a test may fail loudly

mod run_support;
mod support;

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use run_support::Lab;
use serde_json::Value;
use support::{Ended, install, run};

const THREADS: u64 = 3;
const FILES: u64 = 250;
const ALL: u64 = THREADS * FILES;
/// Six records of 4 KiB.
const FILE_BYTES: u64 = 24 << 10;
const USUAL: &str = "--threads 3 --files 250 --file-size 24 --record-size 4 --stonewall N";

fn command(lab: &Lab, line: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_manometer"));
    command.arg("smallfile").current_dir(lab.data()).env("HOME", lab.directory.path()).stdin(Stdio::null());
    command.env_remove("XDG_DATA_HOME").env_remove("XDG_STATE_HOME");
    command.args(["--results".into(), lab.path("results.sqlite")]);
    command.args(line.split_whitespace());
    command
}

/// Runs a command line whose threads all succeed; returns its standard output.
fn succeed(lab: &Lab, line: &str) -> String {
    let ended = run(&mut command(lab, line));
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{line}: {ended:#?}");
    ended.stdout
}

/// Runs an operation with the usual parameters; returns its JSON document.
fn operation(lab: &Lab, name: &str, more: &str) -> Value {
    let text = succeed(
        lab,
        &format!("--operation {name} --top {} {USUAL} --output-json out.json {more}", top(lab).display()),
    );
    assert!(text.contains(&format!("total files = {ALL}\n")), "{name}: {text}");
    json(&lab.data().join("out.json"))
}

fn json(file: &Path) -> Value {
    serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap()
}

fn top(lab: &Lab) -> PathBuf {
    lab.path("smf")
}

/// Every file, link and empty directory below a directory, by its relative path; links are not followed.
fn tree(directory: &Path) -> BTreeMap<PathBuf, std::fs::Metadata> {
    let mut found = BTreeMap::new();
    let mut left = vec![directory.to_owned()];
    while let Some(next) = left.pop() {
        let entries: Vec<_> = std::fs::read_dir(&next).unwrap().map(Result::unwrap).collect();
        if entries.is_empty() {
            found.insert(next.strip_prefix(directory).unwrap().to_owned(), next.metadata().unwrap());
        }
        for entry in entries {
            let facts = entry.metadata().unwrap();
            if facts.is_dir() {
                left.push(entry.path());
            } else {
                found.insert(entry.path().strip_prefix(directory).unwrap().to_owned(), facts);
            }
        }
    }
    found
}

/// The files in a part of the tree whose names end like this.
fn files(lab: &Lab, part: &str, end: &str) -> Vec<PathBuf> {
    let of_part = |path: &PathBuf| path.starts_with(part) && path.to_string_lossy().ends_with(end);
    tree(&top(lab)).into_keys().filter(of_part).collect()
}

fn sizes(lab: &Lab) -> (usize, u64) {
    let files = tree(&top(lab)).into_values().filter(std::fs::Metadata::is_file);
    files.fold((0, 0), |(count, bytes), facts| (count + 1, bytes + facts.len()))
}

/// Checks counts of files, records and bytes, in total and by thread.
fn assert_counts(document: &Value, records_of_a_file: u64) {
    let results = &document["results"];
    assert_eq!(results["status"], "Success", "{document:#}");
    assert_eq!((&results["files"], &results["total-threads"]), (&ALL.into(), &THREADS.into()));
    assert_eq!(results["records"], ALL * records_of_a_file, "{document:#}");
    assert_eq!(results["pct-files-done"], 100.0);
    assert!(results["elapsed"].as_f64().unwrap() > 0.0 && results["files-per-sec"].as_f64().unwrap() > 0.0);
    for key in ["IOPS", "MiBps", "total-data-GB"] {
        assert_eq!(results.get(key).is_some(), records_of_a_file > 0, "{key} in {document:#}");
    }
    if records_of_a_file > 0 {
        let gib = (ALL * FILE_BYTES) as f64 / (1u64 << 30) as f64;
        assert!((results["total-data-GB"].as_f64().unwrap() - gib).abs() < 1e-9, "{document:#}");
    }
    let threads = results["in-thread"].as_object().unwrap();
    assert_eq!(threads.keys().collect::<Vec<_>>(), ["00", "01", "02"]);
    for thread in threads.values() {
        assert_eq!(
            (&thread["files"], &thread["records"]),
            (&FILES.into(), &(FILES * records_of_a_file).into())
        );
    }
}

#[test]
fn every_operation_does_its_part_on_the_files_of_the_one_before() {
    let lab = Lab::new();
    let created = operation(&lab, "create", "");
    assert_counts(&created, 6);
    let parameters = &created["params"];
    assert_eq!(parameters["operation"], "create");
    assert_eq!((&parameters["files-per-thread"], &parameters["threads"]), (&FILES.into(), &THREADS.into()));
    assert_eq!((&parameters["file-size"], &parameters["file-size-distr"]), (&24.into(), &"fixed".into()));
    assert_eq!(sizes(&lab), (ALL as usize, ALL * FILE_BYTES));
    let [host] = &std::fs::read_dir(top(&lab).join("file_srcdir")).unwrap().collect::<Vec<_>>()[..] else {
        panic!("one host");
    };
    let host = host.as_ref().unwrap().file_name().into_string().unwrap();
    for (directory, number) in [("d_000", 99), ("d_001", 100), ("d_002", 250)] {
        let path = format!("file_srcdir/{host}/thrd_02/{directory}/_{host}_02_{number}_");
        assert!(top(&lab).join(&path).is_file(), "{path}");
    }

    assert_counts(&operation(&lab, "overwrite", "--fsync Y"), 6);
    assert_eq!(sizes(&lab), (ALL as usize, ALL * FILE_BYTES));
    assert_counts(&operation(&lab, "append", ""), 6);
    assert_eq!(sizes(&lab), (ALL as usize, 2 * ALL * FILE_BYTES));
    assert_counts(&operation(&lab, "truncate-overwrite", ""), 6);
    assert_eq!(sizes(&lab), (ALL as usize, ALL * FILE_BYTES));
    assert_counts(&operation(&lab, "read", ""), 6);
    assert_counts(&operation(&lab, "stat", ""), 0);
    assert_counts(&operation(&lab, "chmod", ""), 0);
    for (path, facts) in tree(&top(&lab)).into_iter().filter(|(_, facts)| facts.is_file()) {
        assert_eq!(facts.permissions().mode() & 0o777, 0o646, "{}", path.display());
    }
    assert_counts(&operation(&lab, "readdir", ""), 0);
    assert_counts(&operation(&lab, "ls-l", ""), 0);

    assert_counts(&operation(&lab, "symlink", ""), 0);
    let links = files(&lab, "file_dstdir", "_.s");
    assert_eq!(links.len() as u64, ALL);
    for link in &links {
        assert_eq!(top(&lab).join(link).metadata().unwrap().len(), FILE_BYTES, "{}", link.display());
    }
    assert_counts(&operation(&lab, "mkdir", ""), 0);
    assert_eq!(files(&lab, "file_srcdir", "_.d").len() as u64, ALL);
    assert_counts(&operation(&lab, "rmdir", ""), 0);
    assert_eq!(files(&lab, "file_srcdir", "_.d").len(), 0);

    assert_counts(&operation(&lab, "rename", ""), 0);
    assert_eq!(files(&lab, "file_srcdir", "_").len(), 0);
    assert_eq!(files(&lab, "file_dstdir", "_").len() as u64, ALL);
    assert_counts(&operation(&lab, "delete_renamed", ""), 0);
    assert_eq!(files(&lab, "file_dstdir", "_").len(), 0);

    operation(&lab, "create", "");
    assert_counts(&operation(&lab, "delete", ""), 0);
    assert_eq!(sizes(&lab).0, 0);
    operation(&lab, "cleanup", "");
    assert_eq!(
        tree(&top(&lab)).into_keys().collect::<Vec<_>>(),
        [PathBuf::new()],
        "only --top itself is left"
    );
    lab.assert_clean();
}

#[test]
fn swift_and_extended_attributes() {
    let lab = Lab::new();
    let probe = lab.path("probe");
    std::fs::write(&probe, "").unwrap();
    if rustix::fs::setxattr(&probe, "user.probe", b"1", rustix::fs::XattrFlags::empty()).is_err() {
        eprintln!("not tested: {} has no extended attributes", lab.directory.path().display());
        return;
    }
    let attributes = "--xattr-size 32 --xattr-count 3";
    assert_counts(&operation(&lab, "swift-put", attributes), 6);
    assert_eq!(sizes(&lab), (ALL as usize, ALL * FILE_BYTES));
    for path in files(&lab, "file_srcdir", "") {
        assert!(!path.to_string_lossy().ends_with(".tmp"), "{}", path.display());
        let mut value = [0; 64];
        let length = rustix::fs::getxattr(top(&lab).join(&path), "user.smallfile-2", &mut value[..]).unwrap();
        assert_eq!(length, 32, "{}", path.display());
    }
    assert_counts(&operation(&lab, "swift-get", attributes), 6);
    assert_counts(&operation(&lab, "setxattr", attributes), 0);
    assert_counts(&operation(&lab, "getxattr", attributes), 0);
    let spoiled = top(&lab).join(&files(&lab, "file_srcdir", "_02_7_")[0]);
    rustix::fs::setxattr(&spoiled, "user.smallfile-1", b"other", rustix::fs::XattrFlags::empty()).unwrap();
    let line = format!("--operation getxattr --top {} {USUAL} {attributes}", top(&lab).display());
    let ended = run(&mut command(&lab, &line));
    assert_eq!(ended.code, Some(1), "{ended:#?}");
    assert!(ended.stdout.contains("thr = 02,") && ended.stdout.contains("status = ERR: "), "{ended:#?}");
}

#[test]
fn a_wrong_byte_and_a_missing_file_end_their_thread_only() {
    let lab = Lab::new();
    operation(&lab, "create", "");
    let spoiled = top(&lab).join(&files(&lab, "file_srcdir", "_01_200_")[0]);
    let mut bytes = std::fs::read(&spoiled).unwrap();
    bytes[5000] ^= 1;
    std::fs::write(&spoiled, bytes).unwrap();
    let read = format!("--operation read --top {} {USUAL} --output-json out.json", top(&lab).display());
    let assert_failed = |line: &str, thread: &str, files: u64| {
        let ended = run(&mut command(&lab, line));
        assert_eq!(ended.code, Some(1), "{ended:#?}");
        assert!(ended.stdout.contains("WARNING: at least one thread encountered error"), "{ended:#?}");
        let results = &json(&lab.data().join("out.json"))["results"];
        assert_ne!(results["status"], "Success");
        for (number, found) in results["in-thread"].as_object().unwrap() {
            let expected = if number == thread { files } else { FILES };
            assert_eq!(found["files"], expected, "thread {number}: {results:#}");
            assert_eq!(found.get("status").is_some(), number == thread, "{results:#}");
        }
        ended
    };
    let ended: Ended = assert_failed(&read, "01", 199);
    assert!(ended.stderr.contains("_01_200_"), "the file is named: {}", ended.stderr);
    succeed(&lab, &format!("{read} --verify-read N"));
    std::fs::remove_file(&spoiled).unwrap();
    let stat = read.replace("--operation read", "--operation stat");
    assert_failed(&stat, "01", 199);
}

#[test]
fn other_layouts_and_a_yaml_file() {
    let lab = Lab::new();
    let tops = [lab.path("a"), lab.path("b")].map(|top| top.display().to_string()).join(",");
    let text = format!(
        "top: {tops}\nthreads: 2\nfiles: 60\nfile-size: 8\nfiles-per-dir: 7\ndirs-per-dir: 3\nsame-dir: Y\nprefix: p\n"
    );
    std::fs::write(lab.data().join("smf.yaml"), text).unwrap();
    for (operation, more) in [
        ("create", "--file-size-distribution exponential"),
        ("read", "--file-size-distribution exponential"),
        ("cleanup", ""),
        ("create", "--hash-into-dirs Y"),
        ("read", "--hash-into-dirs Y"),
        ("cleanup", "--hash-into-dirs Y"),
    ] {
        let line = format!("--operation {operation} --yaml-input-file smf.yaml --stonewall N {more}");
        let text = succeed(&lab, &line);
        assert!(text.contains("total files = 120\n"), "{line}: {text}");
        let [a, b] = ["a", "b"].map(|top| tree(&lab.path(top)));
        if operation == "cleanup" {
            assert_eq!((a.len(), b.len()), (1, 1), "{line}: {a:?} {b:?}");
            continue;
        }
        let files =
            |tree: &BTreeMap<PathBuf, std::fs::Metadata>| tree.values().filter(|one| one.is_file()).count();
        assert_eq!((files(&a), files(&b)), (60, 60), "{line}");
        let sizes = |one: &std::fs::Metadata| one.len() == 8 << 10;
        assert_eq!(a.values().filter(|one| one.is_file()).all(sizes), !more.contains("exponential"));
        assert!(a.keys().all(|path| !path.to_string_lossy().contains("thrd_")), "{a:?}");
    }
}

/// Runs the command for the host here.
const SSH: &str = "#!/bin/sh
while test \"$1\" != --; do shift; done
HOME=HOMES/$2; export HOME; mkdir -p \"$HOME\"; unset XDG_CACHE_HOME XDG_STATE_HOME
exec /bin/sh -c \"$3\"
";

#[test]
fn hosts_work_on_their_own_files_or_on_each_others() {
    let lab = Lab::new();
    let (script, tools) = (lab.path("ssh.sh"), lab.path("tools"));
    std::fs::create_dir(&tools).unwrap();
    std::fs::write(&script, SSH.replace("HOMES", &lab.path("homes").display().to_string())).unwrap();
    install(&script, &tools.join("ssh"));
    let path = format!("{}:{}", tools.display(), std::env::var("PATH").unwrap());
    let on_hosts = |operation: &str, hosts: &str, more: &str| {
        let line = format!(
            "--operation {operation} --host-set {hosts} --top {} --threads 2 --files 20 --file-size 8 --stonewall N \
             --output-json out.json {more}",
            top(&lab).display()
        );
        run(command(&lab, &line).env("PATH", &path))
    };
    let ended = on_hosts("create", "alpha,beta", "");
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    let results = json(&lab.data().join("out.json"))["results"].clone();
    assert_eq!((&results["files"], &results["total-threads"]), (&80.into(), &4.into()), "{results:#}");
    for host in ["alpha", "beta"] {
        let own = &results["in-host"][host];
        assert_eq!(
            (&own["files"], own["in-thread"].as_object().unwrap().len()),
            (&40.into(), 2),
            "{results:#}"
        );
        assert_eq!(files(&lab, &format!("file_srcdir/{host}"), "_").len(), 40);
    }
    // A host alone that works on the next one's files finds its own; with both, each reads the other's.
    let ended = on_hosts("delete", "alpha", "");
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    let ended = on_hosts("read", "alpha,beta", "--permute-host-dirs Y");
    assert_eq!(ended.code, Some(1), "beta's files are there, alpha's are gone: {ended:#?}");
    let results = json(&lab.data().join("out.json"))["results"].clone();
    assert_eq!(
        (&results["in-host"]["alpha"]["files"], &results["in-host"]["beta"]["files"]),
        (&40.into(), &0.into())
    );
}

#[test]
fn mistakes_are_one_line_and_touch_nothing() {
    let lab = Lab::new();
    for (line, words) in [
        ("--operation shred", &["--operation shred", "there are create, append"][..]),
        ("--operation await-create", &["not supported"]),
        ("--file 3", &["no parameter --file"]),
        ("--response-times Y", &["not supported", "manometer show last"]),
        ("--xattr-count 17", &["at most 16"]),
        ("--top /", &["root of the file system"]),
    ] {
        run(&mut command(&lab, line)).assert_one_line(2, words);
    }
    assert!(run_support::names(&lab.data()).is_empty() && !lab.path("results.sqlite").exists());
}
