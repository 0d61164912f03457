//! Lines of logs: `time, value, direction, block size[, offset], priority`.

use std::fmt::Write;

/// What stands in a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Line {
    /// In milliseconds.
    pub time_ms: u64,
    /// Nanoseconds, KiB/s or operations a second.
    pub value: u64,
    /// 0 read, 1 write, 2 trim.
    pub direction: usize,
    /// In bytes; 0 in lines of several operations.
    pub block: u64,
    /// In bytes; likewise.
    pub offset: u64,
}

/// Which columns there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Columns {
    /// The offset (`log_offset`).
    pub offsets: bool,
    /// The I/O priority class and level, in the bits of ioprio_set(2) (`log_prio`); else 0: not a high one.
    pub priority: Option<u16>,
}

impl Columns {
    /// Adds the line, with its end.
    pub(super) fn add(self, line: Line, out: &mut String) {
        let Line { time_ms, value, direction, block, offset } = line;
        // Writing to a string cannot fail.
        let _ = write!(out, "{time_ms}, {value}, {direction}, {block}, ");
        if self.offsets {
            let _ = write!(out, "{offset}, ");
        }
        let _ = match self.priority {
            Some(priority) => writeln!(out, "0x{priority:04x}"),
            None => writeln!(out, "0"),
        };
    }
}

/// Adds a line of a histogram log: `time, direction, block size, count, count, …`; each column is `1 << coarseness` of fio's buckets.
pub(super) fn add_histogram(
    time_ms: u64,
    direction: usize,
    block: u64,
    counts: &[u64],
    coarseness: u32,
    out: &mut String,
) {
    let _ = write!(out, "{time_ms}, {direction}, {block}");
    for bucket in counts.chunks(1 << coarseness.min(6)) {
        let _ = write!(out, ", {}", bucket.iter().sum::<u64>());
    }
    out.push('\n');
}

/// KiB/s of this many bytes in this many nanoseconds.
pub(super) fn kib_per_s(bytes: u64, ns: u64) -> u64 {
    (bytes as f64 / 1024.0 * 1e9 / ns.max(1) as f64).round() as u64
}
