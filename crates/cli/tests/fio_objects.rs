//! Jobs of fio's http engine in S3 mode, against the simulated array.

#![allow(clippy::unwrap_used)] // a test may fail loudly

mod run_support;
mod support;

use std::collections::BTreeMap;
use std::process::Command;

use drivers::s3::{Credentials, S3Config, S3Driver};
use run_support::Lab;
use serde_json::Value;
use support::{Stage, run};

/// The keys and sizes of the objects below a prefix.
fn objects(stage: &Stage, keys: (&str, &str), prefix: &str) -> BTreeMap<String, u64> {
    let url = stage.s3_url("archive");
    let endpoint = url.split_once("endpoint=").unwrap().1.parse().unwrap();
    let config = S3Config::new(endpoint, "archive", prefix, Credentials::new(keys.0, keys.1));
    let mut found = BTreeMap::new();
    S3Driver::new(config)
        .unwrap()
        .list_prefix(|key, size| {
            found.insert(key.to_owned(), size);
        })
        .unwrap();
    found
}

fn job(stage: &Stage, keys: (&str, &str)) -> String {
    let host = stage.s3_url("archive").split_once("http://").unwrap().1.to_owned();
    format!(
        "[global]
ioengine=http
http_mode=s3
http_host={host}
https=off
http_s3_keyid={}
http_s3_key={}
filename=/archive/fio/data
bs=32k
size=256k
group_reporting

[write]
rw=write
verify=sha1
do_verify=0

[read]
stonewall
rw=randread
verify=sha1
numjobs=2

[trim]
stonewall
rw=trim
offset=128k
size=128k
",
        keys.0, keys.1
    )
}

#[test]
fn each_block_is_written_read_and_trimmed_as_an_object() {
    let stage = Stage::plain(1);
    let made = stage.make_bucket("archive");
    let keys = (&*made.access, &*made.secret);
    let lab = Lab::new();
    let file = lab.experiment("objects.fio", &job(&stage, keys));
    let results = lab.path("results.sqlite");
    let fio = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_manometer"));
        command.arg("fio").current_dir(lab.data()).env("HOME", lab.directory.path());
        command.env_remove("XDG_DATA_HOME").env_remove("XDG_STATE_HOME");
        command.env_remove("AWS_ACCESS_KEY_ID").env_remove("AWS_SECRET_ACCESS_KEY");
        command.arg(format!("--results={}", results.display()));
        command.arg(format!("--journal-dir={}", lab.path("journal").display()));
        command
    };
    let ended = run(fio().arg("--output-format=json").arg(&file));
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    let said: Value = serde_json::from_str(&ended.stdout).unwrap();
    let count = |job: usize, direction: &str| said["jobs"][job][direction]["total_ios"].as_u64().unwrap();
    assert_eq!((count(0, "write"), count(1, "read"), count(2, "trim")), (8, 16, 4), "{said:#}");

    let found = objects(&stage, keys, "fio");
    let expected: BTreeMap<String, u64> =
        (0..4).map(|block| (format!("fio/data_{}_32768", block * 32768), 32768)).collect();
    assert_eq!(found, expected, "what was not trimmed");

    // The secret is only in the file that the user wrote.
    let converted = run(fio().arg("--convert").arg(&file));
    assert!(converted.stdout.contains("s3://archive?endpoint=http://"), "{converted:#?}");
    for text in [&ended.stdout, &ended.stderr, &converted.stdout, &converted.stderr] {
        assert!(!text.contains(&made.secret), "{text}");
    }
    let stored = std::fs::read(&results).unwrap();
    assert!(!stored.windows(made.secret.len()).any(|bytes| bytes == made.secret.as_bytes()));
}

#[test]
fn other_modes_than_s3_are_refused_by_line() {
    let lab = Lab::new();
    let file = lab.experiment("dav.fio", "[a]\nioengine=http\nhttp_mode=webdav\nfilename=/b/o\nsize=4k\n");
    let mut command = Command::new(env!("CARGO_BIN_EXE_manometer"));
    let ended = run(command.arg("fio").arg(&file).env("HOME", lab.directory.path()));
    assert_eq!(ended.code, Some(2), "{ended:#?}");
    assert!(ended.stderr.contains("dav.fio:3") && ended.stderr.contains("http_mode=s3"), "{ended:#?}");
}
