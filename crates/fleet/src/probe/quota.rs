//! Limits of control groups on this process: its own and all above, of both versions (the kernel's
//! Documentation/admin-guide/cgroup-v2.rst and scheduler/sched-bwc.rst).

use std::collections::BTreeMap;

use stats::limit::DiskQuota;

use super::sample::Quota;
use super::source::{Source, share, thousandth};

/// Maximum depth of groups examined.
const DEEPEST: usize = 16;

/// The control groups of this process, as directories from the file system's root, innermost first.
#[derive(Debug, Default)]
pub(super) struct Groups {
    /// Those that may limit CPU time.
    cpu: Vec<String>,
    /// Those that may limit disks.
    disks: Vec<String>,
    /// The process's own group of version 2, for its pressure.
    own: Option<String>,
    before: Vec<Counts>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    periods: u64,
    throttled: u64,
    throttled_ns: u64,
}

impl Groups {
    /// Finds them from /proc/self/cgroup and /proc/self/mountinfo.
    pub(super) fn find(source: &Source) -> Self {
        let (groups, mounts) = (source.text("proc/self/cgroup"), source.text("proc/self/mountinfo"));
        let (groups, mounts) = (groups.unwrap_or_default(), mounts.unwrap_or_default());
        let mut found = Groups::default();
        for line in groups.lines() {
            let mut fields = line.splitn(3, ':').skip(1);
            let (Some(controllers), Some(path)) = (fields.next(), fields.next()) else { continue };
            let Some(mount) = mount_of(&mounts, controllers) else { continue };
            let chain = chain(&mount, path);
            if controllers.is_empty() {
                found.own = chain.first().cloned();
                found.cpu.extend(chain.iter().cloned());
                found.disks.extend(chain);
            } else if controllers.split(',').any(|name| name == "cpu") {
                found.cpu.extend(chain);
            } else if controllers.split(',').any(|name| name == "blkio") {
                found.disks.extend(chain);
            }
        }
        found
    }

    /// Pressure files of the process's own group.
    pub(super) fn pressure_files(&self) -> Option<[String; 3]> {
        let own = self.own.as_ref()?;
        Some(["cpu", "memory", "io"].map(|name| format!("{own}/{name}.pressure")))
    }

    /// Use of the CPU quota since the last sample, for the tightest group.
    pub(super) fn look(&mut self, source: &Source, length_ns: u64) -> Option<Quota> {
        let now: Vec<Counts> = self.cpu.iter().map(|group| counts(source, group)).collect();
        let before = std::mem::replace(&mut self.before, now.clone());
        let limits: Vec<Option<f64>> = self.cpu.iter().map(|group| limit(source, group)).collect();
        let cores = limits.iter().flatten().copied().reduce(f64::min);
        let mut quota = Quota { cores: cores.map(thousandth), ..Quota::default() };
        for (now, before) in now.iter().zip(&before) {
            let periods = now.periods.saturating_sub(before.periods);
            let used_up = now.throttled.saturating_sub(before.throttled);
            quota.throttled_periods = quota.throttled_periods.max(share(used_up as f64, periods as f64));
            let held_ns = now.throttled_ns.saturating_sub(before.throttled_ns);
            let held = if length_ns > 0 { held_ns as f64 / length_ns as f64 } else { 0.0 };
            quota.throttled = quota.throttled.max(thousandth(held));
        }
        (cores.is_some() || quota.throttled > 0.0).then_some(quota)
    }

    /// Disk limits of the groups, by device number (`major:minor`): the tightest of each.
    pub(super) fn disk_quotas(&self, source: &Source) -> BTreeMap<String, DiskQuota> {
        let mut quotas: BTreeMap<String, DiskQuota> = BTreeMap::new();
        for group in &self.disks {
            for (file, key) in DISK_LIMITS {
                for line in source.text(&format!("{group}/{file}")).unwrap_or_default().lines() {
                    let mut fields = line.split_ascii_whitespace();
                    let Some(disk) = fields.next() else { continue };
                    let limits = fields.filter_map(|field| match field.split_once('=') {
                        Some((key, value)) => Some((key, value.parse().ok()?)),
                        None => Some((key, field.parse().ok()?)),
                    });
                    let limits: Vec<(&str, u64)> = limits.collect();
                    if limits.is_empty() || (quotas.len() == MAX_QUOTAS && !quotas.contains_key(disk)) {
                        continue;
                    }
                    let quota = quotas.entry(disk.to_owned()).or_default();
                    for (key, limit) in limits {
                        narrow(quota, key, limit);
                    }
                }
            }
        }
        quotas
    }
}

/// Files with disk limits, and the limit that their lines set if they do not name it.
const DISK_LIMITS: [(&str, &str); 5] = [
    ("io.max", ""),
    ("blkio.throttle.read_bps_device", "rbps"),
    ("blkio.throttle.write_bps_device", "wbps"),
    ("blkio.throttle.read_iops_device", "riops"),
    ("blkio.throttle.write_iops_device", "wiops"),
];

/// Maximum disks whose limits are reported.
const MAX_QUOTAS: usize = 64;

/// Sets a limit, if it is tighter than the existing one.
fn narrow(quota: &mut DiskQuota, key: &str, limit: u64) {
    let of = match key {
        "rbps" => &mut quota.read_bytes,
        "wbps" => &mut quota.written_bytes,
        "riops" => &mut quota.reads,
        "wiops" => &mut quota.writes,
        _ => return,
    };
    *of = Some(of.map_or(limit, |known| known.min(limit)));
}

