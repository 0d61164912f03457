//! Values for tests, here and in crates that display runs.

use metrics::{Interval, OpKind};
use stats::{OpFigures, WindowSums};
use store::State;

use crate::progress::CellLine;

/// An interval of a second with `count` operations of each kind, each of `bytes` and `latency_ns`.
pub fn interval(index: u32, kinds: &[(OpKind, u64, u64, u64)]) -> Interval {
    let mut interval = Interval {
        index,
        start_ns: u64::from(index) * 1_000_000_000,
        length_ns: 1_000_000_000,
        ..Interval::default()
    };
    for (kind, count, bytes, latency_ns) in kinds {
        let stats = interval.op_mut(*kind);
        stats.ok = *count;
        stats.bytes = count * bytes;
        stats.rpcs = *count;
        (0..*count).for_each(|_| stats.service.record(*latency_ns));
    }
    interval
}

/// A figure in which every value is different.
pub fn figure(kind: OpKind) -> OpFigures {
    let mut sums = WindowSums::default();
    let mut first = interval(0, &[(kind, 100, 4096, 1_000_000), (kind, 0, 0, 0)]);
    let stats = first.op_mut(kind);
    stats.ok += 100;
    (1..=100).for_each(|step| stats.service.record(step * 100_000));
    stats.bytes += 100 * 4096;
    stats.errors[metrics::ErrorKind::Busy as usize] = 3;
    sums.add(&first);
    sums.finish(None).ops.remove(0)
}

/// A cell that has not run yet.
pub fn cell(name: &str, expected_s: f64) -> CellLine {
    CellLine {
        name: name.into(),
        state: State::Pending,
        outcome: String::new(),
        expected_s,
        took_s: None,
        workers: 1,
        letter: 'R',
    }
}
