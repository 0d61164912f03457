//! The cost of a plan as far as the plan alone determines it: bytes to write, time, data sets. Pure; printed by
//! `--dry-run`.

mod jobs;

use std::collections::HashMap;

use metrics::OpKind::{self, Create, Put};
use serde::Serialize;

use crate::fleet::Fleet;
use crate::kind::{TargetKind, kind_of};
use crate::plan::{Arrivals, Cell, Plan, Prepare, SteadyRule, Study};
use crate::read::shortest;
use crate::user_files::UserFiles;

/// Warm-up of each trial in a study (its maximum) or of a probe, as a share of its length.
pub const TRIAL_WARM_UP: f64 = 0.25;

/// Measurements in a sweep that chooses its own rates: a closed loop and ten steps.
const SWEEP_POINTS: usize = 11;

/// Maximum number of trials in a search.
const MAX_TRIALS: u32 = 40;
/// Maximum number of trials at a rate that misses the goal: two of three decide.
const TRIALS_A_RATE: u32 = 3;

/// Assumed upper end of a search whose range depends on a closed loop, in operations per second.
const ASSUMED_CEILING: f64 = 1e6;

/// The cost of one cell.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CellFigures {
    /// Its position in execution order, from 0.
    pub index: u32,
    /// The cell's name.
    pub name: String,
    /// The target's name.
    pub target: String,
    /// Whether the data set must be written before this cell.
    pub fills: bool,
    /// Bytes that its preparation writes on all hosts of the fleet; 0 if an earlier cell left what it needs.
    pub prepared_bytes: u64,
    /// Hosts that run the load; `None` if their number is unknown before the start, in which case bytes are per host.
    pub hosts: Option<u32>,
    /// Minimum duration of warm-up and measurement, in seconds.
    pub low_s: f64,
    /// Maximum duration of warm-up and measurement, in seconds.
    pub high_s: f64,
}

/// Bytes that a plan will write.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct BytesToWrite {
    /// To prepare data sets.
    pub fill: u64,
    /// Minimum written by loads whose rate or floor determines how much they write.
    pub load_low: u64,
    /// Maximum written by the same loads.
    pub load_high: u64,
    /// Cells that write as much as the target accepts, so that nothing is known in advance.
    pub unbounded_cells: u32,
    /// Fills of whole block devices, whose size the plan does not know.
    pub whole_devices: u32,
}

/// Files, objects or a device with their content, used by one or more cells.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DataSetFigures {
    /// The target's name.
    pub target: String,
    /// The target's URL.
    pub url: String,
    /// Files or objects per host.
    pub items: u64,
    /// Size of each item in bytes, the mean if they differ; 0 for a whole block device, and for existing files in full size.
    pub item_bytes: u64,
    /// How sizes differ, as in an experiment file, if they do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sizes: Option<String>,
    /// Whether they are objects.
    pub objects: bool,
    /// Names of the files, if the user gave them: all of a few, otherwise the first and the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub names: Option<String>,
    /// Hosts that hold this much each; `None` if their number is unknown before the start.
    pub hosts: Option<u32>,
    /// Number of cells that use it.
    pub cells: u32,
    /// How often it is written in full.
    pub fills: u32,
}

impl DataSetFigures {
    /// Total size on all hosts (on one if their number is unknown), in bytes; 0 for a whole block device.
    pub fn bytes(&self) -> u64 {
        self.items.saturating_mul(self.item_bytes).saturating_mul(self.hosts.unwrap_or(1).into())
    }
}

