//! `manometer fio`: its command line, what it refuses, and its output.

#![allow(clippy::unwrap_used)] // a test may fail loudly

mod fio_lab;
mod support;

use std::io::Write;
use std::process::Stdio;

use fio_lab::FioLab;
use support::run;

/// Options of a job without any target.
const NULL: [&str; 3] = ["--ioengine=null", "--size=64k", "--bs=4k"];

#[test]
fn a_job_can_stand_on_the_command_line() {
    let lab = FioLab::new();
    let forms: [&[&str]; 3] = [
        &["--name=a", "--rw=read", "--iodepth=4"],
        &["--name", "a", "--rw", "read", "--iodepth", "4"],
        &["-name=a", "-rw=read", "-iodepth=4"],
    ];
    for form in forms {
        let arguments: Vec<&str> = form.iter().copied().chain(NULL).collect();
        let (ended, json) = lab.json(&arguments);
        assert_eq!(ended.code, Some(0), "{ended:#?}");
        assert_eq!(json["jobs"][0]["jobname"], "a");
        assert_eq!(json["jobs"][0]["read"]["total_ios"], 16, "{form:?}");
    }
    let two = ["--ioengine=null", "--size=64k", "--name=a", "--rw=read", "--name=b", "--rw=write", "--bs=8k"];
    let (_, json) = lab.json(&two);
    assert_eq!(json["jobs"][0]["read"]["total_ios"], 16);
    assert_eq!(json["jobs"][1]["write"]["total_ios"], 8);
}

