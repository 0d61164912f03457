//! Disk activity over a period: the difference between two readings of the kernel's counters (`stat` of each disk in
//! /sys/block; the kernel's Documentation/block/stat.rst names its fields).

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use reactor::clock;

use crate::job_outcome::DiskUse;

/// Watches the disks that hold some files.
#[derive(Debug)]
pub struct DiskWatch {
    disks: Vec<Disk>,
    begun_ns: u64,
}

/// A disk when the watch began.
#[derive(Debug)]
struct Disk {
    name: String,
    place: PathBuf,
    before: Counts,
    parts: Vec<Disk>,
}

/// Cumulative counters since the disk was attached, in field order.
type Counts = [u64; 11];

impl DiskWatch {
    /// Starts watching the disks with these device numbers, or the disks that hold these partitions. Skips anything
    /// that is not a disk, such as a file system in memory or over a network.
    pub fn start(numbers: &BTreeSet<u64>) -> Self {
        Self::below(Path::new("/sys"), numbers)
    }

    fn below(root: &Path, numbers: &BTreeSet<u64>) -> Self {
        let mut places = BTreeSet::new();
        for number in numbers {
            let name = format!("dev/block/{}:{}", libc::major(*number), libc::minor(*number));
            let Ok(mut place) = fs::canonicalize(root.join(name)) else { continue };
            if place.join("partition").exists() {
                place.pop();
            }
            places.insert(place);
        }
        let disks = places.iter().filter_map(|place| Disk::at(place)).collect();
        Self { disks, begun_ns: clock::now_ns() }
    }

    /// What each disk did since the start.
    pub fn used(&self) -> Vec<DiskUse> {
        let watched_ms = clock::now_ns().saturating_sub(self.begun_ns) / 1_000_000;
        self.disks.iter().map(|disk| disk.used(watched_ms)).collect()
    }
}

impl Disk {
    fn at(place: &Path) -> Option<Disk> {
        let name = place.file_name()?.to_string_lossy().into_owned();
        let before = counts(&fs::read_to_string(place.join("stat")).ok()?)?;
        let mut parts: Vec<PathBuf> = fs::read_dir(place.join("slaves"))
            .into_iter()
            .flatten()
            .filter_map(|entry| fs::canonicalize(entry.ok()?.path()).ok())
            .collect();
        parts.sort();
        let parts = parts.iter().filter_map(|place| Disk::at(place)).collect();
        Some(Disk { name, place: place.to_owned(), before, parts })
    }

    fn used(&self, watched_ms: u64) -> DiskUse {
        let now = fs::read_to_string(self.place.join("stat")).ok().and_then(|text| counts(&text));
        let now = now.unwrap_or(self.before);
        // The counters restart when a disk is detached and attached again.
        let since = |at: usize| now[at].saturating_sub(self.before[at]);
        DiskUse {
            name: self.name.clone(),
            operations: [since(0), since(4)],
            merged: [since(1), since(5)],
            sectors: [since(2), since(6)],
            waited_ms: [since(3), since(7)],
            queued_ms: since(10),
            busy_ms: since(9),
            watched_ms,
            parts: self.parts.iter().map(|part| part.used(watched_ms)).collect(),
        }
    }
}

fn counts(text: &str) -> Option<Counts> {
    let mut counts = Counts::default();
    let mut fields = text.split_ascii_whitespace();
    for count in &mut counts {
        *count = fields.next()?.parse().ok()?;
    }
    Some(counts)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A tree like /sys: a disk with a partition, and a volume built on it.
    fn tree() -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        let at = |path: &str| root.path().join(path);
        for path in ["dev/block", "devices/sda/sda1", "devices/dm-0/slaves"] {
            fs::create_dir_all(at(path)).unwrap();
        }
        fs::write(at("devices/sda/sda1/partition"), "1\n").unwrap();
        for (number, place) in [("8:0", "sda"), ("8:1", "sda/sda1"), ("253:0", "dm-0")] {
            std::os::unix::fs::symlink(at("devices").join(place), at("dev/block").join(number)).unwrap();
        }
        std::os::unix::fs::symlink(at("devices/sda"), at("devices/dm-0/slaves/sda")).unwrap();
        for (place, first) in [("sda", 1), ("sda/sda1", 500), ("dm-0", 1000)] {
            write_stat(&at("devices").join(place), first);
        }
        root
    }

    /// Eleven fields, plus those that newer kernels add, counting up from `first`.
    fn write_stat(place: &Path, first: u64) {
        let fields: Vec<String> = (first..first + 17).map(|field| field.to_string()).collect();
        fs::write(place.join("stat"), format!("  {}\n", fields.join("   "))).unwrap();
    }

    #[test]
    fn a_disk_is_watched_once_whichever_of_its_partitions_are_used() {
        let root = tree();
        let numbers = BTreeSet::from([libc::makedev(8, 0), libc::makedev(8, 1), libc::makedev(0, 44)]);
        let watch = DiskWatch::below(root.path(), &numbers);
        write_stat(&root.path().join("devices/sda"), 11);
        let used = watch.used();
        assert_eq!(used.len(), 1, "{used:?}");
        assert_eq!(used[0].name, "sda");
        let DiskUse { operations, merged, sectors, waited_ms, queued_ms, busy_ms, .. } = used[0].clone();
        assert_eq!((operations, merged, sectors, waited_ms), ([10; 2], [10; 2], [10; 2], [10; 2]));
        assert_eq!((queued_ms, busy_ms), (10, 10));
    }

    #[test]
    fn a_volume_names_the_disks_that_it_is_made_of() {
        let root = tree();
        let watch = DiskWatch::below(root.path(), &BTreeSet::from([libc::makedev(253, 0)]));
        write_stat(&root.path().join("devices/sda"), 3);
        let used = watch.used();
        assert_eq!((used[0].name.as_str(), used[0].operations), ("dm-0", [0, 0]));
        assert_eq!((used[0].parts[0].name.as_str(), used[0].parts[0].operations), ("sda", [2, 2]));
    }

    #[test]
    fn what_cannot_be_read_is_left_out() {
        assert_eq!(counts("1 2 3"), None);
        assert_eq!(counts("1 2 3 4 5 6 7 8 9 10 x"), None);
        assert_eq!(DiskWatch::start(&BTreeSet::from([libc::makedev(0, 1)])).used(), Vec::new());
    }
}
