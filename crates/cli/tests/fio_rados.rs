//! Jobs of fio's rados engine, against a scripted librados.

#![allow(clippy::unwrap_used)] // a test may fail loudly

mod fio_lab;
#[path = "../../drivers/tests/rados_library/mod.rs"]
mod rados_library;
mod support;

use fio_lab::FioLab;
use serde_json::Value;
use support::{Ended, run};

/// Runs the jobs; the library's objects live as long as the program.
fn fio(lab: &FioLab, jobs: &str) -> Ended {
    let library = rados_library::compiled();
    let file = lab.file("job.fio", jobs);
    let mut command = lab.command("fio");
    run(command.env("LD_LIBRARY_PATH", library.path()).arg("--output-format=json").arg(file))
}

const GLOBAL: &str = "[global]\nioengine=rados\npool=bench\nclientname=client.admin\nconf=/lab/ceph.conf\nbusy_poll=1\n\
                      touch_objects=1\nbs=4k\niodepth=4\n";

#[test]
fn each_file_of_a_job_is_an_object() {
    let lab = FioLab::new();
    // The third job finds the objects of the first under fio's names; the fourth fills what it reads.
    let jobs = "[write]\nrw=randwrite\nnrfiles=2\nsize=256k\nverify=crc32c\ndo_verify=1\n\
                [read]\nstonewall\nrw=randread\nfilename=write.0.0:write.0.1\nsize=256k\nallow_file_create=0\nunlink=1\n\
                [gone]\nstonewall\nrw=randrw\nfilename=write.0.1\nsize=128k\nfsync=8\n";
    let ended = fio(&lab, &format!("{GLOBAL}{jobs}"));
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    let said: Value = serde_json::from_str(&ended.stdout).unwrap();
    let count = |job: usize, direction: &str| said["jobs"][job][direction]["total_ios"].as_u64().unwrap();
    assert_eq!((count(0, "write"), count(0, "read"), count(1, "read")), (64, 64, 64), "{said:#}");
    assert_eq!(count(2, "read") + count(2, "write"), 32, "{said:#}");
    let errors = said["jobs"].as_array().unwrap().iter().map(|job| job["error"].as_u64().unwrap());
    assert_eq!(errors.sum::<u64>(), 0, "{said:#}");
}

#[test]
fn what_cannot_be_used_is_named() {
    let lab = FioLab::new();
    for (jobs, part) in [
        ("[a]\nrw=read\nsize=64k\nallow_file_create=0\n", "object a.0.0 is not there"),
        ("[a]\nrw=write\nsize=64k\npool=nothing\n", "there is no pool nothing"),
        ("[a]\nrw=write\nsize=64k\nconf=/missing\n", "/missing"),
    ] {
        let ended = fio(&lab, &format!("{GLOBAL}{jobs}"));
        assert_ne!(ended.code, Some(0), "{ended:#?}");
        assert!(ended.stderr.contains(part), "{ended:#?}");
    }
}
