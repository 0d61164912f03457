//! The cost of an interval: bytes in the file, time of the thread that hands it over, time until it is in the file,
//! time to read it back. `cargo bench -p store` prints the table that docs/results.md quotes.

#![allow(clippy::unwrap_used)] // a benchmark may fail loudly
#![allow(clippy::print_stdout)] // its table is what it is for

#[path = "../tests/support/mod.rs"]
mod support;

use std::time::Duration;

use metrics::{Histogram, Interval, OpKind};
use store::Store;

/// Seconds of measurement that are written.
const INTERVALS: u32 = 900;

/// A cell: its name, its operations, each with operations per second, median latency in nanoseconds and spread (sigma
/// of the logarithm), and whether it has a rate.
type Case = (&'static str, &'static [(OpKind, u64, f64, f64)], bool);

const CASES: [Case; 5] = [
    ("4 KiB random read of an SSD, QD 32", &[(OpKind::Read, 200_000, 150_000.0, 0.35)], false),
    ("the same at a rate", &[(OpKind::Read, 100_000, 90_000.0, 0.35)], true),
    (
        "70/30 mix of an SSD",
        &[(OpKind::Read, 70_000, 150_000.0, 0.35), (OpKind::Write, 30_000, 40_000.0, 0.6)],
        false,
    ),
    ("1 MiB reads over NFS", &[(OpKind::Read, 2500, 12e6, 0.3)], false),
    ("a slow object store", &[(OpKind::Get, 120, 80e6, 0.7), (OpKind::Put, 60, 150e6, 0.7)], false),
];

fn now() -> Duration {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}

/// Latencies whose logarithm is distributed around that of the median as a sum of uniform numbers, which is close to
/// normal.
fn fill(histogram: &mut Histogram, count: u64, median: f64, spread: f64, random: &mut fastrand::Rng) {
    for _ in 0..count {
        let normal = (0..12).map(|_| random.f64()).sum::<f64>() - 6.0;
        histogram.record((median * (spread * normal).exp()) as u64);
    }
}

fn make(index: u32, case: &Case, random: &mut fastrand::Rng) -> Interval {
    let mut interval = Interval {
        index,
        start_ns: u64::from(index) * 1_000_000_000,
        length_ns: 1_000_000_000,
        ops: Vec::new(),
    };
    for &(op, rate, median, spread) in case.1 {
        let stats = interval.op_mut(op);
        (stats.ok, stats.rpcs, stats.bytes) = (rate, rate, rate * 4096);
        fill(&mut stats.service, rate, median, spread, random);
        if case.2 {
            let mut response = Histogram::new();
            fill(&mut response, rate, median * 1.2, spread, random);
            stats.response = Some(Box::new(response));
        }
    }
    interval
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn main() {
    println!(
        "{:<38} {:>10} {:>9} {:>14} {:>14} {:>16} {:>12}",
        "cell", "B/interval", "MB/hour", "hand over, µs", "in file, µs", "read back, µs", "series, µs"
    );
    for case in &CASES {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("results.sqlite");
        let store = Store::open(&path).unwrap();
        store.begin_run(&support::run("aaaabbb2", "growth")).unwrap();
        let mut writer = store.writer("aaaabbb2").unwrap();
        writer.flush().unwrap();
        let empty = file_bytes(&store);
        let mut random = fastrand::Rng::with_seed(1);
        // A few different seconds, repeated: generating histograms is slower than storing them.
        let made: Vec<Interval> = (0..20).map(|index| make(index, case, &mut random)).collect();
        let (mut handed, mut written) = (Vec::new(), Vec::new());
        for index in 0..INTERVALS {
            let interval = Interval { index, ..made[index as usize % made.len()].clone() };
            let start = now();
            writer.interval(0, "measure", 0, &interval).unwrap();
            let over = now();
            if index % 8 == 0 {
                // The next one is accepted when this one is in the file.
                let event = store::Event {
                    at: support::moment(0),
                    cell: None,
                    kind: "stage".into(),
                    text: String::new(),
                };
                writer.event(&event).unwrap();
                written.push((now() - over).as_secs_f64() * 1e6);
                writer.flush().unwrap();
            } else if index % 8 > 1 {
                handed.push((over - start).as_secs_f64() * 1e6);
            }
            // Stands for a second of measurement.
            std::thread::sleep(Duration::from_millis(2));
        }
        writer.finish().unwrap();
        let bytes = (file_bytes(&store) - empty) as f64 / f64::from(INTERVALS);
        let start = now();
        let read = store.intervals("aaaabbb2", 0, "measure", 0, 0..u32::MAX).unwrap().count();
        let read_us = (now() - start).as_secs_f64() * 1e6 / read as f64;
        let start = now();
        let points = store.series("aaaabbb2", 0, "measure", 0, 0..u32::MAX).unwrap().count();
        let series_us = (now() - start).as_secs_f64() * 1e6 / read as f64;
        assert_eq!((read, points), (INTERVALS as usize, INTERVALS as usize * case.1.len()));
        println!(
            "{:<38} {:>10.0} {:>9.1} {:>14.0} {:>14.0} {:>16.0} {:>12.1}",
            case.0,
            bytes,
            bytes * 3600.0 / 1e6,
            median(handed),
            median(written),
            read_us,
            series_us
        );
    }
}

/// Size of the file itself, when everything is in it.
fn file_bytes(store: &Store) -> u64 {
    let connection = rusqlite::Connection::open(store.path()).unwrap();
    connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
    std::fs::metadata(store.path()).unwrap().len()
}
