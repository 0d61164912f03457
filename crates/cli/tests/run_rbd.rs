//! Experiments and jobs on images, against a scripted librbd whose images live as long as the program.

#![allow(clippy::unwrap_used)] // a test may fail loudly

mod fio_lab;
#[path = "../../drivers/tests/rados_library/mod.rs"]
mod rados_library;
mod run_support;
mod support;

use std::process::Command;

use fio_lab::FioLab;
use run_support::Lab;
use serde_json::Value;
use support::{Ended, run};
use tempfile::TempDir;

fn with(library: &TempDir, command: &mut Command) -> Ended {
    run(command.env("LD_LIBRARY_PATH", library.path()))
}

fn experiment(url: &str, load: &str) -> String {
    let verify = if load.contains("verify: true") { ", verify: true" } else { "" };
    format!(
        "
targets: {{image: {url}}}
workloads: {{load: {{{load}}}}}
stages: {{warm_up: 0s, measure: {{at_least: 1s, at_most: 1s}}{verify}}}
steady: none
"
    )
}

const MIXED: &str = "ops: {read: 60%, write: 40%}, block_size: 4KiB, queue_depth: 8, jobs: 2, verify: true";

#[test]
fn an_image_is_created_filled_loaded_verified_and_removed() {
    let (lab, library) = (Lab::new(), rados_library::compiled_with_rbd());
    let url = "rbd://bench?conf=/lab/ceph.conf&create=4MiB&image_object_size=1MiB";
    let file = lab.experiment("e.yaml", &experiment(url, MIXED));
    let ended = with(&library, lab.command().arg(file).args(["--output", "json"]));
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    let json: Value = serde_json::from_str(&ended.stdout).unwrap();
    let cell = &json["cells"][0]["result"];
    assert_eq!(cell["total"]["failed"], 0, "{cell:#}");
    let verify = cell["stages"].as_array().unwrap().iter().find(|stage| stage["name"] == "verify").unwrap();
    assert!(verify["note"].as_str().unwrap().contains(" 0 wrong, 0 unread"), "{verify}");
    assert_eq!(verify["bytes"].as_u64(), Some(4 << 20));
    let facts = serde_json::to_string(&json).unwrap();
    for fact in
        ["4MiB (4194304 bytes)", "\"object size\":\"1MiB\"", "exclusive-lock", "a place of the run's own"]
    {
        assert!(facts.contains(fact), "{fact} is not in {facts}");
    }
    lab.assert_clean();
}

#[test]
fn all_operations_of_an_image_work_beside_each_other() {
    let (lab, library) = (Lab::new(), rados_library::compiled_with_rbd());
    let load = "ops: {read: 25%, write: 25%, trim: 25%, commit: 25%}, block_size: 64KiB, queue_depth: 4";
    for url in
        ["rbd://bench/blank?conf=/c", "rbd://bench?conf=/c&create=1MiB&trim_zeroes=true&exclusive_lock=false"]
    {
        let file = lab.experiment("e.yaml", &experiment(url, load));
        let ended = with(&library, lab.command().arg(file).args(["--output", "json"]));
        assert_eq!(ended.code, Some(0), "{ended:#?}");
        let json: Value = serde_json::from_str(&ended.stdout).unwrap();
        let total = &json["cells"][0]["result"]["total"];
        assert!(total["failed"] == 0 && total["ok"].as_u64() > Some(20), "{total:#}");
    }
    lab.assert_clean();
}

/// A run in short form that only reads keeps what an image holds, and fills one that it creates.
#[test]
fn what_is_only_read_is_kept() {
    let (lab, library) = (Lab::new(), rados_library::compiled_with_rbd());
    for url in ["rbd://bench/theirs?conf=/c", "rbd://bench?conf=/c&create=1MiB"] {
        let ended =
            with(&library, lab.command().args([url, "--op", "read", "--for", "1s", "--warm-up", "0s"]));
        assert_eq!(ended.code, Some(0), "{ended:#?}");
    }
    lab.assert_clean();
}

#[test]
fn what_an_image_holds_is_overwritten_only_if_it_is_named() {
    let (lab, library) = (Lab::new(), rados_library::compiled_with_rbd());
    let theirs = |url: &str| lab.experiment("e.yaml", &experiment(url, "ops: write, file_size: 1MiB"));
    let file = theirs("rbd://bench/theirs?conf=/c");
    for (flags, code) in [
        (vec![], 2),
        (vec!["--destroy", "rbd://bench/blank"], 2),
        (vec!["--destroy", "rbd://other/theirs"], 2),
        (vec!["--destroy", "rbd://bench/theirs?namespace=n"], 2),
        (vec!["--destroy", "rbd://bench/theirs?conf=/d"], 2),
        (vec!["--destroy", "rbd://bench/theirs?conf=/c"], 0),
        (vec!["--destroy", "rbd://bench/theirs"], 0),
    ] {
        let ended = with(&library, lab.command().arg(&file).args(&flags));
        assert_eq!(ended.code, Some(code), "{flags:?}: {ended:#?}");
        let advice = "RBD image bench/theirs carries an XFS file system: nothing was written; to overwrite it anyway, give \
                      --destroy rbd://bench/theirs";
        assert_eq!(ended.stderr.contains(advice), code != 0, "{flags:?}: {ended:#?}");
    }
    let file = theirs("rbd://bench/theirs?conf=/c&namespace=n");
    let named = ["--destroy", "rbd://bench/theirs?namespace=n"];
    for (flags, right) in [(&["--destroy", "rbd://bench/theirs"], false), (&named, true)] {
        let ended = with(&library, lab.command().arg(&file).args(flags));
        assert_eq!(ended.code == Some(0), right, "{flags:?}: {ended:#?}");
    }
    let file = theirs("rbd://bench/watched?conf=/c");
    let ended = with(&library, lab.command().arg(&file));
    assert!(ended.stderr.contains("is open elsewhere (client.4123 at 10.0.0.1:0/77)"), "{ended:#?}");
    assert_ne!(ended.code, Some(0));
    lab.assert_clean();
}

