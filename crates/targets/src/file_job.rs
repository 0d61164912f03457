//! The files and devices of a job on this machine: opened as it says, laid out, dropped from the cache, removed.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use drivers::DriverError;
use drivers::file::{FileConfig, FileDriver, FileKind, Fill, Hint, Looked, NamedFiles, Place as Where};
use engine::JobFile;
use experiment::{Advice, Allocate, Cell, FoundFile, Job, SizeChoice, Workload};
use metrics::OpKind;

use super::file::FileTarget;
use super::file::no_directory;
use super::job::{LaidOut, LayOutStage, parts};
use super::lay_out::{self, OPEN_WHILE_PASSING, used_once};
use super::{OpenRequest, OpenTarget, TargetError};

/// Maximum workers that fill or pre-read.
const PASS_WORKERS: usize = 4;
/// Descriptors reserved for everything but the files of jobs.
const OTHER_DESCRIPTORS: u64 = 128;

/// Location of a job's files, and how they are opened.
pub(super) fn place(request: &OpenRequest<'_>, directory: PathBuf, job: &Job) -> Result<Where, TargetError> {
    let OpenRequest { options: given, workload, .. } = *request;
    if !directory.is_dir() {
        return Err(no_directory(request, &directory));
    }
    if let Some(name) = given.text("directory") {
        return Err(request.wrong_option(
            "directory",
            name,
            "a job names its directories itself (files: names: directories:)",
        ));
    }
    let layout = &job.files.layout;
    let hint = match (layout.advice, job.pattern.random) {
        (Advice::None, _) => Hint::None,
        (Advice::Sequential, _) | (Advice::ByPattern, false) => Hint::Sequential,
        (Advice::Random, _) | (Advice::ByPattern, true) => Hint::Random,
    };
    Ok(Where::Named(NamedFiles {
        directory,
        job: job.name.clone(),
        names: job.files.names.clone(),
        write: changes(workload),
        create: layout.create,
        hint,
    }))
}

/// Files that each worker keeps open: all, or as many as the job says, within the process limit.
pub(super) fn open_files(job: &Job, workers: u32) -> u32 {
    match job.files.open {
        0 => room_for(job.files.per_worker().into(), workers),
        open => within_limit(open.into(), workers),
    }
}

/// Slots for this many files in each worker, within the process limit: twice as many, so that two files rarely compete
/// for a slot.
pub(super) fn room_for(files: u64, workers: u32) -> u32 {
    within_limit(files.saturating_mul(2), workers)
}

fn within_limit(wanted: u64, workers: u32) -> u32 {
    let most = (most_descriptors().saturating_sub(OTHER_DESCRIPTORS) / u64::from(workers.max(1))).max(4);
    wanted.clamp(1, most) as u32
}

