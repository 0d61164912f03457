//! A workload with a pass: each worker goes through its numbered files once.

use std::collections::BTreeMap;

use super::rules;
use super::workload::SharedKeys;
use crate::load::Workload;
use crate::pass::Pass;
use crate::plan::{Arrivals, CacheControl, Cell, Stages, SteadyRule};
use crate::reader::Fields;
use crate::{checks, from_node};

/// Workload keys that do not apply to a pass, and what to write instead.
const WITHOUT_PASS: &[(&str, &str)] = &[
    ("ops", "pass: {steps: [write-file]}"),
    ("files", "pass: {files: …}, for each job"),
    ("file_size", "pass: {file_bytes: …}"),
    ("objects", "pass: {files: …}, for each job"),
    ("object_size", "pass: {file_bytes: …}"),
    ("block_size", "pass: {record_bytes: …}"),
    ("fsync_every", "pass: {fsync: true}"),
    ("think", "pass: {pause_s: …}"),
    ("verify", "pass: {verify: true}"),
    ("job", "a workload of its own for it"),
    ("group", "no group: workloads with passes run one after the other"),
    ("find", "no find: a pass has no rate"),
    ("sweep", "no sweep: a pass has no rate"),
    ("stages", "no stages: a pass prepares nothing and ends when every file is done"),
    ("steady", "no rule: all of a pass is measured"),
];

/// A cell whose workload is a pass; the caller fills in index, name and point. `None` if it is invalid.
pub(super) fn cell(fields: &Fields<'_>, name: &str, shared: SharedKeys) -> Option<Cell> {
    let reader = fields.reader;
    let pass: Option<Pass> = fields.get("pass").and_then(|node| from_node::read(reader, &node));
    for (key, instead) in WITHOUT_PASS {
        if fields.own(key) {
            fields.fault(key, format!("{key} does not go with a pass"), format!("write {instead}"));
        }
    }
    let cache = rules::cache(fields, CacheControl::Keep);
    let (target, kind) = shared.target?;
    let (pass, arrivals) = (pass?, shared.arrivals?);
    if arrivals != Arrivals::Closed {
        fields.fault("rate", "a pass has no rate", "remove rate, or write pass: {pause_s: …}");
    }
    if !kind.passes {
        let text = format!("a {} target has no directories for a pass", kind.scheme);
        fields.fault("pass", text, "use a file or nfs target");
    }
    if target.option("directory").is_some() || target.option("depth").is_some() {
        let text = "directory and depth are for files of the run's own: a pass has its own tree";
        fields.fault("pass", text, "remove them from the target, and write pass: {tree: …}");
    }
    if let Some(fault) = pass.fault(shared.jobs.saturating_mul(shared.queue_depth)) {
        fields.fault("pass", fault.to_string(), "change the pass");
    }
    let workload = Workload {
        queue_depth: shared.queue_depth,
        sink: shared.sink.to_owned(),
        ..Workload::of_pass(pass, shared.jobs, shared.op_timeout_s)
    };
    let cell = Cell {
        index: 0,
        name: name.to_owned(),
        workload_name: name.to_owned(),
        point: BTreeMap::new(),
        repetition: 1,
        target,
        stages: Stages::of_pass(),
        workload,
        steady: SteadyRule::None,
        gates: shared.gates?,
        cache: cache?,
        errors: shared.errors?,
        study: None,
        group: None,
        agents: shared.agents,
    };
    if reader.log.count() == shared.faults_before {
        checks::pass(fields, kind, &cell);
    }
    Some(cell)
}

#[cfg(test)]
mod tests {
    use metrics::OpKind;

    use crate::pass::{FileSizes, PassStep, Stonewall};
    use crate::{Settings, SourceText, TargetKind, UrlForm, parse};

    static KIND: TargetKind =
        TargetKind { passes: true, ..TargetKind::new("file", "file:///d", UrlForm::Path, OpKind::ALL, &[]) };

    fn read(workload: &str) -> Result<crate::Plan, String> {
        let text = format!("targets: {{t: \"file:///d\"}}\nworkloads:\n  w: {workload}\n");
        parse(&SourceText { file: "x.yaml", text: &text }, &Settings::of(&[&KIND]))
            .map_err(|faults| faults.to_string())
    }

    #[test]
    fn a_pass_is_read_with_its_units() {
        let plan = read(
            "{jobs: 4, pass: {steps: [write-file, stat], files: 10, file_bytes: 4KiB, sizes: exponential, stonewall: end, \
             tree: {files_per_directory: 5, shared: true}}}",
        )
        .unwrap();
        let workload = &plan.cells[0].workload;
        let pass = workload.pass().unwrap();
        assert_eq!(pass.steps, [PassStep::WriteFile, PassStep::Stat]);
        assert_eq!(
            (pass.file_bytes, pass.sizes, pass.stonewall),
            (4096, FileSizes::Exponential, Stonewall::End)
        );
        assert_eq!((pass.tree.files_per_directory, pass.tree.directories_per_directory), (5, 10));
        assert_eq!((workload.files(), workload.ops.len()), (40, 2));
        let stored = serde_json::to_string(&plan).unwrap();
        assert_eq!(serde_json::from_str::<crate::Plan>(&stored).unwrap(), plan);
    }

    #[test]
    fn what_does_not_go_with_a_pass_is_refused() {
        for (workload, part) in [
            ("{ops: read, pass: {steps: [stat]}}", "ops does not go with a pass"),
            ("{pass: {steps: [stat], files: 0}}", "at least one file"),
            ("{rate: 100/s, pass: {steps: [stat]}}", "a pass has no rate"),
            ("{pass: {steps: [stat, shred]}}", "shred"),
            ("{pass: {files: 3}}", "at least one step"),
        ] {
            let refused = read(workload).unwrap_err();
            assert!(refused.contains(part), "{workload}: {refused}");
        }
    }
}
