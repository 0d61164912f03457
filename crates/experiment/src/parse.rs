//! From the text of an experiment file to its plan.

use crate::fault::Diagnostics;
use crate::foreign::in_our_words;
use crate::known::{FILE, STAGES, WORKLOAD};
use crate::matrix::Matrix;
use crate::nearest::hint;
use crate::parameters::Parameters;
use crate::place::{Log, Place};
use crate::plan::{Cell, Gate, Plan};
use crate::read::{self, Hosts, Scene};
use crate::reader::{Fields, Point, Reader, one_of};
use crate::set;
use crate::source::{Settings, SourceText};
use crate::tree::{self, Entry, LARGEST_FILE, Node, Value};

/// The smallest useful file, as a hint for empty ones.
const SMALLEST: &str = "write targets: {data: file:///mnt/data} and workloads: {first: {ops: read}}";

/// Enough faults to stop looking for more.
const ENOUGH: usize = 3 * crate::fault::MAX_FAULTS;

/// Parses an experiment file into its plan.
///
/// # Errors
/// All faults of the file, at most [`MAX_FAULTS`](crate::MAX_FAULTS), each with its line, column, text and hint.
pub fn parse(source: &SourceText<'_>, settings: &Settings<'_>) -> Result<Plan, Diagnostics> {
    let log = Log::default();
    let plan = read(source, settings, &log);
    match plan {
        Some(plan) if log.is_clean() => Ok(plan),
        _ => {
            if log.is_clean() {
                // Unreachable, but a message is better than a panic.
                log.fault(Place::START, "this file makes no plan", SMALLEST);
            }
            Err(log.into_faults(source.file, source.text))
        }
    }
}

/// The text of a file from its bytes.
///
/// # Errors
/// The position of the first byte that is not UTF-8.
pub fn decode<'a>(file: &str, bytes: &'a [u8]) -> Result<&'a str, Diagnostics> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok(text.strip_prefix('\u{feff}').unwrap_or(text)),
        Err(error) => {
            let before = String::from_utf8_lossy(&bytes[..error.valid_up_to()]);
            let line = before.matches('\n').count() + 1;
            let column = before.rsplit('\n').next().unwrap_or("").chars().count() + 1;
            let place = Place {
                line: u32::try_from(line).unwrap_or(u32::MAX),
                column: u32::try_from(column).unwrap_or(u32::MAX),
                ..Place::START
            };
            let log = Log::default();
            let text =
                if bytes.contains(&0) { "this is not a text file" } else { "a byte here is not UTF-8" };
            log.fault(place, text, "save the file as UTF-8");
            Err(log.into_faults(file, &String::from_utf8_lossy(bytes)))
        }
    }
}

fn read(source: &SourceText<'_>, settings: &Settings<'_>, log: &Log) -> Option<Plan> {
    if source.text.len() > LARGEST_FILE {
        log.fault(Place::START, "this file is larger than 1 MiB", "an experiment needs a few dozen lines");
        return None;
    }
    let root = match tree::read(source.text, log) {
        Some(root) if matches!(root.value, Value::Map(_)) => root,
        Some(root) if !matches!(root.value, Value::Empty) => {
            log.fault(root.place, "an experiment is a map of keys", SMALLEST);
            return None;
        }
        _ => {
            if log.is_clean() {
                log.fault(Place::START, "this file is empty", SMALLEST);
            }
            return None;
        }
    };
    let mut parameters = Parameters::read(root.get("parameters"), settings, log);
    let root = set::apply(root, &mut parameters, settings, log);
    check_top(&root, log);
    let targets = named(&root, "targets", "target", log);
    let workloads = named(&root, "workloads", "workload", log);
    let none = Point::default();
    let reader = Reader { log, parameters: &parameters, point: &none };
    let fleet = read::fleet(&reader, root.get("fleet"), settings);
    let (hosts, wrong) = Hosts::new(fleet.as_ref());
    if let Some(text) = wrong {
        log.fault(root.get("fleet").map_or(Place::START, |node| node.place), text, "shorten its variables");
    }
    let matrix = if root.get("fleet").is_some() && fleet.is_none() {
        // Consequences of an invalid fleet are not faults of their own.
        return None;
    } else {
        Matrix::read(&root, &workloads, &parameters, &hosts, log)
    };
    let crossed = matrix.as_ref().map(Matrix::parameters).unwrap_or_default();
    parameters.check_used(&root, &crossed);

    let scene = Scene { root: &root, targets: &targets, hosts: &hosts };
    if crossed.is_empty() {
        // With crossed parameters, a target may be complete only in its cells.
        read::check_targets(&reader, &scene);
    }
    let top = Fields::new(&reader, "experiment", "", Place::START, [root.clone()]);
    let text = |key: &str| top.get(key).and_then(|node| reader.text(&node, "write a text"));
    let name = text("name").unwrap_or_else(|| stem(source.file));
    let seed = top.integer("seed", 0, u64::MAX, read::USUAL_SEED);
    let (description, results) = (text("description"), text("results"));
    let gates = match top.get("gates") {
        Some(node) => read::gates(&reader, &node, &workloads).unwrap_or_default(),
        None => Vec::new(),
    };
    if let Some(matrix) = &matrix {
        set::check_crossed(matrix, &parameters, settings, log);
    }
    let matrix = matrix?;
    let slots = matrix.slots(seed, log)?;
    let mut cells = Vec::with_capacity(slots.len());
    for slot in &slots {
        let (point, point_name, texts) = matrix.point(slot);
        let reader = Reader { log, parameters: &parameters, point: &point };
        if let Some(mut cell) = read::cell(&reader, &scene, &workloads[slot.workload]) {
            cell.index = u32::try_from(cells.len()).unwrap_or(u32::MAX);
            cell.name.push_str(&point_name);
            cell.point = texts;
            cell.repetition = slot.repetition;
            cells.push(cell);
        }
        if log.different() > ENOUGH {
            break;
        }
    }
    if log.is_clean() {
        let places: Vec<Place> = workloads.iter().map(|workload| workload.key_place).collect();
        crate::checks::groups(&cells, &places, log);
        apply_gates(&mut cells, &gates, &reader);
    }
    let observe = read::observe(&reader, root.get("observe"), settings);
    let server_scale = matrix.server().cloned();
    if server_scale.is_some() && cells.iter().any(|cell| cell.group.is_some()) {
        let place = root.get("scale").map_or(Place::START, |node| node.place);
        log.fault(
            place,
            "jobs that run at the same time are not crossed",
            "remove scale.server, or the groups",
        );
    }
    Some(Plan { name, description, seed, results, fleet, observe, server_scale, cells })
}

