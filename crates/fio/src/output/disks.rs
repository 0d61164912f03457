//! The "Disk stats" lines, and figures that they share with the JSON.

use runner::DiskUse;

/// Share of the time for which a disk was busy, in percent.
pub fn busy_percent(disk: &DiskUse) -> f64 {
    match disk.watched_ms {
        0 => 0.0,
        ms => (disk.busy_ms as f64 * 100.0 / ms as f64).min(100.0),
    }
}

/// The same for the busiest of a disk's members.
pub fn busiest_percent(disk: &DiskUse) -> f64 {
    disk.parts.iter().map(busy_percent).fold(0.0, f64::max)
}

/// The mean over a disk's members; all zero without members.
pub fn mean_of_parts(disk: &DiskUse) -> DiskUse {
    let mut sum = DiskUse::default();
    for part in &disk.parts {
        for direction in 0..2 {
            sum.operations[direction] += part.operations[direction];
            sum.merged[direction] += part.merged[direction];
            sum.waited_ms[direction] += part.waited_ms[direction];
        }
        sum.queued_ms += part.queued_ms;
    }
    let count = disk.parts.len().max(1) as u64;
    for direction in 0..2 {
        sum.operations[direction] /= count;
        sum.merged[direction] /= count;
        sum.waited_ms[direction] /= count;
    }
    sum.queued_ms /= count;
    sum
}

/// The lines for people, preceded by an empty line; empty without disks.
pub fn lines(disks: &[DiskUse]) -> String {
    if disks.is_empty() {
        return String::new();
    }
    let mut text = String::from("\nDisk stats (read/write):\n");
    for disk in disks {
        text.push_str(&format!("  {}\n", line(disk)));
        for part in &disk.parts {
            text.push_str(&format!("    {}\n", line(part)));
        }
    }
    text
}

fn line(disk: &DiskUse) -> String {
    let pair = |pair: [u64; 2]| format!("{}/{}", pair[0], pair[1]);
    let of = |prefix: &str, disk: &DiskUse, percent: f64| {
        format!(
            "{prefix}ios={}, {prefix}merge={}, {prefix}ticks={}, {prefix}in_queue={}, {prefix}util={percent:.2}%",
            pair(disk.operations),
            pair(disk.merged),
            pair(disk.waited_ms),
            disk.queued_ms,
        )
    };
    let mut text = format!("{}: {}", disk.name, of("", disk, busy_percent(disk)));
    if !disk.parts.is_empty() {
        text.push_str(&format!(", {}", of("aggr", &mean_of_parts(disk), busiest_percent(disk))));
    }
    text
}
