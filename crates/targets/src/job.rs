//! The files of a job on a target: what is done before the load, in which parts the workers use them, and what is done
//! after it.

use std::collections::BTreeSet;

use engine::{JobFile, JobLoad};
use experiment::{Cell, Found, Job};

use super::{Opened, TargetError};

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
    pub opened: Option<Opened>,
}

impl Opened {
    /// Looks at the files of a job's cell and makes those that are missing or too short, as its [`experiment::Layout`]
    /// says; what must be filled or read is left to the stages. Of a cell without a job there are no files. Blocks.
    ///
    /// # Errors
    /// One line: which file, what was tried, what came back, what to do next.
    pub fn lay_out(&self, cell: &Cell) -> Result<LaidOut, TargetError> {
        let Some(job) = &cell.workload.job else { return Ok(LaidOut::default()) };
        let mut laid_out = match self {
            Opened::File(target) => target.lay_out(job, cell)?,
            Opened::Nfs(target) => target.lay_out(job, &cell.workload)?,
            _ => LaidOut { files: as_wanted(job, cell.workload.jobs)?, stages: Vec::new() },
        };
        if job.files.layout.create_only {
            // With nothing to use, the load is over before it begins.
            laid_out.files.iter_mut().flatten().for_each(|file| file.length = 0);
        }
        Ok(laid_out)
    }

    /// The numbers of the devices that a job's files lie on, or are, for disk statistics; none where the target is
    /// not of this machine.
    pub fn devices(&self, laid_out: &LaidOut) -> BTreeSet<u64> {
        match self {
            Opened::File(target) => target.devices(laid_out),
            _ => BTreeSet::new(),
        }
    }

    /// What is done to files that are laid out right before the load: the client's cached pages are given up
    /// (`invalidate`). Blocks.
    ///
    /// # Errors
    /// The first file that could not be opened; one line.
    pub fn begin_job(&self, cell: &Cell, laid_out: &LaidOut) -> Result<(), TargetError> {
        match (self, &cell.workload.job) {
            (Opened::File(target), Some(job)) => target.begin_job(job, laid_out),
            _ => Ok(()),
        }
    }

    /// Does what is to be done with a job's files when it is over: they are removed where the job says so
    /// (`unlink`). Blocks.
    ///
    /// # Errors
    /// The first file that could not be removed; the others are removed.
    pub fn finish_job(&self, cell: &Cell, laid_out: &LaidOut) -> Result<(), TargetError> {
        match (self, &cell.workload.job) {
            (Opened::File(target), Some(job)) => target.finish_job(job, laid_out),
            (Opened::Nfs(target), Some(job)) => target.finish_job(job, laid_out),
            _ => Ok(()),
        }
    }
}

/// The files of each worker, in the sizes that the job asks for, where nothing was there before.
fn as_wanted(job: &Job, workers: u32) -> Result<Vec<Vec<JobFile>>, TargetError> {
    parts(job, workers, |_, _| Ok(Found::default()))
}

/// The files of each worker and the parts that it uses; `found` says what is there, by worker's number and file.
pub(super) fn parts(
    job: &Job,
    workers: u32,
    mut found: impl FnMut(u32, u32) -> Result<Found, TargetError>,
) -> Result<Vec<Vec<JobFile>>, TargetError> {
    let numbers = job.first_number..job.first_number + workers;
    let mut file_of = |number: u32, file: u32| {
        let part = job.part(number, file, found(number, file)?).map_err(|problem| {
            let path = job.files.names.path(&job.name, number, file);
            TargetError::Input(format!("job {}: file {path}: {problem}", job.name))
        })?;
        let object = job.files.object(number, file);
        Ok(JobFile { object, bytes: part.bytes, start: part.start, length: part.length })
    };
    numbers.map(|number| (0..job.files.per_worker()).map(|file| file_of(number, file)).collect()).collect()
}
