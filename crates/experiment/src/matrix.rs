//! The matrix: all points of all workloads, and their order.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use crate::axis::{Axis, Reach, axes};
use crate::known::ORDER;
use crate::parameters::Parameters;
use crate::place::{Log, Place};
use crate::read::{self, Hosts};
use crate::reader::{Crossed, Fields, Point, Reader};
use crate::server_scale::ServerScale;
use crate::tree::{Entry, Node};

/// More cells than this are a mistake: at a minute each they would take ten weeks.
pub(crate) const MAX_CELLS: u64 = 100_000;

/// The whole matrix.
#[derive(Debug)]
pub(crate) struct Matrix {
    /// The axes of each workload: the file's, or its own.
    axes: Vec<Vec<Axis>>,
    /// The sizes of the server: the first axis of every workload.
    server: Option<(ServerScale, Axis)>,
    shuffled: bool,
    repetitions: u32,
    place: Place,
}

/// A future cell: its workload, point and repetition.
#[derive(Clone, Debug)]
pub(crate) struct Slot {
    pub workload: usize,
    /// The number of the point, which determines the value on each axis.
    point: u64,
    pub repetition: u32,
}

impl Matrix {
    /// Reads the file's matrix and those of the workloads.
    pub fn read(
        root: &Node,
        workloads: &[Entry],
        parameters: &Parameters<'_>,
        hosts: &Hosts<'_>,
        log: &Log,
    ) -> Option<Self> {
        let before = log.count();
        let none = Point::default();
        let reader = Reader { log, parameters, point: &none };
        let node = root.get("matrix").cloned();
        let place = node.as_ref().map_or(Place::START, |node| node.place);
        let fields = Fields::new(&reader, "matrix", "matrix.", place, node.clone());
        let order = fields.choice("order", ORDER, "given");
        let repetitions = u32::try_from(fields.integer("repetitions", 1, 10_000, 1)).unwrap_or(1);
        if let Some(misplaced) = root.get("defaults").and_then(|defaults| defaults.get("matrix")) {
            log.fault(misplaced.place, "defaults have no matrix", "write the matrix at the top of the file");
        }
        let common = axes(&reader, node.as_ref(), true);
        let defaults = root.get("defaults");
        let all = [defaults.and_then(|defaults| defaults.get("scale")), root.get("scale")];
        let server = read::server_scale(&reader, root.get("scale"));
        read::server_scale_only_at_the_top(&reader, all[0]);
        let axes = workloads
            .iter()
            .map(|workload| {
                let crossed = match workload.node.get("matrix") {
                    Some(own) => {
                        // Reports a fault if it is no map.
                        Fields::new(&reader, "matrix", "matrix.", own.place, [own.clone()]);
                        axes(&reader, Some(own), false)
                    }
                    None => common.clone(),
                };
                let own = workload.node.get("scale");
                read::server_scale_only_at_the_top(&reader, own);
                // Scale goes outermost, so that what is compared within a step stays together.
                let crossed = match own.or_else(|| all.into_iter().flatten().next()) {
                    Some(node) => together(&reader, read::scale(&reader, node, hosts), crossed),
                    None => crossed,
                };
                match &server {
                    Some((_, axis)) => together(&reader, vec![axis.clone()], crossed),
                    None => crossed,
                }
            })
            .collect();
        let matrix = Self { axes, server, shuffled: order == "shuffled", repetitions, place };
        (log.count() == before).then_some(matrix)
    }

    /// The sizes of the server, and how it is brought to them.
    pub fn server(&self) -> Option<&ServerScale> {
        self.server.as_ref().map(|(scale, _)| scale)
    }

    /// The names of parameters that are crossed.
    pub fn parameters(&self) -> BTreeSet<Rc<str>> {
        let crossed = self.axes.iter().flatten().filter(|axis| axis.reach == Reach::Parameter);
        crossed.map(|axis| axis.name.clone()).collect()
    }

    /// The axis that sets a path such as `queue_depth` or `target.direct`.
    pub fn axis_of(&self, path: &str) -> Option<&str> {
        let found = self.axes.iter().flatten().find(|axis| match &axis.reach {
            Reach::Parameter | Reach::Server => false,
            Reach::Path(crossed) => **crossed == *path,
        });
        found.map(|axis| &*axis.name)
    }

