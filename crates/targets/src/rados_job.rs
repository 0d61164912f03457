//! The files of a job in a pool, each one object: inspected and filled before the load, removed after it.

use std::collections::BTreeMap;

use engine::JobFile;
use experiment::{FoundFile, Job, Workload};
use metrics::OpKind;

use super::TargetError;
use super::job::{LaidOut, parts};
use super::lay_out::{may_create, needs_data, refuse_trims, stage, unlinks, used_once};
use super::place::PATIENCE;
use super::rados::RadosTarget;

/// The names of a job's objects by number.
pub(super) fn names(job: &Job, workers: u32) -> BTreeMap<u64, String> {
    let numbers = job.first_number..job.first_number.saturating_add(workers);
    let files = numbers.flat_map(|number| (0..job.files.per_worker()).map(move |file| (number, file)));
    let names = &job.files.names;
    files.map(|(number, file)| (names.object(number, file), names.path(&job.name, number, file))).collect()
}

impl RadosTarget {
    /// Inspects the objects of a job. A stage fills what the load reads or overwrites, from the current end of each; others
    /// are created by their first write.
    ///
    /// # Errors
    /// An object is missing and must not be created; the pool cannot be opened.
    pub(super) fn lay_out(&self, job: &Job, workload: &Workload) -> Result<LaidOut, TargetError> {
        refuse_trims(job, workload, "RADOS")?;
        let named = &self.driver.config().named;
        let numbers: Vec<u64> = named.keys().copied().collect();
        let found = self.driver.sizes(&numbers, PATIENCE)?;
        let missing = found.iter().find(|(_, size)| size.is_none());
        let name = |number| named.get(number).map_or("", |name| name);
        may_create(job, missing.map(|(number, _)| format!("object {}", name(number))))?;
        let size = |number: u64| found.get(&number).copied().flatten().unwrap_or(0);
        let files = parts(job, workload.jobs, |number, file| {
            Ok(FoundFile { bytes: size(job.files.names.object(number, file)), fixed: false })
        })?;
        // Several workers of one object may need different sizes of it: the largest counts.
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

    /// Removes the objects of a job that asks for it.
    ///
    /// # Errors
    /// The first object that could not be removed.
    pub(super) fn remove_objects(&self, job: &Job) -> Result<(), TargetError> {
        if !unlinks(job) {
            return Ok(());
        }
        let numbers: Vec<u64> = self.driver.config().named.keys().copied().collect();
        Ok(self.driver.remove(&numbers, PATIENCE)?)
    }
}
