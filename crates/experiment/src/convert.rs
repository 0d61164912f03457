//! Converts a plan of jobs back to an experiment file that yields the same plan.

use std::collections::{BTreeMap, BTreeSet};

use crate::convert_fleet::FleetForm;
use crate::convert_form::{self, Form, share};
use crate::fleet::escape_braces;
use crate::job::{BlockSizes, Commits, Directions, Job, Pattern, SizeChoice, WITHOUT_LIMIT_S};
use crate::plan::{
    Cell, ErrorPolicy, LevelLimits, Plan, Stages, SteadyRule, Target, WeightedOp, WeightedSize,
};
use crate::read::{USUAL_OP_TIMEOUT_S, USUAL_SEED};
use units::{Size, Span};

/// Keys that a plan's cells may cross, in the order of the matrix.
const CROSSED: [&str; 2] = ["block_size", "queue_depth"];
/// Maximum length of a workload's or target's name.
const LONGEST_NAME: usize = 64;

/// The experiment file of a plan whose cells are jobs, as produced by a job file: `manometer run` on it does the same.
/// Defaults are omitted. Neighbouring cells of one workload that differ in crossed keys become one workload with a
/// matrix. `None` if a cell has no job.
pub fn convert(plan: &Plan) -> Option<String> {
    let cells: Option<Vec<(&Cell, &Job)>> =
        plan.cells.iter().map(|cell| cell.workload.stream().map(|job| (cell, job))).collect();
    // With a fleet, targets already contain variables in file syntax.
    let mut targets = Targets { plain: plan.fleet.is_none(), ..Targets::default() };
    let mut names = BTreeSet::new();
    let mut workloads = Vec::new();
    let same_matrix = |one: &(&Cell, &Job), next: &(&Cell, &Job)| {
        let crossed = CROSSED.iter().any(|key| one.0.point.contains_key(*key));
        crossed && one.0.workload_name == next.0.workload_name
    };
    for cells in cells?.chunk_by(same_matrix) {
        let (cell, job) = *cells.first()?;
        let name = free_name(&cell.workload_name, "job", &mut names);
        let target = targets.name_of(&cell.target);
        let mut form = workload(plan, &name, cell, job)?;
        let matrix = matrix(cells.iter().map(|(cell, _)| *cell));
        if !matrix.is_empty() {
            form.retain(|(key, _)| !cell.point.contains_key(key));
            form.push(("matrix".to_owned(), Form::Map(matrix)));
        }
        workloads.push((form, name, target));
    }
    // A single target need not be named.
    let several = targets.named.len() > 1;
    let workloads = workloads.into_iter().map(|(form, name, target)| {
        let target = several.then(|| ("target".to_owned(), Form::text(target)));
        (name, Form::Map(target.into_iter().chain(form).collect()))
    });
    let workloads = Form::Map(workloads.collect());
    let mut file = vec![("name".to_owned(), Form::text(&plan.name))];
    let mut put = |key: &str, form: Form| file.push((key.to_owned(), form));
    if let Some(description) = &plan.description {
        put("description", Form::text(description));
    }
    if plan.seed != USUAL_SEED {
        put("seed", Form::text(plan.seed.to_string()));
    }
    if let Some(fleet) = &plan.fleet {
        put("fleet", Form::of(&FleetForm::of(fleet))?);
    }
    put("targets", Form::Map(targets.named));
    put("workloads", workloads);
    let mut text = String::new();
    for (key, form) in file {
        let open = match &*key {
            "workloads" => 3,
            "targets" => 2,
            _ => 1,
        };
        Form::Map(vec![(key, form)]).write(0, open, &mut text);
    }
    Some(text)
}

/// The values of the crossed keys of one workload's cells, in order.
fn matrix<'a>(cells: impl Iterator<Item = &'a Cell> + Clone) -> Vec<(String, Form)> {
    let values = |key: &str| {
        let mut values: Vec<&String> = Vec::new();
        for value in cells.clone().filter_map(|cell| cell.point.get(key)) {
            if !values.contains(&value) {
                values.push(value);
            }
        }
        Form::List(values.into_iter().map(Form::text).collect())
    };
    let crossed = CROSSED.iter().map(|key| ((*key).to_owned(), values(key)));
    crossed.filter(|(_, form)| *form != Form::List(Vec::new())).collect()
}

