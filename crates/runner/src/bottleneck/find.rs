//! What limited a cell: gathers its hosts' evidence and derives the finding.

use std::collections::BTreeMap;

use engine::StageResult;
use experiment::{Cell, Transport};
use fleet::probe::{self, HostSample};
use stats::limit::{Bottleneck, DiskPlace, Evidence, Host, ObservedLoad, Probe, TargetMedium, decide, judge};

use super::{Alone, RequestedLoad, Work, load};
use crate::context::Context;
use crate::measure::Measured;
use crate::servers::ObservedServer;
use crate::site::{FactsByHost, Site};
use crate::timestamp;

/// The finding, including the result of a probe; `None` where no time passed, as on a virtual clock without a probe.
pub fn find(
    context: &Context,
    cell: &Cell,
    (site, by_host): (&Site, &FactsByHost),
    measured: &Measured,
    probe: Option<Probe>,
) -> Option<Bottleneck> {
    if site.virtual_clock() && probe.is_none() {
        return None;
    }
    let local = kind(&cell.target.url) == TargetMedium::Local;
    let parts = measured.parts.iter().map(|one| HostPart {
        name: context.hosts.get(one.member).map_or("", String::as_str),
        machine: context.host_group.machine(one.member),
        place: by_host.get(&one.member).filter(|_| local).and_then(place),
        alone: context.alone.get(one.member),
        samples: measured.witness.of(one.member),
        result: &one.result,
    });
    let finding = of_cell(cell, &measured.result, &parts.collect::<Vec<_>>(), &measured.servers)?;
    Some(match probe {
        Some(probe) => decide(finding, probe),
        None => finding,
    })
}

/// Where a local target's data is, according to its driver.
fn place(facts: &BTreeMap<String, String>) -> Option<DiskPlace> {
    Some(DiskPlace {
        device: facts.get("device")?.clone(),
        file_system: facts.get("file system").cloned().unwrap_or_default(),
        direct: facts.get("direct").is_some_and(|direct| direct == "true"),
    })
}

/// What one host did in a measurement, and its standalone limits.
pub struct HostPart<'a> {
    /// Its name.
    pub name: &'a str,
    /// Boot id of the kernel that it runs on; empty if unknown or irrelevant.
    pub machine: &'a str,
    /// The disk that holds its data, for a local target.
    pub place: Option<DiskPlace>,
    /// Results of its standalone tests.
    pub alone: Option<&'a Alone>,
    /// Samples of the host during the measurement.
    pub samples: Vec<HostSample>,
    /// What it measured.
    pub result: &'a StageResult,
}

