//! From a plan of jobs back to an experiment file that makes the same plan.

use std::collections::{BTreeMap, BTreeSet};

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use units::Span;

use crate::convert_fleet::FleetForm;
use crate::fleet::escape_braces;
use crate::job::Job;
use crate::plan::{Cell, ConcurrentCells, ErrorPolicy, Plan, SteadyRule, Target};

/// The longest name of a workload or target.
const LONGEST_NAME: usize = 64;

/// The experiment file of a plan whose cells are jobs, such as a job file stands for: `manometer run` on it does the same.
/// `None` when a cell has no job.
pub fn convert(plan: &Plan) -> Option<String> {
    let cells: Option<Vec<(&Cell, &Job)>> =
        plan.cells.iter().map(|cell| cell.workload.stream().map(|job| (cell, job))).collect();
    // With a fleet, targets hold its variables already as files write them.
    let mut targets = Targets { plain: plan.fleet.is_none(), ..Targets::default() };
    let mut names = BTreeSet::new();
    let workloads: Vec<(String, Workload<'_>)> = cells?
        .into_iter()
        .map(|(cell, job)| {
            let name = free_name(&cell.workload_name, "job", &mut names);
            (name, Workload::of(cell, job, targets.name_of(&cell.target)))
        })
        .collect();
    let file = File {
        name: &plan.name,
        description: plan.description.as_deref(),
        seed: plan.seed,
        fleet: plan.fleet.as_ref().map(FleetForm::of),
        targets: Map(&targets.named),
        workloads: Map(&workloads),
    };
    serde_saphyr::to_string(&file).ok()
}

/// As an experiment file is written.
#[derive(Serialize)]
struct File<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'a str>,
    seed: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    fleet: Option<FleetForm<'a>>,
    targets: Map<'a, TargetForm>,
    workloads: Map<'a, Workload<'a>>,
}

#[derive(Serialize)]
struct Workload<'a> {
    target: String,
    ops: Ops,
    queue_depth: u32,
    jobs: u32,
    op_timeout: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    group: Option<ConcurrentCells>,
    #[serde(skip_serializing_if = "Option::is_none")]
    agents: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stages: Option<Stages>,
    #[serde(skip_serializing_if = "Option::is_none")]
    steady: Option<Steady>,
    #[serde(skip_serializing_if = "Option::is_none")]
    errors: Option<Errors>,
    job: &'a Job,
}

#[derive(Serialize)]
struct Stages {
    warm_up: String,
}

#[derive(Serialize)]
#[serde(untagged)]
enum TargetForm {
    Url(String),
    Options {
        url: String,
        #[serde(flatten)]
        options: BTreeMap<String, String>,
    },
}

#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum Steady {
    Default { half_width: f64, drift: f64, latency_drift: f64, effective_samples: f64 },
    Snia { round: String },
    Storperf { sample: String, samples: u32 },
    Fio { metric: String, slope: bool, limit: f64, window: String },
}

#[derive(Serialize)]
#[serde(untagged)]
enum Errors {
    Word(&'static str),
    After { stop_cell_after: u64 },
}

/// Pairs in their order.
struct Map<'a, T>(&'a [(String, T)]);

impl<T: Serialize> Serialize for Map<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (key, value) in self.0 {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

/// The targets so far.
#[derive(Default)]
struct Targets {
    /// Their braces are braces, not variables of hosts.
    plain: bool,
    seen: Vec<Target>,
    named: Vec<(String, TargetForm)>,
    names: BTreeSet<String>,
}

impl Targets {
    /// The name of a target in the file; two of the same URL and options are one.
    fn name_of(&mut self, target: &Target) -> String {
        let same = |other: &&Target| other.url == target.url && other.options == target.options;
        if let Some(at) = self.seen.iter().position(|other| same(&other)) {
            return self.named[at].0.clone();
        }
        let name = free_name(&target.name, "target", &mut self.names);
        let text = |text: &str| if self.plain { escape_braces(text) } else { text.to_owned() };
        let url = text(&target.url);
        let options: BTreeMap<_, _> =
            target.options.iter().map(|(name, value)| (name.clone(), text(value))).collect();
        let form =
            if options.is_empty() { TargetForm::Url(url) } else { TargetForm::Options { url, options } };
        self.seen.push(target.clone());
        self.named.push((name.clone(), form));
        name
    }
}

impl<'a> Workload<'a> {
    fn of(cell: &'a Cell, job: &'a Job, target: String) -> Self {
        let workload = &cell.workload;
        let steady = match cell.steady.clone() {
            SteadyRule::None => None,
            SteadyRule::Default { half_width, drift, latency_drift, effective_samples } => {
                Some(Steady::Default { half_width, drift, latency_drift, effective_samples })
            }
            SteadyRule::Snia { round_s } => Some(Steady::Snia { round: span(round_s) }),
            SteadyRule::Storperf { sample_s, samples } => {
                Some(Steady::Storperf { sample: span(sample_s), samples })
            }
            SteadyRule::Fio { metric, slope, limit, window_s } => {
                Some(Steady::Fio { metric, slope, limit, window: span(window_s) })
            }
        };
        let errors = match cell.errors {
            ErrorPolicy::Continue => None,
            ErrorPolicy::Stop => Some(Errors::Word("stop")),
            ErrorPolicy::StopCellAfter(errors) => Some(Errors::After { stop_cell_after: errors }),
        };
        let ramp_s = cell.stages.warm_up_s;
        Workload {
            target,
            ops: Ops(workload.ops.iter().map(|op| (op.op.name().to_owned(), op.weight)).collect()),
            queue_depth: workload.queue_depth,
            jobs: workload.jobs,
            op_timeout: span(workload.op_timeout_s),
            group: cell.group,
            agents: cell.agents,
            stages: (ramp_s > 0.0).then(|| Stages { warm_up: span(ramp_s) }),
            steady,
            errors,
            job,
        }
    }
}

/// Operations and their shares; the shortest digits that give the same share again.
struct Ops(Vec<(String, f64)>);

impl Serialize for Ops {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0.as_slice() {
            [(only, _)] => serializer.serialize_str(only),
            several => Map(several).serialize(serializer),
        }
    }
}

/// Seconds as a duration.
pub(crate) fn span(seconds: f64) -> String {
    let duration = std::time::Duration::try_from_secs_f64(seconds).unwrap_or(std::time::Duration::MAX);
    Span(duration).to_string()
}

/// A name that a workload or target may have, and that nobody has yet.
fn free_name(wanted: &str, otherwise: &str, taken: &mut BTreeSet<String>) -> String {
    let plain: String = wanted
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_') { c } else { '-' })
        .take(LONGEST_NAME - 6)
        .collect();
    let plain = if plain.is_empty() { otherwise.to_owned() } else { plain };
    let mut name = plain.clone();
    let mut number = 1;
    while !taken.insert(name.clone()) {
        number += 1;
        name = format!("{plain}-{number}");
    }
    name
}
