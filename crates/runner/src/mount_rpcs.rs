//! RPCs that the mount of a `file:` target sends during a measurement.

use std::fs;

use engine::StageResult;
use store::{MountRpcs, RpcCount};

use super::context::Context;
use super::site::Site;
use crate::mountstats::{Counters, MountCounters};

/// Watches the NFS mount that holds a cell's files.
#[derive(Debug)]
pub struct RpcWatch {
    mount: String,
    before: MountCounters,
}

impl RpcWatch {
    /// Starts watching; `None` if the files are not on an NFS mount of this host.
    pub fn start(context: &Context, site: &Site) -> Option<Self> {
        // The mounts of other hosts are not in this host's file.
        if !context.host_group.sees_the_load() || site.virtual_clock() {
            return None;
        }
        let by_host = site.facts_by_host(context);
        let mount = by_host.values().find_map(|facts| facts.get("mount point"))?;
        Some(Self { mount: mount.clone(), before: read(mount)? })
    }

    /// The mount point.
    pub fn mount(&self) -> &str {
        &self.mount
    }

    /// What was sent since the start, in the measurement with this result; `None` if the counters are gone or began
    /// anew.
    pub fn sent(&self, result: &StageResult) -> Option<MountRpcs> {
        let now = read(&self.mount)?;
        let counted = now.since(&self.before)?;
        let apart = result.before.ok + result.before.failed + result.after.ok + result.after.failed;
        let operations = result.total.ok() + result.total.failed() + apart;
        let mut procedures: Vec<_> = counted
            .into_iter()
            .map(|(name, counters)| count(&now.server, name, counters, operations))
            .collect();
        procedures.sort_by(|a, b| b.calls.cmp(&a.calls).then_with(|| a.procedure.cmp(&b.procedure)));
        Some(MountRpcs { mount: self.mount.clone(), operations, procedures })
    }
}

fn count(server: &str, procedure: String, counters: Counters, operations: u64) -> RpcCount {
    let Counters { calls, transmissions, waited_ms, errors } = counters;
    let share = |sum: f64, of: u64| if of == 0 { 0.0 } else { sum / of as f64 };
    RpcCount {
        server: server.to_owned(),
        procedure,
        calls: transmissions,
        calls_per_op: share(transmissions as f64, operations),
        errors,
        mean_ns: share(waited_ms as f64 * 1e6, calls),
    }
}

fn read(mount: &str) -> Option<MountCounters> {
    MountCounters::of(&fs::read_to_string("/proc/self/mountstats").ok()?, mount)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_divided_by_operations_and_waits_by_calls() {
        let counters = Counters { calls: 10, transmissions: 12, waited_ms: 40, errors: Some(3) };
        let counted = count("filer", "OPEN".to_owned(), counters, 24);
        assert_eq!((counted.calls, counted.errors), (12, Some(3)));
        assert_eq!((counted.calls_per_op, counted.mean_ns), (0.5, 4e6));
        assert_eq!(count("filer", "OPEN".to_owned(), counters, 0).calls_per_op, 0.0);
    }
}
