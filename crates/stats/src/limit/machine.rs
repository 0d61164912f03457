//! Load of a run's other agents on the same machine: to each agent it is the run's own load.

use super::evidence::{AgentsBeside, Host};
use super::foreign;

/// The hosts, each with the load of the run's other agents on its machine.
pub(super) fn together(hosts: &[Host]) -> Vec<Host> {
    let beside = |at: usize| {
        let same = |(other, host): &(usize, &Host)| *other != at && host.machine == hosts[at].machine;
        let others = hosts.iter().enumerate().filter(same).map(|(_, host)| host);
        others.fold(AgentsBeside::default(), add)
    };
    let each = hosts.iter().enumerate().map(|(at, host)| {
        let beside = if host.machine.is_empty() { AgentsBeside::default() } else { beside(at) };
        Host { beside, ..host.clone() }
    });
    each.collect()
}

fn add(mut sum: AgentsBeside, host: &Host) -> AgentsBeside {
    let (read, written) = foreign::own_disk_bytes(host);
    sum.cores += host.own_cores;
    sum.ops_per_s += host.load.ops_per_s;
    sum.requests += foreign::own_requests(&host.load);
    sum.disk_read += read;
    sum.disk_written += written;
    sum.read += host.load.read_bytes_per_s;
    sum.written += host.load.written_bytes_per_s;
    sum.paths.extend(host.paths.iter().cloned());
    sum
}
