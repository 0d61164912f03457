//! Whether the data sets of a plan fit, counting together those that share a file system at the same time.

use std::collections::BTreeMap;

use experiment::{Cell, Plan};
use host::load;
use targets::{Finding, FindingKind, FreeSpace};
use units::Size;

/// The space that one host has for a place's data.
#[derive(Clone, Debug)]
pub struct HostSpace {
    /// Distinguishes a host's own file systems from others' ("" where all hosts share one).
    pub host: String,
    /// The place: [`experiment::Cell::place`].
    pub place: String,
    /// The free space found.
    pub space: FreeSpace,
}

/// When a place's data exists, in groups of cells, and how large it is.
struct Lifetime<'a> {
    target: &'a str,
    /// The first group of cells that uses it.
    from: usize,
    /// Its size in bytes on one host, per group from the first use on; it is removed with the last.
    sizes: Vec<u64>,
}

/// Faults: file systems that are too small for the data sets.
pub fn faults(plan: &Plan, spaces: &[HostSpace]) -> Vec<Finding> {
    let lifetimes = lifetimes(plan);
    let mut file_systems: BTreeMap<(&str, &str), Vec<&HostSpace>> = BTreeMap::new();
    for space in spaces.iter().filter(|space| !space.space.holds_data) {
        file_systems.entry((&space.host, &space.space.file_system)).or_default().push(space);
    }
    file_systems.values().filter_map(|on_it| fault(&lifetimes, on_it)).collect()
}

/// Maximum size of a place's data on one host at any time, in bytes.
pub fn most_bytes(plan: &Plan, place: &str) -> u64 {
    lifetimes(plan).get(place).and_then(|life| life.sizes.iter().copied().max()).unwrap_or(0)
}

/// The fault of one file system, if it is too small for all data on it at some time.
fn fault(lifetimes: &BTreeMap<String, Lifetime<'_>>, on_it: &[&HostSpace]) -> Option<Finding> {
    let available = on_it.iter().map(|space| space.space.available_bytes).min()?;
    let lives = || on_it.iter().filter_map(|space| lifetimes.get(&space.place));
    let groups = lives().map(|life| life.from + life.sizes.len()).max()?;
    let at = |group: usize| lives().map(move |life| (life, life.bytes(group)));
    let total = |group: usize| at(group).fold(0_u64, |sum, (_, bytes)| sum.saturating_add(bytes));
    let fullest = (0..groups).max_by_key(|group| (total(*group), std::cmp::Reverse(*group)))?;
    let needed = total(fullest);
    if needed <= available {
        return None;
    }
    let mut targets: Vec<&str> =
        at(fullest).filter(|(_, bytes)| *bytes > 0).map(|(life, _)| life.target).collect();
    targets.sort_unstable();
    targets.dedup();
    let (who, verb) = match &targets[..] {
        [one] => (format!("the data set of target {one}"), "takes"),
        several => (format!("the data sets of targets {}", several.join(", ")), "take"),
    };
    let text = format!(
        "{}: {who} {verb} {}, but only {} are free; next: use fewer or smaller files, or a larger file system",
        on_it[0].space.place,
        Size(needed).rounded(),
        Size(available).rounded()
    );
    Some(Finding { kind: FindingKind::Failure, text })
}

impl Lifetime<'_> {
    fn bytes(&self, group: usize) -> u64 {
        group.checked_sub(self.from).and_then(|at| self.sizes.get(at)).copied().unwrap_or(0)
    }
}

/// When each place holds data: one data set at a time, from its first cell to its last.
fn lifetimes(plan: &Plan) -> BTreeMap<String, Lifetime<'_>> {
    let mut lives: BTreeMap<String, Lifetime<'_>> = BTreeMap::new();
    for (group, cells) in crate::matrix::groups(plan).into_iter().enumerate() {
        for cell in cells {
            let life = lives.entry(cell.place()).or_insert_with(|| Lifetime {
                target: &cell.target.name,
                from: group,
                sizes: Vec::new(),
            });
            // It stays while other places are used.
            let held = life.sizes.last().copied().unwrap_or(0);
            life.sizes.resize(group - life.from, held);
            let needed = bytes(cell);
            match life.sizes.get_mut(group - life.from) {
                Some(size) => *size = needed.max(*size),
                // A read-only use does not shrink it.
                None => life.sizes.push(if needed == 0 { held } else { needed }),
            }
        }
    }
    lives
}

