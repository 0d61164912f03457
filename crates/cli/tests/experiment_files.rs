//! `manometer run --dry-run` on every example, and the handling of files that cannot be run.
#![allow(clippy::unwrap_used)] // a test may fail loudly

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/experiments")
}

fn manometer(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_manometer")).args(arguments).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn every_example_can_be_looked_at_without_touching_anything() {
    let mut count = 0;
    for entry in std::fs::read_dir(examples()).unwrap() {
        let path = entry.unwrap().path();
        let file = path.to_str().unwrap();
        let words = std::fs::read_to_string(&path).unwrap();
        let mut arguments = vec!["run", file, "--dry-run", "--no-preflight"];
        for set in [
            "device=/dev/nonexistent",
            "server=filer.invalid",
            "address=192.0.2.1:5201",
            "target=file:///nonexistent",
            "portal=192.0.2.1",
            "iqn=iqn.2026-01.org.example:lun",
            "hosts=node[1-4]",
            "admin=mon1",
            "first=gluster1",
            "second=gluster2",
            "third=gluster3",
        ] {
            let name = set.split('=').next().unwrap();
            if words.contains(&format!("  {name}:")) && words.contains(&format!("${{{name}}}")) {
                arguments.extend(["--set", set]);
            }
        }
        // That file leaves the choice of hosts to the command line.
        if words.contains("--hosts, --local, --slurm or --kubernetes names the hosts") {
            arguments.extend(["--local", "4"]);
        }
        let people = manometer(&arguments);
        assert_eq!(people.status.code(), Some(0), "{file}: {}", text(&people.stderr));
        let shown = text(&people.stdout);
        assert!(shown.contains("Expected time: ") && shown.contains("To be written: "), "{shown}");
        assert!(shown.ends_with("Nothing was touched.\n"), "{shown}");
        arguments.extend(["--output", "json"]);
        let machine = manometer(&arguments);
        let json: serde_json::Value = serde_json::from_slice(&machine.stdout).unwrap();
        let cells = json["cells"].as_array().unwrap().len();
        assert!(cells > 0 && json["plan"]["cells"].as_array().unwrap().len() == cells, "{file}");
        count += 1;
    }
    assert!(count >= 9, "{count}");
}

#[test]
fn a_fault_is_told_with_its_line_and_nothing_else_happens() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("nightly.yaml");
    let results = folder.path().join("results.sqlite");
    std::fs::write(&file, "targets: {d: 'null:'}\nworkloads:\n  w: {ops: read, queue_dept: 4}\n").unwrap();
    let output = manometer(&["run", file.to_str().unwrap(), "--results", results.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(text(&output.stdout), "");
    let expected = format!(
        "{}:3:18: workload \"w\" has no key \"queue_dept\"\n 3 |   w: {{ops: read, queue_dept: 4}}\n   \
         |                  ^^^^^^^^^^\n   = did you mean \"queue_depth\"?\n",
        file.display()
    );
    assert_eq!(text(&output.stderr), expected);
    assert!(!results.exists());
}

#[test]
fn bytes_that_are_no_text_and_files_that_are_not_there_are_wrong_usage() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("binary.yaml");
    std::fs::write(&file, b"name: \xff\xff\n").unwrap();
    let output = manometer(&["run", file.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        text(&output.stderr).contains("binary.yaml:1:7: a byte here is not UTF-8"),
        "{}",
        text(&output.stderr)
    );
    let output = manometer(&["run", folder.path().join("gone.yaml").to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(text(&output.stderr).lines().count(), 1, "{}", text(&output.stderr));
}

#[test]
fn what_is_set_reaches_the_plan() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("set.yaml");
    let words = "parameters: {size: 1MiB}\ntargets: {d: 'null:'}\nworkloads: {w: {ops: read, file_size: '${size}'}}\n";
    std::fs::write(&file, words).unwrap();
    let path = file.to_str().unwrap();
    let size = |output: Output| {
        let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        json["plan"]["cells"][0]["workload"]["file_bytes"].as_u64().unwrap()
    };
    let arguments = ["run", path, "--dry-run", "--output", "json"];
    assert_eq!(size(manometer(&arguments)), 1 << 20);
    let outside = Command::new(env!("CARGO_BIN_EXE_manometer"))
        .args(arguments)
        .env("MANOMETER_SET_size", "2MiB")
        .output()
        .unwrap();
    assert_eq!(size(outside), 2 << 20);
    let mut set = arguments.to_vec();
    set.extend(["--set", "size=3MiB"]);
    assert_eq!(size(manometer(&set)), 3 << 20);
}