#[test]
fn files_sections_and_standard_input() {
    let lab = FioLab::new();
    let job = "[global]\nioengine=null\nsize=64k\n[a]\nrw=read\n[b]\nrw=write\n";
    lab.file("one.fio", job);
    lab.file("two.fio", "[c]\nioengine=null\nsize=4k\nrw=trim\n");
    let (_, json) = lab.json(&["one.fio", "two.fio"]);
    assert_eq!(json["jobs"].as_array().map(Vec::len), Some(3));
    let (_, json) = lab.json(&["--section=b", "one.fio"]);
    assert_eq!(json["jobs"].as_array().map(Vec::len), Some(1));
    assert_eq!(json["jobs"][0]["jobname"], "b");
    let mut command = lab.command("fio");
    command.args(["--output-format=json", "-"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.stderr(Stdio::null()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(job.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(json["jobs"].as_array().map(Vec::len), Some(2));
}

#[test]
fn what_is_wrong_is_said_with_its_line_and_nothing_is_touched() {
    let lab = FioLab::new();
    for (job, words) in [
        ("[a]\nrw=reed\n", &["job.fio:2", "reed"][..]),
        ("[a]\nrw=read\nbsize=4k\nsize=1m\n", &["job.fio:3", "bsize"]),
        ("[a]\nrw=read\nbs=4q\nsize=1m\n", &["job.fio:3", "4q"]),
        ("rw=read\n", &["job.fio:1"]),
        ("[a\nrw=read\n", &["job.fio:1"]),
        ("[a]\nrw=read\nioengine=libhdfs\nsize=1m\n", &["job.fio:3", "libhdfs", "mount"]),
        ("[a]\nrw=read\ncuda_io=cufile\nsize=1m\n", &["job.fio:3", "cuda_io"]),
        ("[a]\nrw=read\nsize=1m\n[b]\nrw=write\niodepth=none\nsize=1m\n", &["job.fio:6", "none"]),
    ] {
        let ended = lab.run(job);
        assert_eq!(ended.code, Some(2), "{job}: {ended:#?}");
        assert_eq!(ended.stdout, "", "{job}");
        for word in words {
            assert!(ended.stderr.contains(word), "{word:?} is missing for {job}: {}", ended.stderr);
        }
    }
    for (arguments, word) in [
        (&["--bogus=1"][..], "bogus"),
        (&["missing.fio"], "missing.fio"),
        (&[], "--name"),
        (&["--name=a", "--rw=read", "--size=1m", "--server=host"], "--client=HOST"),
        (&["--name=a", "--rw=read", "--size=1m", "--output-format=xml"], "xml"),
        (&["--name=a", "--rw=read", "--size=1m", "--eta=maybe"], "maybe"),
        (&["--name=a", "--rw=write", "--size=1m", "--readonly"], "--readonly"),
        (&["--name=a", "--rw=read", "--size=1m", "--output=/nowhere/at/all"], "/nowhere/at/all"),
    ] {
        let ended = run(lab.command("fio").args(arguments));
        assert_eq!(ended.code, Some(2), "{arguments:?}: {ended:#?}");
        assert!(ended.stderr.contains(word), "{word:?} is missing: {}", ended.stderr);
    }
    let mut left: Vec<_> = std::fs::read_dir(lab.directory.path()).unwrap().collect();
    left.retain(|entry| entry.as_ref().unwrap().file_name() != "job.fio");
    assert!(left.is_empty(), "something was touched: {left:#?}");
}

#[test]
fn nothing_but_json_stands_in_json() {
    let lab = FioLab::new();
    lab.file(
        "job.fio",
        "[odd]\nioengine=null\nrw=read\nsize=64k\ncuda_io=cufile\n\
         [bad]\nrw=read\nfilename=missing\nsize=4k\nallow_file_create=0\n",
    );
    for format in ["json", "json+"] {
        let format = format!("--output-format={format}");
        let ended =
            run(lab.command("fio").args([&format, "--ignore-unsupported", "--eta=always", "job.fio"]));
        assert_eq!(ended.code, Some(1), "{ended:#?}");
        let json: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
        assert_eq!(json["jobs"].as_array().map(Vec::len), Some(2));
        assert_ne!(json["jobs"][1]["error"], 0);
        assert!(ended.stderr.contains("warning: ") && ended.stderr.contains("cuda_io"), "{}", ended.stderr);
    }
    let ended = run(lab
        .command("fio")
        .args(["--output=out.json", "--output-format=json", "--section=odd"])
        .args(["--ignore-unsupported", "job.fio"]));
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), ""), "{ended:#?}");
    let text = std::fs::read_to_string(lab.path("out.json")).unwrap();
    serde_json::from_str::<serde_json::Value>(&text).unwrap();
}

#[test]
fn a_converted_file_does_the_same() {
    let lab = FioLab::new();
    lab.file(
        "job.fio",
        "[global]\nioengine=psync\nsize=256k\n[a]\nrw=randrw\nrwmixread=70\nbs=4k\nrandseed=7\n\
         [b]\nstonewall\nrw=write\nbs=16k\nnumjobs=2\ngroup_reporting\nverify=crc32c\n",
    );
    let ended = run(lab.command("fio").arg("job.fio"));
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    let of_fio = lab.cells();
    let converted = run(lab.command("fio").args(["--convert", "job.fio"]));
    assert_eq!(converted.code, Some(0), "{converted:#?}");
    let file = lab.file("job.yaml", &converted.stdout);
    let ended = run(lab.command("run").arg(file));
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    let of_run = lab.cells();
    assert_eq!(of_fio.len(), of_run.len());
    for (one, other) in of_fio.iter().zip(&of_run) {
        let (one, other) = (one.result.as_ref().unwrap(), other.result.as_ref().unwrap());
        let counts = |result: &store::CellResult| -> Vec<_> {
            result.ops.iter().map(|op| (op.op, op.ok, op.bytes)).collect()
        };
        assert_eq!(counts(one), counts(other));
    }
}

#[test]
fn an_operation_of_seventy_seconds_is_reported_as_that() {
    let lab = FioLab::new();
    let url = "--sim_url=sim:?latency=1ms&slow=70s/1000";
    let (ended, json) =
        lab.json(&["--name=slow", "--ioengine=sim", url, "--rw=randread", "--size=8m", "--bs=4k"]);
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    let latency = &json["jobs"][0]["read"]["clat_ns"];
    let nanos = |value: &serde_json::Value| value.as_f64().unwrap();
    assert_eq!(json["jobs"][0]["read"]["total_ios"], 2048);
    assert!((nanos(&latency["max"]) - 70e9).abs() < 70e9 * 0.01, "{latency:#}");
    // Two of 2048: above 99.9 %, below 99.95 %.
    assert!((nanos(&latency["percentile"]["99.950000"]) - 70e9).abs() < 70e9 * 0.02, "{latency:#}");
    assert!(nanos(&latency["percentile"]["99.900000"]) < 2e6, "{latency:#}");
    let p100 = lab.cells()[0].result.as_ref().unwrap().total.response.max_ns;
    assert!((p100 as f64 - 70e9).abs() < 70e9 * 0.01, "{p100}");
}

/// A job and an experiment with the same load get the same verdict in the same words.
#[test]
fn a_rate_that_is_not_kept_is_told_as_in_an_experiment() {
    let lab = FioLab::new();
    let url = "--sim_url=sim:?latency=10ms";
    let arguments = ["--name=a", "--ioengine=sim", url, "--rw=randread", "--bs=4k", "--size=1g"];
    let rate = ["--rate_iops=1000", "--iodepth=1", "--runtime=20", "--time_based"];
    let (ended, json) = lab.json(&[&arguments[..], &rate[..]].concat());
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    assert_eq!(json["jobs"][0]["read"]["total_ios"], 1999);
    let job = lab.cells()[0].result.clone().unwrap();
    lab.file(
        "same.yaml",
        "targets: {t: 'sim:?latency=10ms'}
workloads: {w: {ops: read, queue_depth: 1, rate: 1000/s, backlog: 1000000, file_size: 1GiB}}
stages: {warm_up: 0s, measure: {at_least: 20s, at_most: 20s}}
steady: none
",
    );
    let ended = run(lab.command("run").arg("same.yaml"));
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    let experiment = lab.cells()[0].result.clone().unwrap();
    let open = |result: &store::CellResult| result.open_loop.unwrap();
    assert_eq!(open(&job), open(&experiment));
    assert_eq!((open(&job).missed_starts, open(&job).shed), (18_000, 0));
    assert_eq!(job.verdict, experiment.verdict);
    assert_eq!(job.verdict.validity, store::Validity::Warn);
    let waiting =
        "18000 operations were still waiting to start at the end: the target does not keep up with the rate";
    assert!(job.verdict.reasons.iter().any(|reason| reason == waiting), "{:?}", job.verdict);
}

#[test]
fn results_can_be_listed_shown_and_reported_like_those_of_any_run() {
    let lab = FioLab::new();
    let ended =
        lab.run("[a]\nioengine=null\nrw=read\nsize=1m\n[b]\nstonewall\nioengine=null\nrw=write\nsize=1m\n");
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    assert!(ended.stdout.contains("Next: manometer report"), "{}", ended.stdout);
    for arguments in [&["list"][..], &["show", "last"]] {
        let ended = run(lab.command(arguments[0]).args(&arguments[1..]));
        assert_eq!(ended.code, Some(0), "{arguments:?}: {ended:#?}");
        assert!(ended.stdout.contains("job"), "{arguments:?}: {}", ended.stdout);
    }
    let ended = run(lab.command("report").args(["last", "--output", "report.html"]));
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    assert!(std::fs::metadata(lab.path("report.html")).unwrap().len() > 10_000);
}

#[test]
fn keys_of_a_job_are_in_no_output_and_no_result() {
    let lab = FioLab::new();
    let keys = ["--http_s3_keyid=IDENTITY", "--http_s3_key=SUPERSECRET"];
    let on_line =
        ["--name=l", "--ioengine=http", "--http_mode=s3", "--http_host=127.0.0.1:9", "--filename=/b/o"];
    for arguments in [&["--output-format=json", "--size=4k"][..], &["--output-format=normal", "--size=4k"]] {
        let ended = run(lab.command("fio").args(arguments).args(on_line).args(keys));
        // Nobody listens there.
        assert_eq!(ended.code, Some(1), "{ended:#?}");
        let said = format!("{}{}", ended.stdout, ended.stderr);
        assert!(!said.contains("SUPERSECRET") && !said.contains("IDENTITY"), "{said}");
    }
    for entry in std::fs::read_dir(lab.directory.path()).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            let bytes = std::fs::read(&path).unwrap();
            let text = String::from_utf8_lossy(&bytes);
            assert!(!text.contains("SUPERSECRET"), "{}", path.display());
        }
    }
}

