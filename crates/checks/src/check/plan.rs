//! A check as a plan, as an experiment file would say it: two cells a row, one for each phase.

use std::collections::BTreeMap;

use engine::DataShape;
use experiment::{Cell, Plan, Prepare, Settings, SourceText, SteadyRule, Target, WeightedSize};

use super::request::CheckLoad;
use super::row::CheckPhase;
use super::row_targets::{RowTarget, TargetAccess};
use crate::error::CheckError;

/// The experiment's name in results.
const NAME: &str = "check";

/// What is the same in every check; targets and sizes are put in.
const TEMPLATE: &str = "\
name: check
targets:
  nfs: {url: 'nfs://192.0.2.1/export'}
  s3: {url: 's3://bucket?endpoint=http://192.0.2.1'}
stages: {prepare: fill, measure: 1s}
steady: none
workloads:
  nfs-write: {target: nfs, ops: write, access: sequential, block_size: 1MiB, file_size: 1MiB}
  nfs-read: {target: nfs, ops: read, access: sequential, block_size: 1MiB, file_size: 1MiB}
  s3-write: {target: s3, ops: put, access: sequential, object_size: 1MiB}
  s3-read: {target: s3, ops: get, access: sequential, object_size: 1MiB}
";

/// The cells of these rows, in their order: the one that writes, then the one that reads.
///
/// # Errors
/// The template is not understood, which is a defect.
pub fn of_check(load: &CheckLoad, targets: &[RowTarget]) -> Result<Plan, CheckError> {
    let source = SourceText { file: NAME, text: TEMPLATE };
    let mut plan = experiment::parse(&source, &Settings::of(targets::kinds()))
        .map_err(|faults| CheckError::failure(format!("{faults}").replace('\n', " ")))?;
    let templates = std::mem::take(&mut plan.cells);
    let template = |target: &RowTarget, phase: CheckPhase| {
        let name = format!("{}-{}", target.protocol().name(), phase.name());
        let found = templates.iter().find(|cell| cell.workload_name == name);
        found.cloned().ok_or_else(|| CheckError::failure("a check's plan has no such cell; this is a defect"))
    };
    for (number, target) in (0..).zip(targets) {
        let alike = targets.iter().filter(|other| other.label() == target.label()).count();
        for phase in CheckPhase::ALL {
            let cell = template(target, phase)?;
            plan.cells.push(filled(cell, load, target, phase, alike > 1));
            if let Some(cell) = plan.cells.last_mut() {
                cell.index = phase.cell(number);
            }
        }
    }
    Ok(plan)
}

/// The cell of one phase; `named`: its target is told from others with the same address by its export or bucket.
fn filled(cell: Cell, load: &CheckLoad, row: &RowTarget, phase: CheckPhase, named: bool) -> Cell {
    let shape = match row.access {
        TargetAccess::Nfs(_) => load.files(),
        TargetAccess::S3(_) => load.objects(),
    };
    let (item, block) = match shape {
        DataShape::Files { file_bytes, block_bytes } => (file_bytes, block_bytes),
        DataShape::Objects { object_bytes } => (object_bytes, object_bytes),
        DataShape::Device { .. } => (load.block_size, load.block_size),
    };
    let mut cell = cell;
    cell.target = described(row, load);
    if named {
        cell.target.name = format!("{} {}", cell.target.name, row.place());
    }
    cell.name = format!("{} {}", cell.target.name, phase.name());
    // What is compared between two checks: the same phase through the same address.
    cell.workload_name = format!("{} {}", row.protocol().name(), phase.name());
    cell.point = BTreeMap::from([("address".to_owned(), row.path.address.to_string())]);
    cell.steady = SteadyRule::None;
    cell.stages.prepare = Prepare::None;
    cell.stages.warm_up_s = load.ramp.as_secs_f64();
    cell.stages.measure_at_least_s = load.window.as_secs_f64();
    cell.stages.measure_at_most_s = load.window.as_secs_f64();
    let workload = &mut cell.workload;
    workload.jobs = load.workers;
    workload.queue_depth = load.lanes;
    if let Some(mix) = workload.mix_mut() {
        mix.files = (load.dataset / item.max(1)).max(1);
        mix.file_bytes = item;
        mix.block_sizes = vec![WeightedSize { bytes: block, weight: 1.0 }];
        mix.verify = load.sink == drivers::Sink::Verify;
    }
    super::stage::sink_name(load.sink).clone_into(&mut workload.sink);
    workload.op_timeout_s = load.op_timeout.as_secs_f64();
    cell
}

