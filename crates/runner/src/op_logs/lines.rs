//! Log lines: `time, value, direction, block size[, offset], priority`.

use std::fmt::Write;

/// The values of a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Line {
    /// In milliseconds.
    pub time_ms: u64,
    /// Nanoseconds, KiB/s or operations per second.
    pub value: u64,
    /// 0 read, 1 write, 2 trim.
    pub direction: usize,
    /// In bytes; 0 in lines that cover several operations.
    pub block: u64,
    /// In bytes; 0 in lines that cover several operations.
    pub offset: u64,
}

/// Which columns the log has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Columns {
    /// The offset (`log_offset`).
    pub offsets: bool,
    /// The I/O priority class and level, in the bits of ioprio_set(2) (`log_prio`); without it the column is 0: not a
    /// high priority.
    pub priority: Option<u16>,
}

impl Columns {
    /// Appends the line, with its line end.
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

/// Appends a line of a histogram log: `time, direction, block size, count, count, …`; each column combines `1 <<
/// coarseness` of fio's buckets.
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

/// Throughput in KiB/s.
pub(super) fn kib_per_s(bytes: u64, ns: u64) -> u64 {
    (bytes as f64 / 1024.0 * 1e9 / ns.max(1) as f64).round() as u64
}