#[test]
fn help_version_and_a_look_without_running() {
    let lab = FioLab::new();
    for arguments in [&["--help"][..], &["-h"], &["--rw=read", "--help"]] {
        let ended = run(lab.command("fio").args(arguments));
        assert_eq!(ended.code, Some(0), "{arguments:?}: {ended:#?}");
        assert!(ended.stdout.contains("--convert"), "{arguments:?}: {}", ended.stdout);
    }
    let ended = run(lab.command("fio").arg("--version"));
    assert_eq!((ended.code, ended.stdout.starts_with("fio-3.33 (manometer ")), (Some(0), true), "{ended:#?}");
    let ended = run(lab.command("fio").args(["--parse-only", "--name=a", "--rw=write", "--size=1m"]));
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), ""), "{ended:#?}");
    assert!(!lab.path("a.0.0").exists() && !lab.path("results.sqlite").exists());
}

#[test]
fn success_is_silent_where_nobody_watches() {
    let lab = FioLab::new();
    for more in
        [&[][..], &["--eta=auto"], &["--eta=never"], &["--debug=io,parse"], &["--output-format=normal"]]
    {
        let ended = run(lab
            .command("fio")
            .args(more)
            .args(["--name=a", "--rw=write", "--rwmixread=70.0"])
            .args(NULL));
        assert_eq!((ended.code, &*ended.stderr), (Some(0), ""), "{more:?}: {ended:#?}");
    }
}

