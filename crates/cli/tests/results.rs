//! Contents of a results file, shown and exported by the program itself, from a file that uses everything.

#![allow(clippy::unwrap_used)] // a test may fail loudly

#[path = "results/schema.rs"]
mod schema;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use metrics::OpKind;
use serde_json::Value;
use store::Store;
use tempfile::TempDir;

/// A copy of the stored file in the first layout: a run with every alternative.
fn file() -> (TempDir, PathBuf) {
    kept(1)
}

/// A copy of the stored file in a given layout; the second has a fleet run, `fffftttt`.
fn kept(version: u32) -> (TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("results.sqlite");
    let name = format!("../../tests/data/results/v{version}.sqlite");
    std::fs::copy(Path::new(env!("CARGO_MANIFEST_DIR")).join(name), &path).unwrap();
    (directory, path)
}

struct Ended {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

fn manometer(file: &Path, arguments: &[&str]) -> Ended {
    let mut command = Command::new(env!("CARGO_BIN_EXE_manometer"));
    ended(command.args(arguments).arg("--results").arg(file))
}

fn ended(command: &mut Command) -> Ended {
    let output = command.env_remove("XDG_DATA_HOME").stdin(Stdio::null()).output().unwrap();
    Ended {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// Succeeded without any message; returns the output.
fn output(file: &Path, arguments: &[&str]) -> String {
    let ended = manometer(file, arguments);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{arguments:?}");
    ended.stdout
}

/// One clear line with these words and a next step, and nothing on standard output.
fn refused(ended: &Ended, code: i32, words: &[&str]) {
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(code), ""), "{}", ended.stderr);
    assert_eq!(ended.stderr.lines().count(), 1, "{}", ended.stderr);
    assert!(ended.stderr.starts_with("error: "), "{}", ended.stderr);
    words.iter().for_each(|word| assert!(ended.stderr.contains(word), "{word}: {}", ended.stderr));
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

#[test]
fn the_list_names_runs_and_the_size_of_the_file() {
    let (_directory, path) = file();
    let text = output(&path, &["list"]);
    for words in [
        "aaaabbb2  every alternative  2026-09-21",
        "interrupted  INVALID",
        "11m 40s",
        "3/7, 1 failed",
        "1 run, 152 KiB",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    let document = json(&output(&path, &["list", "--output", "json"]));
    schema::assert_valid("list", None, &document);
    assert_eq!(document["runs"][0]["cells_done"], 3);
    assert_eq!(document["file_bytes"], std::fs::metadata(&path).unwrap().len());
    Store::open(&path).unwrap().forget("aaaabbb2").unwrap();
    assert!(output(&path, &["list"]).contains("no runs yet"));
    schema::assert_valid("list", None, &json(&output(&path, &["list", "--output", "json"])));
}

#[test]
fn a_run_is_shown_with_all_that_was_found() {
    let (_directory, path) = file();
    let text = output(&path, &["show", "last"]);
    for words in [
        "Run aaaabbb2 of every alternative: interrupted, 3 of 7 cells",
        "Cell 1  mixed block_size=4KiB  VALID",
        "  steady by rule default, reported from 15.0 s to 75.0 s of 75.0 s",
        "  a study, reported from 15.0 s to 75.0 s of 75.0 s",
        "  read     4.1 MB/s  ± 2.0 %  1.0k/s  ± 2.0 %  220 µs  550 µs  660 µs  880 µs       500 µs       3",
        "gate FAILED: read.bandwidth >= 3 GB/s, measured 4.1 MB/s",
        "gate holds: write.p99.9 <= 5 ms, measured 660 µs",
        "errors: 2 timed-out, 1 server-fault; server-fault: EIO at file 3, offset 4096",
        "prepare 12.2 s, 1.00 GiB (every byte was written)",
        "no steady state by rule default",
        "Cell 5  mixed block_size=64KiB  failed\n  failed: cannot open /mnt/data",
        "Cell 7  mixed block_size=256KiB  pending",
        "signal: SIGINT: the cell ends",
        "kernel: 6.18.0",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    assert!(!text.contains("ünïcode, a\nline"), "texts of the file do not break lines");
    let one = output(&path, &["show", "aaaa", "--cell", "1"]);
    assert!(one.contains("Cell 1") && !one.contains("Cell 2"), "{one}");
    for words in
        ["cpu.busiest: 0.970", "filesystem: ext4", "at most 3 %", "intervals kept: 1 warm-up, 5 measure"]
    {
        assert!(one.contains(words), "{words}: {one}");
    }
    let document = json(&output(&path, &["show", "every alternative", "--cell", "5", "--output", "json"]));
    schema::assert_valid("run", None, &document);
    assert_eq!(document["cells"].as_array().unwrap().len(), 1);
    assert_eq!(document["cells"][0]["failure"], "cannot open /mnt/data: no such file or directory");
}

#[test]
fn the_json_of_a_run_is_what_was_recorded_field_by_field() {
    let (_directory, path) = file();
    let document = json(&output(&path, &["export", "aaaabbb2"]));
    schema::assert_valid("run", None, &document);
    assert_eq!(document, json(&output(&path, &["show", "aaaabbb2", "--output", "json"])));
    assert!(document.get("intervals").is_none());
    let store = Store::open(&path).unwrap();
    assert_eq!(document["run"], serde_json::to_value(store.run("aaaabbb2").unwrap()).unwrap());
    assert_eq!(document["events"], serde_json::to_value(store.events("aaaabbb2").unwrap()).unwrap());
    let cells = document["cells"].as_array().unwrap();
    for (shown, record) in cells.iter().zip(store.cells("aaaabbb2").unwrap()) {
        let mut shown = shown.as_object().unwrap().clone();
        assert!(shown.remove("name").unwrap().as_str().unwrap().starts_with("mixed block_size="));
        let steady = record.result.as_ref().map(|result| result.steady.judgement().words().into());
        assert_eq!(shown.remove("steady"), steady);
        assert_eq!(Value::Object(shown), serde_json::to_value(record).unwrap());
    }
    assert_eq!(cells.len(), 7);
}

#[test]
fn every_interval_comes_out_as_json_and_as_lines() {
    let (_directory, path) = file();
    let document = json(&output(&path, &["export", "last", "--intervals"]));
    schema::assert_valid("run", None, &document);
    let intervals = document["intervals"].as_array().unwrap();
    assert_eq!(intervals.len(), 13);
    let store = Store::open(&path).unwrap();
    let kept = store.intervals("aaaabbb2", 1, "measure", 0, 3..4).unwrap().next().unwrap().unwrap();
    let is_that = |interval: &&Value| {
        interval["cell"] == 1
            && interval["stage"] == "measure"
            && interval["trial"] == 0
            && interval["interval"] == 3
    };
    let shown = intervals.iter().find(is_that).unwrap();
    let read = kept.op(OpKind::Read).unwrap();
    assert_eq!(shown["ops"][0]["ok"], read.ok);
    assert_eq!(shown["ops"][0]["response"]["p99_ns"], read.response().quantile_ns(0.99));
    assert_eq!(shown["ops"][1]["errors"], serde_json::json!({"timed-out": 3, "no-space": 2}));
    for (name, histogram) in
        [("service_histogram", &read.service), ("response_histogram", read.response.as_ref().unwrap())]
    {
        let bytes = STANDARD.decode(shown["ops"][0][name].as_str().unwrap()).unwrap();
        assert_eq!(&store::unpack_histogram(&bytes).unwrap(), histogram);
    }
    let text = output(&path, &["export", "last", "--intervals", "--format", "jsonl"]);
    let lines: Vec<Value> = text.lines().map(json).collect();
    for (line, interval) in lines.iter().zip(intervals) {
        schema::assert_valid("run", Some("IntervalLine"), line);
        assert_eq!((&line["ops"], &line["start_ns"]), (&interval["ops"], &interval["start_ns"]));
    }
    assert_eq!(lines.len(), 13);
    let text = output(&path, &["export", "last", "--format", "jsonl"]);
    let lines: Vec<Value> = text.lines().map(json).collect();
    lines.iter().for_each(|line| schema::assert_valid("run", Some("CellLine"), line));
    assert_eq!(lines.len(), 7);
    assert_eq!(lines[0]["result"], document["cells"][0]["result"]);
}

#[test]
fn a_fleet_is_shown_host_by_host() {
    let (_directory, path) = kept(2);
    let text = output(&path, &["show", "fffftttt", "--cell", "1"]);
    for expected in [
        "3 hosts started within 3.00 µs (± 41.0 µs)",
        "slowest db2",
        "admin@[fe80::1]:2222 was lost at 12.5 s: its pipe was closed",
        "network-bound: db2's card is full",
        "next: add a card",
        "10.0.0.1 -> [fe80::9]:2049",
        "eth0 sends",
    ] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
    let text = output(&path, &["show", "fffftttt", "--baseline", "disks"]);
    let expected = "mixed block_size=4KiB: 4.1 MB/s is 100 % of 4.1 MB/s\n    db1: 4.1 MB/s is 100 %";
    assert!(text.contains(expected), "{text}");
    assert!(text.contains("admin@[fe80::1]:2222: 1.4 MB/s; the baseline does not know it"), "{text}");
    let listed = output(&path, &["list", "--baselines"]);
    assert!(listed.contains("disks") && listed.contains("network of rack 7"), "{listed}");
    let forgotten = manometer(&path, &["forget", "--baseline", "disks"]);
    assert_eq!((forgotten.code, forgotten.stderr.as_str()), (Some(0), "baseline disks was removed\n"));
    assert!(!output(&path, &["list", "--baselines"]).contains("disks"));
    let again = manometer(&path, &["forget", "--baseline", "disks"]);
    assert_eq!(again.code, Some(2), "{}", again.stderr);
    assert!(again.stderr.contains("next: "), "{}", again.stderr);
}

#[test]
fn the_schema_knows_no_field_that_never_comes() {
    let (_directory, path) = file();
    let document = json(&output(&path, &["export", "last", "--intervals"]));
    let (_fleets, path_of_fleet) = kept(2);
    let fleet = schema::with_later_fields(json(&output(&path_of_fleet, &["export", "fffftttt"])));
    schema::assert_valid("run", None, &fleet);
    let line = |arguments: &[&str]| json(output(&path, arguments).lines().next().unwrap());
    let cell = line(&["export", "last", "--format", "jsonl"]);
    let of_hosts = |arguments: &[&str]| {
        let text =
            output(&path_of_fleet, &[&["export", "fffftttt", "--format", "jsonl"], arguments].concat());
        text.lines().map(json).filter(|line| !line["host"].is_null()).collect::<Vec<_>>()
    };
    let interval = of_hosts(&["--intervals", "--hosts"]).remove(0);
    let hosts = of_hosts(&["--hosts"]);
    let with_hosts = json(&output(&path_of_fleet, &["export", "fffftttt", "--intervals", "--hosts"]));
    hosts.iter().for_each(|host| schema::assert_valid("run", Some("HostLine"), host));
    schema::assert_valid("run", Some("IntervalLine"), &interval);
    schema::assert_valid("run", None, &with_hosts);
    let mut all = vec![
        (None, &document),
        (None, &fleet),
        (None, &with_hosts),
        (Some("CellLine"), &cell),
        (Some("IntervalLine"), &interval),
    ];
    all.extend(hosts.iter().map(|host| (Some("HostLine"), host)));
    let unseen = schema::never_seen(&all);
    assert!(unseen.is_empty(), "fields of the schema that no record has: {unseen:?}");
    schema::assert_names_are_complete();
}

/// The rows of a CSV text as maps; quotes as in RFC 4180.
fn rows(text: &str) -> Vec<BTreeMap<String, String>> {
    let mut records = vec![vec![String::new()]];
    let (mut quoted, mut characters) = (false, text.chars().peekable());
    while let Some(character) = characters.next() {
        let field = records.last_mut().unwrap().last_mut().unwrap();
        match character {
            '"' if quoted && characters.peek() == Some(&'"') => {
                characters.next();
                field.push('"');
            }
            '"' => quoted = !quoted,
            ',' if !quoted => records.last_mut().unwrap().push(String::new()),
            '\n' if !quoted => records.push(vec![String::new()]),
            other => field.push(other),
        }
    }
    assert_eq!(records.pop(), Some(vec![String::new()]), "the last line ends");
    let header = records.remove(0);
    assert_eq!(header.iter().collect::<BTreeSet<_>>().len(), header.len(), "names are unique");
    assert!(records.iter().all(|record| record.len() == header.len()), "rows are as long as the header");
    records.into_iter().map(|record| header.iter().cloned().zip(record).collect()).collect()
}

#[test]
fn the_csv_has_a_row_a_cell_and_operation_with_the_same_figures() {
    let (_directory, path) = file();
    let rows = rows(&output(&path, &["export", "last", "--format", "csv"]));
    let ops: Vec<_> = rows.iter().map(|row| (row["cell"].as_str(), row["op"].as_str())).collect();
    let expected = [
        ("0", "total"),
        ("0", "read"),
        ("0", "write"),
        ("1", "total"),
        ("1", "put"),
        ("2", "total"),
        ("3", "total"),
        ("3", "put"),
        ("4", ""),
        ("5", ""),
        ("6", ""),
    ];
    assert_eq!(ops, expected);
    let document = json(&output(&path, &["export", "last"]));
    let read = &document["cells"][0]["result"]["ops"][0];
    let same = |column: &str, value: &Value| {
        assert_eq!(rows[1][column].parse::<f64>().unwrap(), value.as_f64().unwrap(), "{column}");
    };
    same("ok", &read["ok"]);
    same("bytes", &read["bytes"]);
    same("ops_per_s", &read["ops_per_s"]["mean"]);
    same("ops_per_s_low", &read["ops_per_s"]["low"]);
    same("bytes_per_s_high", &read["bytes_per_s"]["high"]);
    same("interval_p99_mean_ns", &read["p99_ns"]["mean"]);
    for name in ["min_ns", "mean_ns", "p50_ns", "p90_ns", "p95_ns", "p99_ns", "p999_ns", "p9999_ns", "max_ns"]
    {
        same(&format!("response_{name}"), &read["response"][name]);
        same(&format!("service_{name}"), &read["service"][name]);
    }
    assert_eq!(rows[1]["point_block_size"], "4 KiB");
    assert_eq!(rows[1]["errors"], "timed-out=2 server-fault=1");
    assert_eq!((rows[8]["state"].as_str(), rows[8]["ok"].as_str()), ("failed", ""));
    assert_eq!(rows[8]["failure"], "cannot open /mnt/data: no such file or directory");
}

#[test]
fn the_csv_of_intervals_has_a_row_an_interval_and_operation() {
    let (directory, path) = file();
    let target = directory.path().join("intervals.csv");
    let name = target.to_str().unwrap();
    let said = output(&path, &["export", "last", "--format", "csv", "--intervals", "--output-file", name]);
    assert_eq!(said, "", "what goes into a file does not go to standard output too");
    let rows = rows(&std::fs::read_to_string(&target).unwrap());
    assert_eq!(rows.len(), 2 * 6 * 2 + 1);
    let store = Store::open(&path).unwrap();
    let points: Vec<_> =
        store.series("aaaabbb2", 0, "measure", 0, 0..9).unwrap().map(Result::unwrap).collect();
    for (row, point) in rows[2..12].iter().zip(&points) {
        assert_eq!(row["stage"], "measure");
        assert_eq!(row["interval"].parse(), Ok(point.interval));
        assert_eq!(row["op"], point.op.unwrap().name());
        assert_eq!(row["failed"].parse(), Ok(point.failed));
        assert_eq!(row["response_p99_ns"].parse(), Ok(point.p99_ns));
        assert_eq!(row["bytes_per_s"].parse(), Ok(point.bytes as f64));
    }
    assert_eq!(
        (rows[24]["trial"].as_str(), rows[24]["op"].as_str(), rows[24]["length_s"].as_str()),
        ("1", "", "0.000000001")
    );
}

#[test]
fn hosts_are_exported_beside_the_whole_when_they_are_asked_for() {
    let (_directory, path) = kept(2);
    let export = |arguments: &[&str]| output(&path, &[&["export", "fffftttt"], arguments].concat());
    let document = json(&export(&[]));
    let result = &document["cells"][0]["result"];
    let rows_of = |arguments: &[&str]| rows(&export(&[&["--format", "csv"], arguments].concat()));
    let whole = rows_of(&[]);
    assert!(whole.iter().all(|row| !row.contains_key("host")), "unasked, the table is as it was");
    let all = rows_of(&["--hosts"]);
    let of = |host: &str| all.iter().filter(|row| row["host"] == host).collect::<Vec<_>>();
    assert_eq!(of("").len(), whole.len(), "all together are there once");
    for (n, host) in result["hosts"].as_array().unwrap().iter().enumerate() {
        let rows = of(host["name"].as_str().unwrap());
        assert_eq!(rows.len(), 1 + host["ops"].as_array().unwrap().len());
        assert_eq!((rows[0]["op"].as_str(), rows[0]["cell"].as_str()), ("total", "0"));
        assert_eq!(rows[0]["host_index"].parse(), Ok(n));
        assert_eq!(rows[0]["bytes"].parse(), Ok(host["total"]["bytes"].as_u64().unwrap()));
        assert_eq!(rows[0]["lost_why"], host["lost"]["why"].as_str().unwrap_or(""));
    }
    let finding = &result["limit"]["hosts"][0];
    assert_eq!(finding["host"], "db2");
    assert_eq!(of("db2")[0]["held_back_by"], finding["sentence"].as_str().unwrap());
    assert_eq!(of("db1")[0]["held_back_by"], "");

    let lines: Vec<Value> = export(&["--hosts", "--format", "jsonl"]).lines().map(json).collect();
    let of_cell: Vec<&Value> = lines.iter().filter(|line| line["index"] == 0).collect();
    assert_eq!(of_cell[0]["result"]["hosts"], result["hosts"]);
    assert_eq!(of_cell[2]["host"], "db2");
    assert_eq!((&of_cell[2]["result"], &of_cell[2]["limit"]), (&result["hosts"][1], finding));

    // Each host's intervals follow the combined ones.
    let series = rows_of(&["--hosts", "--intervals"]);
    let numbers = |host: &str| -> Vec<u32> {
        let rows = series.iter().filter(|row| row["host"] == host && row["op"] == "read");
        rows.map(|row| row["interval"].parse().unwrap()).collect()
    };
    assert_eq!((numbers(""), numbers("db2")), (vec![0, 1, 2], vec![10, 11, 12]));
    assert_eq!(series.iter().filter(|row| row["host"].is_empty()).count(), rows_of(&["--intervals"]).len());
    let json_lines = export(&["--hosts", "--intervals", "--format", "jsonl"]);
    let with_hosts = json(&export(&["--hosts", "--intervals"]));
    assert_eq!(with_hosts["intervals"].as_array().unwrap().len(), json_lines.lines().count());

    // A run on one host, and a file in the first layout, have only the combined series.
    let (_old, path) = file();
    let hosts = rows(&output(&path, &["export", "last", "--format", "csv", "--hosts"]));
    let without = rows(&output(&path, &["export", "last", "--format", "csv"]));
    assert_eq!(hosts.len(), without.len());
    assert!(hosts.iter().all(|row| row["host"].is_empty()));
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let (_directory, path) = file();
    for arguments in [&["export", "last", "--intervals"][..], &["show", "last"], &["list"]] {
        let mut child = Command::new(env!("CARGO_BIN_EXE_manometer"))
            .args(arguments)
            .arg("--results")
            .arg(&path)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // Before the program has written anything, or while it does.
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(0), &b""[..]), "{arguments:?}");
    }
}

#[test]
fn wrong_input_is_one_line_with_a_next_step() {
    let (directory, path) = file();
    let at = |name: &str| directory.path().join(name);
    refused(
        &manometer(&path, &["show", "b"]),
        2,
        &["no run \"b\"", "aaaabbb2 (every alternative)", "next: "],
    );
    refused(&manometer(&path, &["show", "last", "--cell", "8"]), 2, &["--cell 8", "cells 1 to 7", "next: "]);
    refused(&manometer(&at("none"), &["list"]), 2, &["no results file", "manometer run"]);
    assert!(!at("none").exists());
    std::fs::write(at("text"), "id,name\n".repeat(100)).unwrap();
    refused(&manometer(&at("text"), &["list"]), 2, &["not a results file", "--results"]);
    let own = path.to_str().unwrap();
    let other = at("other.sqlite");
    drop(Store::open(&other).unwrap());
    refused(
        &manometer(&path, &["export", "last", "--output-file", other.to_str().unwrap()]),
        2,
        &["--output-file", "results file"],
    );
    refused(&manometer(&path, &["export", "last", "--output-file", own]), 2, &["results file itself"]);
    refused(
        &manometer(&path, &["export", "last", "--output-file", "/dev/full"]),
        1,
        &["cannot be written", "next: "],
    );
    refused(
        &manometer(&path, &["export", "last", "--output-file", "/nonexistent/x"]),
        2,
        &["--output-file", "next: "],
    );
    refused(&manometer(&path, &["forget", "aaaa"]), 2, &["no run \"aaaa\"", "aaaabbb2"]);
    let bare = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_manometer"));
        command.arg("list").env_remove("HOME");
        command
    };
    refused(&ended(&mut bare()), 2, &["XDG_DATA_HOME", "--results"]);
    let home = ended(bare().env("HOME", directory.path()));
    refused(&home, 2, &[".local/share/manometer/results.sqlite"]);
    assert_eq!(output(&path, &["list"]).lines().count(), 4, "nothing of this changed the file");
}

#[test]
fn a_run_is_forgotten_by_its_whole_id() {
    let (_directory, path) = file();
    let ended = manometer(&path, &["forget", "aaaabbb2"]);
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), ""));
    assert!(ended.stderr.contains("run aaaabbb2 was removed"), "{}", ended.stderr);
    refused(&manometer(&path, &["forget", "aaaabbb2"]), 2, &["the file holds none"]);
}