/// Mount point of the hierarchy with these controllers, without the leading slash.
fn mount_of(mounts: &str, controllers: &str) -> Option<String> {
    mounts.lines().find_map(|line| {
        let (left, right) = line.split_once(" - ")?;
        let mut right = right.split_ascii_whitespace();
        let (kind, options) = (right.next()?, right.nth(1).unwrap_or(""));
        let fits = match controllers.is_empty() {
            true => kind == "cgroup2",
            false => {
                kind == "cgroup"
                    && controllers.split(',').all(|name| options.split(',').any(|option| option == name))
            }
        };
        let point = left.split_ascii_whitespace().nth(4)?;
        fits.then(|| point.trim_start_matches('/').to_owned())
    })
}

/// A group and its ancestors. In a container the path may not be below its mount: then the mount itself is the own
/// group.
fn chain(mount: &str, path: &str) -> Vec<String> {
    let mut groups = Vec::new();
    let mut path = path.trim_matches('/');
    while !path.is_empty() && groups.len() < DEEPEST {
        groups.push(format!("{mount}/{path}"));
        path = path.rsplit_once('/').map_or("", |(above, _)| above);
    }
    groups.push(mount.to_owned());
    groups
}

fn counts(source: &Source, group: &str) -> Counts {
    let text = source.text(&format!("{group}/cpu.stat")).unwrap_or_default();
    let of = |name: &str| {
        text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.trim().parse::<u64>().ok())
    };
    Counts {
        periods: of("nr_periods").unwrap_or(0),
        throttled: of("nr_throttled").unwrap_or(0),
        // Version 1 counts nanoseconds, version 2 microseconds.
        throttled_ns: of("throttled_time").or(of("throttled_usec").map(|us| us * 1000)).unwrap_or(0),
    }
}

/// A group's CPU limit, in cores.
fn limit(source: &Source, group: &str) -> Option<f64> {
    let (quota, period) = match source.text(&format!("{group}/cpu.max")) {
        Some(text) => {
            let mut fields = text.split_ascii_whitespace();
            (fields.next()?.parse::<f64>().ok()?, fields.next()?.parse::<f64>().ok()?)
        }
        None => (
            source.number(&format!("{group}/cpu.cfs_quota_us"))? as f64,
            source.number(&format!("{group}/cpu.cfs_period_us"))? as f64,
        ),
    };
    (quota > 0.0 && period > 0.0).then(|| quota / period)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(files: &[(&str, &str)]) -> (tempfile::TempDir, Source) {
        let root = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = root.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let source = Source::below(root.path());
        (root, source)
    }

    #[test]
    fn version_2_is_read_with_the_groups_above() {
        let (root, source) = tree(&[
            ("proc/self/cgroup", "0::/jobs/one\n"),
            ("proc/self/mountinfo", "31 23 0:28 / /cg rw - cgroup2 cgroup2 rw\n"),
            ("cg/jobs/one/cpu.max", "max 100000\n"),
            ("cg/jobs/one/io.max", "8:16 rbps=1048576 wbps=max riops=max wiops=max\n"),
            ("cg/jobs/io.max", "8:16 rbps=9048576 wbps=max riops=max wiops=50\n8:0 rbps=max\n"),
            ("cg/jobs/cpu.max", "50000 100000\n"),
            ("cg/jobs/cpu.stat", "usage_usec 5\nnr_periods 100\nnr_throttled 10\nthrottled_usec 1000\n"),
        ]);
        let mut groups = Groups::find(&source);
        groups.look(&source, 1_000_000_000);
        let stat = "usage_usec 9\nnr_periods 110\nnr_throttled 19\nthrottled_usec 401000\n";
        std::fs::write(root.path().join("cg/jobs/cpu.stat"), stat).unwrap();
        let quota = groups.look(&source, 1_000_000_000).unwrap();
        assert_eq!(quota, Quota { cores: Some(0.5), throttled_periods: 0.9, throttled: 0.4 });
        assert_eq!(groups.pressure_files().unwrap()[0], "cg/jobs/one/cpu.pressure");
        // `max` means no limit, and the tighter of two groups counts.
        let quota = DiskQuota { read_bytes: Some(1_048_576), writes: Some(50), ..DiskQuota::default() };
        assert_eq!(groups.disk_quotas(&source), BTreeMap::from([("8:16".to_owned(), quota)]));
    }

    #[test]
    fn version_1_is_read_too() {
        let (_root, source) = tree(&[
            ("proc/self/cgroup", "3:blkio:/\n2:cpuacct,cpu:/lab\n0::/\n"),
            (
                "proc/self/mountinfo",
                "1 0 0:9 / /cg/cpu rw - cgroup cgroup rw,cpu,cpuacct\n2 0 0:9 / /cg/blkio rw - cgroup cgroup rw,blkio\n",
            ),
            ("cg/cpu/lab/cpu.cfs_quota_us", "20000\n"),
            ("cg/cpu/lab/cpu.cfs_period_us", "100000\n"),
            ("cg/cpu/cpu.cfs_quota_us", "-1\n"),
            ("cg/cpu/cpu.cfs_period_us", "100000\n"),
            ("cg/blkio/blkio.throttle.write_bps_device", "7:0 1000\n"),
        ]);
        let mut groups = Groups::find(&source);
        assert_eq!(groups.look(&source, 1_000_000_000).unwrap().cores, Some(0.2));
        let quota = DiskQuota { written_bytes: Some(1000), ..DiskQuota::default() };
        assert_eq!(groups.disk_quotas(&source), BTreeMap::from([("7:0".to_owned(), quota)]));
    }

    #[test]
    fn without_control_groups_there_is_no_quota() {
        let (_root, source) = tree(&[]);
        let mut groups = Groups::find(&source);
        assert_eq!(groups.look(&source, 1_000_000_000), None);
        assert_eq!(groups.pressure_files(), None);
    }
}
