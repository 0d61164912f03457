//! Random job files are either refused at the wrong line, or behave on the simulated target as the grammar predicts;
//! for a while (`MANOMETER_FUZZ_SECONDS`, default 2). A failing case prints its seed.
//!
//! With `MANOMETER_FIO=fio` the valid files also run under that program, on its null engine: the grammar predicts fio
//! as well.
#![allow(clippy::unwrap_used)] // a test may fail loudly

mod fio_support;

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use fio_support::grammar::{JobFile, Prediction, Random, job_file};
use serde_json::Value;

const SIMULATED: &str = "ioengine=sim\nsim_url=sim:?latency=100us";

#[test]
#[allow(clippy::disallowed_methods, reason = "a test's budget, not a measurement")]
fn random_job_files_are_refused_at_their_line_or_do_what_is_foretold() {
    let seconds: f64 =
        std::env::var("MANOMETER_FUZZ_SECONDS").ok().and_then(|text| text.parse().ok()).unwrap_or(2.0);
    let fio = std::env::var("MANOMETER_FIO").ok();
    let directory = tempfile::tempdir().unwrap();
    let began = Instant::now();
    let first: u64 = std::env::var("MANOMETER_FIO_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(1);
    let (mut seed, mut ran, mut refused) = (first, 0, 0);
    while began.elapsed() < Duration::from_secs_f64(seconds) || seed < first + 24 {
        let random = || Random((seed + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let made = job_file(&mut random(), SIMULATED, true);
        let path = directory.path().join("job.fio");
        std::fs::write(&path, &made.text).unwrap();
        let results = directory.path().join(format!("{seed}.sqlite"));
        let mut command = Command::new(env!("CARGO_BIN_EXE_manometer"));
        command
            .args(["fio", "job.fio", "--output-format=json"])
            .arg(format!("--results={}", results.display()));
        command.arg(format!("--journal-dir={}", directory.path().join("journal").display()));
        let ended = command.current_dir(&directory).stdin(Stdio::null()).output().unwrap();
        let stderr = String::from_utf8_lossy(&ended.stderr);
        let said = format!("seed {seed}, exit code {:?}\n{}\n{stderr}", ended.status.code(), made.text);
        match &made.outcome {
            Err(line) => {
                refused += 1;
                assert_eq!(ended.status.code(), Some(2), "{said}");
                assert!(stderr.contains(&format!("job.fio:{line}:")), "line {line} is not named: {said}");
                assert!(!results.exists(), "{said}");
            }
            Ok(predictions) => {
                ran += 1;
                let json: Value =
                    serde_json::from_slice(&ended.stdout).unwrap_or_else(|error| panic!("{error}: {said}"));
                assert!(ended.status.success(), "{said}");
                check(&json, predictions, &said);
            }
        }
        if let (Some(fio), Ok(_)) = (&fio, &made.outcome) {
            check_with_fio(fio, &job_file(&mut random(), "ioengine=null", false), seed);
        }
        seed += 1;
    }
    assert!(ran > 5 && refused > 2, "{ran} ran and {refused} were refused");
}

fn check(json: &Value, predictions: &[Prediction], said: &str) {
    for predicted in predictions {
        let jobs = || json["jobs"].as_array().unwrap().iter().filter(|job| job["jobname"] == *predicted.name);
        let sum = |direction: &str, key: &str| -> u64 {
            jobs().map(|job| job[direction][key].as_u64().unwrap()).sum()
        };
        let all = |key: &str| sum("read", key) + sum("write", key) + sum("trim", key);
        let within = |what: &str, found: u64, (least, most): (u64, u64)| {
            let right = (least..=most).contains(&found);
            assert!(right, "{} {what}: {found} is not {least}..{most}; {said}", predicted.name);
        };
        for (direction, range) in ["read", "write", "trim"].into_iter().zip(predicted.ops) {
            within(direction, sum(direction, "total_ios"), range);
        }
        within("total operations", all("total_ios"), predicted.total_ops);
        within("total bytes", all("io_bytes"), predicted.total_bytes);
        assert!(jobs().all(|job| job["error"] == 0), "{said}");
    }
}

/// The same job file under fio, for files without arithmetic.
fn check_with_fio(fio: &str, made: &JobFile, seed: u64) {
    let Ok(predictions) = &made.outcome else { return };
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("job.fio"), &made.text).unwrap();
    let mut command = Command::new(fio);
    let ended = command.args(["job.fio", "--output-format=json"]).current_dir(&directory).output().unwrap();
    let text = String::from_utf8_lossy(&ended.stdout);
    let said = format!("seed {seed} under fio\n{}\n{}", made.text, String::from_utf8_lossy(&ended.stderr));
    let json = text.find("{\n").and_then(|at| serde_json::from_str(&text[at..]).ok());
    check(&json.unwrap_or_else(|| panic!("{said}")), predictions, &said);
}
