//! The formats of a report in which every figure is known.

use checks::test_support::{path, phase};
use checks::{CheckRow, CheckSettings, CheckedArray, ReactorFacts, RowOutcome, judge_check};
use metrics::{ErrorKind, OpKind};

use super::*;

fn report() -> CheckReport {
    let mut good = CheckRow::new(path(11), "nfs");
    good.outcome = RowOutcome::Success;
    good.write = Some(phase(OpKind::Write, 31_000_000_000));
    good.read = Some(phase(OpKind::Read, 40_000_000_000));
    let mut full =
        CheckRow::new(path(11), "s3").failed(RowOutcome::WriteFailed, "no-space: \"full\", at 3 %");
    let mut write = phase(OpKind::Put, 1_200_000_000);
    write.total.op_mut(OpKind::Put).errors[ErrorKind::NoSpace as usize] = 7;
    write.error_samples = vec![(ErrorKind::NoSpace, "PUT answered 507".into())];
    full.write = Some(write);
    let rows = vec![
        good,
        full,
        CheckRow::new(path(12), "nfs")
            .failed(RowOutcome::Unreachable("MOUNT FAILED"), "no answer within 10 s"),
        CheckRow::new(path(12), "s3")
            .failed(RowOutcome::Unreachable("FAILED TO CONNECT"), "no answer within 10 s"),
    ];
    CheckReport {
        run_id: "abcdefg2".into(),
        started: "2026-01-02T03:04:05Z".parse().unwrap(),
        finished: "2026-01-02T03:05:05Z".parse().unwrap(),
        settings: CheckSettings {
            duration_s: 10.0,
            ramp_s: 2.0,
            workers: 2,
            lanes: 16,
            connections: 4,
            block_size: 1 << 20,
            object_size: 8 << 20,
            dataset: 64 << 30,
            sink: "buffer",
            stable: false,
            s3_payload: "unsigned".into(),
        },
        array: Some(CheckedArray {
            management: "10.0.0.1".into(),
            api_version: "2.29".into(),
            address_choice: vec!["subnet1: 192.168.170.11".into()],
            created: vec!["bucket manometer-abcdefgh".into()],
        }),
        reactor: ReactorFacts { backend: "io_uring", refusal: None },
        verdict: judge_check(&rows),
        rows,
        left_behind: Vec::new(),
        interrupted_by: None,
    }
}

#[test]
fn csv_has_the_five_columns_that_other_tools_read() {
    assert_eq!(
        render(&report(), CheckFormat::Csv, None),
        "dataVip,protocol,result,write_tput,read_tput\n\
         192.168.170.11,nfs,SUCCESS,3.1 GB/s,4.0 GB/s\n\
         192.168.170.12,nfs,MOUNT FAILED,-,-\n\
         192.168.170.11,s3,WRITE FAILED,120.0 MB/s,-\n\
         192.168.170.12,s3,FAILED TO CONNECT,-,-\n"
    );
}

#[test]
fn full_csv_begins_with_the_same_columns_and_every_row_is_as_long() {
    let text = render(&report(), CheckFormat::CsvFull, None);
    let mut lines = text.lines();
    let header = lines.next().unwrap();
    assert!(header.starts_with("dataVip,protocol,result,write_tput,read_tput,write_bytes,"));
    let columns = header.split(',').count();
    // Two cells contain quotes: count the commas outside quotes.
    let cells = |line: &str| {
        let outside = line.split('"').step_by(2).map(|part| part.matches(',').count());
        outside.sum::<usize>() + 1
    };
    for line in lines {
        assert_eq!(cells(line), columns, "{line}");
    }
    assert!(text.contains(",\"subnet,170\",9000,eth0,100000,"));
    assert!(text.contains("\"no-space: \"\"full\"\", at 3 %\""));
    assert!(
        header.ends_with(",cause,write_limit,read_limit") && text.contains(",,target-bound,target-bound\n")
    );
    assert!(text.contains(",31000000000,10.000,3100000000,29563,2.001,2.001,50.0"), "{text}");
}

#[test]
fn json_follows_the_schema() {
    let schema = include_str!("../../../../../schemas/check.schema.json");
    let schema = serde_json::from_str(schema).unwrap();
    let validator = jsonschema::draft202012::options().build(&schema).unwrap();
    let text = render(&report(), CheckFormat::Json, None);
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    let errors: Vec<String> =
        validator.iter_errors(&value).map(|error| format!("{}: {error}", error.instance_path)).collect();
    assert!(errors.is_empty(), "{errors:#?}");
    assert_eq!(value["rows"][0]["write"]["bytes_per_s"], 3.1e9);
    assert_eq!(value["rows"][1]["write"]["errors"]["no-space"], 7);
    assert_eq!(value["rows"][2]["write"], serde_json::Value::Null);
    assert_eq!(value["rows"][0]["write"]["limit"]["bound"], "target");
    assert_eq!(value["verdict"]["limit"], "target-bound");
    let best = &value["verdict"]["best"];
    assert_eq!(best.as_array().unwrap().len(), 3, "{best:#}");
    assert_eq!((&best[1]["phase"], &best[1]["bytes_per_s"]), (&"read".into(), &4e9.into()));
    assert_eq!(value["success"], false);
}

