//! A cell: workload, target, stages and rules at one point of the matrix.

use std::collections::BTreeMap;

use content::SizeDistribution;

use super::hosts::Hosts;
use super::{access, placement, rate, rules, sizes, stages, study, target, think, user_files, weights};
use crate::checks;
use crate::foreign::in_our_words;
use crate::job::WITHOUT_LIMIT_S;
use crate::kind::TargetKind;
use crate::known::{SHARED, SINK, WORKLOAD, WORKS_ON};
use crate::load::{Load, MAX_BATCH, MixLoad, USUAL_BATCH, Workload};
use crate::nearest::hint;
use crate::plan::{Arrivals, CacheControl, Cell, ErrorPolicy, Gate, Prepare, Study, Target, WeightedOp};
use crate::reader::{Fields, Reader};
use crate::tree::{Entry, Node, Value};
use crate::user_files::UserFiles;

/// Default maximum duration of an operation, in seconds.
pub(crate) const USUAL_OP_TIMEOUT_S: f64 = 60.0;

/// The parts of the file from which cells are built.
pub(crate) struct Scene<'a> {
    pub root: &'a Node,
    pub targets: &'a [Entry],
    pub hosts: &'a Hosts<'a>,
}

/// Reads one cell; the caller fills in index, name and point. `None` if anything is wrong with it.
pub(crate) fn cell(reader: &Reader<'_>, scene: &Scene<'_>, workload: &Entry) -> Option<Cell> {
    let before = reader.log.count();
    // Values given for all workloads have the lowest precedence.
    let shared: Vec<Entry> =
        scene.root.entries().iter().filter(|entry| SHARED.contains(&&*entry.key)).cloned().collect();
    let defaults = scene.root.get("defaults").cloned();
    let layers = [Some(workload.node.clone()), defaults, Some(Node::map(workload.key_place, shared))];
    let what = format!("workload {:?}", workload.key);
    let fields = Fields::new(reader, what, "", workload.key_place, layers.into_iter().flatten());
    fields.check_keys_with(WORKLOAD, in_our_words);

    let target = target_of(&fields, scene);
    // The steps of a pass are its operations.
    let ops = if fields.has("pass") { Some(Vec::new()) } else { weights::ops(&fields) };
    let (queue_depth, jobs) = (fields.count("queue_depth", 1, 65_536, 1), fields.count("jobs", 1, 4096, 1));
    let arrivals = rate::arrivals(&fields);
    let study = study::study(&fields, arrivals.as_ref());
    let op_timeout_s = op_timeout(&fields);
    let shared = SharedKeys {
        target,
        ops,
        queue_depth,
        jobs,
        agents: scene.hosts.agents(&fields),
        backlog_limit: fields.integer("backlog", 1, 100_000_000, 100_000),
        sink: fields.choice("sink", SINK, "buffer"),
        op_timeout_s,
        arrivals,
        study,
        errors: rules::errors(&fields),
        gates: own_gates(&fields),
        seed: seed_of(reader, scene.root),
        faults_before: before,
    };
    let cell = match (fields.has("pass"), fields.has("job")) {
        (true, _) => super::pass::cell(&fields, &workload.key, shared),
        (false, true) => super::job::cell(&fields, &workload.key, shared),
        (false, false) => mix_cell(&fields, scene, workload, shared),
    };
    cell.filter(|_| reader.log.count() == before)
}

/// Maximum duration of an operation in seconds; `none` for no limit.
fn op_timeout(fields: &Fields<'_>) -> f64 {
    let node = fields.get("op_timeout");
    if node.is_some_and(|node| matches!(&node.value, Value::Scalar(text) if text.trim() == "none")) {
        return WITHOUT_LIMIT_S;
    }
    let seconds = fields.seconds("op_timeout", USUAL_OP_TIMEOUT_S);
    if seconds <= 0.0 {
        fields.fault("op_timeout", "an operation needs time", "write a duration such as 60s, or none");
    }
    seconds
}

