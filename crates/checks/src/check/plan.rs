//! A check as a plan, as an experiment file would describe it: two cells per row, one for each phase.

use std::collections::BTreeMap;

use experiment::{Cell, ErrorPolicy, Plan, Prepare, Settings, SourceText, SteadyRule, Target, WeightedSize};
use runner::probe;
use targets::CheckTraits;

use super::request::CheckLoad;
use super::row::CheckPhase;
use super::row_targets::RowTarget;
use crate::error::CheckError;

/// The experiment's name in results.
const NAME: &str = "check";

/// The cells of these rows, in order: first the write cell, then the read cell.
///
/// # Errors
/// The template does not parse, which is a defect.
pub fn of_check(load: &CheckLoad, targets: &[RowTarget]) -> Result<Plan, CheckError> {
    let text = template();
    let source = SourceText { file: NAME, text: &text };
    let mut plan = experiment::parse(&source, &Settings::of(targets::kinds()))
        .map_err(|faults| CheckError::failure(format!("{faults}").replace('\n', " ")))?;
    let templates = std::mem::take(&mut plan.cells);
    let template = |target: &RowTarget, phase: CheckPhase| {
        let name = workload(target.protocol, phase);
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

/// The common part of every check; targets and sizes are filled in.
fn template() -> String {
    let mut text = format!("name: {NAME}\nstages: {{prepare: fill, measure: 1s}}\nsteady: none\ntargets:\n");
    for protocol in targets::checked() {
        text.push_str(&format!("  {}: {{url: '{}'}}\n", protocol.kind.scheme, protocol.kind.example));
    }
    text.push_str("workloads:\n");
    for protocol in targets::checked() {
        for phase in CheckPhase::ALL {
            let op = operation(protocol, phase);
            let sizes = if op.is_whole() { "object_size: 1MiB" } else { "block_size: 1MiB, file_size: 1MiB" };
            let (name, target) = (workload(protocol, phase), protocol.kind.scheme);
            text.push_str(&format!(
                "  {name}: {{target: {target}, ops: {}, access: sequential, {sizes}}}\n",
                op.name()
            ));
        }
    }
    text
}

/// The operation of a phase.
fn operation(protocol: &CheckTraits, phase: CheckPhase) -> metrics::OpKind {
    match phase {
        CheckPhase::Write => protocol.write,
        CheckPhase::Read => protocol.read,
    }
}

fn workload(protocol: &CheckTraits, phase: CheckPhase) -> String {
    format!("{}-{}", protocol.kind.scheme, phase.name())
}

/// The cell of one phase; `named`: its export or bucket distinguishes its target from others with the same address.
fn filled(cell: Cell, load: &CheckLoad, row: &RowTarget, phase: CheckPhase, named: bool) -> Cell {
    let (item, block) = if operation(row.protocol, phase).is_whole() {
        (load.object_size, load.object_size)
    } else {
        (load.file_bytes(), load.block_size)
    };
    let mut cell = cell;
    let name = if named { format!("{} {}", row.label(), row.place) } else { row.label() };
    cell.target = Target::new(name, row.url.clone(), row.options.clone());
    cell.target.provision.clone_from(&row.provision);
    cell.name = format!("{} {}", cell.target.name, phase.name());
    // The unit of comparison between two checks: the same phase through the same address.
    cell.workload_name = format!("{} {}", row.protocol.kind.scheme, phase.name());
    cell.point = BTreeMap::from([("address".to_owned(), row.path.address.to_string())]);
    cell.steady = SteadyRule::None;
    // Continuing the phase best shows what is wrong with a path.
    cell.errors = ErrorPolicy::Continue;
    cell.stages.prepare = Prepare::None;
    cell.stages.warm_up_s = load.ramp.as_secs_f64();
    cell.stages.measure_at_least_s = load.window.as_secs_f64();
    cell.stages.measure_at_most_s = load.window.as_secs_f64();
    // All compared bytes must be counted.
    let probe_s = probe::seconds_of_phase(load.window.as_secs_f64());
    cell.stages.probe_s = probe_s.filter(|_| load.probe && load.sink != drivers::Sink::Verify).unwrap_or(0.0);
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use drivers::Sink;
    use targets::CheckTarget;

    use super::*;
    use crate::test_support::path;

    fn load() -> CheckLoad {
        CheckLoad {
            window: Duration::from_secs(10),
            ramp: Duration::from_secs(2),
            probe: true,
            workers: 3,
            lanes: 5,
            block_size: 1000,
            object_size: 3000,
            dataset: 1 << 30,
            sink: Sink::Verify,
            reactor: reactor::BackendChoice::Auto,
            connect_timeout: Duration::from_secs(1),
            op_timeout: Duration::from_secs(30),
        }
    }

    fn export(last: u8, export: &str) -> RowTarget {
        let (path, protocol) = (path(last), targets::checked().next().unwrap());
        let target = CheckTarget {
            host: path.address.to_string(),
            port: None,
            tls: false,
            name: export.to_owned(),
            options: BTreeMap::new(),
        };
        let (url, options) = protocol.through(&target, path.address, &BTreeMap::new());
        RowTarget { path, protocol, place: target.name, url, options, key: None, provision: None }
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
