//! Logs of made-up operations, line by line.

#![allow(clippy::unwrap_used)]

use std::path::Path;

use engine::TraceRecord;
use experiment::{Job, Logs};
use metrics::{ErrorKind, OpKind};

use super::plan::LogPlan;
use super::writer::Writer;

fn plan(directory: &Path, logs: Logs, workers: u32) -> LogPlan {
    let job = Job { name: "job".to_owned(), logs, ..Job::default() };
    LogPlan { job, workers, first_log: 3, ramp_ns: 1_000_000, epoch_ms: 0, directory: directory.to_owned() }
}

/// An operation that ended 40 µs after its start and 50 µs after its intended start.
fn record(worker: u32, number: u64, kind: OpKind, end_us: u64) -> TraceRecord {
    let end_ns = end_us * 1_000 + 1_000_000;
    TraceRecord {
        worker,
        lane: 0,
        number,
        kind,
        commit: drivers::CommitKind::Usual,
        object: u64::from(worker) << 32,
        offset: number * 4096,
        len: 4096,
        intended_ns: end_ns - 50_000,
        start_ns: end_ns - 40_000,
        end_ns,
        error: None,
        measured: true,
    }
}

fn write(plan: LogPlan, records: &[TraceRecord]) -> Vec<String> {
    let mut writer = Writer::open(plan).unwrap().unwrap();
    for record in records {
        writer.take(record.worker, std::slice::from_ref(record)).unwrap();
    }
    let paths = writer.finish().unwrap();
    paths.iter().map(|path| path.file_name().unwrap().to_str().unwrap().to_owned()).collect()
}

fn everything() -> Logs {
    let name = || Some("log".to_owned());
    Logs { bandwidth: name(), latency: name(), operations: name(), ..Logs::default() }
}

fn read(directory: &Path, name: &str) -> String {
    std::fs::read_to_string(directory.join(name)).unwrap()
}

#[test]
fn each_operation_has_its_line() {
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path();
    let failed = TraceRecord { error: Some(ErrorKind::NoSpace), ..record(0, 3, OpKind::Write, 3_000) };
    let ramp = TraceRecord { measured: false, ..record(0, 4, OpKind::Read, 3_000) };
    let records = [
        record(0, 0, OpKind::Read, 40),
        record(0, 1, OpKind::Write, 1_040),
        record(0, 2, OpKind::Commit, 1_100),
        failed,
        ramp,
        record(1, 0, OpKind::Trim, 2_000),
    ];
    let logs = Logs { offsets: true, ..everything() };
    let names = write(plan(at, logs, 2), &records);
    assert_eq!(names.len(), 10);
    assert_eq!(read(at, "log_bw.3.log"), "0, 100000, 0, 4096, 0, 0\n1, 100000, 1, 4096, 4096, 0\n");
    assert_eq!(read(at, "log_iops.3.log"), "0, 1, 0, 4096, 0, 0\n1, 1, 1, 4096, 4096, 0\n");
    assert_eq!(read(at, "log_clat.3.log"), "0, 40000, 0, 4096, 0, 0\n1, 40000, 1, 4096, 4096, 0\n");
    assert_eq!(read(at, "log_lat.3.log"), "0, 50000, 0, 4096, 0, 0\n1, 50000, 1, 4096, 4096, 0\n");
    assert_eq!(read(at, "log_slat.3.log"), "");
    assert_eq!(read(at, "log_bw.4.log"), "2, 100000, 2, 4096, 0, 0\n");
}