/// Reports unknown keys at the top of the file.
fn check_top(root: &Node, log: &Log) {
    for entry in root.entries() {
        if FILE.iter().any(|key| key.name == &*entry.key) {
            continue;
        }
        let hint = if WORKLOAD.iter().any(|key| key.name == &*entry.key) {
            format!("{0:?} belongs to a workload: workloads: {{name: {{{0}: …}}}}, or to defaults", entry.key)
        } else if STAGES.iter().any(|key| key.name == &*entry.key) {
            format!("{0:?} is a stage: write stages: {{{0}: …}}", entry.key)
        } else if let Some(ours) = in_our_words(&entry.key) {
            ours
        } else {
            hint(&entry.key, FILE.iter().map(|key| key.name))
        };
        log.fault(entry.key_place, format!("an experiment has no key {:?}", entry.key), hint);
    }
}

/// Assigns the file's gates to the cells that they apply to.
fn apply_gates(cells: &mut [Cell], gates: &[(Gate, Node)], reader: &Reader<'_>) {
    for (gate, node) in gates {
        let mut used = false;
        for cell in &mut *cells {
            if gate.op.is_none_or(|op| crate::checks::gate_op_occurs(cell, op)) {
                cell.gates.push(gate.clone());
                used = true;
            }
        }
        if let Some(op) = gate.op
            && !used
        {
            let mut all: Vec<&str> =
                cells.iter().flat_map(|cell| &cell.workload.ops).map(|weighted| weighted.op.name()).collect();
            all.sort_unstable();
            all.dedup();
            reader.fault(
                node,
                format!("{:?} looks at {op}, which no workload does", gate.text),
                format!("use {}, or total", one_of(&all)),
            );
        }
    }
}

/// The named parts of a section; names must be suitable as file names and paths.
fn named(root: &Node, section: &str, what: &str, log: &Log) -> Vec<Entry> {
    let Some(node) = root.get(section) else {
        let near = root.entries().iter().find(|entry| {
            !FILE.iter().any(|key| key.name == &*entry.key) && crate::nearest(&entry.key, [section]).is_some()
        });
        // A misspelt section is reported separately.
        if near.is_none() {
            log.fault(Place::START, format!("there are no {section}"), SMALLEST);
        }
        return Vec::new();
    };
    let Value::Map(entries) = &node.value else {
        let hint = format!("write {section}: and below it, indented, name: …");
        log.fault(node.place, format!("{section} is a map of names"), hint);
        return Vec::new();
    };
    if entries.is_empty() {
        log.fault(node.place, format!("there are no {section}"), SMALLEST);
    }
    for entry in entries.iter() {
        let good = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if entry.key.is_empty() || entry.key.len() > 64 || !entry.key.chars().all(good) {
            log.fault(
                entry.key_place,
                format!("{:?} is no name of a {what}", entry.key),
                "use up to 64 letters, digits, - and _",
            );
        }
        if section == "workloads" && !matches!(entry.node.value, Value::Map(_)) {
            let text = format!("workload {:?} is a map of keys", entry.key);
            let hint = match WORKLOAD.iter().any(|key| key.name == &*entry.key) {
                true => format!("give the workload a name: workloads: {{first: {{{}: …}}}}", entry.key),
                false => format!("write {}: {{ops: read}}", entry.key),
            };
            log.fault(entry.node.place, text, hint);
        }
    }
    let kept =
        entries.iter().filter(|entry| section != "workloads" || matches!(entry.node.value, Value::Map(_)));
    kept.cloned().collect()
}

/// A file's name without folder and extension.
fn stem(file: &str) -> String {
    let name = file.rsplit('/').next().unwrap_or(file);
    let stem = name.strip_suffix(".yaml").or_else(|| name.strip_suffix(".yml")).unwrap_or(name);
    if stem.is_empty() { "experiment".into() } else { stem.into() }
}

/// The closest names for a `--set` that matches nothing.
pub(crate) fn near_names(name: &str, parameters: &Parameters<'_>) -> String {
    let names: Vec<&str> = parameters
        .all
        .iter()
        .map(|parameter| &*parameter.name)
        .chain(FILE.iter().map(|key| key.name))
        .collect();
    hint(name, names.iter().copied())
}
