//! CPU time of the cores (/proc/stat), pressure stall information (PSI) and memory.

use std::collections::BTreeMap;

use super::sample::{CoreSample, Memory, Pressure};
use super::source::{Source, per_second, share, thousandth};

/// Maximum cores reported individually.
const MAX_CORES: usize = 1024;

/// Clock ticks of each core since boot: user, system, irq, softirq, steal, idle.
#[derive(Debug, Default)]
pub(super) struct Cores {
    before: BTreeMap<u32, [u64; 6]>,
}

impl Cores {
    /// Time use of each core since the last sample.
    pub(super) fn look(&mut self, source: &Source) -> Vec<CoreSample> {
        let now = parse(&source.text("proc/stat").unwrap_or_default());
        let samples = now.iter().filter_map(|(core, after)| since(*core, self.before.get(core)?, after));
        let samples = samples.collect();
        self.before = now;
        samples
    }
}

fn since(core: u32, before: &[u64; 6], after: &[u64; 6]) -> Option<CoreSample> {
    let spent: Vec<u64> = after.iter().zip(before).map(|(a, b)| a.saturating_sub(*b)).collect();
    let all: u64 = spent.iter().sum();
    let of = |at: usize| share(spent[at] as f64, all as f64);
    (all > 0).then(|| CoreSample {
        core,
        user: of(0),
        system: of(1),
        irq: of(2),
        softirq: of(3),
        steal: of(4),
        idle: of(5),
    })
}

fn parse(stat: &str) -> BTreeMap<u32, [u64; 6]> {
    let line = |line: &str| {
        let mut fields = line.split_ascii_whitespace();
        // The line "cpu" without a number is the sum over all cores.
        let core = fields.next()?.strip_prefix("cpu")?.parse().ok()?;
        let ticks: Vec<u64> = fields.map_while(|field| field.parse().ok()).collect();
        // user nice system idle iowait irq softirq steal; guest time is already included in user.
        let at = |index: usize| ticks.get(index).copied().unwrap_or(0);
        Some((core, [at(0) + at(1), at(2), at(5), at(6), at(7), at(3) + at(4)]))
    };
    stat.lines().filter_map(line).take(MAX_CORES).collect()
}

/// Microseconds of stalls since boot, in the order of [`Pressure`]'s fields.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    before: Option<[u64; 6]>,
}

impl Waiting {
    /// Shares of the time since the last sample; `files` are those for CPU, memory and I/O.
    pub(super) fn look(&mut self, source: &Source, files: [&str; 3], length_ns: u64) -> Option<Pressure> {
        let mut now = [0; 6];
        let mut any = false;
        for (place, file) in files.iter().enumerate() {
            let text = source.text(file).unwrap_or_default();
            for (half, kind) in ["some ", "full "].iter().enumerate() {
                if let Some(total) = total(&text, kind) {
                    now[place * 2 + half] = total;
                    any = true;
                }
            }
        }
        let before = std::mem::replace(&mut self.before, any.then_some(now))?;
        let of = |at: usize| share(now[at].saturating_sub(before[at]) as f64 * 1000.0, length_ns as f64);
        any.then(|| Pressure {
            cpu_some: of(0),
            cpu_full: of(1),
            memory_some: of(2),
            memory_full: of(3),
            io_some: of(4),
            io_full: of(5),
        })
    }
}

fn total(text: &str, kind: &str) -> Option<u64> {
    let line = text.lines().find(|line| line.starts_with(kind))?;
    line.split_once("total=")?.1.trim().parse().ok()
}

/// Allocations that stalled, and bytes counted by resctrl.
#[derive(Debug, Default)]
pub(super) struct MemoryLook {
    stalls: Option<u64>,
    moved: Option<u64>,
}

impl MemoryLook {
    pub(super) fn look(&mut self, source: &Source, length_ns: u64) -> Memory {
        let info = source.text("proc/meminfo").unwrap_or_default();
        let available = info.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
        let kib = available.and_then(|text| text.split_ascii_whitespace().next()?.parse::<u64>().ok());
        let stalls = source.text("proc/vmstat").map(|text| {
            let counts = text.lines().filter(|line| line.starts_with("allocstall"));
            counts.filter_map(|line| line.rsplit(' ').next()?.parse::<u64>().ok()).sum::<u64>()
        });
        let moved = moved(source);
        let since = |now: Option<u64>, before: Option<u64>| {
            now.zip(before).map(|(now, before)| per_second(now.saturating_sub(before), length_ns))
        };
        let memory = Memory {
            available_bytes: kib.unwrap_or(0) * 1024,
            stalls_per_s: thousandth(since(stalls, self.stalls).unwrap_or(0.0)),
            bytes_per_s: since(moved, self.moved).map(|rate| rate as u64),
        };
        (self.stalls, self.moved) = (stalls, moved);
        memory
    }
}

/// Memory traffic in bytes counted by resctrl, over all domains (the kernel's Documentation/filesystems/resctrl.rst).
fn moved(source: &Source) -> Option<u64> {
    let domains = source.names("sys/fs/resctrl/mon_data", 64);
    let counts = domains
        .iter()
        .filter_map(|domain| source.number(&format!("sys/fs/resctrl/mon_data/{domain}/mbm_total_bytes")));
    counts.filter_map(|count| u64::try_from(count).ok()).reduce(|a, b| a + b)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_come_from_the_difference_of_two_looks() {
        let before = parse("cpu 9 9 9 9\ncpu0 100 0 0 100 0 0 0 0 0 0\ncpu1 7 0 0 7\nintr 5 6\n");
        let after = parse("cpu0 140 10 20 105 5 3 12 5 0 0\n");
        let core = since(0, &before[&0], &after[&0]).unwrap();
        assert_eq!((core.user, core.system, core.idle), (0.5, 0.2, 0.1));
        assert_eq!((core.irq, core.softirq, core.steal), (0.03, 0.12, 0.05));
        assert!((core.busy() - 0.9).abs() < 1e-6);
        assert!(since(0, &before[&0], &before[&0]).is_none(), "no tick passed");
    }

    #[test]
    fn waiting_is_a_share_of_the_time_and_absent_where_the_kernel_does_not_tell() {
        let root = tempfile::tempdir().unwrap();
        let source = Source::below(root.path());
        let files = ["cpu", "memory", "io"];
        let mut waiting = Waiting::default();
        assert_eq!(waiting.look(&source, files, 1_000_000_000), None);
        let set = |total: u64| {
            let text = format!("some avg10=0.00 avg60=0.00 avg300=0.00 total={total}\n");
            std::fs::write(root.path().join("cpu"), text).unwrap();
        };
        set(5);
        assert_eq!(waiting.look(&source, files, 1_000_000_000), None, "nothing to compare with");
        set(250_005);
        let pressure = waiting.look(&source, files, 1_000_000_000).unwrap();
        assert_eq!((pressure.cpu_some, pressure.io_full), (0.25, 0.0));
    }
}
