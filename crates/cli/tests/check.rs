//! `manometer check` as a whole program against the simulated array.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod support;

use std::time::Duration;

use array::faults::FaultPlan;
use rustix::process::Signal;
use serde_json::Value;

use support::{Ended, Stage, run, run_until_measured, start, wait_until};

fn csv_rows(ended: &Ended) -> Vec<[String; 5]> {
    let mut lines = ended.stdout.lines();
    assert_eq!(lines.next(), Some("dataVip,protocol,result,write_tput,read_tput"), "{ended:#?}");
    let row = |line: &str| line.split(',').map(str::to_owned).collect::<Vec<_>>();
    lines.map(|line| row(line).try_into().unwrap()).collect()
}

/// The file system that the check makes is exported over the version that is asked for, and over no other.
#[test]
fn each_version_of_nfs_is_checked_on_an_array_that_enables_it() {
    let mut stage = Stage::new(1);
    stage.remember();
    for version in ["3", "4.1"] {
        let mut check = stage.check();
        check.args(["--output", "csv", "--skip-s3", "--verify", "--nfs-version", version]);
        let ended = run_until_measured(check.args(["--nfs-port", &stage.nfs_port().to_string()]));
        assert_eq!(ended.code, Some(0), "{version}: {ended:#?}");
        let rows = csv_rows(&ended);
        assert_eq!(rows[0][1..3], ["nfs", "SUCCESS"], "{version}: {ended:#?}");
    }
    stage.assert_untouched();
}

fn is_rate(text: &str) -> bool {
    let Some((number, unit)) = text.split_once(' ') else { return false };
    number.parse::<f64>().is_ok_and(|number| number > 0.0)
        && number.contains('.')
        && ["B/s", "kB/s", "MB/s", "GB/s"].contains(&unit)
}

fn with_an_unreachable_address(reactor: &str) {
    let mut stage = Stage::new(3);
    let mut plan = FaultPlan::default();
    plan.add_flag(&format!("{}=drop", stage.ip(1))).unwrap();
    stage.array.faults().set(plan);
    stage.remember();
    let mut check = stage.check();
    // Nothing answers at one address: that takes this whole timeout, twice.
    check.args(["--output", "csv", "--reactor", reactor, "--verify", "--connect-timeout", "5s"]);
    let ended = run_until_measured(&mut check);
    assert_eq!(ended.code, Some(1), "{ended:#?}");
    let rows = csv_rows(&ended);
    let expected = [
        (0, "nfs", "SUCCESS"),
        (1, "nfs", "MOUNT FAILED"),
        (2, "nfs", "SUCCESS"),
        (0, "s3", "SUCCESS"),
        (1, "s3", "FAILED TO CONNECT"),
        (2, "s3", "SUCCESS"),
    ];
    assert_eq!(rows.len(), expected.len(), "{ended:#?}");
    for ([address, protocol, result, write, read], (index, with, how)) in rows.iter().zip(expected) {
        let expected = (&stage.ip(index).to_string(), with, how);
        assert_eq!((address, &**protocol, &**result), expected, "{ended:#?}");
        if how == "SUCCESS" {
            assert!(is_rate(write) && is_rate(read), "{ended:#?}");
        } else {
            assert_eq!((&**write, &**read), ("-", "-"));
            let cause = format!("error: {with} {}: {how}: ", stage.ip(index));
            assert!(ended.stderr.contains(&cause), "{cause:?} is missing in {}", ended.stderr);
        }
    }
    assert!(ended.stderr.contains("chosen for subnet subnet1"), "{}", ended.stderr);
    stage.assert_untouched();
}

#[test]
fn two_subnets_work_and_an_unreachable_one_is_reported_with_io_uring() {
    with_an_unreachable_address("uring");
}

#[test]
fn two_subnets_work_and_an_unreachable_one_is_reported_with_epoll() {
    with_an_unreachable_address("epoll");
}

