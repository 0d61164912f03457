//! The files of a job in a pool, each one object: inspected and filled before the load, removed after it.

use std::collections::{BTreeMap, BTreeSet};

use engine::JobFile;
use experiment::{FoundFile, Job, Workload};
use metrics::OpKind;

use super::TargetError;
use super::file_job::pass;
use super::job::{LaidOut, LayOutStage, parts};
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
        if let Some(op) = workload.ops.iter().map(|weighted| weighted.op).find(|op| *op == OpKind::Trim) {
            return Err(TargetError::Input(format!(
                "job {}: RADOS has no {op} here; write rw=write, or use a file or a block device",
                job.name
            )));
        }
        let named = &self.driver.config().named;
        let numbers: Vec<u64> = named.keys().copied().collect();
        let found = self.driver.sizes(&numbers, PATIENCE)?;
        let missing = found.iter().find(|(_, size)| size.is_none());
        if let Some((number, _)) = missing.filter(|_| !job.files.layout.create) {
            return Err(TargetError::Input(format!(
                "job {}: object {} is not there, and allow_file_create=0 lets none be made; make it, or take the option out",
                job.name,
                named.get(number).map_or("", |name| name)
            )));
        }
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
        let reads = workload.ops.iter().any(|weighted| weighted.op == OpKind::Read);
        if reads || job.files.layout.overwrite || job.files.layout.pre_read {
            let short = needed.values().filter(|file| file.bytes > size(file.object));
            let rest = short.map(|file| {
                let start = size(file.object);
                JobFile { start, length: file.bytes - start, ..*file }
            });
            stages.extend(stage("lay out", job, OpKind::Write, rest.collect()));
        }
        if job.files.layout.pre_read {
            let mut seen = BTreeSet::new();
            let used = files.iter().flatten();
            let once = used.filter(|file| file.length > 0 && seen.insert((file.object, file.start)));
            stages.extend(stage("pre-read", job, OpKind::Read, once.copied().collect()));
        }
        Ok(LaidOut { files, stages })
    }

    /// Removes the objects of a job that asks for it.
    ///
    /// # Errors
    /// The first object that could not be removed.
    pub(super) fn remove_objects(&self, job: &Job) -> Result<(), TargetError> {
        if !(job.files.layout.unlink || job.files.layout.unlink_each_loop) {
            return Ok(());
        }
        let numbers: Vec<u64> = self.driver.config().named.keys().copied().collect();
        Ok(self.driver.remove(&numbers, PATIENCE)?)
    }
}

/// A stage that moves every byte of these parts once; `None` when there are none.
fn stage(name: &'static str, job: &Job, direction: OpKind, parts: Vec<JobFile>) -> Option<LayOutStage> {
    let bytes = parts.iter().map(|part| part.length).sum();
    (bytes > 0).then(|| LayOutStage { name, load: pass(job, direction, vec![parts]), bytes, opened: None })
}
