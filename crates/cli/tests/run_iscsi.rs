//! Experiments and jobs on a logical unit, against the scripted target of the driver's tests.

#![allow(clippy::unwrap_used)] // a test may fail loudly

mod fio_lab;
mod run_support;
#[allow(dead_code, reason = "shared with the driver's tests, which use all of it")]
#[path = "../../drivers/tests/iscsi/script.rs"]
mod script;
mod support;
#[allow(dead_code, reason = "shared with the driver's tests, which use all of it")]
#[path = "../../drivers/tests/iscsi/target.rs"]
mod target;

use std::process::Command;

use fio_lab::FioLab;
use run_support::Lab;
use script::{Fault, Script};
use serde_json::Value;
use support::run;
use target::{NAME, OWN, Target, UNIT_BYTES};
use wire::iscsi::{ChapSecret, ScsiRequest};

const SECRET: &str = "hush-hush-secret";

fn url(target: &Target) -> String {
    format!("iscsi://{}/{NAME}/1", target.address)
}

/// An experiment with one cell, which is verified at the end if its load is.
fn experiment(url: &str, load: &str, more: &str) -> String {
    let verify = if load.contains("verify: true") { ", verify: true" } else { "" };
    format!(
        "
targets: {{unit: {url}}}
workloads: {{load: {{{load}}}}}
stages: {{warm_up: 0s, measure: {{at_least: 1s, at_most: 1s}}{verify}}}
steady: none
{more}
"
    )
}

fn with_secret() -> Script {
    Script {
        secret: Some(ChapSecret { name: "me".to_owned(), secret: SECRET.to_owned() }),
        ..Script::default()
    }
}

const MIXED: &str = "ops: {read: 60%, write: 40%}, block_size: 4KiB, queue_depth: 8, jobs: 2, verify: true";

const UNVERIFIED: &str =
    "ops: {read: 60%, write: 40%}, block_size: 4KiB, queue_depth: 8, jobs: 2, op_timeout: 500ms";

fn only_cell(json: &Value) -> &Value {
    &json["cells"][0]["result"]
}

fn requests(target: &Target, is: fn(&ScsiRequest) -> bool) -> usize {
    target.seen.lock().unwrap().requests.iter().filter(|request| is(request)).count()
}

#[test]
fn a_unit_is_filled_loaded_and_verified_as_a_whole() {
    let target = Target::start(Script::default());
    let lab = Lab::new();
    let options = "?sessions=2&header_digest=crc32c&data_digest=crc32c";
    let (ended, json) =
        lab.run_json(&experiment(&format!("{}{options}", url(&target)), MIXED, "gates: [errors == 0]"));
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    let cell = only_cell(&json);
    assert_eq!(cell["total"]["failed"], 0, "{cell:#}");
    let verify = cell["stages"].as_array().unwrap().iter().find(|stage| stage["name"] == "verify").unwrap();
    assert!(verify["note"].as_str().unwrap().contains(" 0 wrong, 0 unread"), "{verify}");
    assert_eq!(verify["bytes"].as_u64(), Some(UNIT_BYTES as u64));
    let facts = serde_json::to_string(&json).unwrap();
    for fact in ["SCRIPTED UNIT", "\"DataDigest\":\"CRC32C\"", "4MiB (4194304 bytes)", "512 bytes"] {
        assert!(facts.contains(fact), "{fact} is not in {facts}");
    }
    target.check();
    lab.assert_clean();
}

#[test]
fn every_operation_of_a_unit_reaches_it_as_its_command() {
    let target = Target::start(Script::default());
    let lab = Lab::new();
    let load =
        "ops: {read: 20%, write: 20%, trim: 20%, commit: 20%, stat: 20%}, block_size: 8KiB, queue_depth: 4";
    let ended = lab.run(&experiment(&url(&target), load, "gates: [errors == 0]"));
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    for (what, is) in [
        ("UNMAP", (|request| matches!(request, ScsiRequest::Unmap { .. })) as fn(&ScsiRequest) -> bool),
        ("SYNCHRONIZE CACHE", |request| matches!(request, ScsiRequest::SynchronizeCache { .. })),
        ("WRITE", |request| matches!(request, ScsiRequest::Write { .. })),
        ("READ", |request| matches!(request, ScsiRequest::Read { .. })),
    ] {
        assert!(requests(&target, is) > 0, "{what}");
    }
    // More than the one of every login.
    assert!(requests(&target, |request| *request == ScsiRequest::TestUnitReady) > 20);
    target.check();
}