#[test]
fn means_are_of_spans_and_largest_are_the_largest() {
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path();
    let mut slow = record(0, 2, OpKind::Read, 250_000);
    slow.start_ns -= 40_000;
    let records = [
        record(0, 0, OpKind::Read, 100),
        record(0, 1, OpKind::Write, 100_000),
        slow,
        record(0, 3, OpKind::Read, 750_000),
    ];
    let logs = Logs { average_ms: 500, ..everything() };
    write(plan(at, logs.clone(), 1), &records);
    assert_eq!(read(at, "log_bw.3.log"), "500, 16, 0, 0, 0\n500, 8, 1, 0, 0\n750, 16, 0, 0, 0\n");
    assert_eq!(read(at, "log_iops.3.log"), "500, 4, 0, 0, 0\n500, 2, 1, 0, 0\n750, 4, 0, 0, 0\n");
    assert_eq!(read(at, "log_clat.3.log"), "500, 60000, 0, 0, 0\n500, 40000, 1, 0, 0\n750, 40000, 0, 0, 0\n");
    let largest = Logs { largest: true, unix_epoch: true, priorities: true, ..logs };
    let mut plan = plan(at, largest, 1);
    plan.epoch_ms = 1_000_000;
    write(plan, &records);
    assert!(
        read(at, "log_clat.3.log").starts_with("1000500, 80000, 0, 0, 0x0000\n"),
        "{}",
        read(at, "log_clat.3.log")
    );
}

#[test]
fn workers_that_share_a_file_are_added_up() {
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path();
    let logs = Logs { average_ms: 1_000, together: true, ..everything() };
    let records = [
        record(0, 0, OpKind::Read, 100),
        record(1, 0, OpKind::Read, 200),
        record(1, 1, OpKind::Read, 1_000_001),
    ];
    write(plan(at, logs, 2), &records);
    assert_eq!(read(at, "log_iops.log").lines().next(), Some("1000, 2, 0, 0, 0"));
}

#[test]
fn histograms_have_fios_columns() {
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path();
    let records = [
        record(0, 0, OpKind::Read, 100_000),
        record(0, 1, OpKind::Write, 400_000),
        record(0, 2, OpKind::Read, 600_000),
    ];
    for (coarseness, columns) in [(0, 1856), (3, 232), (6, 29)] {
        let logs =
            Logs { histograms: Some("h".to_owned()), histogram_ms: 500, coarseness, ..Logs::default() };
        write(plan(at, logs, 1), &records);
        let text = read(at, "h_clat_hist.3.log");
        let lines: Vec<Vec<u64>> =
            text.lines().map(|line| line.split(", ").map(|field| field.parse().unwrap()).collect()).collect();
        assert_eq!(lines.len(), 3);
        for (line, begin) in lines.iter().zip([[500, 0, 4096], [500, 1, 4096], [600, 0, 4096]]) {
            assert_eq!((line.len(), &line[..3]), (3 + columns, &begin[..]));
            // 40 µs falls into the bucket from 39 936 to 40 447 ns: group 9, the 29th of 64.
            assert_eq!(line[3 + ((9 * 64 + 64 + 14) >> coarseness)], 1, "{coarseness}");
            assert_eq!(line[3..].iter().sum::<u64>(), 1);
        }
    }
}

#[test]
fn operations_are_listed_in_the_order_of_their_start() {
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path();
    let logs = Logs { operations_list: Some("list".to_owned()), ..Logs::default() };
    let mut slow = record(0, 0, OpKind::Read, 900);
    slow.start_ns = 1_000_000;
    let commit = TraceRecord { commit: drivers::CommitKind::Data, ..record(0, 2, OpKind::Commit, 200) };
    let records = [record(0, 1, OpKind::Write, 100), commit, slow, record(1, 0, OpKind::Trim, 500)];
    write(plan(at, logs.clone(), 2), &records);
    let text = read(at, "list");
    assert_eq!(
        text,
        "fio version 3 iolog\n1000 job.0.0 add\n1000 job.0.0 open\n1000 job.0.0 read 0 4096\n1060 job.0.0 write 4096 4096\n\
         1160 job.0.0 datasync 8192 0\n1460 job.1.0 add\n1460 job.1.0 open\n1460 job.1.0 trim 0 4096\n\
         1460 job.0.0 close\n1460 job.1.0 close\n"
    );
    // A second job appends to the same file, as with fio.
    write(plan(at, logs, 1), &records[..1]);
    assert_eq!(read(at, "list").matches("iolog").count(), 1);
    assert_eq!(read(at, "list").lines().count(), text.lines().count() + 4);
}
