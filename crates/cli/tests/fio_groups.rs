//! Concurrent and sequential jobs: what starts when, and what ends what.

#![allow(clippy::unwrap_used)] // a test may fail loudly

mod fio_lab;
mod support;

use fio_lab::FioLab;
use rustix::process::Signal;
use store::{State, Store};
use support::{run, start, wait_until};

/// A job that would run for an hour.
const ENDLESS: &str = "[endless]\nioengine=null\nrw=read\nsize=1m\ntime_based\nruntime=3600\n";

#[test]
fn jobs_run_at_the_same_time_and_the_end_of_one_can_be_that_of_all() {
    // It only ends if both run at once.
    let lab = FioLab::new();
    let ended = lab
        .run(&format!("{ENDLESS}\n[short]\nioengine=null\nrw=write\nsize=64m\nstartdelay=200ms\nexitall\n"));
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    let cells = lab.cells();
    assert_eq!((cells[0].state, cells[1].state), (State::Finished, State::Finished), "{cells:#?}");
    let of = |cell: usize| cells[cell].result.as_ref().unwrap();
    assert!(of(0).total.ok > 0 && of(0).measured_s < 3000.0, "{cells:#?}");
    assert!(of(0).verdict.reasons.iter().any(|reason| reason.contains("cell 2 of its group")), "{cells:#?}");
    assert_eq!((of(1).total.ok, of(1).total.bytes), (64 << 8, 64 << 20));
}

#[test]
fn a_stonewall_lets_all_before_it_end() {
    let lab = FioLab::new();
    let ended = lab.run(
        "[global]\nioengine=psync\nfilename=data\nsize=1m\nbs=4k\n\
         [write]\nrw=write\nbuffer_pattern=0xab\n\
         [read]\nstonewall\nrw=read\nverify=pattern\nverify_pattern=0xab\n",
    );
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    let cells = lab.cells();
    assert!(cells[0].finished.unwrap() <= lab.begun(1).at);
    assert_eq!(cells[1].result.as_ref().unwrap().total.ok, 256);
    assert_eq!(std::fs::read(lab.path("data")).unwrap(), vec![0xab; 1 << 20]);
}

#[test]
fn a_job_can_wait_for_another() {
    let lab = FioLab::new();
    let ended = lab.run(
        "[global]\nioengine=null\nrw=read\nsize=1m\n[first]\nnumjobs=2\n[beside]\n\
         [after]\nwait_for=first\n",
    );
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    let cells = lab.cells();
    assert_eq!(cells.len(), 4);
    for clone in [0, 1] {
        assert!(cells[clone].finished.unwrap() <= lab.begun(3).at);
    }
}

#[test]
fn a_job_that_cannot_be_run_does_not_hold_the_others_up() {
    let lab = FioLab::new();
    let ended = lab.run(
        "[bad]\nrw=read\nfilename=missing\nsize=4k\nallow_file_create=0\n\
         [good]\nioengine=null\nrw=read\nsize=1m\n[later]\nstonewall\nioengine=null\nrw=read\nsize=1m\n",
    );
    assert_eq!(ended.code, Some(1), "{ended:#?}");
    let cells = lab.cells();
    assert_eq!(cells[0].state, State::Failed);
    assert!(cells[0].failure.as_ref().unwrap().contains("missing"), "{cells:#?}");
    assert_eq!((cells[1].state, cells[2].state), (State::Finished, State::Finished));
}

#[test]
fn one_signal_ends_all_jobs_and_keeps_them() {
    let lab = FioLab::new();
    let job = format!("{ENDLESS}\n[other]\nioengine=null\nrw=write\nsize=1m\ntime_based\nruntime=3600\n");
    let file = lab.file("job.fio", &job);
    let running = start(lab.command("fio").arg("--output-format=json").arg(file));
    wait_until("an interval of each", || {
        let Ok(store) = Store::open_existing(&lab.path("results.sqlite")) else { return false };
        let Ok(record) = store.run("last") else { return false };
        [0, 1].into_iter().all(|cell| {
            let intervals = store.intervals(&record.id, cell, "measure", 0, 0..u32::MAX);
            intervals.is_ok_and(|all| all.count() > 0)
        })
    });
    running.signal(Signal::INT);
    let ended = running.finish();
    assert_eq!(ended.code, Some(130), "{ended:#?}");
    let json: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
    for (cell, direction) in [(0, "read"), (1, "write")] {
        assert_eq!(lab.cells()[cell].state, State::Interrupted);
        assert!(json["jobs"][cell][direction]["total_ios"].as_u64().unwrap() > 0, "{json:#}");
    }
}

#[test]
fn a_group_that_was_interrupted_is_resumed_as_a_whole() {
    let lab = FioLab::new();
    let job = "[global]\nioengine=null\nrw=read\n[short]\nsize=4k\n\
               [long]\nsize=1m\ntime_based\nruntime=4\n[later]\nstonewall\nsize=4k\n";
    let file = lab.file("job.fio", job);
    let running = start(lab.command("fio").arg(file));
    wait_until("the end of the short one", || {
        let Ok(store) = Store::open_existing(&lab.path("results.sqlite")) else { return false };
        let Ok(record) = store.run("last") else { return false };
        store.cells(&record.id).is_ok_and(|cells| cells[0].state == State::Finished)
            && store.intervals(&record.id, 1, "measure", 0, 0..u32::MAX).is_ok_and(|all| all.count() > 0)
    });
    running.signal(Signal::INT);
    assert_eq!(running.finish().code, Some(130));
    let before = lab.cells();
    assert_eq!(
        (before[0].state, before[1].state, before[2].state),
        (State::Finished, State::Interrupted, State::Pending)
    );
    let ended = run(lab.command("run").args(["--resume", "last"]));
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    let after = lab.cells();
    assert!(after.iter().all(|cell| cell.state == State::Finished), "{after:#?}");
    assert!(after[0].started > before[0].started, "the whole group ran again");
}