/// Access that an ordinary user lacks; root may do anything, so it drops its privileges first.
#[test]
fn a_file_where_nothing_may_be_written_is_read_and_not_changed() {
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::process::CommandExt;
    let (directory, path) = file();
    let program = directory.path().join("manometer");
    // Another process copies it: a file that this process has open for writing cannot be executed while a child just
    // forked by another test also has it open.
    let copied = Command::new("cp").arg(env!("CARGO_BIN_EXE_manometer")).arg(&program).status();
    assert!(copied.unwrap().success());
    let mode = |path: &Path, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    mode(&path, 0o444);
    mode(directory.path(), 0o555);
    let as_nobody = |arguments: &[&str]| {
        let mut command = Command::new(&program);
        command.args(arguments).arg("--results").arg(&path);
        if rustix::process::geteuid().is_root() {
            command.uid(65_534).gid(65_534);
        }
        ended(&mut command)
    };
    let shown = as_nobody(&["show", "last"]);
    assert_eq!((shown.code, shown.stderr.as_str()), (Some(0), ""));
    assert!(shown.stdout.contains("Run aaaabbb2"));
    assert!(as_nobody(&["export", "last", "--intervals"]).stdout.contains("\"stage\":\"measure\""));
    refused(&as_nobody(&["forget", "aaaabbb2"]), 1, &["read-only", "next: "]);
    mode(directory.path(), 0o755);
    let names = std::fs::read_dir(directory.path()).unwrap().count();
    assert_eq!(names, 2, "a journal was left beside the file");
}