impl Plan {
    /// The cost of each cell, in execution order.
    pub fn cell_figures(&self, kinds: &[&'static TargetKind]) -> Vec<CellFigures> {
        self.walk(kinds).0
    }

    /// The data sets in order of first use.
    pub fn data_sets(&self, kinds: &[&'static TargetKind]) -> Vec<DataSetFigures> {
        self.walk(kinds).1
    }

    /// Bytes that preparation and loads will write, as far as they are known.
    pub fn bytes_to_write(&self, kinds: &[&'static TargetKind]) -> BytesToWrite {
        let mut bytes = BytesToWrite::default();
        for (cell, figures) in self.cells.iter().zip(self.cell_figures(kinds)) {
            bytes.fill = bytes.fill.saturating_add(figures.prepared_bytes);
            if figures.fills && cell.workload.file_bytes() == 0 {
                let all = self.fleet.as_ref().map_or(Some(1), Fleet::count);
                bytes.whole_devices = bytes.whole_devices.saturating_add(all.unwrap_or(1));
            }
            match written(cell, &figures) {
                Some((low, high)) => {
                    bytes.load_low = bytes.load_low.saturating_add(low);
                    bytes.load_high = bytes.load_high.saturating_add(high);
                }
                None => {
                    bytes.unbounded_cells += 1;
                    let floor = cell.stages.measure_at_least_bytes as f64 * write_bytes_share(cell);
                    bytes.load_low = bytes.load_low.saturating_add(floor as u64);
                    bytes.load_high = bytes.load_high.saturating_add(floor as u64);
                }
            }
        }
        bytes
    }

    /// Minimum and maximum duration of all warm-ups and measurements, in seconds. Preparation, verification and
    /// clean-up come on top: how long they take depends on the target.
    pub fn expected_seconds(&self) -> (f64, f64) {
        // Cells of a group run at the same time.
        let together = self.cells.chunk_by(|a, b| a.group.is_some() && group_of(a) == group_of(b));
        let times = together.map(|cells| {
            cells.iter().map(cell_seconds).fold((0.0, 0.0), |(low, high), (l, h)| (l.max(low), h.max(high)))
        });
        times.fold((0.0, 0.0), |(low, high), (l, h): (f64, f64)| (low + l, high + h))
    }

    /// Goes through the cells like a run: a place holds one data set at a time, and a cell rewrites it unless an
    /// earlier one left exactly what it needs.
    fn walk(&self, kinds: &[&'static TargetKind]) -> (Vec<CellFigures>, Vec<DataSetFigures>) {
        let mut sets: Vec<DataSetFigures> = Vec::new();
        let mut set_of: HashMap<Layout, usize> = HashMap::new();
        let mut places: HashMap<String, Option<Held>> = HashMap::new();
        let mut cells = Vec::new();
        // All hosts hold their part of the data, even if only some of them run the load.
        let all_hosts = self.fleet.as_ref().map_or(Some(1), Fleet::count);
        for cell in &self.cells {
            let layout = Layout::of(cell, kinds);
            let size = self.size_of_data(cell);
            let held = places.entry(cell.place()).or_default();
            let usable = held.as_ref().is_some_and(|held| {
                held.layout == layout
                    && held.size == size
                    && !(held.dirty && (cell.workload.verifies() || cell.stages.verify))
            });
            let fills = match cell.stages.prepare {
                Prepare::Fill => !usable,
                Prepare::FillAlways => true,
                Prepare::Keep | Prepare::None => false,
            };
            if fills {
                *held = Some(Held { layout: layout.clone(), size, dirty: false });
            }
            let overlaid =
                has(cell, &[Put, Create]) && held.as_ref().is_some_and(|held| held.layout != layout);
            if overlaid || cell.workload.makes_or_removes() {
                *held = None;
            } else if let Some(held) = held
                && cell.workload.changes_data()
            {
                // This includes verifying loads: only the load itself knows where it stopped.
                held.dirty = true;
            }
            let at = *set_of.entry(layout).or_insert_with_key(|layout| {
                sets.push(layout.figures(cell, all_hosts));
                sets.len() - 1
            });
            let set = &mut sets[at];
            set.cells += 1;
            set.fills += u32::from(fills);
            let (low_s, high_s) = cell_seconds(cell);
            cells.push(CellFigures {
                index: cell.index,
                name: cell.name.clone(),
                target: cell.target.name.clone(),
                fills,
                prepared_bytes: match cell.workload.stream() {
                    Some(job) => {
                        let kind = kind_of(kinds, &cell.target.url);
                        jobs::laid_out(kind, cell, job).saturating_mul(all_hosts.unwrap_or(1).into())
                    }
                    None if fills => set.bytes(),
                    None => 0,
                },
                hosts: self.hosts_of(cell),
                low_s,
                high_s,
            });
        }
        (cells, sets)
    }
}

/// The content of a place.
struct Held {
    layout: Layout,
    /// The size of the server for which it was written, if another size needs another data set.
    size: Option<String>,
    /// Something was overwritten without being tracked.
    dirty: bool,
}

/// Everything that determines the bytes of a data set.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Layout {
    place: String,
    url: String,
    items: u64,
    item_bytes: u64,
    /// How sizes differ, and the seed that assigns them.
    sizes: Option<(String, u64)>,
    objects: bool,
    /// All names of files that the user named.
    names: Option<String>,
    /// The compressible and dedupe shares as bits, so that layouts can be hashed.
    payload: (u64, u64),
}

impl Layout {
    fn of(cell: &Cell, kinds: &[&'static TargetKind]) -> Self {
        let workload = &cell.workload;
        Self {
            place: cell.place(),
            url: cell.target.url.clone(),
            items: workload.files(),
            item_bytes: workload.file_bytes(),
            sizes: workload.sizes().map(|sizes| (sizes.to_string(), sizes.seed)),
            objects: kind_of(kinds, &cell.target.url).is_some_and(|kind| kind.holds_objects(&workload.ops)),
            names: workload.user_files().map(UserFiles::all),
            payload: (workload.compressible().to_bits(), workload.dedupe().to_bits()),
        }
    }

    fn figures(&self, cell: &Cell, hosts: Option<u32>) -> DataSetFigures {
        DataSetFigures {
            target: cell.target.name.clone(),
            url: self.url.clone(),
            items: self.items,
            item_bytes: self.item_bytes,
            sizes: self.sizes.as_ref().map(|(sizes, _)| sizes.clone()),
            objects: self.objects,
            names: cell.workload.user_files().map(|files| files.shown(self.items)),
            hosts,
            cells: 0,
            fills: 0,
        }
    }
}

fn has(cell: &Cell, kinds: &[OpKind]) -> bool {
    cell.workload.ops.iter().any(|weighted| kinds.contains(&weighted.op))
}

fn group_of(cell: &Cell) -> Option<u32> {
    cell.group.map(|group| group.number)
}

/// Minimum and maximum duration of a cell's warm-up and measurement, in seconds.
fn cell_seconds(cell: &Cell) -> (f64, f64) {
    let stages = &cell.stages;
    let trial = |seconds: f64| trial_seconds(cell, seconds);
    match &cell.study {
        Some(Study::Sweep { rates_ops_per_s, point_s }) => {
            let points = if rates_ops_per_s.is_empty() { SWEEP_POINTS } else { rates_ops_per_s.len() };
            let seconds = trial(*point_s) * points as f64;
            (seconds, seconds)
        }
        Some(Study::Find { from_ops_per_s, to_ops_per_s, tolerance, trial_s, .. }) => {
            let closed = u32::from(*to_ops_per_s == 0.0);
            let to = if closed == 1 { ASSUMED_CEILING.max(2.0 * from_ops_per_s) } else { *to_ops_per_s };
            let rates = 2 + most_steps(*from_ops_per_s, to, *tolerance);
            let most = (closed + rates * TRIALS_A_RATE).min(MAX_TRIALS + TRIALS_A_RATE - 1);
            (trial(*trial_s) * f64::from(closed + 1), trial(*trial_s) * f64::from(most))
        }
        None if let Some(job) = cell.workload.stream() => jobs::seconds(cell, job),
        None if cell.steady == SteadyRule::None => {
            let seconds = stages.warm_up_s + stages.measure_at_least_s + stages.probing_s();
            (seconds, seconds)
        }
        None => {
            let least = stages.measure_at_least_s.max(shortest(&cell.steady));
            let besides = stages.warm_up_s + stages.probing_s();
            (besides + least, besides + stages.measure_at_most_s)
        }
    }
}

/// Duration of a trial with its warm-up, which is shorter than that of a whole measurement.
fn trial_seconds(cell: &Cell, seconds: f64) -> f64 {
    seconds + cell.stages.warm_up_s.min(seconds * TRIAL_WARM_UP)
}

/// Maximum steps of a search from `low` to `high`: a wide bracket is halved in proportion, a narrow one in the middle.
fn most_steps(mut low: f64, mut high: f64, tolerance: f64) -> u32 {
    let mut steps = 0;
    while (high - low) / high > tolerance && steps < MAX_TRIALS {
        let middle = if high > 4.0 * low { (high * low).sqrt() } else { f64::midpoint(high, low) };
        // The proportionally wider half takes longer.
        if middle / low > high / middle {
            high = middle;
        } else {
            low = middle;
        }
        steps += 1;
    }
    steps
}

/// Minimum and maximum bytes written by a cell's load, or `None` if the target decides.
fn written(cell: &Cell, figures: &CellFigures) -> Option<(u64, u64)> {
    let per_op = write_bytes_per_op(cell);
    if per_op == 0.0 {
        return Some((0, 0));
    }
    if let Some(Study::Sweep { rates_ops_per_s, point_s }) = &cell.study
        && !rates_ops_per_s.is_empty()
    {
        let ops: f64 = rates_ops_per_s.iter().sum::<f64>() * trial_seconds(cell, *point_s);
        return Some(((ops * per_op) as u64, (ops * per_op) as u64));
    }
    if cell.study.is_some() {
        return None;
    }
    if let Some(pass) = cell.workload.pass() {
        let steps = pass.steps.iter().filter(|step| step.op().writes()).count() as u64;
        let bytes = cell.workload.files() * pass.file_bytes * steps * u64::from(figures.hosts.unwrap_or(1));
        return Some((bytes, bytes));
    }
    if let Some(job) = cell.workload.stream() {
        // A job moves its amount on every host; a rate applies to all hosts together.
        let bytes = jobs::written(cell, job, write_bytes_share(cell))?;
        let bytes = bytes.saturating_mul(figures.hosts.unwrap_or(1).into());
        return Some((bytes, bytes));
    }
    let low = ops_started(&cell.workload.arrivals, figures.low_s)?;
    let high = ops_started(&cell.workload.arrivals, figures.high_s)?;
    Some(((low * per_op) as u64, (high * per_op) as u64))
}

/// Mean bytes written per operation.
fn write_bytes_per_op(cell: &Cell) -> f64 {
    bytes_per_op(cell, OpKind::writes)
}

fn bytes_per_op(cell: &Cell, counts: fn(OpKind) -> bool) -> f64 {
    let workload = &cell.workload;
    let block: f64 = workload.block_sizes().iter().map(|size| size.bytes as f64 * size.weight).sum();
    let ops = workload.ops.iter().filter(|weighted| counts(weighted.op));
    ops.map(|weighted| {
        weighted.weight * if weighted.op.is_whole() { workload.file_bytes() as f64 } else { block }
    })
    .sum()
}

/// The share of writes in the bytes moved.
fn write_bytes_share(cell: &Cell) -> f64 {
    let moved = bytes_per_op(cell, OpKind::moves_bytes);
    if moved > 0.0 { write_bytes_per_op(cell) / moved } else { 0.0 }
}

/// Operations scheduled to start within this many seconds; `None` in a closed loop.
fn ops_started(arrivals: &Arrivals, seconds: f64) -> Option<f64> {
    Some(match arrivals {
        Arrivals::Closed => return None,
        Arrivals::Constant { ops_per_s } | Arrivals::Poisson { ops_per_s } => ops_per_s * seconds,
        Arrivals::Ramp { from_ops_per_s, to_ops_per_s, over_s } => {
            let risen = seconds.min(*over_s);
            let reached = from_ops_per_s + (to_ops_per_s - from_ops_per_s) * risen / over_s;
            (from_ops_per_s + reached) / 2.0 * risen + to_ops_per_s * (seconds - risen)
        }
        Arrivals::Steps { steps } => {
            let mut left = seconds;
            let mut ops = 0.0;
            for (at, step) in steps.iter().enumerate() {
                // The last one stays.
                let lasts = if at + 1 == steps.len() { left } else { left.min(step.for_s) };
                ops += step.ops_per_s * lasts;
                left -= lasts;
            }
            ops
        }
        Arrivals::Times { times } => times
            .iter()
            .enumerate()
            .map(|(at, time)| {
                let end = times.get(at + 1).map_or(seconds, |next| next.at_s.min(seconds));
                time.ops_per_s * (end - time.at_s).max(0.0)
            })
            .sum(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{RateFrom, RateStep};

    #[test]
    fn started_operations_are_the_integral_of_the_rate() {
        let steps = Arrivals::Steps {
            steps: vec![RateStep { ops_per_s: 5.0, for_s: 2.0 }, RateStep { ops_per_s: 7.0, for_s: 1.0 }],
        };
        assert_eq!(ops_started(&steps, 1.0), Some(5.0));
        assert_eq!(ops_started(&steps, 10.0), Some(10.0 + 56.0));
        let times = Arrivals::Times { times: vec![RateFrom { at_s: 3.0, ops_per_s: 2.0 }] };
        assert_eq!(ops_started(&times, 2.0), Some(0.0));
        assert_eq!(ops_started(&times, 5.0), Some(4.0));
        let ramp = Arrivals::Ramp { from_ops_per_s: 10.0, to_ops_per_s: 0.0, over_s: 10.0 };
        assert_eq!(ops_started(&ramp, 5.0), Some(37.5));
        assert_eq!(ops_started(&ramp, 20.0), Some(50.0));
    }
}