/// What limited a cell's load, from its result and the samples of its hosts and of the server's; `None` where no time passed.
pub fn of_cell(
    cell: &Cell,
    whole: &StageResult,
    parts: &[HostPart<'_>],
    servers: &[ObservedServer],
) -> Option<Bottleneck> {
    if whole.window_ns == 0 {
        return None;
    }
    let asked = RequestedLoad {
        kind: kind(&cell.target.url),
        lanes: f64::from(cell.workload.jobs) * f64::from(cell.workload.queue_depth),
        open: whole.open_loop,
        paced: cell.workload.holds_lanes_back(),
        concurrent: cell.group.is_some(),
    };
    let work = work(cell);
    let part = |result: &StageResult| load(result, &asked);
    let hosts: Vec<_> = parts
        .iter()
        .map(|one| {
            let alone = one.alone;
            let ceiling_bytes_per_s = alone.zip(work.as_ref()).and_then(|(alone, work)| alone.ceiling(work));
            // What a network carried does not matter to a load that does not use it.
            let alone = alone.filter(|_| !stays_here(one.result));
            let baseline = alone.and_then(|alone| alone.baseline(&one.result.total));
            let load = ObservedLoad { place: one.place.clone(), ..part(one.result) };
            Host {
                machine: one.machine.to_owned(),
                ceiling_bytes_per_s,
                baseline,
                ..probe::host(one.name, &one.samples, load)
            }
        })
        .collect();
    let mut whole = part(whole);
    whole.lanes *= hosts.len().max(1) as f64;
    let server = |server: &ObservedServer| {
        let host = probe::host(&server.name, &server.samples, ObservedLoad::default());
        let physical = host.cards.iter().filter(|card| !card.loopback);
        let busiest = physical.max_by(|a, b| a.bytes_per_s.total_cmp(&b.bytes_per_s));
        let baseline =
            busiest.and_then(|card| server.network.in_direction(card.received > card.sent, timestamp::now()));
        let disk_baselines = server.disks.figures(timestamp::now());
        Host { machine: server.machine.clone(), baseline, disk_baselines, ..host }
    };
    let server_role = servers.first().map_or_else(String::new, |server| server.role.clone());
    let servers = servers.iter().map(server).collect();
    Some(judge(&Evidence { load: whole, hosts, servers, server_role }))
}

/// Whether all connections of a load end on their own host.
fn stays_here(result: &StageResult) -> bool {
    let paths = drivers::connections::paths(&result.facts);
    !paths.is_empty() && paths.iter().all(|path| path.local.is_loopback())
}

/// The work of a cell that runs one operation with one block size.
fn work(cell: &Cell) -> Option<Work<'_>> {
    let scheme = targets::kind_of(&cell.target.url)?.scheme;
    let ([one], [block]) = (&*cell.workload.ops, &*cell.workload.block_sizes()) else { return None };
    let bytes = if one.op.is_whole() { cell.workload.file_bytes() } else { block.bytes };
    Some(Work { scheme, op: one.op, bytes })
}

/// What kind of medium is behind a URL.
pub fn kind(url: &str) -> TargetMedium {
    match targets::kind_of(url).map(|kind| kind.transport) {
        Some(Transport::None) => TargetMedium::Nothing,
        Some(Transport::Disk) => TargetMedium::Local,
        Some(Transport::Network) | None => TargetMedium::Network,
    }
}

#[cfg(test)]
mod tests {
    use experiment::{Settings, SourceText};
    use metrics::OpKind;

    use super::*;

    fn cell(target: &str, text: &str) -> Cell {
        let text = format!("targets: {{t: '{target}'}}\nworkloads: {{w: {{{text}}}}}\n");
        let plan =
            experiment::parse(&SourceText { file: "t.yaml", text: &text }, &Settings::of(targets::kinds()))
                .unwrap();
        plan.cells[0].clone()
    }

    #[test]
    fn the_disk_is_the_one_that_the_driver_names() {
        let facts =
            |of: &[(&str, &str)]| place(&of.iter().map(|(a, b)| ((*a).into(), (*b).into())).collect());
        assert_eq!(facts(&[("direct", "true"), ("file system", "tmpfs")]), None);
        let on = facts(&[("device", "vda1"), ("file system", "ext4"), ("direct", "true")]);
        let wanted = DiskPlace { device: "vda1".into(), file_system: "ext4".into(), direct: true };
        assert_eq!(on, Some(wanted));
    }

    #[test]
    fn work_of_one_kind_has_a_ceiling() {
        let work_of = |target: &str, text: &str| {
            let cell = cell(target, text);
            work(&cell).map(|work| (work.scheme.to_owned(), work.op, work.bytes))
        };
        let nfs = "nfs://filer/export";
        let read = work_of(nfs, "ops: read, block_size: 64KiB");
        assert_eq!(read, Some(("nfs".into(), OpKind::Read, 64 << 10)));
        assert_eq!(work_of(nfs, "ops: {read: 50%, write: 50%}, block_size: 1MiB"), None);
        let put = work_of("s3://b?endpoint=http://h", "ops: put, object_size: 8MiB");
        assert_eq!(put, Some(("s3".into(), OpKind::Put, 8 << 20)));
    }
}
