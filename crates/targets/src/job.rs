//! The files of a job on a target: what is done before the load, in which parts the workers use them, and what is done
//! after it.

use engine::{JobFile, JobLoad};
use experiment::{FoundFile, Job};

use super::{OpenTarget, TargetError};

/// The files of a job, made and ready for the load once the stages are done.
#[derive(Default)]
pub struct LaidOut {
    /// For each worker its files and the parts of them that it uses.
    pub files: Vec<Vec<JobFile>>,
    /// What must move bytes before the load, in order; each is a load of its own.
    pub stages: Vec<LayOutStage>,
}

/// Files that are filled, or read once, before the load.
pub struct LayOutStage {
    /// For people: `lay out`, `pre-read`.
    pub name: &'static str,
    /// The load; one worker for each list of files.
    pub load: JobLoad,
    /// Bytes that it moves.
    pub bytes: u64,
    /// The target that it goes to, when it is opened in another way than for the load.
    pub opened: Option<Box<dyn OpenTarget>>,
}

/// The files of each worker, in the sizes that the job asks for, where nothing was there before.
pub(super) fn as_wanted(job: &Job, workers: u32) -> Result<Vec<Vec<JobFile>>, TargetError> {
    parts(job, workers, |_, _| Ok(FoundFile::default()))
}

/// The files of each worker and the parts that it uses; `found` says what is there, by worker's number and file.
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
