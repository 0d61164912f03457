//! Turns a script into a plan.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use super::meaning::{Asked, groups, meaning};
use super::{JobScript, ReadFile, ScriptFault, ScriptFaults, Warning};
use experiment::{CacheControl, Cell, ConcurrentCells, ErrorPolicy, Plan};

/// A directory or one below it cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("{}: {error}", directory.display())]
pub struct DirectoryError {
    /// The directory.
    pub directory: PathBuf,
    /// What the system says.
    pub error: std::io::Error,
}

/// Context outside the job files that affects their meaning.
#[derive(Clone, Copy)]
pub struct Surroundings<'a> {
    /// The directory for relative file names: absolute.
    pub directory: &'a str,
    /// Cores of this machine.
    pub cpus: u32,
    /// Seed of jobs that differ in each run (`randrepeat=0`).
    pub seed: u64,
    /// Reads a file (`buffer_pattern='file'`).
    pub read_file: ReadFile<'a>,
    /// All files below a directory (`opendir`), in order.
    pub open_directory: &'a dyn Fn(&str) -> Result<Vec<String>, DirectoryError>,
}

impl std::fmt::Debug for Surroundings<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut all = f.debug_struct("Surroundings");
        all.field("directory", &self.directory).field("cpus", &self.cpus).field("seed", &self.seed);
        all.finish_non_exhaustive()
    }
}

/// The plan for job files: a section becomes a cell, or with `numjobs` and without `group_reporting` a cell for each
/// clone. Cells with the same group number run at the same time.
///
/// # Errors
/// All faults, with their positions.
pub fn plan(script: &JobScript, around: &Surroundings<'_>) -> Result<(Plan, Vec<Warning>), ScriptFaults> {
    let sections: Vec<Asked<'_>> =
        script.sections.iter().map(|section| Asked::new(section, around)).collect();
    let places = groups(&sections);
    let mut cells: Vec<Cell> = Vec::new();
    // The last cell of each section, for sections that wait for it.
    let mut last_cells = Vec::new();
    let (mut names, mut clones_before) = (BTreeSet::new(), 0);
    for (number, (asked, place)) in sections.iter().zip(&places).enumerate() {
        let mut means = meaning(asked, number, clones_before);
        clones_before += u64::from(means.clones);
        means.job.report.group = place.summary;
        let name = free_name(&means.job.name, &mut names);
        let group = ConcurrentCells {
            after_cell: place.after.and_then(|section| last_cells.get(section).copied()),
            ..place.group
        };
        let workers = if place.one_cell { means.clones } else { 1 };
        for first in (0..means.clones).step_by(workers as usize) {
            let several = means.clones > workers;
            let mut point = BTreeMap::new();
            if several {
                point.insert("clone".to_owned(), first.to_string());
            }
            cells.push(Cell {
                index: cells.len() as u32,
                name: if several { format!("{name} clone={first}") } else { name.clone() },
                workload_name: name.clone(),
                point,
                repetition: 1,
                target: means.target.clone(),
                workload: means.workload(first, workers),
                stages: means.stages.clone(),
                steady: means.steady.clone(),
                gates: Vec::new(),
                cache: CacheControl::Keep,
                errors: ErrorPolicy::Continue,
                study: None,
                group: Some(ConcurrentCells {
                    report: group.report.map(|number| number + first / workers),
                    ..group
                }),
                agents: None,
            });
        }
        last_cells.push(cells.len().saturating_sub(1) as u32);
    }
    leave_out_single_reports(&mut cells);
    let seed = cells.first().and_then(|cell| cell.workload.stream()).map_or(0, |job| job.seed);
    let mut faults: Vec<ScriptFault> = Vec::new();
    let mut warnings = Vec::new();
    for asked in sections {
        let (found, warned) = asked.finish();
        // A fault in a global section is reported once.
        found.into_iter().for_each(|fault| {
            if !faults.contains(&fault) {
                faults.push(fault)
            }
        });
        warned.into_iter().for_each(|warning| {
            if !warnings.contains(&warning) {
                warnings.push(warning)
            }
        });
    }
    match ScriptFaults::of(faults) {
        Some(faults) => Err(faults),
        None => Ok((
            Plan {
                name: name_of(script),
                description: None,
                seed,
                results: None,
                fleet: None,
                observe: None,
                server_scale: None,
                cells,
            },
            warnings,
        )),
    }
}

/// A job reported alone needs no report number.
fn leave_out_single_reports(cells: &mut [Cell]) {
    let mut counts: BTreeMap<Option<u32>, usize> = BTreeMap::new();
    for group in cells.iter().filter_map(|cell| cell.group) {
        *counts.entry(group.report).or_default() += 1;
    }
    for group in cells.iter_mut().filter_map(|cell| cell.group.as_mut()) {
        if counts.get(&group.report) == Some(&1) {
            group.report = None;
        }
    }
}

/// The name of the first file without its extension, or of the first job on the command line.
fn name_of(script: &JobScript) -> String {
    let Some(first) = script.sections.first() else { return "jobs".to_owned() };
    let file = first.origin.file.rsplit('/').next().unwrap_or("");
    match file.rsplit_once('.') {
        Some((stem, _)) if !stem.is_empty() => stem.to_owned(),
        _ => first.name.clone(),
    }
}

/// The name, with a number appended if it is taken.
fn free_name(name: &str, taken: &mut BTreeSet<String>) -> String {
    let numbered = |number: u32| if number == 1 { name.to_owned() } else { format!("{name}-{number}") };
    let free = (1..).map(numbered).find(|name| !taken.contains(name)).unwrap_or_default();
    taken.insert(free.clone());
    free
}
