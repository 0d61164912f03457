//! Jobs of fio's gfapi engine, and a run on a volume, against a scripted libgfapi.

#![allow(clippy::unwrap_used)] // a test may fail loudly

mod fio_lab;
#[path = "../../drivers/tests/gluster_library/mod.rs"]
mod gluster_library;
mod support;

use fio_lab::FioLab;
use gluster_library::GlusterLibrary;
use serde_json::Value;
use support::{Ended, run};

fn fio(lab: &FioLab, library: &GlusterLibrary, jobs: &str) -> Ended {
    let port = library.port();
    let global = format!("[global]\nioengine=gfapi\nvolume=gv\nbrick=127.0.0.1:{port}\nbs=4k\niodepth=4\n");
    let file = lab.file("job.fio", &format!("{global}{jobs}"));
    let mut command = lab.command("fio");
    let directory = library.file();
    command.env("LD_LIBRARY_PATH", directory.parent().unwrap());
    run(command.arg("--output-format=json").arg(file))
}

#[test]
fn each_file_of_a_job_is_a_file_of_the_volume() {
    let (lab, library) = (FioLab::new(), GlusterLibrary::compiled());
    // The second job finds the files of the first under fio's names; the third fills what it reads.
    let jobs = "[write]\nrw=randwrite\nnrfiles=2\nsize=256k\nverify=crc32c\ndo_verify=1\nsingle-instance=1\n\
                [read]\nstonewall\nrw=randread\nfilename=write.0.0:write.0.1\nsize=256k\nallow_file_create=0\nunlink=1\n\
                [gone]\nstonewall\nioengine=gfapi_async\nrw=randrw\nfilename=/write.0.1\nsize=128k\nfsync=8\ngfapi_clients=2\n";
    let ended = fio(&lab, &library, jobs);
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    let said: Value = serde_json::from_str(&ended.stdout).unwrap();
    let count = |job: usize, direction: &str| said["jobs"][job][direction]["total_ios"].as_u64().unwrap();
    assert_eq!((count(0, "write"), count(0, "read"), count(1, "read")), (64, 64, 64), "{said:#}");
    assert_eq!(count(2, "read") + count(2, "write"), 32, "{said:#}");
    let errors = said["jobs"].as_array().unwrap().iter().map(|job| job["error"].as_u64().unwrap());
    assert_eq!(errors.sum::<u64>(), 0, "{said:#}");
    let left: Vec<_> =
        std::fs::read_dir(library.volume()).unwrap().map(|file| file.unwrap().file_name()).collect();
    assert_eq!(left, ["write.0.1"]);
}

#[test]
fn what_cannot_be_used_is_named() {
    let (lab, library) = (FioLab::new(), GlusterLibrary::compiled());
    for (jobs, part) in [
        ("[a]\nrw=read\nsize=64k\nallow_file_create=0\n", "file a.0.0 is not there"),
        ("[a]\nrw=write\nsize=64k\nvolume=nothing\n", "there is no volume nothing"),
        ("[a]\nrw=write\nsize=64k\nvolume=a/\n", "a"),
    ] {
        let ended = fio(&lab, &library, jobs);
        assert_ne!(ended.code, Some(0), "{ended:#?}");
        assert!(ended.stderr.contains(part), "{ended:#?}");
    }
    let lab = FioLab::new();
    let file = lab.file("job.fio", "[a]\nioengine=gfapi\nrw=read\nsize=4k\n");
    let ended = run(lab.command("fio").arg(file));
    assert!(ended.stderr.contains("volume=NAME") && ended.code != Some(0), "{ended:#?}");
}