/// The keys common to all loads; fields are `None` if invalid.
pub(super) struct SharedKeys {
    pub target: Option<(Target, &'static TargetKind)>,
    pub ops: Option<Vec<WeightedOp>>,
    pub queue_depth: u32,
    pub jobs: u32,
    pub agents: Option<u32>,
    pub arrivals: Option<Arrivals>,
    pub study: Option<Study>,
    pub backlog_limit: u64,
    pub sink: &'static str,
    pub op_timeout_s: f64,
    pub errors: Option<ErrorPolicy>,
    pub gates: Option<Vec<Gate>>,
    /// The experiment's seed.
    pub seed: u64,
    /// Number of faults before anything of the workload was read.
    pub faults_before: usize,
}

/// The experiment's seed; an invalid one is reported where the top of the file is read.
fn seed_of(reader: &Reader<'_>, root: &Node) -> u64 {
    let node = root.get("seed").and_then(|node| reader.resolve(node));
    let digits = node.map(|node| node.text().replace('_', ""));
    digits.and_then(|digits| digits.parse().ok()).unwrap_or(super::USUAL_SEED)
}

/// A cell whose lanes draw their operations independently.
fn mix_cell(fields: &Fields<'_>, scene: &Scene<'_>, workload: &Entry, shared: SharedKeys) -> Option<Cell> {
    let reader = fields.reader;
    let SharedKeys { target, ops, faults_before, .. } = shared;
    if fields.own("group") {
        fields.fault("group", "only jobs run at the same time", "add job: {…}, or remove group");
    }
    let shape = target.as_ref().map(|(_, kind)| Shape::of(fields, kind, ops.as_deref(), shared.seed));
    let default_block = shape.as_ref().map_or(4096, |shape| shape.default_block);
    let block_sizes = weights::block_sizes(fields, default_block);
    let access = access::access(fields);
    let (compressible, dedupe) = (fields.share("compressible", 0.0), fields.share("dedupe", 0.0));
    let verify = fields.flag("verify", false);
    let on_own = fields.choice("works_on", WORKS_ON, "data_set") == "own";
    let fsync_every = fields.count("fsync_every", 0, u32::MAX, 0);
    let fdatasync = fields.flag("fdatasync", false);
    let batch_size = fields.count("batch_size", 1, MAX_BATCH, USUAL_BATCH);
    let placement = placement::placement(fields);
    let think = think::think(fields);
    let steady = rules::steady(fields);
    let kind_cache = match &target {
        Some((_, kind)) if kind.page_cache => CacheControl::Invalidate,
        _ => CacheControl::Keep,
    };
    let cache = rules::cache(fields, kind_cache);
    let names = shape.as_ref().is_some_and(|shape| shape.names.is_some());
    let stages = steady.as_ref().and_then(|rule| {
        stages::stages(fields, ops.as_deref().unwrap_or_default(), (verify, names, on_own), rule)
    });
    let (target, kind) = target?;
    let (shape, stages) = (shape?, stages?);
    // What exists has its own size.
    let of_tree = shape.names.as_ref().is_some_and(|files| files.tree.is_some());
    let whole = names && stages.prepare == Prepare::Keep && (of_tree || !fields.has("file_size"));
    let mix = MixLoad {
        access: access?,
        block_sizes: block_sizes?,
        fsync_every,
        fdatasync,
        batch_size,
        files: shape.files,
        file_bytes: if whole { 0 } else { shape.file_bytes },
        sizes: shape.sizes,
        user_files: shape.names.map(|files| UserFiles {
            create: files.tree.is_none() && stages.prepare != Prepare::Keep,
            ..files
        }),
        compressible,
        dedupe,
        verify,
        on_own,
        placement,
        think,
    };
    let workload_value = Workload {
        ops: ops?,
        queue_depth: shared.queue_depth,
        jobs: shared.jobs,
        arrivals: shared.arrivals?,
        backlog_limit: shared.backlog_limit,
        sink: shared.sink.to_owned(),
        op_timeout_s: shared.op_timeout_s,
        load: Load::Mix(Box::new(mix)),
    };
    let cell = Cell {
        index: 0,
        name: workload.key.to_string(),
        workload_name: workload.key.to_string(),
        point: BTreeMap::new(),
        repetition: 1,
        target,
        workload: workload_value,
        stages,
        steady: steady?,
        gates: shared.gates?,
        cache: cache?,
        errors: shared.errors?,
        study: shared.study,
        group: None,
        agents: shared.agents,
    };
    // If something is already invalid, combination checks would only report it again.
    if reader.log.count() == faults_before {
        checks::cell(fields, kind, &cell);
        scene.hosts.check(fields, kind, &cell);
    }
    if reader.log.count() == faults_before {
        user_files::check(fields, kind, scene.hosts.fleet, &cell);
    }
    Some(cell)
}

/// The target named by a workload, or the only one.
fn target_of(fields: &Fields<'_>, scene: &Scene<'_>) -> Option<(Target, &'static TargetKind)> {
    let reader = fields.reader;
    let names = || scene.targets.iter().map(|entry| &*entry.key);
    let entry = match fields.get("target") {
        Some(node) => {
            let name = reader.text(&node, "write a target's name")?;
            let found = scene.targets.iter().find(|entry| *entry.key == *name);
            if found.is_none() {
                let hint = match name.contains(':') {
                    true => format!("declare it, targets: {{data: {name}}}, and write target: data"),
                    false => hint(&name, names()),
                };
                reader.fault(&node, format!("there is no target {name:?}"), hint);
            }
            found?
        }
        None => match scene.targets {
            [only] => only,
            [] => return None,
            _ if fields.has("target") => return None,
            _ => {
                reader.log.fault(
                    fields.place,
                    format!("{} does not say which target it loads", fields.what),
                    format!("add target: {}", crate::reader::one_of(&names().collect::<Vec<_>>())),
                );
                return None;
            }
        },
    };
    target::target(reader, scene.hosts, entry)
}

/// The size of the data set.
struct Shape {
    files: u64,
    file_bytes: u64,
    sizes: Option<SizeDistribution>,
    names: Option<UserFiles>,
    default_block: u64,
}

impl Shape {
    fn of(fields: &Fields<'_>, kind: &TargetKind, ops: Option<&[WeightedOp]>, seed: u64) -> Self {
        let objects = kind.holds_objects(ops.unwrap_or_default());
        let (count_key, size_key, other_count, other_size) = if objects {
            ("objects", "object_size", "files", "file_size")
        } else {
            ("files", "file_size", "objects", "object_size")
        };
        for (key, right) in [(other_count, count_key), (other_size, size_key)] {
            if fields.own(key) {
                let things = if objects { "objects" } else { "files" };
                fields.fault(
                    key,
                    format!("{key} does not fit: this target holds {things} here"),
                    format!("write {right}"),
                );
            }
        }
        let default_count = if objects { 64 } else { 1 };
        let (files, names) = match objects {
            true => (fields.integer(count_key, 1, 1 << 40, default_count), None),
            false => user_files::of_mix(fields, kind.usual_files, seed).unwrap_or((1, None)),
        };
        let device = kind.device;
        if device && files != 1 && names.is_none() {
            fields.fault(
                "files",
                "a block device holds no files",
                "remove files; file_size is the part that is used",
            );
        }
        let default_size = match (objects, device) {
            (true, _) => kind.usual_object_bytes,
            (false, true) => 0,
            (false, false) => kind.usual_file_bytes,
        };
        let sizes = sizes::sizes(fields, size_key, seed);
        let file_bytes = match (&sizes, fields.get(size_key)) {
            (Some(sizes), _) => sizes.mean_bytes(),
            // Its faults are reported already.
            (None, Some(Node { value: Value::Map(_), .. })) => default_size.max(1),
            (None, _) => fields.size(size_key, default_size),
        };
        let of_tree = names.as_ref().is_some_and(|files| files.tree.is_some());
        if of_tree && fields.own(size_key) {
            fields.fault(size_key, "the files of a tree have the sizes that they have", "remove it");
        } else if sizes.is_some() && (device || names.is_some()) {
            let what = if device { "a block device" } else { "a file with a name" };
            fields.fault(size_key, format!("{what} has one size"), "write one size such as 1GiB");
        }
        let whole_device = device && !fields.has(size_key);
        if file_bytes == 0 && !whole_device {
            let what = if objects { "object" } else { "file" };
            fields.fault(
                size_key,
                format!("a {what} of no bytes holds nothing"),
                "write a size such as 1GiB",
            );
        }
        if files.checked_mul(file_bytes).is_none_or(|total| total > 1 << 60) {
            fields.fault(size_key, "this is more than 1 EiB of data", "use fewer or smaller ones");
        }
        // A default block larger than the file would cause a fault that is not the user's.
        let max_bytes = sizes.as_ref().map_or(file_bytes, SizeDistribution::max_bytes).max(1);
        let default_block = if objects { max_bytes } else { 4096.min(max_bytes) };
        let default_block = if device { 4096 } else { default_block };
        Self { files, file_bytes, sizes, names, default_block }
    }
}

/// The workload's own gates, all of which must apply to it.
pub(super) fn own_gates(fields: &Fields<'_>) -> Option<Vec<Gate>> {
    match fields.get("gates") {
        Some(node) => {
            gates(fields.reader, &node, &[]).map(|gates| gates.into_iter().map(|(gate, _)| gate).collect())
        }
        None => Some(Vec::new()),
    }
}

/// A list of gates with their places. Using a name from `workloads` as an operation is reported as such.
pub(crate) fn gates(reader: &Reader<'_>, node: &Node, workloads: &[Entry]) -> Option<Vec<(Gate, Node)>> {
    if matches!(node.value, Value::Map(_)) {
        reader.fault(node, "gates are a list of conditions", "write gates: [read.p99 <= 5 ms, errors == 0]");
        return None;
    }
    let items = reader.list(node)?;
    let read: Vec<_> = items
        .iter()
        .map(|item| super::gate(reader, item, workloads).map(|gate| (gate, item.clone())))
        .collect();
    read.into_iter().collect()
}