/// A workload, reduced to what differs from the defaults.
fn workload(plan: &Plan, name: &str, cell: &Cell, job: &Job) -> Option<Vec<(String, Form)>> {
    let Cell { workload, stages, steady, errors, group, agents, .. } = cell;
    let mut form = vec![("ops".to_owned(), ops(&workload.ops))];
    let mut put = |key: &str, value: Option<Form>| form.extend(value.map(|value| (key.to_owned(), value)));
    let unless = |value: u32, usual: u32| (value != usual).then(|| Form::text(value.to_string()));
    let mut job = job.clone();
    beside_job(&mut job, &mut put);
    put("queue_depth", unless(workload.queue_depth, 1));
    put("jobs", unless(workload.jobs, 1));
    put("op_timeout", op_timeout(workload.op_timeout_s));
    put("group", group.as_ref().and_then(Form::of));
    put("agents", agents.map(|agents| Form::text(agents.to_string())));
    put("stages", stages_form(stages, &job));
    put("steady", steady_rule(steady));
    put("errors", errors_form(*errors));
    let mut own = convert_form::of_job(&job)?;
    let own_seed = job.seed != plan.seed;
    own.entries().retain(|(key, _)| key != "name" && key != "seed");
    if own_seed {
        own.entries().insert(0, ("seed".to_owned(), Form::text(job.seed.to_string())));
    }
    if job.name != name {
        own.entries().insert(0, ("name".to_owned(), Form::text(&job.name)));
    }
    put("job", Some(own));
    Some(form)
}

/// The ramp, and the minimum time for a steady-state rule.
fn stages_form(stages: &Stages, job: &Job) -> Option<Form> {
    let usual = Stages::of_job(job, 0.0);
    let all = [
        ("warm_up", stages.warm_up_s, usual.warm_up_s),
        ("measure", stages.measure_at_least_s, usual.measure_at_least_s),
    ];
    let differ = all.into_iter().filter(|(_, seconds, usual)| seconds != usual);
    let form: Vec<_> = differ.map(|(key, seconds, _)| (key.to_owned(), Form::text(span(seconds)))).collect();
    (!form.is_empty()).then_some(Form::Map(form))
}

/// Moves what a workload says on behalf of its job out of the job.
fn beside_job(job: &mut Job, put: &mut impl FnMut(&str, Option<Form>)) {
    let sizes = &job.block_sizes;
    let choice = sizes.sizes.read.clone();
    let alike = *sizes == BlockSizes { sizes: Directions::all(choice.clone()), ..BlockSizes::default() };
    if let Some(form) = block_size(&choice).filter(|_| alike) {
        job.block_sizes = BlockSizes::default();
        put("block_size", Some(form));
    }
    let shuffled = Pattern { random: true, ..Pattern::default() };
    let patterns = [
        ("sequential", Pattern::default()),
        ("random", Pattern { with_repeats: true, ..shuffled.clone() }),
        ("shuffled", shuffled),
    ];
    if let Some((word, _)) = patterns.iter().find(|(_, pattern)| job.pattern == *pattern) {
        job.pattern = Pattern::default();
        put("access", Some(Form::text(*word)));
    }
    if job.files.count > 0 {
        put("files", Some(Form::text(job.files.count.to_string())));
        job.files.count = 0;
    }
    let Commits { fsync_every, fdatasync_every, .. } = job.commits;
    let alone =
        [Commits { fsync_every, ..Commits::default() }, Commits { fdatasync_every, ..Commits::default() }];
    if job.commits != Commits::default() && alone.contains(&job.commits) {
        put("fsync_every", Some(Form::text(fsync_every.max(fdatasync_every).to_string())));
        put("fdatasync", (fdatasync_every > 0).then(|| Form::text("true")));
        job.commits = Commits::default();
    }
}

/// Sizes in the form of `block_size`, if they parse back to the same.
fn block_size(choice: &SizeChoice) -> Option<Form> {
    match choice {
        SizeChoice::Fixed(bytes) => Some(Form::text(Size(*bytes).to_string())),
        SizeChoice::Split(sizes) if sizes.len() > 1 => {
            let distinct: BTreeSet<u64> = sizes.iter().map(|size| size.bytes).collect();
            let sum: f64 = sizes.iter().map(|size| size.weight).sum();
            let size = |size: &WeightedSize| (Size(size.bytes).to_string(), Form::text(share(size.weight)));
            let whole = sum == 1.0 && sizes.iter().all(|size| size.weight > 0.0);
            (distinct.len() == sizes.len() && whole).then(|| Form::Map(sizes.iter().map(size).collect()))
        }
        _ => None,
    }
}

