//! What a server receives.

use std::io::{BufRead, BufReader, Read};
use std::net::TcpListener;

use metrics::{Interval, OpKind};
use runner::test_support::interval;
use runner::{Events, RunEvent};
use store::{CellRecord, State};

use super::*;

const LONG: Duration = Duration::from_secs(30);

const EXPERIMENT: &str = "
name: mix
targets: {disk: 'file:///mnt/data'}
workloads: {rw: {ops: {read: 70%, write: 30%}, block_size: 4KiB, queue_depth: 8, file_size: 1MiB, files: 1}}
stages: {measure: 1s}
steady: none
";

fn push(server: &TcpListener, every_s: u64) -> GraphitePush {
    let address = HostPort { host: "127.0.0.1".into(), port: server.local_addr().unwrap().port() };
    GraphitePush::start(GraphiteOptions { address, every: Duration::from_secs(every_s) }).unwrap()
}

fn observer(push: &GraphitePush) -> GraphiteRun {
    push.observe("k3nq8x2a", &crate::test_support::plan(EXPERIMENT), "10.0.0.1")
}

fn measured(run: &GraphiteRun, interval: &Interval) {
    run.event(RunEvent::Interval { cell: 0, stage: "measure", trial: 0, interval });
}

fn ended(run: &GraphiteRun) {
    let record = CellRecord {
        index: 0,
        state: State::Finished,
        started: None,
        finished: None,
        result: None,
        failure: None,
    };
    run.event(RunEvent::CellEnded(&record));
}

/// What a server reads until the client closes the connection: path, value, time.
fn received(server: &TcpListener) -> Vec<(String, f64, i64)> {
    let mut text = String::new();
    server.accept().unwrap().0.read_to_string(&mut text).unwrap();
    let line = |line: &str| {
        let [path, value, time] = line.split(' ').collect::<Vec<_>>()[..] else { panic!("{line}") };
        (path.to_owned(), value.parse().unwrap(), time.parse().unwrap())
    };
    text.lines().map(line).collect()
}

const PREFIX: &str = "k3nq8x2a.rw.queue-depth.8.block-size.4096.10-0-0-1--mnt-data.jobs.1";

#[test]
fn samples_hold_what_happened_in_them_and_nothing_else() {
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let push = push(&server, 2);
    let run = observer(&push);
    run.event(RunEvent::Interval {
        cell: 0,
        stage: "prepare",
        trial: 0,
        interval: &interval(0, &[(OpKind::Write, 9, 4096, 1000)]),
    });
    for (index, count) in [(0, 100), (1, 300), (2, 500), (3, 700), (4, 900)] {
        let stat = (OpKind::Stat, if index < 2 { 4 } else { 0 }, 0, 1000);
        measured(&run, &interval(index, &[(OpKind::Read, count, 4096, 1000), stat]));
    }
    ended(&run);
    let lines = std::thread::scope(|scope| {
        let lines = scope.spawn(|| received(&server));
        assert_eq!(push.finish(LONG), None);
        lines.join().unwrap()
    });
    let series = |of: &str| -> Vec<(f64, i64)> {
        let path = format!("{PREFIX}.{of}");
        lines.iter().filter(|line| line.0 == path).map(|line| (line.1, line.2)).collect()
    };
    let iops = series("read.iops");
    assert_eq!([iops[0].0, iops[1].0], [200.0, 600.0], "the fifth second is an incomplete sample");
    assert_eq!(iops[1].1 - iops[0].1, 2, "{lines:?}");
    let bandwidth: Vec<f64> = series("read.bw").iter().map(|point| point.0).collect();
    assert_eq!(bandwidth, [800.0, 2400.0]);
    assert!(series("read.lat_ns.mean").iter().all(|point| (point.0 - 1000.0).abs() < 1.0), "{lines:?}");
    let stats: Vec<f64> = series("stat.iops").iter().map(|point| point.0).collect();
    assert_eq!((stats.as_slice(), series("stat.lat_ns.mean").len()), (&[4.0, 0.0][..], 1));
    assert!(series("write.iops").is_empty(), "only the measurement counts: {lines:?}");
}

#[test]
fn hosts_of_a_fleet_have_series_of_their_own_and_a_short_measurement_is_one_sample() {
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let push = push(&server, 60);
    let run = observer(&push);
    for (host, count) in [("node1", 10), ("node2.lab", 30)] {
        let part = interval(0, &[(OpKind::Read, count, 4096, 1000)]);
        run.event(RunEvent::HostInterval { cell: 0, stage: "measure", trial: 0, host, interval: &part });
    }
    measured(&run, &interval(0, &[(OpKind::Read, 40, 4096, 1000)]));
    ended(&run);
    let lines = std::thread::scope(|scope| {
        let lines = scope.spawn(|| received(&server));
        assert_eq!(push.finish(LONG), None);
        lines.join().unwrap()
    });
    let iops: Vec<_> = lines.iter().filter(|line| line.0.ends_with("read.iops")).collect();
    let hosts: Vec<_> = iops.iter().map(|line| (line.0.split('.').nth(6).unwrap(), line.1)).collect();
    assert_eq!(hosts, [("node1--mnt-data", 10.0), ("node2-lab--mnt-data", 30.0)]);
}

#[test]
fn a_server_that_restarts_misses_nothing() {
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let push = push(&server, 1);
    let run = observer(&push);
    let second = |index| interval(index, &[(OpKind::Read, u64::from(index) + 1, 4096, 1000)]);
    measured(&run, &second(0));
    let mut first = String::new();
    BufReader::new(server.accept().unwrap().0).read_line(&mut first).unwrap();
    assert!(first.starts_with(PREFIX), "{first}");
    // The connection is closed now.
    measured(&run, &second(1));
    let lines = std::thread::scope(|scope| {
        let lines = scope.spawn(|| received(&server));
        assert_eq!(push.finish(LONG), None);
        lines.join().unwrap()
    });
    let iops: Vec<f64> =
        lines.iter().filter(|line| line.0.ends_with("read.iops")).map(|line| line.1).collect();
    assert_eq!(iops, [1.0, 2.0], "what was written last is sent again");
}

/// `StorPerf`'s vector "send error": nothing is sent and nothing fails.
#[test]
fn a_server_that_is_absent_costs_a_run_nothing_and_is_reported_once() {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let address = HostPort { host: "127.0.0.1".into(), port };
    let push = GraphitePush::start(GraphiteOptions { address, every: Duration::from_secs(1) }).unwrap();
    let run = observer(&push);
    for index in 0..100_000 {
        measured(&run, &interval(index, &[(OpKind::Read, 1, 4096, 1000)]));
    }
    let losses = push.finish(LONG).unwrap();
    assert_eq!((losses.values, losses.of), (300_000, 300_000));
    let line = losses.to_string();
    assert!(
        line.contains("300000 of 300000 values were not delivered: ") && line.contains("refused"),
        "{line}"
    );
}

#[test]
fn a_server_that_never_reads_costs_no_memory() {
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let push = push(&server, 1);
    let run = observer(&push);
    for index in 0..100_000 {
        measured(&run, &interval(index, &[(OpKind::Read, 1, 4096, 1000)]));
    }
    let losses = push.finish(Duration::from_millis(100)).unwrap();
    assert!(losses.values > 0 && losses.of == 300_000, "{losses:?}");
    assert!(push.client.queued_bytes() <= client::MAX_QUEUED_BYTES);
}
