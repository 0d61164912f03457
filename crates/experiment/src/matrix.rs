//! The matrix: which keys are crossed, and in which order the points come.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use crate::known::{FILE, FIND, Form, MATRIX, MEASURE, ORDER, STAGES, SWEEP, WORKLOAD};
use crate::nearest::hint;
use crate::parameters::Parameters;
use crate::place::{Log, Place};
use crate::reader::{Fields, Point, Reader};
use crate::target_options::KINDS;
use crate::tree::{Entry, Node, Value};

/// More cells than this are a mistake: at a minute each they take ten weeks.
pub(crate) const MOST_CELLS: u64 = 100_000;

/// What a key of the matrix changes.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Reach {
    Parameter,
    /// A path of the workload: `queue_depth`, `target.direct`, `stages.warm_up`.
    Path(Rc<str>),
}

/// A key and the values that it takes.
#[derive(Clone, Debug)]
struct Axis {
    name: Rc<str>,
    reach: Reach,
    values: Vec<(Node, String)>,
}

/// The whole matrix.
#[derive(Debug)]
pub(crate) struct Matrix {
    axes: Vec<Axis>,
    shuffled: bool,
    pub repetitions: u32,
    place: Place,
}

/// One cell to be: which workload, at which point, for which time.
#[derive(Clone, Debug)]
pub(crate) struct Slot {
    pub workload: usize,
    /// The number of the point, which says the value of each axis.
    point: u64,
    pub repetition: u32,
}

impl Matrix {
    /// Reads the file's matrix.
    pub fn read(root: &Node, targets: &[Entry], parameters: &Parameters<'_>, log: &Log) -> Option<Self> {
        let before = log.count();
        let none = Point::default();
        let reader = Reader { log, parameters, point: &none };
        let node = root.get("matrix").cloned();
        let place = node.as_ref().map_or(Place::START, |node| node.place);
        let fields = Fields::new(&reader, "matrix", "matrix.", place, node.clone());
        let order = fields.choice("order", ORDER, "given");
        let repetitions = u32::try_from(fields.integer("repetitions", 1, 10_000, 1)).unwrap_or(1);
        let mut axes: Vec<Axis> = Vec::new();
        for entry in node.as_ref().map_or(&[][..], Node::entries) {
            if MATRIX.iter().any(|key| key.name == &*entry.key) {
                continue;
            }
            let Some(axis) = axis(&reader, entry, targets, parameters) else { continue };
            if let Some(twice) = axes.iter().find(|other| other.reach == axis.reach) {
                let text = format!("{:?} and {:?} are the same", twice.name, axis.name);
                log.fault(entry.key_place, text, "cross it once");
            } else {
                axes.push(axis);
            }
        }
        let matrix = Self { axes, shuffled: order == "shuffled", repetitions, place };
        (log.count() == before).then_some(matrix)
    }

    /// The names of parameters that are crossed.
    pub fn parameters(&self) -> BTreeSet<Rc<str>> {
        let crossed = self.axes.iter().filter(|axis| axis.reach == Reach::Parameter);
        crossed.map(|axis| axis.name.clone()).collect()
    }

    /// The axis that a path such as `queue_depth` or `target.direct` is crossed by.
    pub fn axis_of(&self, path: &str) -> Option<&str> {
        let found = self.axes.iter().find(|axis| match &axis.reach {
            Reach::Parameter => false,
            Reach::Path(crossed) => **crossed == *path,
        });
        found.map(|axis| &*axis.name)
    }

    /// All cells in the order in which they run. Every repetition visits all points before the next begins, so that
    /// what changes slowly on the target meets all points alike.
    pub fn slots(&self, workloads: usize, seed: u64, log: &Log) -> Option<Vec<Slot>> {
        let points = self.axes.iter().map(|axis| axis.values.len() as u64).fold(1, u64::saturating_mul);
        let all = points.saturating_mul(workloads as u64).saturating_mul(self.repetitions.into());
        if all > MOST_CELLS {
            let mut factors: Vec<String> = Vec::new();
            if workloads > 1 {
                factors.push(format!("{workloads} workloads"));
            }
            factors.extend(self.axes.iter().map(|axis| format!("{} of {}", axis.values.len(), axis.name)));
            if self.repetitions > 1 {
                factors.push(format!("{} repetitions", self.repetitions));
            }
            log.fault(
                self.place,
                format!("the matrix has {all} cells ({}), more than {MOST_CELLS}", factors.join(" × ")),
                "cross fewer values, or split the experiment",
            );
            return None;
        }
        let mut slots = Vec::new();
        let mut random = SplitMix(seed ^ 0x6d61_7472_6978);
        for repetition in 1..=self.repetitions {
            let first = slots.len();
            for workload in 0..workloads {
                slots.extend((0..points).map(|point| Slot { workload, point, repetition }));
            }
            if self.shuffled {
                random.shuffle(&mut slots[first..]);
            }
        }
        Some(slots)
    }

