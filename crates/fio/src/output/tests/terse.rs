//! Terse lines: as many fields as fio's, each of the same kind, at the same position.

use super::super::report::FioReport;
use super::super::terse::{self, TerseVersion};

fn write(report: &FioReport, version: TerseVersion) -> String {
    let mut out = Vec::new();
    terse::write(report, version, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

/// The kind of a field: text, integer, number with this many decimals, or such a number as a percentage.
fn kind(field: &str) -> String {
    if let Some((percent, value)) = field.split_once("%=") {
        return format!("{}%={}", kind(percent), kind(value));
    }
    if let Some(number) = field.strip_suffix('%') {
        return format!("{}%", kind(number));
    }
    match field.split_once('.') {
        Some((_, behind)) if field.parse::<f64>().is_ok() => format!("real.{}", behind.len()),
        _ if field.parse::<i64>().is_ok() => "whole".to_owned(),
        _ => field.to_owned(),
    }
}

#[test]
fn hosts_have_lines_of_their_own() {
    let text = write(&super::fleet(), TerseVersion::Three);
    let names: Vec<&str> = text.lines().filter_map(|line| line.split(';').nth(2)).collect();
    assert_eq!(names, ["mixed", "mixed", "reads", "mixed", "mixed", "reads", "All clients"]);
}

#[test]
fn fields_are_those_of_fio_in_each_version() {
    for (version, name) in [
        (TerseVersion::Two, "terse-2.txt"),
        (TerseVersion::Three, "terse-3.txt"),
        (TerseVersion::Four, "terse-4.txt"),
        (TerseVersion::Five, "terse-5.txt"),
    ] {
        let mut report = super::sample();
        // With `both`, fio's line for all directions is irregular.
        report.entries[1].report.directions = experiment::ShownDirections::Apart;
        let ours = write(&report, version);
        let theirs = super::by_fio(name);
        let (ours, theirs): (Vec<&str>, Vec<&str>) = (ours.lines().collect(), theirs.lines().collect());
        let kinds = |line: &str| line.split(';').map(kind).collect::<Vec<_>>();
        assert_eq!(kinds(ours[0]), kinds(theirs[0]), "{name}");
        if version == TerseVersion::Two {
            assert_eq!(ours[1], theirs[1]);
        }
    }
}

#[test]
fn a_small_parser_finds_its_figures() {
    // Positions according to the list of names in the HOWTO, "minimal output v3", counted from 0.
    let text = write(&super::sample(), TerseVersion::Three);
    let fields: Vec<&str> = text.lines().next().unwrap().split(';').collect();
    assert_eq!(&fields[..5], ["3", "fio-3.33", "files", "0", "0"]);
    assert_eq!(&fields[5..9], ["1520", "799", "199", "1901"], "read: KiB, KiB/s, operations a second, ms");
    assert_eq!(&fields[9..13], ["0", "0", "0.000000", "0.000000"], "no submission");
    assert_eq!(fields[17], "1.000000%=206");
    assert_eq!(fields[36], "0%=0", "three places of twenty are empty");
    assert_eq!(fields[46], "1520", "write: KiB");
    assert_eq!(fields[92], "100.0%", "a queue depth of 1");
    assert_eq!(fields[121], "vda");
    assert_eq!(fields[132], "reads, writes and commits");
}

#[test]
fn descriptions_cannot_break_lines() {
    let mut report = super::sample();
    report.entries[0].report.description = "two\nlines".to_owned();
    report.entries[0].name = "a;b".to_owned();
    let text = write(&report, TerseVersion::Three);
    assert_eq!(text.lines().count(), 2);
    assert!(text.starts_with("3;fio-3.33;a_b;"), "{text}");
}
