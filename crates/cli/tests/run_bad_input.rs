//! Impossible requests are refused in one line, with exit code 2.

#![allow(clippy::unwrap_used)] // a test may fail loudly

mod run_support;
mod support;

use run_support::Lab;
use support::run;

const SHORT: &str = "
targets: {t: 'sim:?latency=1ms'}
workloads: {w: {ops: read, file_size: 1MiB}}
stages: {warm_up: 0s, measure: {at_least: 1s, at_most: 1s}}
steady: none
";

#[test]
fn a_file_that_is_not_there_is_named() {
    let lab = Lab::new();
    run(lab.command().arg("/no/such.yaml"))
        .assert_one_line(2, &["/no/such.yaml", "No such file", "manometer init", "file:///mnt/data"]);
}

#[test]
fn a_fault_of_the_file_shows_its_place_and_mend() {
    let lab = Lab::new();
    let ended = lab.run(&SHORT.replace("file_size", "file_sise"));
    assert_eq!(ended.code, Some(2), "{ended:#?}");
    assert!(ended.stderr.contains("experiment.yaml:3:"), "{}", ended.stderr);
    assert!(ended.stderr.contains("file_size") && ended.stderr.contains("^^^"), "{}", ended.stderr);
    assert!(ended.stdout.is_empty());
}

#[test]
fn nothing_to_run_is_wrong_usage() {
    let lab = Lab::new();
    let ended = run(&mut lab.command());
    assert_eq!(ended.code, Some(2), "{ended:#?}");
    assert!(ended.stderr.contains("FILE"), "{}", ended.stderr);
    let ended = run(lab.command().args(["x.yaml", "--set", "novalue"]));
    assert_eq!(ended.code, Some(2), "{ended:#?}");
    assert!(ended.stderr.contains("NAME=VALUE"), "{}", ended.stderr);
}

#[test]
fn results_that_cannot_be_written_are_said_before_anything_is_touched() {
    let lab = Lab::new();
    let file = lab.experiment("e.yaml", &SHORT.replace("sim:?latency=1ms", "file://DATA"));
    let ended = run(lab.command().arg(&file).args(["--results", "/proc/no/results.sqlite"]));
    ended.assert_one_line(2, &["/proc/no"]);
    let ended = run(lab.command().arg(&file).args(["--output-file", "/proc/no/out.json"]));
    ended.assert_one_line(2, &["--output-file"]);
    lab.assert_clean();
}

#[test]
fn a_run_that_cannot_be_resumed_says_why() {
    let lab = Lab::new();
    let ended = run(lab.command().args(["--resume", "last"]));
    ended.assert_one_line(2, &["results.sqlite"]);
    assert_eq!(lab.run(SHORT).code, Some(0));
    let id = lab.store().run("last").unwrap().id;
    run(lab.command().args(["--resume", "nosuchrn"])).assert_one_line(2, &["nosuchrn"]);
    run(lab.command().args(["--resume", "last"]))
        .assert_one_line(2, &[&id, "is finished", "manometer report"]);
    let ended = run(lab.command().args(["--resume", "last", "--set", "a=b"]));
    ended.assert_one_line(2, &["--set", "stored plan"]);
    let other = lab.experiment("other.yaml", &SHORT.replace("1MiB", "2MiB"));
    let ended = run(lab.command().args(["--resume", "last"]).arg(other));
    ended.assert_one_line(2, &["is not the experiment of run", &id]);
}

#[test]
fn targets_are_tried_before_anything_is_made() {
    let lab = Lab::new();
    let ended = lab.run(&SHORT.replace("sim:?latency=1ms", "file:///no/such/directory"));
    ended.assert_one_line(2, &["/no/such/directory", "no such directory"]);
    assert!(lab.store().runs().unwrap().is_empty(), "nothing was begun");
    lab.assert_clean();
}

#[test]
fn a_device_with_a_file_system_is_refused_unless_it_is_named() {
    let lab = Lab::new();
    let device = lab.path("device");
    // The mark of ext2, ext3 and ext4: 0xEF53, 56 bytes into the superblock at 1024.
    let mut image = vec![0; 4 << 20];
    image[1024 + 56..1024 + 58].copy_from_slice(&[0x53, 0xEF]);
    std::fs::write(&device, &image).unwrap();
    let text = SHORT.replace("sim:?latency=1ms", &format!("block://{}?direct=false", device.display()));
    let text = text.replace("file_size: 1MiB", "block_size: 64KiB, file_size: 1MiB");
    let file = lab.experiment("device.yaml", &text);
    let ended = run(lab.command().arg(&file));
    ended.assert_one_line(2, &["ext", "--destroy"]);
    assert_eq!(std::fs::read(&device).unwrap(), image, "it was touched");
    let ended = run(lab.command().arg(&file).args(["--destroy", "/dev/null"]));
    assert_eq!(ended.code, Some(2), "{ended:#?}");
    assert_eq!(std::fs::read(&device).unwrap(), image, "it was touched");
    let ended = run(lab.command().arg(&file).arg("--destroy").arg(&device));
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    assert_ne!(std::fs::read(&device).unwrap()[..1 << 20], image[..1 << 20], "it was filled");
}

#[test]
fn the_live_view_needs_a_terminal() {
    let lab = Lab::new();
    let file = lab.experiment("e.yaml", SHORT);
    run(lab.command().arg(file).arg("--live")).assert_one_line(2, &["--live", "terminal"]);
}

#[test]
fn a_dry_run_touches_nothing() {
    let lab = Lab::new();
    let file = lab.experiment("e.yaml", &SHORT.replace("sim:?latency=1ms", "file://DATA"));
    let ended = run(lab.command().arg(&file).arg("--dry-run"));
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    assert!(ended.stdout.contains("1 cell") && ended.stdout.contains("1.00 MiB"), "{}", ended.stdout);
    assert!(!lab.path("results.sqlite").exists() && !lab.path("journal").exists());
    let ended = run(lab.command().arg(&file).args(["--dry-run", "--output", "json"]));
    let json: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(json["bytes_to_write"]["fill"], 1 << 20);
}

#[test]
fn secrets_are_in_no_output_and_no_result() {
    const SECRET: &str = "Zx9vQ2hunter2wJalrXUtnFEMI";
    let lab = Lab::new();
    let text = SHORT
        .replace("sim:?latency=1ms", "s3://bucket?endpoint=http://127.0.0.1:1")
        .replace("read", "get")
        .replace("file_size", "object_size");
    let file = lab.experiment("e.yaml", &text);
    let mut command = lab.command();
    command.env("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE").env("AWS_SECRET_ACCESS_KEY", SECRET);
    let ended = run(command.arg(&file).args(["--output", "json"]));
    assert_eq!(ended.code, Some(1), "nobody listens there: {ended:#?}");
    assert!(!ended.stdout.contains(SECRET) && !ended.stderr.contains(SECRET));
    for name in run_support::names(lab.directory.path()) {
        let Ok(bytes) = std::fs::read(lab.path(&name)) else { continue };
        assert!(!bytes.windows(SECRET.len()).any(|window| window == SECRET.as_bytes()), "{name} has it");
    }
}