#[test]
fn what_a_unit_holds_is_overwritten_only_if_it_is_named() {
    let target = Target::start(Script::default());
    target.data.lock().unwrap()[..4].copy_from_slice(b"XFSB");
    let lab = Lab::new();
    let writes = |request: &ScsiRequest| matches!(request, ScsiRequest::Write { .. });
    let file = lab.experiment("e.yaml", &experiment(&url(&target), "ops: write, file_size: 1MiB", ""));
    let other = url(&target).replace("/1", "/2");
    for flags in [vec![], vec!["--destroy", &*other], vec!["--destroy", "/dev/null"], vec!["--no-preflight"]]
    {
        let ended = run(lab.command().arg(&file).args(&flags));
        assert_ne!(ended.code, Some(0), "{ended:#?}");
        let advice = format!(
            "carries an XFS file system: nothing was written; to overwrite it anyway, give --destroy {}",
            url(&target)
        );
        assert!(ended.stderr.contains(&advice), "{flags:?}: {ended:#?}");
        assert_eq!(requests(&target, writes), 0, "{flags:?}");
    }
    let dry = run(lab.command().arg(&file).arg("--dry-run"));
    assert!(dry.code != Some(0) && requests(&target, writes) == 0, "{dry:#?}");
    let keeping = experiment(&url(&target), "ops: read", "").replace("warm_up", "prepare: keep, warm_up");
    let reading = lab.run(&keeping);
    assert_eq!(reading.code, Some(0), "reading needs no leave: {reading:#?}");
    // The same unit, written in another way.
    let named = url(&target).replace("127.0.0.1", "localhost") + "?sessions=3";
    let ended = run(lab.command().arg(&file).args(["--destroy", &named]));
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    assert!(requests(&target, writes) > 0);
}

/// The command with secrets in its environment.
fn knowing(command: &mut Command, secret: &str, target_secret: Option<&str>) {
    command.env("LIBISCSI_CHAP_USERNAME", "me").env("LIBISCSI_CHAP_PASSWORD", secret);
    if let Some(secret) = target_secret {
        command.env("LIBISCSI_CHAP_TARGET_USERNAME", OWN.0).env("LIBISCSI_CHAP_TARGET_PASSWORD", secret);
    }
}

#[test]
fn secrets_come_from_the_environment_or_a_file_and_are_shown_nowhere() {
    let target = Target::start(with_secret());
    let lab = Lab::new();
    let text = experiment(&url(&target), MIXED, "");
    let file = lab.experiment("e.yaml", &text);
    let none = run(lab.command().arg(&file));
    assert!(none.stderr.contains("LIBISCSI_CHAP_USERNAME"), "{none:#?}");
    for (secret, target_secret, code, said) in [
        ("wrong-wrong-wrong", None, 1, "check the name and the secret for CHAP"),
        (SECRET, Some("not-the-targets-secret"), 1, "mutual CHAP"),
        (SECRET, Some(OWN.1), 0, ""),
        (SECRET, None, 0, ""),
    ] {
        let mut command = lab.command();
        knowing(&mut command, secret, target_secret);
        let ended = run(command.arg(&file));
        assert_eq!(ended.code, Some(code), "{ended:#?}");
        assert!(ended.stderr.contains(said), "{said}: {ended:#?}");
        let all = format!("{}{}", ended.stdout, ended.stderr);
        assert!(!all.contains(secret) && !all.contains(target_secret.unwrap_or(SECRET)), "{all}");
    }
    let secrets = lab.path("iscsid.conf");
    let in_file = format!("node.session.auth.username = me\nnode.session.auth.password = {SECRET}\n");
    std::fs::write(&secrets, in_file).unwrap();
    let user = url(&target).replace("//", "//me@");
    let by_file = format!("{{url: '{user}', credentials_file: {}}}", secrets.display());
    let ended = lab.run(&experiment(&by_file, MIXED, ""));
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    let results = std::fs::read(lab.path("results.sqlite")).unwrap();
    assert!(!results.windows(SECRET.len()).any(|part| part == SECRET.as_bytes()), "a secret was stored");
    let password = url(&target).replace("//", "//me%hunter2@");
    let ended = lab.run(&experiment(&password, MIXED, ""));
    assert!(ended.code == Some(2) && ended.stderr.contains("must hold no password"), "{ended:#?}");
    assert!(!ended.stderr.contains("hunter2"), "{ended:#?}");
}

#[test]
fn agents_get_the_secrets_and_a_slice_each() {
    let target = Target::start(with_secret());
    let lab = Lab::new();
    let fleet = "fleet: {local: 2, sharing: disjoint}\ngates: [errors == 0]";
    let file = lab.experiment("e.yaml", &experiment(&url(&target), MIXED, fleet));
    let mut command = lab.command();
    knowing(&mut command, SECRET, Some(OWN.1));
    let ended = run(command.arg(file));
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    // Each host filled its half, and both verified what they wrote.
    let last = target
        .seen
        .lock()
        .unwrap()
        .requests
        .iter()
        .filter_map(|request| match request {
            ScsiRequest::Write { block, .. } => Some(block * 512),
            _ => None,
        })
        .max();
    assert_eq!(last, Some(UNIT_BYTES as u64 - 4096));
    target.check();
    let own = experiment(&url(&target), MIXED, "fleet: {local: 2, sharing: own}");
    let ended = lab.run(&own);
    assert_eq!(ended.code, Some(2), "{ended:#?}");
    assert!(ended.stderr.contains("all hosts would use the same device"), "{ended:#?}");
    assert!(ended.stderr.contains("sharing: disjoint"), "{ended:#?}");
}

