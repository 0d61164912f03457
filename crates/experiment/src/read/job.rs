//! A workload with a job: one stream per worker over named files.

use std::collections::BTreeMap;

use super::workload::SharedKeys;
use super::{beside_job, rules};
use crate::job::{Ending, Job, Logs};
use crate::load::Workload;
use crate::plan::{Arrivals, CacheControl, Cell, Stages, SteadyRule, Study};
use crate::reader::Fields;
use crate::{checks, from_node};

/// Workload keys that do not apply to a job, and what to write instead.
const WITHOUT_JOB: &[(&str, &str)] = &[
    ("objects", "files, or job: {files: {count: …}}"),
    ("object_size", "block_size, or job: {block_sizes: …}"),
];

/// A cell whose workload is a job; the caller fills in index, name and point. `None` if it is invalid.
pub(super) fn cell(fields: &Fields<'_>, name: &str, shared: SharedKeys) -> Option<Cell> {
    let reader = fields.reader;
    let job: Option<Job> = fields.get("job").and_then(|node| from_node::read(reader, &node));
    let group = fields.get("group").map(|node| from_node::read(reader, &node));
    for (key, instead) in WITHOUT_JOB {
        if fields.own(key) {
            fields.fault(key, format!("{key} does not go with a job"), format!("write {instead}"));
        }
    }
    let stages = fields.below("stages", "stages", None);
    // A rule may end a job early, but not before this.
    let measure = stages.below("measure", "measure", Some("at_least"));
    let judged = fields.has("steady") && !measure.has("at_most") && !measure.has("at_least_bytes");
    let at_least_s = if judged { measure.seconds("at_least", 0.0) } else { 0.0 };
    for key in ["prepare", "measure", "verify", "probe", "clean_up"] {
        if stages.own(key) && !(key == "measure" && judged) {
            let text =
                format!("{key} does not go with a job, which lays out its own files and knows its own end");
            let hint = "see job: {files: {layout: …}}, job: {ending: …} and job: {check: …}";
            stages.fault(key, text, hint);
        }
    }
    let ramp_s = stages.seconds("warm_up", 0.0);
    // The whole job is measured unless a rule is given.
    let steady = if fields.has("steady") { rules::steady(fields) } else { Some(SteadyRule::None) };
    let cache = rules::cache(fields, CacheControl::Keep);
    let (target, kind) = shared.target?;
    let (mut job, arrivals) = (job?, shared.arrivals?);
    let says = |key: &str| fields.get("job").is_some_and(|node| node.get(key).is_some());
    if !says("name") {
        name.clone_into(&mut job.name);
    }
    if !says("seed") {
        job.seed = shared.seed;
    }
    beside_job::put_in(fields, &mut job, cache.filter(|_| fields.has("cache")))?;
    if let Some(study) = &shared.study {
        measure_trials(fields, &mut job, study);
    }
    if arrivals != Arrivals::Closed {
        one_schedule(fields, &job);
    }
    let mut workload =
        Workload::of_job(job, shared.ops?, shared.queue_depth, shared.jobs, shared.op_timeout_s);
    shared.sink.clone_into(&mut workload.sink);
    if arrivals != Arrivals::Closed || shared.study.is_some() {
        workload.backlog_limit = shared.backlog_limit;
    } else if fields.own("backlog") {
        let text = "backlog says how many operations of a rate may wait, and there is no rate here";
        fields.fault(
            "backlog",
            text,
            "add rate, or remove backlog: what a job's own rates ask for waits without limit",
        );
    }
    workload.arrivals = arrivals;
    let job = workload.stream()?;
    let mut stages = Stages::of_job(job, ramp_s);
    if at_least_s > 0.0 {
        stages.measure_at_least_s = at_least_s;
    }
    let cell = Cell {
        index: 0,
        name: name.to_owned(),
        workload_name: name.to_owned(),
        point: BTreeMap::new(),
        repetition: 1,
        target,
        stages,
        workload,
        steady: steady?,
        gates: shared.gates?,
        cache: cache?,
        errors: shared.errors?,
        study: shared.study,
        group: group.flatten(),
        agents: shared.agents,
    };
    if reader.log.count() == shared.faults_before {
        checks::job(fields, kind, &cell);
    }
    Some(cell)
}

/// With a `rate` for all of a job's operations, nothing else may schedule their starts.
fn one_schedule(fields: &Fields<'_>, job: &Job) {
    if job.replay.is_some() {
        let text = "what is replayed starts when its file says";
        fields.fault("rate", text, "remove rate, or job: {replay: …}");
    }
    if job.ending.latency_target.is_some() {
        let text = "a latency target looks for the depth of a closed loop";
        fields.fault("rate", text, "remove rate, or the latency target; find looks for a rate");
    }
}

/// Every measurement of a study ends by time, and the job continues until then.
fn measure_trials(fields: &Fields<'_>, job: &mut Job, study: &Study) {
    let (name, seconds) = match study {
        Study::Find { trial_s, .. } => ("find", *trial_s),
        Study::Sweep { point_s, .. } => ("sweep", *point_s),
    };
    let Ending { runtime_s, time_based, loops, latency_target, .. } = &job.ending;
    let others = [
        (*runtime_s > 0.0 || *time_based || *loops > 0, "ending by time or loops"),
        (latency_target.is_some(), "a latency target, which is a search of its own"),
        (job.replay.is_some(), "a replay, which has its own times"),
        (job.files.layout.create_only, "files that are only laid out"),
        (job.logs != Logs::default(), "logs, which would be of all measurements at once"),
        (job.pace.rates != crate::job::Directions::default(), "rates of its own"),
        (fields.has("group"), "a group: its rates would be others' noise"),
    ];
    for (given, what) in others {
        if given {
            let text = format!(
                "{name} measures a job several times, each for its own time; it does not go with {what}"
            );
            fields.fault(name, text, format!("remove that, or {name}"));
        }
    }
    job.ending.time_based = true;
    job.ending.runtime_s = seconds;
}