    /// All cells in execution order. Every repetition visits all points before the next one starts, so that slow
    /// changes at the target affect all points alike.
    pub fn slots(&self, seed: u64, log: &Log) -> Option<Vec<Slot>> {
        let points =
            |axes: &Vec<Axis>| axes.iter().map(|axis| axis.values.len() as u64).fold(1, u64::saturating_mul);
        let counts: Vec<u64> = self.axes.iter().map(points).collect();
        let round = counts.iter().copied().fold(0, u64::saturating_add);
        let all = round.saturating_mul(self.repetitions.into());
        if all > MAX_CELLS {
            log.fault(
                self.place,
                format!("the matrix has {all} cells ({}), more than {MAX_CELLS}", self.factors(&counts)),
                "cross fewer values, or split the experiment",
            );
            return None;
        }
        let mut slots = Vec::new();
        let mut state = seed ^ 0x6d61_7472_6978;
        for repetition in 1..=self.repetitions {
            let first = slots.len();
            for (workload, points) in counts.iter().enumerate() {
                slots.extend((0..*points).map(|point| Slot { workload, point, repetition }));
            }
            if self.shuffled {
                shuffle(&mut slots[first..], &mut state);
            }
        }
        if let Some((_, axis)) = &self.server {
            // The server is brought to each size once, whatever the order of the cells within it.
            let sizes = axis.values.len() as u64;
            slots.sort_by_key(|slot| slot.point / (counts[slot.workload] / sizes).max(1));
        }
        Some(slots)
    }

    /// Explains the number of cells, for the largest matrix.
    fn factors(&self, counts: &[u64]) -> String {
        let largest = self.axes.iter().zip(counts).max_by_key(|(_, count)| **count);
        let mut factors: Vec<String> = largest
            .map_or(&[][..], |(axes, _)| axes)
            .iter()
            .map(|axis| format!("{} of {}", axis.values.len(), axis.name))
            .collect();
        if self.axes.len() > 1 {
            factors.insert(0, format!("{} workloads", self.axes.len()));
        }
        if self.repetitions > 1 {
            factors.push(format!("{} repetitions", self.repetitions));
        }
        factors.join(" × ")
    }

    /// The values of a point: for reading the cell, as its name, and for comparison with other runs.
    pub fn point(&self, slot: &Slot) -> (Point, String, BTreeMap<String, String>) {
        let mut point = Point::default();
        let mut texts = BTreeMap::new();
        let mut rest = slot.point;
        let mut chosen = Vec::new();
        // The last axis changes fastest.
        for axis in self.axes[slot.workload].iter().rev() {
            let count = axis.values.len() as u64;
            let index = usize::try_from(rest % count).expect("fewer than the values of an axis");
            chosen.push((axis, &axis.values[index]));
            rest /= count;
        }
        let mut name = String::new();
        for (axis, (node, text)) in chosen.into_iter().rev() {
            match &axis.reach {
                Reach::Parameter => point.parameters.push((axis.name.clone(), node.clone())),
                Reach::Server => {}
                Reach::Path(path) => point.paths.push(Crossed {
                    path: path.clone(),
                    node: node.clone(),
                    key_place: axis.key_place,
                }),
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

/// Joins the axes of a scale and those of a matrix.
fn together(reader: &Reader<'_>, mut scale: Vec<Axis>, crossed: Vec<Axis>) -> Vec<Axis> {
    for axis in crossed {
        if scale.iter().any(|other| other.reach == axis.reach || other.name == axis.name) {
            let text = format!("scale crosses {:?} already", axis.name);
            reader.log.fault(axis.key_place, text, "cross it once");
        } else {
            scale.push(axis);
        }
    }
    scale
}

/// Fisher and Yates. The modulo bias towards small numbers is less than one in 10¹⁴ at 100 000 cells. The order depends
/// only on the seed and never on a library version.
fn shuffle<T>(items: &mut [T], state: &mut u64) {
    for last in (1..items.len()).rev() {
        let other = usize::try_from(content::split_mix(state) % (last as u64 + 1)).expect("at most last");
        items.swap(last, other);
    }
}