/// The target of a row as an experiment file names it; without keys.
fn described(row: &RowTarget, load: &CheckLoad) -> Target {
    let mut options = BTreeMap::new();
    let mut option = |name: &str, value: String| options.insert(name.to_owned(), value);
    let url = match &row.access {
        TargetAccess::Nfs(config) => {
            option("uid", config.uid.to_string());
            option("gid", config.gid.to_string());
            option("connections", load.connections.to_string());
            option("portmap_port", config.portmap_port.to_string());
            config.mount_port.map(|port| option("mount_port", port.to_string()));
            let port = config.nfs_port.map(|port| format!(":{port}")).unwrap_or_default();
            let host = match config.server {
                std::net::IpAddr::V4(ip) => ip.to_string(),
                std::net::IpAddr::V6(ip) => format!("[{ip}]"),
            };
            format!("nfs://{host}{port}/{}", config.export.trim_start_matches('/'))
        }
        TargetAccess::S3(config) => {
            option("region", config.region.clone());
            config.connect_to.map(|address| option("connect_to", address.to_string()));
            format!("s3://{}?endpoint={}", config.bucket, config.endpoint)
        }
    };
    Target { name: row.label(), url, options }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use drivers::Sink;
    use drivers::nfs::NfsConfig;

    use super::*;
    use crate::test_support::path;

    fn load() -> CheckLoad {
        CheckLoad {
            window: Duration::from_secs(10),
            ramp: Duration::from_secs(2),
            workers: 3,
            lanes: 5,
            connections: 4,
            block_size: 1000,
            object_size: 3000,
            dataset: 1 << 30,
            sink: Sink::Verify,
            stable: false,
            reactor: reactor::BackendChoice::Auto,
            connect_timeout: Duration::from_secs(1),
            op_timeout: Duration::from_secs(30),
        }
    }

    fn export(last: u8, export: &str) -> RowTarget {
        let path = path(last);
        let access = TargetAccess::Nfs(NfsConfig::new(path.address, export, "directory"));
        RowTarget { path, access, stays: true, credentials_file: None, profile: None }
    }

    #[test]
    fn every_row_has_a_cell_for_each_phase_and_a_target_of_its_own() {
        let rows = [export(11, "/a"), export(12, "/a"), export(12, "/b")];
        let plan = of_check(&load(), &rows).unwrap();
        let names: Vec<&str> = plan.cells.iter().map(|cell| &*cell.name).collect();
        assert_eq!(
            names,
            [
                "nfs 192.168.170.11 write",
                "nfs 192.168.170.11 read",
                "nfs 192.168.170.12 /a write",
                "nfs 192.168.170.12 /a read",
                "nfs 192.168.170.12 /b write",
                "nfs 192.168.170.12 /b read",
            ]
        );
        assert!((0..).zip(&plan.cells).all(|(index, cell)| cell.index == index));
        let read = &plan.cells[1];
        assert_eq!((&*read.workload_name, &*read.point["address"]), ("nfs read", "192.168.170.11"));
        assert_eq!(read.target.url, "nfs://192.168.170.11/a");
        assert_eq!((read.workload.jobs, read.workload.queue_depth), (3, 5));
        assert_eq!(read.workload.block_sizes()[0].bytes, 1000);
        assert!(read.workload.verifies() && read.workload.ops[0].op == metrics::OpKind::Read);
    }
}