/// Maximum descriptors of this process (getrlimit(2)).
fn most_descriptors() -> u64 {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` is valid for the kernel to write to.
    match unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) } {
        0 => limit.rlim_cur,
        _ => 1024,
    }
}

/// The workload writes or trims.
fn changes(workload: &Workload) -> bool {
    workload.ops.iter().any(|op| op.op != OpKind::Read)
}

fn has(workload: &Workload, kind: OpKind) -> bool {
    workload.ops.iter().any(|op| op.op == kind)
}

/// What is known of a file while iterating over the workers.
struct Known {
    looked: Looked,
    /// Its size as needed by the workers so far.
    bytes: u64,
}

impl FileTarget {
    /// See [`OpenTarget::lay_out_job`].
    pub(super) fn lay_out(&self, job: &Job, cell: &Cell) -> Result<LaidOut, TargetError> {
        let Where::Named(named) = &self.driver.config().place else {
            return Ok(LaidOut { files: self.as_device(job, cell)?, stages: Vec::new() });
        };
        directories_are_there(named)?;
        let mut known: BTreeMap<u64, Known> = BTreeMap::new();
        let mut files = parts(job, cell.workload.jobs, |number, file| {
            let object = job.files.names.object(number, file);
            if let Entry::Vacant(place) = known.entry(object) {
                let looked = self.driver.look(object)?;
                place.insert(Known { looked, bytes: looked.bytes });
            }
            let one = &known[&object];
            let fixed = one.looked.kind == FileKind::Block;
            let found = FoundFile { bytes: one.bytes, fixed };
            if one.looked.kind != FileKind::Character
                && let Ok(part) = job.part(number, file, found)
                && let Some(one) = known.get_mut(&object)
            {
                one.bytes = one.bytes.max(part.bytes);
            }
            Ok(found)
        })?;
        for file in files.iter_mut().flatten() {
            file.bytes = file.bytes.max(known[&file.object].bytes);
        }
        if job.replay.is_none() && files.iter().flatten().all(|file| file.length == 0) {
            let first = self.driver.path_of(job.files.names.object(job.first_number, 0));
            return Err(TargetError::Input(format!(
                "job {}: {} is missing or empty, and nothing says how large it should be: give the job a size",
                job.name,
                first.display()
            )));
        }
        if changes(&cell.workload) {
            let devices = known.iter().filter(|(_, one)| one.looked.kind == FileKind::Block);
            for (object, _) in devices {
                self.driver.check_named(*object, &self.destroy, job.files.layout.mounted_device)?;
            }
        }
        if self.driver.config().direct {
            self.check_alignment(job, cell, &files, &known)?;
        }
        let filled = self.make_files(job, cell, &known)?;
        let mut stages = Vec::new();
        stages.extend(self.stage("lay out", job, OpKind::Write, filled));
        if job.files.layout.pre_read {
            stages.extend(self.stage("pre-read", job, OpKind::Read, used_once(&files)));
        }
        Ok(LaidOut { files, stages })
    }

    /// The job's only file on a `block:` target: a device, or a file used like one.
    fn as_device(&self, job: &Job, cell: &Cell) -> Result<Vec<Vec<JobFile>>, TargetError> {
        parts(job, cell.workload.jobs, |_, _| {
            Ok(FoundFile { bytes: self.device_bytes.unwrap_or(0), fixed: true })
        })
    }

    /// Creates the files that are missing or too short; returns those to be filled.
    fn make_files(
        &self,
        job: &Job,
        cell: &Cell,
        known: &BTreeMap<u64, Known>,
    ) -> Result<Vec<JobFile>, TargetError> {
        let layout = &job.files.layout;
        let appends = layout.append;
        let whole = has(&cell.workload, OpKind::Read)
            || layout.overwrite && has(&cell.workload, OpKind::Write) && !appends;
        let kept = appends || !whole && !has(&cell.workload, OpKind::Write);
        let fill = match (layout.allocate, whole) {
            (Allocate::None, _) | (Allocate::Truncate, true) => Fill::None,
            // A filled file grows as it is written, so after an interruption the next run sees that it is too short.
            (Allocate::Keep, _) | (Allocate::Native | Allocate::Posix, true) => Fill::Behind,
            (Allocate::Native, false) => Fill::Reserve,
            (Allocate::Posix, false) => Fill::Posix,
            (Allocate::Truncate, false) => Fill::Hole,
        };
        let mut filled = Vec::new();
        let files =
            known.iter().filter(|(_, one)| matches!(one.looked.kind, FileKind::Missing | FileKind::Regular));
        for (object, one) in files {
            let missing = one.looked.kind == FileKind::Missing;
            if !layout.create && (missing || one.bytes > one.looked.bytes) {
                return Err(self.may_not_make(*object, one));
            }
            if layout.create_on_open || job.region.fill_device && one.bytes == one.looked.bytes {
                self.driver.make_directories(&self.driver.path_of(*object))?;
                continue;
            }
            if one.bytes > one.looked.bytes {
                self.driver.make(*object, one.bytes, fill, kept)?;
                if whole {
                    filled.push(JobFile::whole(*object, one.bytes));
                }
            }
        }
        Ok(filled)
    }

    /// Error for a missing file in a job that must not create any.
    fn may_not_make(&self, object: u64, one: &Known) -> TargetError {
        let path = self.driver.path_of(object);
        let what = match one.looked.kind {
            FileKind::Missing => "it is missing".to_owned(),
            _ => format!("it has {} bytes and the job needs {}", one.looked.bytes, one.bytes),
        };
        TargetError::Input(format!(
            "file {}: {what}, and files may not be made (allow_file_create=0): make it, or let the job make it",
            path.display()
        ))
    }

    /// Direct I/O does not support every size: one error up front beats an error from every operation.
    fn check_alignment(
        &self,
        job: &Job,
        cell: &Cell,
        files: &[Vec<JobFile>],
        known: &BTreeMap<u64, Known>,
    ) -> Result<(), TargetError> {
        let sizes = sizes_of(job, cell);
        let mut seen = BTreeSet::new();
        for file in files.iter().flatten() {
            let looked = known[&file.object].looked;
            let whose = match looked.kind {
                FileKind::Missing => self.driver.path_of(file.object).parent().map(Path::to_owned),
                _ => None,
            };
            if looked.kind == FileKind::Character || !seen.insert((looked.device, whose, file.start)) {
                continue;
            }
            let Some(alignment) = self.driver.alignment_at(file.object)? else { continue };
            let unit = u64::from(alignment.offset_bytes.max(1));
            let wrong = |what: &str, bytes: u64| {
                TargetError::Input(format!(
                    "job {}: {what} of {bytes} bytes, file {}: past the page cache (direct=1) offsets and sizes must be \
                     multiples of {unit} bytes: choose such ones, or set direct=0",
                    job.name,
                    self.driver.path_of(file.object).display()
                ))
            };
            if let Some(size) = sizes.iter().find(|size| !size.is_multiple_of(unit)) {
                return Err(wrong("a block", *size));
            }
            if !file.start.is_multiple_of(unit) {
                return Err(wrong("an offset", file.start));
            }
        }
        Ok(())
    }

    /// A stage that moves every byte of these parts once; `None` when there are none.
    fn stage(
        &self,
        name: &'static str,
        job: &Job,
        direction: OpKind,
        parts: Vec<JobFile>,
    ) -> Option<LayOutStage> {
        let workers = parts.len().min(PASS_WORKERS);
        let mut lists: Vec<Vec<JobFile>> = vec![Vec::new(); workers];
        for (at, part) in parts.into_iter().enumerate() {
            lists[at % workers].push(part);
        }
        let stage = lay_out::stage(name, job, direction, lists)?;
        let opened = self.for_passing(direction == OpKind::Write);
        Some(LayOutStage { opened: opened.map(|target| Box::new(target) as Box<dyn OpenTarget>), ..stage })
    }

    /// The same files, opened for filling or reading through the page cache; `None` when they are already open that
    /// way.
    fn for_passing(&self, filling: bool) -> Option<FileTarget> {
        let config = self.driver.config();
        let Where::Named(named) = &config.place else { return None };
        let named = NamedFiles { write: filling, create: false, hint: Hint::Sequential, ..named.clone() };
        let config = FileConfig {
            place: Where::Named(named),
            direct: false,
            open_files: OPEN_WHILE_PASSING,
            durable: reactor::Durable::Nothing,
            ..config.clone()
        };
        let driver = FileDriver::new(config).ok()?;
        Some(FileTarget {
            kind: self.kind,
            driver,
            place: self.place.clone(),
            cleared: self.cleared.clone(),
            destroy: self.destroy.clone(),
            sizes: Vec::new(),
            writes: filling,
            wanted: self.wanted,
            device_bytes: None,
            by_name: None,
        })
    }

    /// See [`OpenTarget::begin_files`].
    pub(super) fn forget_pages(&self, job: &Job, laid_out: &LaidOut) -> Result<(), TargetError> {
        let layout = &job.files.layout;
        if !self.is_named() || !layout.invalidate || layout.pre_read {
            return Ok(());
        }
        for file in laid_out.files.iter().flatten() {
            self.driver.forget_pages(file.object, file.start, file.length)?;
        }
        Ok(())
    }

    /// See [`OpenTarget::devices`]. A sample of the files is enough: they rarely lie on more devices than the job names
    /// directories and devices.
    pub(super) fn devices_under(&self, laid_out: &LaidOut) -> BTreeSet<u64> {
        let of_place = || self.driver.device_number();
        let mut seen = BTreeSet::new();
        let mut numbers = BTreeSet::new();
        for file in laid_out.files.iter().flatten() {
            let path = self.driver.path_of(file.object);
            if seen.insert(path.parent().map(Path::to_owned)) || path.starts_with("/dev") {
                numbers.extend(
                    self.driver.look(file.object).ok().map(|looked| looked.device).filter(|n| *n != 0),
                );
            }
        }
        if numbers.is_empty() { of_place().into_iter().collect() } else { numbers }
    }

    /// See [`OpenTarget::finish_files`].
    pub(super) fn remove_files(&self, job: &Job, laid_out: &LaidOut) -> Result<(), TargetError> {
        let layout = &job.files.layout;
        if !self.is_named() || !layout.unlink {
            return Ok(());
        }
        let mut first: Result<(), DriverError> = Ok(());
        for file in laid_out.files.iter().flatten() {
            first = first.and(self.driver.remove_named(file.object));
        }
        Ok(first?)
    }
}

/// The directories that the job names must exist, as with fio.
fn directories_are_there(named: &NamedFiles) -> Result<(), TargetError> {
    let missing = named.names.directories.iter().find(|name| !named.directory.join(name).is_dir());
    missing.map_or(Ok(()), |name| {
        Err(TargetError::Input(format!(
            "directory {name}: there is no such directory: make it, or name one that exists"
        )))
    })
}

/// The sizes of all blocks that the job may use.
pub(super) fn sizes_of(job: &Job, cell: &Cell) -> Vec<u64> {
    let sizes = &job.block_sizes.sizes;
    let directions =
        [(OpKind::Read, &sizes.read), (OpKind::Write, &sizes.write), (OpKind::Trim, &sizes.trim)];
    let used = directions.into_iter().filter(|(kind, _)| has(&cell.workload, *kind));
    used.flat_map(|(_, choice)| match choice {
        SizeChoice::Split(sizes) => sizes.iter().map(|size| size.bytes).collect(),
        _ if job.block_sizes.unaligned => vec![1],
        // All sizes of a range are multiples of its minimum, except the maximum.
        other => vec![other.least(), other.most()],
    })
    .collect()
}
