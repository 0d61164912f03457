//! The files of a job, each an item with a name of its own on a server: inspected and filled before the load.

use std::collections::BTreeMap;

use drivers::DriverError;
use engine::JobFile;
use experiment::{FoundFile, Job, Workload};
use metrics::OpKind;

use super::TargetError;
use super::job::{LaidOut, parts};
use super::lay_out::{may_create, needs_data, stage, unlinks, used_once};

/// The names of a job's items by number.
pub(super) fn names(job: &Job, workers: u32) -> BTreeMap<u64, String> {
    let numbers = job.first_number..job.first_number.saturating_add(workers);
    let files = numbers.flat_map(|number| (0..job.files.per_worker()).map(move |file| (number, file)));
    let names = &job.files.names;
    files.map(|(number, file)| (names.object(number, file), names.path(&job.name, number, file))).collect()
}

/// Inspects the items of a job by `sizes`. A stage fills what the load reads or overwrites, from the current end of each;
/// others are created by their first write. `noun` is what an item is called in messages.
///
/// # Errors
/// An item is missing and must not be created; that of `sizes`.
pub(super) fn lay_out(
    job: &Job,
    workload: &Workload,
    noun: &str,
    named: &BTreeMap<u64, String>,
    sizes: impl FnOnce(&[u64]) -> Result<BTreeMap<u64, Option<u64>>, DriverError>,
) -> Result<LaidOut, TargetError> {
    let found = sizes(&numbers(named))?;
    let missing = found.iter().find(|(_, size)| size.is_none());
    let name = |number| named.get(number).map_or("", |name| name);
    may_create(job, missing.map(|(number, _)| format!("{noun} {}", name(number))))?;
    let size = |number: u64| found.get(&number).copied().flatten().unwrap_or(0);
    let files = parts(job, workload.jobs, |number, file| {
        Ok(FoundFile { bytes: size(job.files.names.object(number, file)), fixed: false })
    })?;
    // Several workers of one item may need different sizes of it: the largest counts.
    let mut needed: BTreeMap<u64, JobFile> = BTreeMap::new();
    for file in files.iter().flatten() {
        let most = needed.entry(file.object).or_insert(*file);
        most.bytes = most.bytes.max(file.bytes);
    }
    let mut stages = Vec::new();
    if needs_data(job, workload) {
        let short = needed.values().filter(|file| file.bytes > size(file.object));
        let rest = short.map(|file| {
            let start = size(file.object);
            JobFile { start, length: file.bytes - start, ..*file }
        });
        stages.extend(stage("lay out", job, OpKind::Write, vec![rest.collect()]));
    }
    if job.files.layout.pre_read {
        stages.extend(stage("pre-read", job, OpKind::Read, vec![used_once(&files)]));
    }
    Ok(LaidOut { files, stages })
}

/// Removes a job's items by `remove`, if the job does so at its end.
///
/// # Errors
/// That of `remove`.
pub(super) fn finish(
    job: &Job,
    named: &BTreeMap<u64, String>,
    remove: impl FnOnce(&[u64]) -> Result<(), DriverError>,
) -> Result<(), TargetError> {
    if unlinks(job) { Ok(remove(&numbers(named))?) } else { Ok(()) }
}

/// The numbers of a job's items.
fn numbers(named: &BTreeMap<u64, String>) -> Vec<u64> {
    named.keys().copied().collect()
}
