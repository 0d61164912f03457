//! `manometer fio --client`: jobs on several hosts, run by agents that a stand-in for ssh starts here, in fio's
//! formats.

#![allow(clippy::unwrap_used)] // a test may fail loudly

mod run_support;
mod support;

use std::process::Command;

use run_support::{Lab, names};
use serde_json::Value;
use support::{Ended, install, run};

/// Runs the command for the host here, with its own home directory.
const SSH: &str = "#!/bin/sh
while test \"$1\" != --; do shift; done
HOME=HOMES/$2; export HOME; mkdir -p \"$HOME\"; unset XDG_CACHE_HOME XDG_STATE_HOME
exec /bin/sh -c \"$3\"
";

fn clients(lab: &Lab, hosts: &[&str], arguments: &[&str]) -> Ended {
    let tools = lab.path("tools");
    std::fs::create_dir_all(&tools).unwrap();
    let ssh = tools.join("ssh");
    let script = lab.path("ssh.sh");
    std::fs::write(&script, SSH.replace("HOMES", &lab.path("homes").display().to_string())).unwrap();
    install(&script, &ssh);
    let path = format!("{}:{}", tools.display(), std::env::var("PATH").unwrap());
    let mut command = Command::new(env!("CARGO_BIN_EXE_manometer"));
    command.arg("fio").current_dir(lab.data()).env("HOME", lab.directory.path()).env("PATH", path);
    command.env_remove("XDG_DATA_HOME").env_remove("XDG_STATE_HOME");
    command.arg(format!("--results={}", lab.path("results.sqlite").display()));
    command.arg(format!("--journal-dir={}", lab.path("journal").display()));
    command.args(hosts.iter().map(|host| format!("--client={host}"))).args(arguments);
    let ended = run(&mut command);
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    ended
}

const BOTH: [&str; 2] = ["me@alpha:2222", "beta"];

const JOBS: [&str; 8] = [
    "--ioengine=null",
    "--size=4m",
    "--bs=4k",
    "--name=mixed",
    "--rw=randrw",
    "--name=reads",
    "--stonewall",
    "--rw=read",
];

#[test]
fn each_host_and_all_together_come_out_in_fios_shapes() {
    let lab = Lab::new();
    let ended = clients(&lab, &BOTH, &[&["--output-format=json"], &JOBS[..]].concat());
    let document: Value =
        serde_json::from_str(&ended.stdout).unwrap_or_else(|error| panic!("{error}: {ended:#?}"));
    let stats = document["client_stats"].as_array().unwrap();
    let text = |one: &Value, key: &str| one[key].as_str().unwrap().to_owned();
    let found: Vec<(String, String, u64)> = stats
        .iter()
        .map(|one| (text(one, "jobname"), text(one, "hostname"), one["port"].as_u64().unwrap()))
        .collect();
    let expected = [
        ("mixed", "alpha", 2222),
        ("reads", "alpha", 2222),
        ("mixed", "beta", 22),
        ("reads", "beta", 22),
        ("All clients", "beta", 22),
    ];
    assert_eq!(found, expected.map(|(job, host, port)| (job.to_owned(), host.to_owned(), port)));
    let of = |one: &Value, direction: &str| {
        let part = &one[direction];
        [&part["total_ios"], &part["io_bytes"], &part["clat_ns"]["N"]].map(|value| value.as_u64().unwrap())
    };
    for direction in ["read", "write"] {
        for which in 0..3 {
            let sum: u64 = stats[..4].iter().map(|one| of(one, direction)[which]).sum();
            assert_eq!(sum, of(&stats[4], direction)[which], "{direction}");
            assert!(sum > 0, "{direction}");
        }
    }
    for one in stats {
        let both = of(one, "read")[1] + of(one, "write")[1];
        assert_eq!(both, if one["jobname"] == "All clients" { 16 << 20 } else { 4 << 20 }, "{one}");
        assert_eq!(one["error"], 0);
    }

    let ended = clients(&lab, &BOTH, &[&["--output-format=terse,normal"], &JOBS[..]].concat());
    let lines: Vec<&str> = ended.stdout.lines().collect();
    let terse: Vec<&str> = lines
        .iter()
        .filter(|line| line.starts_with("3;"))
        .filter_map(|line| line.split(';').nth(2))
        .collect();
    assert_eq!(terse, ["mixed", "reads", "mixed", "reads", "All clients"]);
    let mut host = "";
    let mut entries = Vec::new();
    for line in &lines {
        if let Some(name) = line.strip_prefix('<').and_then(|rest| rest.strip_suffix("> ")) {
            host = name;
        }
        if let Some((job, _)) = line.split_once(": (groupid=") {
            entries.push((host, job));
        }
    }
    let expected = [
        ("alpha", "mixed"),
        ("alpha", "reads"),
        ("beta", "mixed"),
        ("beta", "reads"),
        ("beta", "All clients"),
    ];
    assert_eq!(entries, expected, "{}", ended.stdout);
    // One worker per job and host; their times add up, except for less than a millisecond each.
    let all = ended.stdout.split_once("\nAll clients: ").unwrap().1;
    assert!(all.starts_with("(groupid=1, jobs=4): err= 0: "), "{all}");
    let time = |one: &Value| one["job_runtime"].as_u64().unwrap();
    let sum: u64 = stats[..4].iter().map(time).sum();
    assert!((sum..=sum + 4).contains(&time(&stats[4])), "{sum}: {}", stats[4]);
    assert!(ended.stdout.contains("\n<alpha> Starting 2 processes\n<beta> Starting 2 processes\n"));
}

#[test]
fn names_of_files_may_have_the_client_in_them() {
    let lab = Lab::new();
    let directory = format!("--directory={}", lab.data().display());
    let write = ["--name=w", "--rw=write", "--size=64k", "--bs=4k", "--filename_format=$clientuid.$jobnum"];
    clients(&lab, &BOTH, &[&[directory.as_str()], &write[..]].concat());
    assert_eq!(names(&lab.data()), ["alpha.0", "beta.0"]);
}

#[test]
fn one_job_on_one_host_is_the_whole() {
    let lab = Lab::new();
    let job = ["--output-format=json", "--ioengine=null", "--size=1m", "--name=r", "--rw=read"];
    let document: Value = serde_json::from_str(&clients(&lab, &BOTH[1..], &job).stdout).unwrap();
    let stats = document["client_stats"].as_array().unwrap();
    assert_eq!((stats.len(), &stats[0]["jobname"], &stats[0]["hostname"]), (1, &"r".into(), &"beta".into()));
    assert!(stats[0]["manometer"]["verdict"].is_object(), "{}", stats[0]);
}