#[test]
fn what_cannot_be_used_is_named_in_one_line() {
    let (lab, library) = (Lab::new(), rados_library::compiled_with_rbd());
    let writes = "ops: write, block_size: 4KiB";
    for (url, load, part) in [
        ("rbd://bench?conf=/c", writes, "next: write rbd://bench/IMAGE, or rbd://bench?create=SIZE"),
        (
            "rbd://bench/blank?conf=/c&create=1MiB",
            writes,
            "blank is named; next: write rbd://bench?create=SIZE",
        ),
        ("rbd://bench/blank?conf=/c&data_pool=ec", writes, "data_pool is for images that are created"),
        ("rbd://bench?conf=/c&create=1MiB&image_object_size=5000", writes, "5000 is no power of two"),
        ("rbd://bench?conf=/c&create=1MiB", "ops: write, file_size: 2MiB", "use at most 1048576"),
        ("rbd://bench/blank?conf=/c", "ops: write, file_size: 5MiB", "use at most 4194304"),
        ("rbd://bench/nothing?conf=/c", writes, "there is no such image; next: `rbd ls bench`"),
        ("rbd://sink/blank?conf=/c", writes, "there is no pool sink"),
        ("rbd://sink?conf=/c&create=1MiB", writes, "there is no pool sink"),
    ] {
        let file = lab.experiment("e.yaml", &experiment(url, load));
        let ended = with(&library, lab.command().arg(file));
        assert_ne!(ended.code, Some(0), "{url}: {ended:#?}");
        let line = ended.stderr.lines().find(|line| line.contains(part));
        assert!(line.is_some(), "{url}: {part}: {ended:#?}");
    }
    // What is created has nothing to keep.
    let text =
        experiment("rbd://bench?conf=/c&create=1MiB", "ops: read").replace("warm_up: 0s", "prepare: keep");
    let ended = with(&library, lab.command().arg(lab.experiment("e.yaml", &text)));
    assert!(ended.stderr.contains("it is created for the run"), "{ended:#?}");
    lab.assert_clean();
}

fn fio(library: &TempDir, lab: &FioLab, jobs: &str, flags: &[&str]) -> Ended {
    let file = lab.file("job.fio", jobs);
    with(library, lab.command("fio").args(["--output-format=json"]).args(flags).arg(file))
}

const GLOBAL: &str = "[global]\nioengine=rbd\npool=bench\nclientname=admin\nclustername=ceph\nconf=/lab/ceph.conf\n\
                      busy_poll=0\nbs=64k\niodepth=4\n";

#[test]
fn a_job_uses_an_image_of_the_size_that_it_has() {
    let (lab, library) = (FioLab::new(), rados_library::compiled_with_rbd());
    let jobs = "[write]\nrbdname=blank\nrw=randwrite\nverify=crc32c\ndo_verify=1\n\
                [trim]\nstonewall\nrbdname=blank\nrw=trim\nsize=1m\nrbd_cache=1\n";
    let ended = fio(&library, &lab, &format!("{GLOBAL}{jobs}"), &[]);
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    let said: Value = serde_json::from_str(&ended.stdout).unwrap();
    let count = |job: usize, direction: &str| said["jobs"][job][direction]["total_ios"].as_u64().unwrap();
    assert_eq!((count(0, "write"), count(0, "read"), count(1, "trim")), (64, 64, 16), "{said:#}");
    let theirs = format!("{GLOBAL}[a]\nrbdname=theirs\nrw=write\n");
    for (flags, right) in [(&[][..], false), (&["--destroy=rbd://bench/theirs"], true)] {
        let ended = fio(&library, &lab, &theirs, flags);
        assert_eq!(ended.code == Some(0), right, "{ended:#?}");
        assert_eq!(ended.stderr.contains("carries an XFS file system"), !right, "{ended:#?}");
    }
    let ended = fio(&library, &lab, &format!("{GLOBAL}[a]\nrbdname=nothing\nrw=read\n"), &[]);
    assert!(ended.code != Some(0) && ended.stderr.contains("there is no such image"), "{ended:#?}");
}
