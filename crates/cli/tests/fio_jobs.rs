//! Every job file in `tests/fio` behaves under `manometer fio` as it states.
//!
//! With `MANOMETER_FIO=fio` the same files also run under that program (`make test-real`): both must meet the
//! expectations, and where these are exact, both leave the same files.
#![allow(clippy::unwrap_used)] // a test may fail loudly

mod fio_support;

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use fio_support::case::{Case, Expected, cases};
use fio_support::outcome::{Program, run};

/// Job files that run at the same time.
const AT_ONCE: usize = 4;

#[test]
fn every_job_file_does_what_it_says() {
    let chosen = std::env::var("MANOMETER_FIO_CASE").unwrap_or_default();
    let fio = std::env::var("MANOMETER_FIO").ok();
    let cases: Vec<Case> = cases().into_iter().filter(|case| case.name.starts_with(&chosen)).collect();
    let next = AtomicUsize::new(0);
    let wrong = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let found = check(case, fio.as_deref());
                    wrong.lock().unwrap().extend(found);
                }
            });
        }
    });
    let wrong = wrong.into_inner().unwrap();
    assert!(wrong.is_empty(), "{} faults:\n{}", wrong.len(), wrong.join("\n"));
    if chosen.is_empty() {
        assert!(cases.len() >= 40, "{} job files", cases.len());
    }
}

/// What is wrong with a job file's outcome.
fn check(case: &Case, fio: Option<&str>) -> Vec<String> {
    let mut programs = Vec::new();
    if std::env::var_os("MANOMETER_FIO_ALONE").is_none() {
        programs.push(Program::Ours);
    }
    if let (Some(fio), None) = (fio, &case.only_ours) {
        programs.push(Program::Fio(fio.to_owned()));
    }
    let mut wrong = Vec::new();
    let mut files = Vec::new();
    for program in &programs {
        let outcome = run(case, program);
        let mut expected = case.expected.clone();
        if !expected.iter().any(|expected| expected.what == "exit") {
            expected.push(Expected { what: "exit".into(), value: "0".into() });
        }
        let of_this: Vec<String> =
            expected.iter().filter_map(|expected| outcome.check(expected).err()).collect();
        if !of_this.is_empty() {
            let told = of_this.join("\n    ");
            wrong.push(format!("{} under {program:?}:\n    {told}\n  it said:\n{}", case.name, outcome.said));
        }
        files.push(comparable(outcome.files(), &expected));
    }
    if let [ours, theirs] = files.as_slice()
        && ours != theirs
        && wrong.is_empty()
    {
        wrong.push(format!("{}: files are {ours:?}, under fio {theirs:?}", case.name));
    }
    wrong
}

/// The files whose sizes must agree between both programs: not logs, random results, or fio's notes on pending
/// verification.
fn comparable(mut files: BTreeMap<String, u64>, expected: &[Expected]) -> BTreeMap<String, u64> {
    let drawn = |name: &str| {
        expected
            .iter()
            .any(|expected| expected.what.strip_prefix("file:") == Some(name) && !expected.is_exact())
    };
    files.retain(|name, _| !name.ends_with(".log") && !name.ends_with("-verify.state") && !drawn(name));
    files
}
