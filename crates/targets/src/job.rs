//! The files of a job on a target: preparation before the load, the parts that each worker uses, and the work after it.

use engine::{JobFile, JobLoad};
use experiment::{FoundFile, Job};

use super::{OpenTarget, TargetError};

/// The files of a job, created, and ready for the load once the stages are done.
#[derive(Default)]
pub struct LaidOut {
    /// For each worker, its files and the parts of them that it uses.
    pub files: Vec<Vec<JobFile>>,
    /// Stages that must move bytes before the load, in order; each is a load of its own.
    pub stages: Vec<LayOutStage>,
}

/// Files to fill, or to read once, before the load.
pub struct LayOutStage {
    /// Name for people: `lay out`, `pre-read`.
    pub name: &'static str,
    /// The load; one worker for each list of files.
    pub load: JobLoad,
    /// Bytes that it moves.
    pub bytes: u64,
    /// The target to use, when it is opened differently from the load's.
    pub opened: Option<Box<dyn OpenTarget>>,
}

/// The files of each worker, in the sizes that the job asks for, when nothing existed before.
pub(super) fn as_wanted(job: &Job, workers: u32) -> Result<Vec<Vec<JobFile>>, TargetError> {
    parts(job, workers, |_, _| Ok(FoundFile::default()))
}

/// The files of each worker and the parts that it uses; `found` gives what exists, by worker number and file.
pub(super) fn parts(
    job: &Job,
    workers: u32,
    mut found: impl FnMut(u32, u32) -> Result<FoundFile, TargetError>,
) -> Result<Vec<Vec<JobFile>>, TargetError> {
    let numbers = job.first_number..job.first_number + workers;
    let mut file_of = |number: u32, file: u32| {
        let part = job.part(number, file, found(number, file)?).map_err(|problem| {
            let path = job.files.names.path(&job.name, number, file);
            TargetError::Input(format!("job {}: file {path}: {problem}", job.name))
        })?;
        let object = job.files.names.object(number, file);
        Ok(JobFile { object, bytes: part.bytes, start: part.start, length: part.length })
    };
    numbers.map(|number| (0..job.files.per_worker()).map(|file| file_of(number, file)).collect()).collect()
}