#[test]
fn a_job_that_fails_says_why_on_standard_error_where_nobody_watches() {
    let lab = FioLab::new();
    let job = ["--name=strict", "--rw=read", "--size=1m", "--allow_file_create=0"];
    let directory = format!("--directory={}", lab.directory.path().display());
    let ended = run(lab.command("fio").args(job).arg(directory));
    assert_eq!((ended.code, ended.stderr.lines().count()), (Some(1), 1), "{ended:#?}");
    assert!(
        ended.stderr.starts_with("error: strict: ") && ended.stderr.contains("strict.0.0"),
        "{}",
        ended.stderr
    );
}

#[test]
fn a_job_that_cannot_verify_anything_is_refused() {
    let lab = FioLab::new();
    let ended = lab.run("[a]\nrw=write\nsize=1m\ntime_based\nruntime=2\nverify=crc32c\n");
    assert_eq!(ended.code, Some(2), "{ended:#?}");
    assert!(
        ended.stderr.contains("job.fio:6") && ended.stderr.contains("verify_backlog=N"),
        "{}",
        ended.stderr
    );
    let ended =
        lab.run("[global]\nioengine=rbd\npool=p\nhipri=1\nsize=1m\n[a]\nrbdname=x\n[b]\nioengine=psync\n");
    assert_eq!(ended.stderr.matches("job.fio:").count(), 1, "one engine is refused once: {}", ended.stderr);
}

#[test]
fn figures_in_between_are_those_so_far() {
    let lab = FioLab::new();
    let job = ["--name=a", "--rw=read", "--time_based", "--runtime=2", "--thinktime=1ms"];
    let ended = run(lab
        .command("fio")
        .args(["--output-format=json", "--status-interval=500ms"])
        .args(job)
        .args(NULL));
    assert_eq!((ended.code, &*ended.stderr), (Some(0), ""), "{ended:#?}");
    let documents: Vec<serde_json::Value> =
        serde_json::Deserializer::from_str(&ended.stdout).into_iter().collect::<Result<_, _>>().unwrap();
    let counts: Vec<u64> =
        documents.iter().map(|json| json["jobs"][0]["read"]["total_ios"].as_u64().unwrap()).collect();
    assert!(counts.len() >= 2 && counts.is_sorted(), "{counts:?}");
    assert!(counts.last() > counts.first(), "{counts:?}");
    let run_of = |json: &serde_json::Value| json["manometer"]["run"].clone();
    assert_eq!(run_of(&documents[0]), run_of(documents.last().unwrap()));
}