/// The size of a cell's data set on one host, in bytes; 0 if it writes none, or if what it writes is not known
/// beforehand.
fn bytes(cell: &Cell) -> u64 {
    let workload = &cell.workload;
    let imaginary = targets::kind_of(&cell.target.url).is_none_or(|kind| kind.imaginary || kind.device);
    let exists = workload.user_files().is_some_and(|files| !files.create);
    if imaginary || exists || workload.stream().is_some() || !load::changes_device(cell) {
        return 0;
    }
    workload.files().saturating_mul(workload.file_bytes())
}

#[cfg(test)]
mod tests {
    use experiment::{Settings, SourceText, parse};

    use super::*;

    const GIB: u64 = 1 << 30;

    fn plan(text: &str) -> Plan {
        parse(&SourceText { file: "t.yaml", text }, &Settings::of(targets::kinds()))
            .unwrap_or_else(|faults| panic!("\n{faults}"))
    }

    fn space(host: &str, place: &str, file_system: &str, available_bytes: u64) -> HostSpace {
        let space = FreeSpace {
            file_system: file_system.into(),
            place: "/mnt".into(),
            available_bytes,
            holds_data: false,
        };
        HostSpace { host: host.into(), place: place.into(), space }
    }

    const TWO: &str = "targets: {a: file:///mnt/a, b: file:///mnt/b}
workloads:
  first: {target: a, ops: read, files: 2, file_size: 1GiB}
  second: {target: b, ops: read, file_size: 3GiB}
";

    #[test]
    fn data_sets_that_exist_one_after_the_other_share_the_room() {
        let after = plan(TWO);
        let on = |bytes| [space("", "file:///mnt/a", "1", bytes), space("", "file:///mnt/b", "1", bytes)];
        assert!(faults(&after, &on(3 * GIB)).is_empty());
        let found = faults(&after, &on(3 * GIB - 1));
        assert_eq!(found.len(), 1);
        assert!(
            found[0]
                .text
                .starts_with("/mnt: the data set of target b takes 3.00 GiB, but only 3.00 GiB are free")
        );
    }

    #[test]
    fn data_sets_that_exist_at_the_same_time_are_added() {
        // The first is used again after the second.
        let around = plan(&format!("{TWO}  third: {{target: a, ops: read, files: 2, file_size: 1GiB}}\n"));
        let on = |bytes| [space("", "file:///mnt/a", "1", bytes), space("", "file:///mnt/b", "1", bytes)];
        assert!(faults(&around, &on(5 * GIB)).is_empty());
        let [found] = &faults(&around, &on(4 * GIB))[..] else { panic!("one fault") };
        assert!(
            found.text.contains("the data sets of targets a, b take 5.00 GiB, but only 4.00 GiB are free"),
            "{}",
            found.text
        );
        let apart = [space("", "file:///mnt/a", "1", 2 * GIB), space("", "file:///mnt/b", "2", 3 * GIB)];
        assert!(faults(&around, &apart).is_empty(), "two file systems");
    }

    #[test]
    fn hosts_that_reach_the_same_file_system_share_it_and_others_do_not() {
        let plan = plan("targets: {a: file:///mnt/a}\nworkloads: {w: {ops: write, file_size: 2GiB}}\n");
        let of = |hosts: [&str; 2]| hosts.map(|host| space(host, "file:///mnt/a", "1", 3 * GIB));
        assert_eq!(faults(&plan, &of(["", ""])).len(), 1);
        assert!(faults(&plan, &of(["one", "two"])).is_empty());
    }

    #[test]
    fn what_lies_there_already_and_what_is_only_read_needs_no_room() {
        let reads = plan(
            "targets: {a: {url: file:///mnt/a, directory: d}}\nworkloads: {r: {ops: read}}\nstages: {prepare: keep}\n",
        );
        assert!(faults(&reads, &[space("", "file:///mnt/a directory d", "1", 0)]).is_empty());
        let writes = plan("targets: {a: {url: file:///mnt/a, directory: d}}\nworkloads: {w: {ops: write}}\n");
        let mut there = space("", "file:///mnt/a directory d", "1", 0);
        assert_eq!(faults(&writes, std::slice::from_ref(&there)).len(), 1);
        there.space.holds_data = true;
        assert!(faults(&writes, &[there]).is_empty());
    }
}