#[test]
fn the_json_of_a_real_run_follows_the_schema_and_tells_no_secret() {
    let mut stage = Stage::new(2);
    stage.remember();
    let ended = run_until_measured(stage.check().args(["--output", "json", "--verify"]));
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    let value: Value = serde_json::from_str(&ended.stdout).unwrap();
    let schema: Value = serde_json::from_str(include_str!("../../../schemas/check.schema.json")).unwrap();
    let validator = jsonschema::draft202012::options().build(&schema).unwrap();
    let errors: Vec<String> =
        validator.iter_errors(&value).map(|error| format!("{}: {error}", error.instance_path)).collect();
    assert!(errors.is_empty(), "{errors:#?}");
    assert_eq!(value["success"], true);
    assert_eq!(value["array"]["api_version"], "2.29");
    assert_eq!(value["rows"].as_array().unwrap().len(), 4);
    let mut looked_at = Vec::new();
    for row in value["rows"].as_array().unwrap() {
        for phase in ["write", "read"] {
            assert!(row[phase]["bytes"].as_u64().unwrap() > 0, "{row:#}");
            assert!(row[phase]["tcp"]["mss_bytes"].as_u64().unwrap() > 1000, "{row:#}");
            assert_eq!(row[phase]["client"]["nic"]["name"], "lo");
            assert_eq!(row[phase]["errors"], serde_json::json!({}));
            let limit = &row[phase]["limit"];
            assert!(limit["sentence"].is_string() && limit["next"].is_string(), "{row:#}");
            let evidence = limit["evidence"].as_array().unwrap();
            looked_at.extend(evidence.iter().map(|row| row["name"].as_str().unwrap().to_owned()));
        }
        assert_eq!(row["array_mtu_bytes"], 9000);
    }
    for name in ["busiest worker", "all cores", "segments", "lanes"] {
        assert!(looked_at.iter().any(|known| known == name), "{name:?} is missing in {looked_at:?}");
    }
    assert_eq!(value["verdict"]["best"].as_array().unwrap().len(), 4, "{:#}", value["verdict"]);
    let token = stage.array.token().reveal();
    assert!(!ended.stdout.contains(token) && !ended.stderr.contains(token));
    stage.assert_untouched();
}

#[test]
fn without_anything_else_a_table_comes_out() {
    let mut stage = Stage::new(1);
    stage.remember();
    let ended = run_until_measured(&mut stage.check());
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    for expected in
        ["data address", "throughput", "SUCCESS", "Verdict: All 2 paths work.", "  limit: ", "  next: "]
    {
        assert!(ended.stdout.contains(expected), "{expected:?} is missing in {}", ended.stdout);
    }
    stage.assert_untouched();
}

#[test]
fn a_file_takes_the_report_and_standard_output_a_table() {
    let stage = Stage::new(1);
    let file = stage.path("report.csv");
    let ended =
        run_until_measured(stage.check().args(["--skip-s3", "--output", "csv-full", "--output-file", &file]));
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    let text = std::fs::read_to_string(file).unwrap();
    assert!(text.starts_with("dataVip,protocol,result,write_tput,read_tput,write_bytes,"), "{text}");
    assert_eq!(text.lines().count(), 2, "{text}");
    assert!(ended.stdout.contains("Verdict: The path works."), "{}", ended.stdout);
}

#[test]
fn a_path_that_does_not_carry_the_arrays_jumbo_frames_is_warned_of() {
    // Loopback carries segments of at most 64 KiB, so an interface MTU of 100000 bytes is too large for it.
    let stage = Stage::with(1, |config| config.data[0].mtu = 100_000);
    let ended = run_until_measured(stage.check().args(["--skip-s3", "--output", "json"]));
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    assert!(ended.stderr.contains("configured for packets of 100000 bytes"), "{}", ended.stderr);
    let value: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert!(value["rows"][0]["warnings"][0].as_str().unwrap().contains("100000"));
}

#[test]
fn only_the_named_address_and_protocol_are_checked() {
    let mut stage = Stage::new(2);
    stage.remember();
    let vip = stage.ip(1).to_string();
    let ended = run_until_measured(stage.check().args(["--data-vip", &vip, "--skip-nfs", "--output", "csv"]));
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    let rows = csv_rows(&ended);
    assert_eq!(rows.len(), 1);
    assert_eq!((&*rows[0][0], &*rows[0][1]), (&*vip, "s3"));
    stage.assert_untouched();
}