#[test]
fn the_schema_knows_every_kind_of_operation_and_error() {
    let schema: serde_json::Value =
        serde_json::from_str(include_str!("../../../../../schemas/check.schema.json")).unwrap();
    let names = |key: &str| {
        let names = &schema["$defs"]["phase"]["properties"][key]["propertyNames"]["enum"];
        names.as_array().unwrap().iter().map(|name| name.as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(names("ops"), OpKind::ALL.iter().map(|kind| kind.name()).collect::<Vec<_>>());
    assert_eq!(names("errors"), ErrorKind::ALL.iter().map(|kind| kind.name()).collect::<Vec<_>>());
}

#[test]
fn findings_are_as_in_a_run() {
    let parse = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
    let check = parse(include_str!("../../../../../schemas/check.schema.json"));
    let run = parse(include_str!("../../../../../schemas/run.schema.json"));
    for name in ["Finding", "Bound", "Cause", "Confidence", "EvidenceRow", "HostFinding"] {
        assert!(check["$defs"][name].is_object(), "{name}");
        assert_eq!(check["$defs"][name], run["$defs"][name], "{name}");
    }
}

#[test]
fn the_table_shows_figures_causes_and_the_verdict() {
    let text = render(&report(), CheckFormat::Table, None);
    for expected in [
        "192.168.170.11  nfs",
        "3.1 GB/s",
        "2.00 ms",
        "FAILED TO CONNECT",
        "MOUNT FAILED",
        "  nfs 192.168.170.12: no answer within 10 s",
        "Verdict: 3 of 4 paths are broken",
        "\nBest figures: nfs read 4.0 GB/s through 192.168.170.11, nfs write 3.1 GB/s through",
        "\n  limit: target-bound: operations take 2 ms, of which 150 µs is round-trip time\n",
        "\n  next: look at the target",
        "    nfs read           seen                limit from  says\n",
        "    busiest worker     30 % of a core      90 %        has time left\n",
        "Load: 2 workers of 16 lanes on io_uring; NFS in blocks of 1MiB on 4 connections a worker",
    ] {
        assert!(text.contains(expected), "{expected:?} is missing in:\n{text}");
    }
    let narrow = without_colours(&render(&report(), CheckFormat::Table, Some(80)));
    assert!(narrow.contains("p99") && !narrow.contains("p50"));
    assert!(narrow.lines().all(|line| line.chars().count() <= 80), "{narrow}");
    assert!(narrow.contains("has time left") && narrow.contains("limit from"), "{narrow}");
    let narrower = without_colours(&render(&report(), CheckFormat::Table, Some(70)));
    assert!(narrower.contains("has time left") && !narrower.contains("limit from"), "{narrower}");
    for line in render(&report(), CheckFormat::Table, None).lines() {
        assert!(!line.ends_with(' '));
        assert!(line.chars().count() <= 118, "{line}");
    }
}

/// The text without colour escapes.
fn without_colours(text: &str) -> String {
    let mut pieces = text.split('\u{1b}');
    let first = pieces.next().unwrap_or_default().to_owned();
    pieces.fold(first, |text, piece| text + piece.split_once('m').map_or("", |(_, rest)| rest))
}

#[test]
fn success_needs_every_row_and_nothing_left() {
    let mut all_good = report();
    all_good.rows.truncate(1);
    assert!(all_good.success());
    let mut left = all_good.clone();
    left.left_behind.push("bucket x".into());
    assert!(!left.success());
    let mut stopped = all_good.clone();
    stopped.interrupted_by = Some("SIGINT");
    assert!(!stopped.success());
    all_good.rows.clear();
    assert!(!all_good.success());
    assert!(!report().success());
}

#[test]
fn a_file_is_made_before_the_run() {
    let directory = tempfile::tempdir().unwrap();
    let wrong = directory.path().join("no/such/report.json");
    assert!(ReportDestination::open(CheckFormat::Json, Some(&wrong)).is_err());
    let path = directory.path().join("report.json");
    let mut shown = Vec::new();
    ReportDestination::open(CheckFormat::Json, Some(&path)).unwrap().write(&report(), &mut shown).unwrap();
    assert!(String::from_utf8(shown).unwrap().contains("Verdict: "), "people see a table meanwhile");
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(serde_json::from_str::<serde_json::Value>(&text).is_ok());
}

#[test]
fn documents_of_before_findings_still_follow_the_schema() {
    let schema: serde_json::Value =
        serde_json::from_str(include_str!("../../../../../schemas/check.schema.json")).unwrap();
    let validator = jsonschema::draft202012::options().build(&schema).unwrap();
    let mut value: serde_json::Value =
        serde_json::from_str(&render(&report(), CheckFormat::Json, None)).unwrap();
    for key in ["best", "slow_paths"] {
        assert!(value["verdict"].as_object_mut().unwrap().remove(key).is_some());
    }
    for row in value["rows"].as_array_mut().unwrap() {
        for phase in ["write", "read"] {
            row[phase].as_object_mut().and_then(|phase| phase.remove("limit"));
        }
    }
    assert!(validator.is_valid(&value));
    value["verdict"]["limit"] = "unknown".into();
    assert!(validator.is_valid(&value));
    value["verdict"]["limit"] = "wrong".into();
    assert!(!validator.is_valid(&value));
}
