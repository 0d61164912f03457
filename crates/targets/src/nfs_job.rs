//! The files of a job on an export: inspected and created before the load, removed after it.

use std::collections::{BTreeMap, BTreeSet};

use drivers::nfs::{NamedPath, PathState};
use engine::JobFile;
use experiment::{FoundFile, Job, Workload};
use metrics::OpKind;

use super::TargetError;
use super::job::{LaidOut, LayOutStage, parts};
use super::lay_out::{self, may_create, needs_data, refuse_trims, unlinks};
use super::nfs::NfsTarget;
use super::place::PATIENCE;

impl NfsTarget {
    /// Inspects the files of a job and creates those that are missing. A stage fills what the load reads or overwrites,
    /// from the current end of each file.
    ///
    /// # Errors
    /// A file is missing and must not be created; the export cannot be opened, or the file cannot be created there.
    pub(super) fn lay_out(&self, job: &Job, workload: &Workload) -> Result<LaidOut, TargetError> {
        refuse_trims(job, workload, "NFS")?;
        let numbers = job.first_number..job.first_number + workload.jobs;
        let mut order: Vec<(u64, NamedPath)> = Vec::new();
        for (worker, number) in numbers.enumerate() {
            for file in 0..job.files.per_worker() {
                let object = job.files.names.object(number, file);
                order.push((object, NamedPath { worker: worker as u32, path: self.path_of(job, object) }));
            }
        }
        // With several addresses, a file shared by workers is inspected through each: the addresses may belong to
        // servers that share nothing.
        let addresses = 1 + self.driver.config().more.len() as u32;
        let key = |(object, file): &(u64, NamedPath)| (*object, file.worker % addresses);
        let mut distinct: BTreeMap<(u64, u32), &NamedPath> = BTreeMap::new();
        for entry in &order {
            distinct.entry(key(entry)).or_insert(&entry.1);
        }
        let paths: Vec<NamedPath> = distinct.values().map(|path| (*path).clone()).collect();
        let seen = self.driver.look_at(&paths, PATIENCE)?;
        let known: BTreeMap<(u64, u32), PathState> = distinct.keys().copied().zip(seen).collect();
        let sizes = |at: &(u64, u32)| match known.get(at) {
            Some(PathState::File(bytes)) => *bytes,
            _ => 0,
        };
        let files = parts(job, workload.jobs, |number, file| {
            let at = (job.files.names.object(number, file), (number - job.first_number) % addresses);
            Ok(FoundFile { bytes: sizes(&at), fixed: false })
        })?;
        let missing: Vec<NamedPath> = distinct
            .iter()
            .filter(|(at, _)| known.get(at) == Some(&PathState::Missing))
            .map(|(_, path)| (*path).clone())
            .collect();
        may_create(job, missing.first().map(|first| format!("file {}", first.path)))?;
        self.driver.make(&missing, PATIENCE)?;
        // Several workers of one file may need different sizes of it: the largest counts.
        let mut needed: BTreeMap<(u64, u32), u64> = BTreeMap::new();
        for (worker, file) in each(&files) {
            let bytes = needed.entry((file.object, worker as u32 % addresses)).or_default();
            *bytes = (*bytes).max(file.bytes);
        }
        let mut stages = Vec::new();
        if needs_data(job, workload) {
            let short = once(&files, addresses, |at, file| {
                let (found, bytes) = (sizes(&at), needed[&at]);
                let part = JobFile { bytes, start: found, length: bytes.saturating_sub(found), ..*file };
                (part.length > 0).then_some(part)
            });
            stages.extend(stage("lay out", job, OpKind::Write, short));
        }
        if job.files.layout.pre_read {
            let all = once(&files, addresses, |_, file| (file.length > 0).then_some(*file));
            stages.extend(stage("pre-read", job, OpKind::Read, all));
        }
        Ok(LaidOut { files, stages })
    }

    /// Removes the files of a job that asks for it.
    ///
    /// # Errors
    /// The first file that could not be removed.
    pub(super) fn remove_files(&self, job: &Job, laid_out: &LaidOut) -> Result<(), TargetError> {
        if !unlinks(job) {
            return Ok(());
        }
        let of_worker = |(worker, files): (usize, &Vec<JobFile>)| -> Vec<NamedPath> {
            let path =
                |file: &JobFile| NamedPath { worker: worker as u32, path: self.path_of(job, file.object) };
            files.iter().map(path).collect()
        };
        let paths: Vec<NamedPath> = laid_out.files.iter().enumerate().flat_map(of_worker).collect();
        Ok(self.driver.remove_files(&paths, PATIENCE)?)
    }

    fn path_of(&self, job: &Job, object: u64) -> String {
        match &self.driver.config().named {
            Some(named) => named.path(object),
            None => job.name.clone(),
        }
    }
}

/// Each file with the number of its worker.
fn each(files: &[Vec<JobFile>]) -> impl Iterator<Item = (usize, &JobFile)> {
    files.iter().enumerate().flat_map(|(worker, files)| files.iter().map(move |file| (worker, file)))
}

/// Applies `of` to each worker's files; a file that workers share at an address counts for the first of them only.
fn once(
    files: &[Vec<JobFile>],
    addresses: u32,
    of: impl Fn((u64, u32), &JobFile) -> Option<JobFile>,
) -> Vec<Vec<JobFile>> {
    let mut seen = BTreeSet::new();
    let mut lists = vec![Vec::new(); files.len()];
    for (worker, file) in each(files) {
        let at = (file.object, worker as u32 % addresses);
        if seen.insert(at) {
            lists[worker].extend(of(at, file));
        }
    }
    lists
}

/// A stage that moves every byte of these parts once, each through its worker's address; `None` when there are no
/// parts.
fn stage(
    name: &'static str,
    job: &Job,
    direction: OpKind,
    mut lists: Vec<Vec<JobFile>>,
) -> Option<LayOutStage> {
    // Workers keep their numbers, which select their addresses; one with nothing to do moves no bytes.
    let idle = lists.iter().flatten().next().map(|part| JobFile { length: 0, ..*part });
    for list in lists.iter_mut().filter(|list| list.is_empty()) {
        list.extend(idle);
    }
    lay_out::stage(name, job, direction, lists)
}
