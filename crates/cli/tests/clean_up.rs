//! What is left behind, and what is said of it: nothing that was never made, and everything that was.

#![allow(clippy::unwrap_used)] // a test may fail loudly

mod run_support;
mod support;

use std::net::TcpListener;
use std::path::Path;
use std::process::Command;

use run_support::{Lab, names};
use support::{Stage, run};

/// A port that takes connections and never answers: a firewall, a gateway that hangs.
fn silent() -> (TcpListener, u16) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    (listener, port)
}

fn keys(command: &mut Command) -> &mut Command {
    command.env("AWS_ACCESS_KEY_ID", "AKIAEXAMPLE").env("AWS_SECRET_ACCESS_KEY", "example")
}

fn assert_nothing_was_said_or_kept(ended: &support::Ended, journal: &Path) {
    assert_eq!(ended.code, Some(1), "{ended:#?}");
    assert!(!ended.stderr.contains("left behind"), "{}", ended.stderr);
    assert!(!ended.stderr.contains("not removed"), "{}", ended.stderr);
    assert_eq!(names(journal), Vec::<String>::new(), "a journal was left: {ended:#?}");
}

#[test]
fn a_check_of_a_port_that_never_answers_leaves_nothing_behind() {
    let stage = Stage::plain(1);
    let (_listener, port) = silent();
    let nfs = run(stage
        .manometer("check")
        .args(["--nfs", &format!("nfs://127.0.0.1:{port}/export"), "--mount-port", &port.to_string()])
        .args(["--connect-timeout", "1s", "--op-timeout", "2s"]));
    assert_nothing_was_said_or_kept(&nfs, &stage.journal());
    let mut check = stage.manometer("check");
    check.args(["--s3", &format!("s3://lab?endpoint=http://127.0.0.1:{port}")]);
    check.args(["--connect-timeout", "1s", "--op-timeout", "2s"]);
    assert_nothing_was_said_or_kept(&run(keys(&mut check)), &stage.journal());
}

#[test]
fn a_run_against_a_port_that_never_answers_leaves_nothing_behind() {
    let (_listener, port) = silent();
    let targets = [
        (format!("{{url: 'nfs://127.0.0.1:{port}/export', mount_port: {port}}}"), "read"),
        (format!("'s3://lab?endpoint=http://127.0.0.1:{port}'"), "get"),
    ];
    for (target, op) in targets {
        let lab = Lab::new();
        let text = format!(
            "targets: {{t: {target}}}\nworkloads: {{w: {{ops: {op}, {size}: 64KiB}}}}\nsteady: none\n",
            size = if op == "get" { "object_size" } else { "file_size" },
        );
        let file = lab.experiment("e.yaml", &text);
        let ended = run(keys(&mut lab.command()).arg(file));
        assert_nothing_was_said_or_kept(&ended, &lab.path("journal"));
    }
}

#[test]
fn a_block_size_that_does_not_fit_is_refused_before_a_directory_is_made() {
    let lab = Lab::new();
    let text = "
targets: {t: 'file://DATA?direct=yes'}
workloads: {w: {ops: read, file_size: 1MiB, block_size: 1000}}
steady: none
";
    let ended = lab.run(text);
    assert!(matches!(ended.code, Some(1 | 2)), "{ended:#?}");
    assert!(!ended.stderr.contains("left behind"), "{}", ended.stderr);
    assert_eq!(names(&lab.data()), Vec::<String>::new());
    lab.assert_clean();
}

#[test]
fn what_one_host_made_is_removed_when_another_refuses() {
    let lab = Lab::new();
    std::fs::create_dir(lab.data().join("local-0")).unwrap();
    // Nothing can be made in /proc, which is found out when the directory is to be made.
    std::os::unix::fs::symlink("/proc", lab.data().join("local-1")).unwrap();
    let text = "
targets: {t: 'file://DATA/{host}'}
workloads: {w: {ops: read, file_size: 1MiB, block_size: 4KiB}}
steady: none
";
    let file = lab.experiment("e.yaml", text);
    let ended = run(lab.command().args(["--local", "2"]).arg(file));
    assert_eq!(ended.code, Some(1), "{ended:#?}");
    assert!(ended.stderr.contains("local-1") && ended.stderr.contains("making directory"), "{ended:#?}");
    assert!(!ended.stderr.contains("left behind"), "{}", ended.stderr);
    assert_eq!(names(&lab.data().join("local-0")), Vec::<String>::new(), "{ended:#?}");
    assert_eq!(names(&lab.path(".local/state/manometer/journal")), Vec::<String>::new());
    lab.assert_clean();
}