#[test]
fn existing_targets_on_an_array_keep_what_is_in_them() {
    let mut stage = Stage::plain(1);
    stage.make_file_system("projects", "*(rw,no_root_squash)");
    stage.make_bucket("archive");
    stage.remember();
    let ended = run_until_measured(stage.check().args([
        "--filesystem",
        "projects",
        "--bucket",
        "archive",
        "--output",
        "csv",
    ]));
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    assert!(ended.stderr.contains("using export /projects, using bucket archive"), "{}", ended.stderr);
    stage.assert_untouched();
}

#[test]
fn any_servers_export_and_bucket_are_checked_without_an_array() {
    let mut stage = Stage::plain(1);
    stage.make_file_system("projects", "*(rw,no_root_squash)");
    let keys = stage.make_bucket("archive");
    stage.remember();
    let mut check = stage.bare_check();
    // Both versions of NFS side by side.
    let nfs = stage.nfs_url("projects");
    check.args(["--nfs", &nfs, "--nfs", &format!("{nfs}?version=4.1"), "--s3", &stage.s3_url("archive")]);
    check.args(["--output", "csv", "--verify"]);
    check.env("AWS_ACCESS_KEY_ID", &keys.access).env("AWS_SECRET_ACCESS_KEY", &keys.secret);
    let ended = run_until_measured(&mut check);
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    assert_eq!(csv_rows(&ended).len(), 3);
    assert!(!ended.stdout.contains(&keys.secret) && !ended.stderr.contains(&keys.secret));
    stage.assert_untouched();
}

#[test]
fn a_demonstration_needs_nothing() {
    let stage = Stage::new(1);
    let mut demo = stage.manometer("check");
    demo.args(["--demo", "--duration", "1s", "--workers", "1", "--lanes", "2", "--dataset", "32MiB"]);
    let ended = run_until_measured(demo.args(["--output", "csv"]));
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    assert_eq!(csv_rows(&ended).len(), 4);
}

#[test]
fn an_interrupted_run_reports_what_it_has_and_leaves_nothing() {
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        let mut stage = Stage::new(2);
        stage.remember();
        let running = start(stage.check().args(["--duration", "60s", "--output", "csv"]));
        wait_until("the first phase", || has_files(&stage));
        running.signal(signal);
        let ended = running.finish();
        assert_eq!(ended.code, Some(code), "{ended:#?}");
        let rows = csv_rows(&ended);
        assert_eq!(rows.len(), 4, "{ended:#?}");
        assert!(rows.iter().all(|row| row[2] == "INTERRUPTED"), "{ended:#?}");
        stage.assert_untouched();
    }
}

#[test]
fn a_second_signal_leaves_at_once_and_cleanup_finishes() {
    let mut stage = Stage::new(1);
    stage.remember();
    let running = start(stage.check().args(["--duration", "60s", "--call-timeout", "60s"]));
    wait_until("the first phase", || has_files(&stage));
    // From now on no management call is answered: removal hangs.
    let mut plan = FaultPlan::default();
    plan.add_flag("management=hang@1").unwrap();
    stage.array.faults().set(plan);
    running.signal(Signal::INT);
    std::thread::sleep(Duration::from_millis(1500));
    running.signal(Signal::INT);
    let ended = running.finish();
    assert_eq!(ended.code, Some(130), "{ended:#?}");
    assert!(ended.stderr.contains("left at once: whatever is named manometer-"), "{}", ended.stderr);
    assert!(ended.stderr.contains("manometer cleanup --journal-dir"), "{}", ended.stderr);
    let journals: Vec<String> = std::fs::read_dir(stage.journal())
        .unwrap()
        .map(|file| std::fs::read_to_string(file.unwrap().path()).unwrap())
        .collect();
    assert!(journals.concat().contains("manometer-"), "{journals:?}");
    assert!(!journals.concat().contains(stage.array.token().reveal()), "the journal holds the token");

    stage.array.faults().set(FaultPlan::default());
    let mut cleanup = stage.manometer("cleanup");
    let ended = run(cleanup.env("FB_TOKEN", stage.array.token().reveal()));
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    stage.assert_untouched();
}

/// Whether the run has started writing.
fn has_files(stage: &Stage) -> bool {
    stage.array.capacity().used() > 0
}