/// Operations and their shares.
fn ops(ops: &[WeightedOp]) -> Form {
    let op = |op: &WeightedOp| (op.op.name().to_owned(), Form::text(share(op.weight)));
    match ops {
        [only] => Form::text(only.op.name()),
        several => Form::Map(several.iter().map(op).collect()),
    }
}

fn op_timeout(seconds: f64) -> Option<Form> {
    match seconds {
        USUAL_OP_TIMEOUT_S => None,
        WITHOUT_LIMIT_S => Some(Form::text("none")),
        seconds => Some(Form::text(span(seconds))),
    }
}

fn steady_rule(rule: &SteadyRule) -> Option<Form> {
    let number = |value: f64| Form::text(share(value));
    let level = |limits: &LevelLimits| {
        vec![
            ("half_width", number(limits.half_width)),
            ("drift", number(limits.drift)),
            ("latency_drift", number(limits.latency_drift)),
            ("effective_samples", Form::text(limits.effective_samples.to_string())),
        ]
    };
    let (name, values) = match rule {
        SteadyRule::None => return None,
        SteadyRule::Default(limits) => ("default", level(limits)),
        SteadyRule::Sustained { horizon_s, limits } => {
            let mut values = vec![("horizon", Form::text(span(*horizon_s)))];
            values.extend(level(limits));
            ("sustained", values)
        }
        SteadyRule::Snia { round_s } => ("snia", vec![("round", Form::text(span(*round_s)))]),
        SteadyRule::Storperf { sample_s, samples } => (
            "storperf",
            vec![("sample", Form::text(span(*sample_s))), ("samples", Form::text(samples.to_string()))],
        ),
        SteadyRule::Fio { metric, slope, limit, window_s } => (
            "fio",
            vec![
                ("metric", Form::text(metric)),
                ("slope", Form::text(slope.to_string())),
                ("limit", number(*limit)),
                ("window", Form::text(span(*window_s))),
            ],
        ),
    };
    let values = values.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
    Some(Form::Map(vec![(name.to_owned(), Form::Map(values))]))
}

fn errors_form(errors: ErrorPolicy) -> Option<Form> {
    match errors {
        ErrorPolicy::Continue => None,
        ErrorPolicy::Stop => Some(Form::text("stop")),
        ErrorPolicy::StopCellAfter(errors) => {
            Some(Form::Map(vec![("stop_cell_after".to_owned(), Form::text(errors.to_string()))]))
        }
    }
}

/// The targets collected so far.
#[derive(Default)]
struct Targets {
    /// Braces in them are literal, not host variables.
    plain: bool,
    seen: Vec<Target>,
    named: Vec<(String, Form)>,
    names: BTreeSet<String>,
}

impl Targets {
    /// The name of a target in the file; targets with the same URL and options share one.
    fn name_of(&mut self, target: &Target) -> String {
        let same = |other: &&Target| other.url == target.url && other.options == target.options;
        if let Some(at) = self.seen.iter().position(|other| same(&other)) {
            return self.named[at].0.clone();
        }
        let name = free_name(&target.name, "target", &mut self.names);
        let text = |text: &str| if self.plain { escape_braces(text) } else { text.to_owned() };
        let url = text(&target.url);
        let options: BTreeMap<_, _> =
            target.options.iter().map(|(name, value)| (name.clone(), Form::text(text(value)))).collect();
        let form = match options.is_empty() {
            true => Form::text(url),
            false => Form::Map(std::iter::once(("url".to_owned(), Form::text(url))).chain(options).collect()),
        };
        self.seen.push(target.clone());
        self.named.push((name.clone(), form));
        name
    }
}

/// Seconds as a duration.
pub(crate) fn span(seconds: f64) -> String {
    let duration = std::time::Duration::try_from_secs_f64(seconds).unwrap_or(std::time::Duration::MAX);
    Span(duration).to_string()
}

/// A valid workload or target name that is not taken.
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
