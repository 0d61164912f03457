//! Job files with data on other machines: NFS served by the simulated array, and blocks between two processes over TCP.

#![allow(clippy::unwrap_used)] // a test may fail loudly

mod run_support;
mod support;

use std::process::Command;
use std::time::Duration;

use drivers::nfs::{NamedPath, NfsConfig, NfsDriver, PathState};
use run_support::Lab;
use serde_json::Value;
use support::{Ended, Stage, run, start};

const GUIDE: &str = include_str!("../../../examples/jobs/nfs-guide.fio");

fn fio(lab: &Lab) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_manometer"));
    command.arg("fio").current_dir(lab.data()).env("HOME", lab.directory.path());
    command.env_remove("XDG_DATA_HOME").env_remove("XDG_STATE_HOME");
    command.arg(format!("--results={}", lab.path("results.sqlite").display()));
    command.arg(format!("--journal-dir={}", lab.path("journal").display()));
    command
}

fn json(ended: &Ended) -> Value {
    serde_json::from_str(&ended.stdout).unwrap_or_else(|error| panic!("{error}: {ended:#?}"))
}

/// The job from the guides, shortened: ten clones write, then read what they wrote at random.
#[test]
fn the_job_of_the_nfs_guides_runs_over_several_connections_and_addresses() {
    let stage = Stage::plain(2);
    stage.make_file_system("projects", "*(rw,no_root_squash)");
    let lab = Lab::new();
    let text = GUIDE.replace("=10s", "=1s").replace("ramp_time=5s", "ramp_time=0").replace("100m", "4m");
    let more = text.replace("ioengine=nfs\n", "ioengine=nfs\nnfs_connections=3\n");
    let [nfs, mount] = [stage.nfs_port(), stage.mount_port()];
    let url = |at: usize| {
        format!("nfs://{}/projects?version=3&nfsport={nfs}&mountport={mount}&uid=0&gid=0", stage.ip(at))
    };
    for (name, text, urls) in
        [("one.fio", &text, url(0)), ("several.fio", &more, format!("{},{}", url(0), url(1)))]
    {
        let file = lab.path(name);
        std::fs::write(&file, text).unwrap();
        let ended = run(fio(&lab).env("NFS_URL", urls).arg("--output-format=json").arg(file));
        assert_eq!(ended.code, Some(0), "{ended:#?}");
        let jobs = json(&ended)["jobs"].as_array().unwrap().clone();
        // One group, so one combined report of all clones of both jobs.
        assert_eq!(jobs.len(), 1, "{}", ended.stdout);
        assert_eq!((&jobs[0]["jobname"], &jobs[0]["error"]), (&"write".into(), &0.into()));
        for direction in ["write", "read"] {
            let of = &jobs[0][direction];
            let (operations, bytes) = (of["total_ios"].as_u64().unwrap(), of["io_bytes"].as_u64().unwrap());
            assert!(operations > 0, "{direction}");
            assert_eq!(bytes, operations * 524_288);
        }
    }
    // The files are where the user named them, below the export's root.
    let config = NfsConfig {
        nfs_port: Some(nfs),
        mount_port: Some(mount),
        ..NfsConfig::new(stage.ip(0), "/projects", "unused")
    };
    let path = |number| NamedPath { worker: 0, path: format!("myfiles..{number}.0") };
    let paths: Vec<NamedPath> = (0..11).map(path).collect();
    let seen = NfsDriver::new(config).unwrap().look_at(&paths, Duration::from_secs(20)).unwrap();
    assert_eq!(seen[..10], [PathState::File(4 << 20); 10]);
    assert_eq!(seen[10], PathState::Missing);
    lab.assert_clean();
}

#[test]
fn what_cannot_be_done_over_nfs_is_said_before_anything_is_done() {
    let lab = Lab::new();
    for (options, words) in [
        ("--nfs_url=nfs://127.0.0.1/e?version=4", "write 3 or 4.1"),
        ("--nfs_url=nfs://127.0.0.1/e?sec=krb5", "sec= of libnfs is not there"),
        ("--rw=write", "nfs_url"),
    ] {
        let mut command = fio(&lab);
        command.args(["--name=w", "--ioengine=nfs", "--size=1m", options]);
        let ended = run(&mut command);
        assert_eq!(ended.code, Some(2), "{options}: {ended:#?}");
        assert!(ended.stderr.contains(words), "{options}: {}", ended.stderr);
    }
}

#[test]
fn two_processes_send_and_receive_blocks_clone_by_clone() {
    let lab = Lab::new();
    let common = |port: u16| {
        [
            "--ioengine=net".to_owned(),
            format!("--port={port}"),
            "--bs=16k".to_owned(),
            "--numjobs=2".to_owned(),
        ]
    };
    let port = support::consecutive_ports(2);
    let mut receiver = fio(&lab);
    receiver.args(["--output-format=json", "--name=receive"]).args(common(port));
    let receiver = start(receiver.args(["--listen", "--rw=read", "--size=4m"]));
    let other = Lab::new();
    let mut sender = fio(&other);
    sender.args(["--output-format=json", "--name=send"]).args(common(port));
    let sent = run(sender.args(["--hostname=127.0.0.1", "--rw=write", "--size=1m"]));
    let received = receiver.finish();
    for (ended, direction) in [(&sent, "write"), (&received, "read")] {
        assert_eq!(ended.code, Some(0), "{ended:#?}");
        let jobs = json(ended)["jobs"].as_array().unwrap().clone();
        let bytes: Vec<_> = jobs.iter().map(|job| job[direction]["io_bytes"].as_u64().unwrap()).collect();
        assert_eq!(bytes, [1 << 20, 1 << 20], "{direction}: a receiver ends with its sender");
        assert!(jobs.iter().all(|job| job["error"] == 0));
    }
    for (options, words) in
        [("--rw=randwrite", "at random"), ("--protocol=udp", "protocol"), ("--hostname=127.0.0.1", "port")]
    {
        let mut command = fio(&lab);
        command.args(["--name=x", "--ioengine=net", "--size=1m", options]);
        if options != "--hostname=127.0.0.1" {
            command.args([format!("--port={port}"), "--hostname=127.0.0.1".to_owned()]);
        }
        let ended = run(&mut command);
        assert_eq!(ended.code, Some(2), "{options}: {ended:#?}");
        assert!(ended.stderr.contains(words), "{options}: {}", ended.stderr);
    }
}

/// An operation of 70 s counts as 70 s: as the max and in the right percentiles, beyond fio's limit of 17 s.
#[test]
fn an_operation_of_seventy_seconds_is_reported_as_one() {
    let lab = Lab::new();
    let ended = lab.run(
        "
targets: {t: 'sim:?latency=1ms&slow=70s/200'}
workloads:
  w:
    ops: read
    op_timeout: 100s
    job: {name: w, region: {size: {bytes: 4096000}}}
steady: none
",
    );
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    let total = &lab.results()[0].total;
    let near = |ns: u64, expected: f64| (ns as f64 - expected).abs() <= expected * 0.01;
    // 5 of 1000 operations took that long: fewer than one in 100, more than one in a thousand.
    assert_eq!(total.ok, 1000);
    assert!(near(total.response.max_ns, 70e9) && near(total.response.p999_ns, 70e9), "{:?}", total.response);
    assert!(near(total.response.p50_ns, 1e6) && near(total.response.p99_ns, 1e6), "{:?}", total.response);
    assert!(ended.stdout.contains("  70."), "{}", ended.stdout);
}