    /// What a point says: for reading the cell, for people, and for comparing with other runs.
    pub fn point(&self, slot: &Slot) -> (Point, String, BTreeMap<String, String>) {
        let mut point = Point::default();
        let mut texts = BTreeMap::new();
        let mut rest = slot.point;
        let mut chosen = Vec::new();
        // The last axis changes fastest.
        for axis in self.axes.iter().rev() {
            let count = axis.values.len() as u64;
            let index = usize::try_from(rest % count).expect("fewer than the values of an axis");
            chosen.push((axis, &axis.values[index]));
            rest /= count;
        }
        let mut name = String::new();
        for (axis, (node, text)) in chosen.into_iter().rev() {
            match &axis.reach {
                Reach::Parameter => point.parameters.push((axis.name.clone(), node.clone())),
                Reach::Path(path) => point.paths.push((path.clone(), node.clone())),
            }
            name.push_str(&format!(" {}={text}", axis.name));
            texts.insert(axis.name.to_string(), text.clone());
        }
        if self.repetitions > 1 {
            name.push_str(&format!(" repetition={}", slot.repetition));
        }
        (point, name, texts)
    }
}

fn axis(reader: &Reader<'_>, entry: &Entry, targets: &[Entry], parameters: &Parameters<'_>) -> Option<Axis> {
    let reach = reach(&entry.key, targets, parameters);
    let Some(reach) = reach else {
        let names = parameters.all.iter().map(|parameter| &*parameter.name);
        let known = WORKLOAD.iter().chain(STAGES).chain(MATRIX).map(|key| key.name);
        let mend = match crate::nearest(&entry.key, names.chain(known)) {
            Some(near) => format!("did you mean {near:?}?"),
            None => {
                "cross a parameter, a key of workloads or stages, or a target's option such as target.direct"
                    .to_owned()
            }
        };
        reader.log.fault(
            entry.key_place,
            format!("the matrix crosses {:?}, which nothing has", entry.key),
            mend,
        );
        return None;
    };
    let node = reader.resolve(&entry.node)?;
    let Value::List(items) = &node.value else {
        let text = node.text();
        let mend = match node.value {
            Value::Empty => format!("write {}: [a, b]", entry.key),
            _ => format!("write {}: [{text}], or give it in the workload", entry.key),
        };
        reader.fault(&node, format!("the matrix needs a list of values for {:?}", entry.key), mend);
        return None;
    };
    if items.is_empty() {
        let text = format!("the list of {:?} is empty, so there is no cell", entry.key);
        reader.fault(&node, text, "write at least one value, or remove the key");
        return None;
    }
    let mut values: Vec<(Node, String)> = Vec::new();
    for item in items.iter() {
        let item = reader.resolve(item)?;
        let text = item.text();
        if matches!(item.value, Value::Empty) {
            reader.fault(&item, "a value is missing here", "write one, or remove the comma");
        } else if values.iter().any(|(_, other)| *other == text) {
            reader.fault(
                &item,
                format!("{text:?} is in the list twice"),
                "use repetitions to measure it more often",
            );
        } else {
            values.push((item, text));
        }
    }
    Some(Axis { name: entry.key.clone(), reach, values })
}

/// What a key of the matrix means: a parameter, else a key of workloads, else of stages, else a target's option.
fn reach(name: &str, targets: &[Entry], parameters: &Parameters<'_>) -> Option<Reach> {
    if parameters.get(name).is_some() {
        return Some(Reach::Parameter);
    }
    let path = |path: &str| Some(Reach::Path(path.into()));
    if WORKLOAD.iter().any(|key| key.name == name && key.form != Form::Named("stages") && name != "gates") {
        return path(name);
    }
    if STAGES.iter().any(|key| key.name == name) {
        return path(&format!("stages.{name}"));
    }
    let option = |name: &str| {
        let option = KINDS.iter().any(|kind| kind.options.iter().any(|help| help.name == name));
        option || name == "url"
    };
    if option(name) && name != "url" && !targets.is_empty() {
        return path(&format!("target.{name}"));
    }
    let known = match name.split_once('.')? {
        ("target", rest) => option(rest),
        ("stages", rest) => {
            STAGES.iter().any(|key| key.name == rest)
                || rest
                    .strip_prefix("measure.")
                    .is_some_and(|rest| MEASURE.iter().any(|key| key.name == rest))
        }
        ("measure", rest) if MEASURE.iter().any(|key| key.name == rest) => {
            return path(&format!("stages.{name}"));
        }
        ("find", rest) => FIND.iter().any(|key| key.name == rest),
        ("sweep", rest) => SWEEP.iter().any(|key| key.name == rest),
        _ => false,
    };
    if known { path(name) } else { None }
}

/// Says what is wrong with the keys at the top of the file.
pub(crate) fn check_top(root: &Node, log: &Log) {
    for entry in root.entries() {
        if FILE.iter().any(|key| key.name == &*entry.key) {
            continue;
        }
        let mend = if WORKLOAD.iter().any(|key| key.name == &*entry.key) {
            format!("{0:?} belongs to a workload: workloads: {{name: {{{0}: …}}}}, or to defaults", entry.key)
        } else if STAGES.iter().any(|key| key.name == &*entry.key) {
            format!("{0:?} is a stage: write stages: {{{0}: …}}", entry.key)
        } else {
            hint(&entry.key, FILE.iter().map(|key| key.name))
        };
        log.fault(entry.key_place, format!("an experiment has no key {:?}", entry.key), mend);
    }
}

/// A small generator of pseudo-random numbers (Steele, Lea, Flood 2014), so that the order depends on the seed alone
/// and never on a version of a library.
struct SplitMix(u64);

impl SplitMix {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Fisher and Yates. The remainder favours small numbers by less than one in 10¹⁴ at 100 000 cells.
    fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            let other = usize::try_from(self.next() % (last as u64 + 1)).expect("at most last");
            items.swap(last, other);
        }
    }
}
