//! Disks (/proc/diskstats).

use std::collections::BTreeMap;

use stats::limit::DiskQuota;

use super::sample::{DiskSample, OwnDisks};
use super::source::{Source, per_second, share, thousandth};

/// Maximum disks reported.
const MAX_DISKS: usize = 64;
/// The kernel counts in sectors of this size, regardless of the disk's.
const SECTOR: u64 = 512;

/// A disk's fields from the fourth on.
type Counts = [u64; 11];

/// State of the disks at the last sample.
#[derive(Debug, Default)]
pub(super) struct Disks {
    before: BTreeMap<String, Counts>,
}

impl Disks {
    /// Activity of each whole disk since the last sample, without idle ones. `quotas` are the limits from control
    /// groups, by device number.
    pub(super) fn look(
        &mut self,
        source: &Source,
        quotas: &BTreeMap<String, DiskQuota>,
        length_ns: u64,
    ) -> Vec<DiskSample> {
        let mut now = BTreeMap::new();
        let mut samples = Vec::new();
        for line in source.text("proc/diskstats").unwrap_or_default().lines() {
            let Some((numbers, name, counts)) = parse(line) else { continue };
            let before = self.before.get(name).copied();
            now.insert(name.to_owned(), counts);
            let Some(before) = before.filter(|before| *before != counts) else { continue };
            // A partition's I/O is counted for its disk.
            if samples.len() == MAX_DISKS || !source.path(&format!("sys/block/{name}")).exists() {
                continue;
            }
            let since = |at: usize| counts[at].saturating_sub(before[at]);
            let ms = length_ns as f64 / 1e6;
            let rate = |at: usize| thousandth(per_second(since(at), length_ns));
            samples.push(DiskSample {
                name: name.to_owned(),
                read_bytes_per_s: per_second(since(2) * SECTOR, length_ns) as u64,
                written_bytes_per_s: per_second(since(6) * SECTOR, length_ns) as u64,
                requests_per_s: thousandth(per_second(since(0) + since(4), length_ns)),
                reads_per_s: rate(0),
                writes_per_s: rate(4),
                busy: share(since(9) as f64, ms),
                queue: thousandth(if ms > 0.0 { since(10) as f64 / ms } else { 0.0 }),
                limited: quotas.contains_key(&numbers),
                quota: quotas.get(&numbers).copied().unwrap_or_default(),
            });
        }
        self.before = now;
        samples
    }
}

/// Disk bytes read and written by this process, as of the last sample.
#[derive(Debug, Default)]
pub(super) struct OwnDisksLook {
    before: Option<[u64; 2]>,
}

impl OwnDisksLook {
    /// Disk I/O of this process since the last sample.
    pub(super) fn look(&mut self, source: &Source, length_ns: u64) -> Option<OwnDisks> {
        let text = source.text("proc/self/io")?;
        let of = |name: &str| {
            text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": ")?.parse::<u64>().ok())
        };
        let now = [of("read_bytes")?, of("write_bytes")?];
        let before = self.before.replace(now)?;
        let rate = |at: usize| per_second(now[at].saturating_sub(before[at]), length_ns) as u64;
        Some(OwnDisks { read_bytes_per_s: rate(0), written_bytes_per_s: rate(1) })
    }
}

fn parse(line: &str) -> Option<(String, &str, Counts)> {
    let mut fields = line.split_ascii_whitespace();
    let numbers = format!("{}:{}", fields.next()?, fields.next()?);
    let name = fields.next()?;
    let mut counts = Counts::default();
    for count in &mut counts {
        *count = fields.next()?.parse().ok()?;
    }
    Some((numbers, name, counts))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_is_told_and_its_partition_is_not() {
        let root = tempfile::tempdir().unwrap();
        let source = Source::below(root.path());
        std::fs::create_dir_all(root.path().join("sys/block/sda")).unwrap();
        std::fs::create_dir_all(root.path().join("proc")).unwrap();
        let set = |n: u64| {
            let line = |numbers: &str, name: &str| {
                format!("{numbers} {name} {n} 0 {} 0 {n} 0 {} 0 1 {n} {} 0 0\n", 8 * n, 16 * n, 4 * n)
            };
            let text = line("8 0", "sda") + &line("8 1", "sda1") + "short line\n";
            std::fs::write(root.path().join("proc/diskstats"), text).unwrap();
        };
        let quota = DiskQuota { written_bytes: Some(5_000_000), ..DiskQuota::default() };
        let (mut disks, limited) = (Disks::default(), BTreeMap::from([("8:0".to_owned(), quota)]));
        set(0);
        assert!(disks.look(&source, &limited, 1_000_000_000).is_empty());
        set(500);
        let seen = disks.look(&source, &limited, 1_000_000_000);
        assert_eq!(seen.len(), 1, "{seen:?}");
        assert_eq!((seen[0].read_bytes_per_s, seen[0].written_bytes_per_s), (2_048_000, 4_096_000));
        assert_eq!((seen[0].busy, seen[0].queue, seen[0].requests_per_s), (0.5, 2.0, 1000.0));
        assert_eq!((seen[0].reads_per_s, seen[0].writes_per_s), (500.0, 500.0));
        assert!(seen[0].limited);
        assert_eq!(seen[0].quota, quota);
        assert!(disks.look(&source, &limited, 1_000_000_000).is_empty(), "it did nothing since");
    }

    #[test]
    fn the_process_s_own_part_is_told_from_the_second_look_on() {
        let root = tempfile::tempdir().unwrap();
        let source = Source::below(root.path());
        let mut own = OwnDisksLook::default();
        assert_eq!(own.look(&source, 1_000_000_000), None, "a kernel that does not tell");
        std::fs::create_dir_all(root.path().join("proc/self")).unwrap();
        let set = |read: u64, written: u64| {
            let text =
                format!("rchar: 9\nread_bytes: {read}\nwrite_bytes: {written}\ncancelled_write_bytes: 3\n");
            std::fs::write(root.path().join("proc/self/io"), text).unwrap();
        };
        set(1000, 10);
        assert_eq!(own.look(&source, 1_000_000_000), None, "nothing to compare with");
        set(5096, 8202);
        let seen = OwnDisks { read_bytes_per_s: 2048, written_bytes_per_s: 4096 };
        assert_eq!(own.look(&source, 2_000_000_000), Some(seen));
    }
}
