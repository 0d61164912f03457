//! Output of `manometer fio` in fio's formats, and its logs, on a simulated target whose latencies are all known.

#![allow(clippy::unwrap_used)]

mod support;

use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use support::{Ended, run};
use tempfile::TempDir;

/// `manometer fio` on this job file in a new directory, isolated from this process's environment.
fn fio(job: &str, arguments: &[&str]) -> (Ended, TempDir) {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("job.fio"), job).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_manometer"));
    command.args(["fio", "job.fio", "--results=results.sqlite"]).args(arguments);
    command.current_dir(directory.path()).env("HOME", directory.path()).stdin(Stdio::null());
    for name in ["XDG_DATA_HOME", "XDG_STATE_HOME"] {
        command.env_remove(name);
    }
    let ended = run(&mut command);
    (ended, directory)
}

fn document(job: &str, form: &str) -> Value {
    let (ended, _directory) = fio(job, &[&format!("--output-format={form}")]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    serde_json::from_str(&ended.stdout).unwrap_or_else(|error| panic!("{error}: {}", ended.stdout))
}

fn read(directory: &TempDir, name: &str) -> String {
    let path: &Path = directory.path();
    std::fs::read_to_string(path.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn within(value: &Value, truth: f64, share: f64) -> bool {
    value.as_f64().is_some_and(|value| (value / truth - 1.0).abs() <= share)
}

/// 2000 operations, one of which takes 70 s.
const SLOW: &str = "[slow]\nioengine=sim\nsim_url=sim:?latency=1ms&slow=70s/2000\nrw=randread\nbs=4k\nsize=8m\n\
                    percentile_list=50:99.9:99.99:100\nlat_percentiles=1\n";

#[test]
fn one_operation_of_seventy_seconds_is_one_of_seventy_seconds() {
    let document = document(&SLOW.replace("size=8m", "size=8000k"), "json+");
    let read = &document["jobs"][0]["read"];
    assert_eq!(read["total_ios"], 2000, "{read}");
    for latency in [&read["clat_ns"], &read["lat_ns"]] {
        assert!(within(&latency["max"], 70e9, 0.001), "{latency}");
        let percentile = &latency["percentile"];
        assert!(within(&percentile["100.000000"], 70e9, 0.001), "{percentile}");
        assert!(within(&percentile["99.990000"], 70e9, 0.001), "{percentile}");
        assert!(within(&percentile["99.900000"], 1e6, 0.001), "{percentile}");
        let bins = latency["bins"].as_object().unwrap();
        let (longest, count) = bins.iter().max_by_key(|(ns, _)| ns.parse::<u64>().unwrap()).unwrap();
        assert!((longest.parse::<f64>().unwrap() / 70e9 - 1.0).abs() < 0.01 && count == 1, "{bins:?}");
    }
    assert!(within(&document["jobs"][0]["latency_ms"][">=2000"], 0.05, 1e-6));
    // Bandwidth covers the whole time.
    assert!(within(&read["iops"], 2000.0 / (70.0 + 1.999), 0.01), "{read}");
}

#[test]
fn nothing_but_json_is_on_standard_output() {
    let (ended, _directory) = fio(SLOW, &["--output-format=json"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let document: Value = serde_json::from_str(&ended.stdout).unwrap();
    let schema: Value =
        serde_json::from_str(include_str!("../../../schemas/fio-output.schema.json")).unwrap();
    let errors: Vec<String> = jsonschema::draft202012::new(&schema)
        .unwrap()
        .iter_errors(&document)
        .map(|error| format!("{}: {error}", error.instance_path))
        .collect();
    assert!(errors.is_empty(), "{errors:#?}");
    // Also if the job cannot run.
    let (ended, _directory) =
        fio("[bad]\nioengine=null\nrw=read\nsize=1m\nno_such_option=1\n", &["--output-format=json"]);
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(2), ""));
}

const GROUP: &str = "[global]\nioengine=sim\nsim_url=sim:?latency=1ms\nbs=4k\nsize=400k\nnumjobs=2\n\
                     [reads]\nrw=read\n[writes]\nstonewall\nrw=write\n";

#[test]
fn jobs_of_a_group_are_one_or_each_its_own() {
    let apart = document(GROUP, "json");
    let names = |document: &Value| -> Vec<(String, u64)> {
        let jobs = document["jobs"].as_array().unwrap();
        jobs.iter()
            .map(|job| (job["jobname"].as_str().unwrap().to_owned(), job["groupid"].as_u64().unwrap()))
            .collect()
    };
    let named = |name: &str, group| (name.to_owned(), group);
    assert_eq!(names(&apart), [named("reads", 0), named("reads", 0), named("writes", 1), named("writes", 1)]);
    assert_eq!(apart["jobs"][1]["read"]["total_ios"], 100);
    let together = document(&GROUP.replace("[global]", "[global]\ngroup_reporting"), "json");
    assert_eq!(names(&together), [named("reads", 0), named("writes", 1)]);
    let read = &together["jobs"][0]["read"];
    assert_eq!(
        (&read["total_ios"], &read["io_bytes"], &read["runtime"]),
        (&200.into(), &819_200.into(), &100.into())
    );
    assert!(within(&read["iops"], 2000.0, 0.02), "{read}");
}

#[test]
fn shapes_come_in_fios_order_and_agree() {
    let job = GROUP.replace("[global]", "[global]\ngroup_reporting\ndescription=two groups");
    let (ended, _directory) = fio(&job, &["--output-format=normal,terse", "--terse-version=3"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let lines: Vec<&str> = ended.stdout.lines().collect();
    assert!(lines[0].starts_with("reads: (g=0): rw=read, bs=(R) 4096B-4096B"), "{}", ended.stdout);
    let terse = lines.iter().position(|line| line.starts_with("3;fio-3.33;reads;0;0;800;")).unwrap();
    let normal =
        lines.iter().position(|line| line.starts_with("reads: (groupid=0, jobs=2): err= 0: ")).unwrap();
    assert!(terse < normal, "{}", ended.stdout);
    assert!(lines[terse].ends_with(";two groups"), "{}", lines[terse]);
    assert!(lines.contains(&"  Description  : [two groups]"), "{}", ended.stdout);
    assert!(
        ended.stdout.contains("\nRun status group 1 (all jobs):\n  WRITE: bw=8000KiB/s (8192kB/s), "),
        "{}",
        ended.stdout
    );
}

#[test]
fn directions_are_shown_apart_together_or_both() {
    let job = |mode: &str| format!("{SLOW}unified_rw_reporting={mode}\n").replace("&slow=70s/2000", "");
    let keys = |document: &Value| -> Vec<String> {
        let job = document["jobs"][0].as_object().unwrap();
        ["read", "write", "trim", "sync", "mixed"]
            .iter()
            .filter(|key| job.contains_key(**key))
            .map(|key| (*key).to_owned())
            .collect()
    };
    assert_eq!(keys(&document(&job("none"), "json")), ["read", "write", "trim", "sync"]);
    assert_eq!(keys(&document(&job("mixed"), "json")), ["mixed"]);
    let both = document(&job("both"), "json");
    assert_eq!(keys(&both), ["read", "write", "trim", "sync", "mixed"]);
    assert_eq!(both["jobs"][0]["mixed"]["total_ios"], 2048);
}

#[test]
fn logs_say_what_was_done_and_when() {
    let job = "[timed]\nioengine=sim\nsim_url=sim:?latency=2ms\nrw=read\nbs=4k\nsize=400k\niodepth=2\nlog_avg_msec=50\n\
               write_bw_log=b\nwrite_iops_log=i\nwrite_lat_log=l\nwrite_hist_log=h\nlog_hist_msec=50\nwrite_iolog=list\n";
    let (ended, directory) = fio(job, &["--output-format=json"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    // Two in flight at 2 ms each: one per millisecond, 100 in total.
    let columns = |name: &str| -> Vec<Vec<u64>> {
        let numbers = |line: &str| line.split(", ").map(|field| field.parse().unwrap()).collect();
        read(&directory, name).lines().map(numbers).collect()
    };
    for (name, value) in [
        ("b_bw.1.log", 4000),
        ("i_iops.1.log", 1000),
        ("l_clat.1.log", 2_000_000),
        ("l_lat.1.log", 2_000_000),
    ] {
        for line in columns(name) {
            assert_eq!(line.len(), 5, "{name}");
            assert!(line[1].abs_diff(value) <= value / 20, "{name}: {line:?}");
            assert_eq!(line[2..], [0, 0, 0]);
        }
        assert_eq!(columns(name)[0][0], 50, "{name}");
    }
    assert_eq!(read(&directory, "l_slat.1.log"), "");
    let counted: u64 = columns("h_clat_hist.1.log").iter().map(|line| line[3..].iter().sum::<u64>()).sum();
    assert_eq!(counted, 100);
    let list = read(&directory, "list");
    assert!(
        list.starts_with("fio version 3 iolog\n0 timed.0.0 add\n0 timed.0.0 open\n0 timed.0.0 read 0 4096\n"),
        "{list}"
    );
    assert_eq!(list.lines().filter(|line| line.contains(" read ")).count(), 100);
    assert!(list.ends_with(" timed.0.0 close\n"), "{list}");
}

#[test]
fn each_operation_has_a_line_without_averages() {
    let job = "[each]\nioengine=sim\nsim_url=sim:?latency=1ms\nrw=write\nbs=4k\nsize=40k\nnumjobs=2\nlog_offset=1\nwrite_lat_log\n";
    let (ended, directory) = fio(job, &["--output-format=json"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    for worker in [1, 2] {
        let text = read(&directory, &format!("each_clat.{worker}.log"));
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            (lines.len(), lines[0], lines[9]),
            (10, "1, 1000000, 1, 4096, 0, 0", "10, 1000000, 1, 4096, 36864, 0")
        );
    }
}

#[test]
fn a_block_that_differs_is_an_error_with_fios_number() {
    let write = "[w]\nfilename=data\nsize=64k\nbs=4k\nrw=write\nverify=crc32c\ndo_verify=0\n";
    let (ended, directory) = fio(write, &["--output-format=json"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let mut data = std::fs::read(directory.path().join("data")).unwrap();
    data[9_000] ^= 1;
    std::fs::write(directory.path().join("data"), data).unwrap();
    let read = write.replace("rw=write", "rw=read").replace("do_verify=0", "continue_on_error=verify");
    let check = |more: &str| {
        std::fs::write(directory.path().join("job.fio"), read.replace("continue_on_error=verify", more))
            .unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_manometer"));
        command.args(["fio", "job.fio", "--results=results.sqlite", "--output-format=json"]);
        command.current_dir(directory.path()).env("HOME", directory.path()).stdin(Stdio::null());
        let ended = run(&mut command);
        assert_eq!(ended.code, Some(1), "{}", ended.stderr);
        serde_json::from_str::<Value>(&ended.stdout).unwrap()["jobs"][0].clone()
    };
    // EILSEQ, as in fio.
    let goes_on = check("continue_on_error=verify");
    assert_eq!(
        (&goes_on["error"], &goes_on["total_err"], &goes_on["first_error"]),
        (&84.into(), &1.into(), &84.into())
    );
    assert_eq!(
        (&goes_on["read"]["total_ios"], &goes_on["manometer"]["errors"]),
        (&15.into(), &json!({"corrupt": 1}))
    );
    let ends = check("");
    assert_eq!((&ends["error"], ends.get("total_err")), (&84.into(), None));
    assert!(ends["manometer"]["failure"].as_str().is_some_and(|text| text.contains("8192")), "{ends}");
}
