//! A workload with a job: one stream a worker over named files.

use std::collections::BTreeMap;

use super::rules;
use crate::job::Job;
use crate::kind::TargetKind;
use crate::load::Workload;
use crate::plan::{CacheControl, Cell, Stages, SteadyRule, Target, WeightedOp};
use crate::reader::Fields;
use crate::{checks, from_node};

/// Keys of a workload that a job says itself, and where.
const SAID_BY_THE_JOB: &[(&str, &str)] = &[
    ("access", "job: {pattern: …}"),
    ("block_size", "job: {block_sizes: …}"),
    ("files", "job: {files: {count: …}}"),
    ("file_size", "job: {files: {bytes: …}} or job: {region: {size: …}}"),
    ("objects", "job: {files: {count: …}}"),
    ("object_size", "job: {block_sizes: …}"),
    ("rate", "job: {pace: {rates: …}}"),
    ("backlog", "nothing: operations of a job wait for its lanes"),
    ("fsync_every", "job: {commits: {fsync_every: …}}"),
    ("fdatasync", "job: {commits: {fdatasync_every: …}}"),
    ("compressible", "job: {content: {compress_percent: …}}"),
    ("dedupe", "job: {content: {dedupe_percent: …}}"),
    ("verify", "job: {check: …}"),
    ("placement", "job: {placement: …}"),
    ("find", "nothing: a job has no searches"),
    ("sweep", "nothing: a job has no sweeps"),
];

/// A cell whose workload is a job; its index, name and point are filled in by the caller. `None` when anything is wrong
/// with it.
pub(super) fn cell(
    fields: &Fields<'_>,
    name: &str,
    target: Option<(Target, &'static TargetKind)>,
    ops: Option<Vec<WeightedOp>>,
    (queue_depth, jobs, agents): (u32, u32, Option<u32>),
) -> Option<Cell> {
    let reader = fields.reader;
    let before = reader.log.count();
    let job: Option<Job> = fields.get("job").and_then(|node| from_node::read(reader, &node));
    let group = fields.get("group").map(|node| from_node::read(reader, &node));
    for (key, instead) in SAID_BY_THE_JOB {
        if fields.own(key) {
            let text = format!("{key} does not go with a job, which says it itself");
            fields.fault(key, text, format!("write {instead}"));
        }
    }
    let stages = fields.below("stages", "stages", None);
    for key in ["prepare", "measure", "verify", "clean_up"] {
        if stages.own(key) {
            let text =
                format!("{key} does not go with a job, which lays out its own files and knows its own end");
            let hint = "see job: {files: {layout: …}}, job: {ending: …} and job: {check: …}";
            stages.fault(key, text, hint);
        }
    }
    let ramp_s = stages.seconds("warm_up", 0.0);
    let op_timeout_s = fields.seconds("op_timeout", 60.0);
    // Measured from beginning to end unless a rule is asked for.
    let steady = if fields.has("steady") { rules::steady(fields) } else { Some(SteadyRule::None) };
    let errors = rules::errors(fields);
    let cache = rules::cache(fields, CacheControl::Keep);
    let gates = super::workload::own_gates(fields);
    let (target, kind) = target?;
    let job = job?;
    let cell = Cell {
        index: 0,
        name: name.to_owned(),
        workload_name: name.to_owned(),
        point: BTreeMap::new(),
        repetition: 1,
        target,
        stages: Stages::of_job(&job, ramp_s),
        workload: Workload::of_job(job, ops?, queue_depth, jobs, op_timeout_s),
        steady: steady?,
        gates: gates?,
        cache: cache?,
        errors: errors?,
        study: None,
        group: group.flatten(),
        agents,
    };
    checks::job(fields, kind, &cell);
    (reader.log.count() == before).then_some(cell)
}