#[test]
fn lost_connections_and_silence_are_survived_and_counted() {
    let lab = Lab::new();
    for (fault, load, retried) in [
        (Fault::Drop, UNVERIFIED, true),
        (Fault::AsyncLogout, UNVERIFIED, true),
        (Fault::Late, UNVERIFIED, false),
    ] {
        // Behind what is read before the load.
        let target = Target::start(Script { fault, at: Some(500), ..Script::default() });
        let keeping = experiment(&url(&target), load, "").replace("warm_up", "prepare: keep, warm_up");
        let file = lab.experiment("e.yaml", &keeping);
        let ended = run(lab.command().arg(file).args(["--output", "json", "--destroy", &url(&target)]));
        assert_eq!(ended.code, Some(0), "{fault:?}: {ended:#?}");
        let json: Value = serde_json::from_str(&ended.stdout).unwrap();
        let total = &only_cell(&json)["total"];
        assert!(total["ok"].as_u64() > Some(0), "{fault:?}: {total}");
        if retried {
            assert!(total["retries"].as_u64() > Some(0), "{fault:?}: {total}");
            assert_eq!(total["failed"], 0, "{fault:?}: {total}");
        } else {
            assert!(total["timed_out"].as_u64() > Some(0) || total["failed"].as_u64() > Some(0), "{total}");
            let seen = target.seen.lock().unwrap();
            assert!(
                !seen.left.is_empty() && seen.aborts.contains(&seen.left[0]),
                "the target is told to abort"
            );
        }
    }
}

#[test]
fn what_is_not_there_is_said_with_what_is() {
    let target = Target::start(Script::default());
    let lab = Lab::new();
    let ended = lab.run(&experiment(&url(&target).replace("t1/1", "t1/9"), MIXED, ""));
    assert!(ended.code != Some(0) && ended.stderr.contains("the target has LUN 1, 300"), "{ended:#?}");
    let small = experiment(&url(&target), "ops: read, block_size: 100", "");
    let ended = lab.run(&small);
    assert!(ended.stderr.contains("blocks of 512 bytes, and 100 is no multiple"), "{ended:#?}");
    let large = experiment(&url(&target), "ops: read, file_size: 1GiB", "");
    let ended = lab.run(&large);
    assert!(ended.stderr.contains("use at most 4194304"), "{ended:#?}");
}

#[test]
fn jobs_of_libiscsi_run_on_a_unit() {
    let target = Target::start(Script::default());
    let lab = FioLab::new();
    let name = url(&target).replace(':', "\\:");
    let job = format!(
        "[global]\nioengine=libiscsi\nfilename={name}\ninitiator=iqn.2026-01.lab:me\nbs=4k\niodepth=4\nsize=1M\n\
         [write]\nrw=randwrite\nverify=crc32c\ndo_verify=1\n[trim]\nstonewall\nrw=trim\n[mixed]\nstonewall\nrw=randrw\nfsync=8\n"
    );
    let file = lab.file("job.fio", &job);
    let fio = |extra: &[&str]| run(lab.command("fio").arg("--output-format=json").args(extra).arg(&file));
    let ended = fio(&[]);
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    let json: Value = serde_json::from_str(&ended.stdout).unwrap();
    let jobs = json["jobs"].as_array().unwrap();
    assert_eq!(jobs[0]["write"]["total_ios"], 256, "{ended:#?}");
    assert_eq!(jobs[0]["read"]["total_ios"], 256, "what was written is compared");
    assert_eq!(jobs[1]["trim"]["total_ios"], 256);
    assert!(jobs.iter().all(|job| job["error"] == 0));
    assert!(requests(&target, |request| matches!(request, ScsiRequest::Unmap { .. })) > 0);
    assert!(requests(&target, |request| matches!(request, ScsiRequest::SynchronizeCache { .. })) > 0);
    let logins = || std::mem::take(&mut target.seen.lock().unwrap().initiators);
    let with_one = logins();
    assert!(!with_one.is_empty() && with_one.iter().all(|name| name == "iqn.2026-01.lab:me"), "{with_one:?}");
    lab.file("job.fio", &job.replace("iodepth=4", "iodepth=4\niscsi_sessions=3"));
    assert_eq!(fio(&[]).code, Some(0));
    let with_three = logins();
    assert!(with_three.len() > with_one.len(), "{} and {} logins", with_three.len(), with_one.len());
    target.check();
    target.data.lock().unwrap()[..4].copy_from_slice(b"XFSB");
    let refused = fio(&[]);
    assert_ne!(refused.code, Some(0), "{refused:#?}");
    assert!(refused.stderr.contains("carries an XFS file system"), "{refused:#?}");
    let destroy = format!("--destroy={}", url(&target));
    assert_eq!(fio(&[&destroy]).code, Some(0));
}
