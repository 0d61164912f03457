//! How a run is carried out, as values: what a command line, a job file or a request says beside the plan.

use std::path::PathBuf;

use provision::ApiSecret;

/// How a run is carried out.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// How the kernel is asked for I/O where the target does not say.
    pub reactor: reactor::BackendChoice,
    /// The block device that may be overwritten although it holds data.
    pub destroy: Option<PathBuf>,
    /// The results file; `None`: the plan's, else the user's.
    pub results: Option<PathBuf>,
    /// The directory of journals; `None`: the user's.
    pub journal: Option<PathBuf>,
    /// The name of the baseline that the results are held against.
    pub baseline: Option<String>,
    /// The name under which the results are kept as a baseline.
    pub save_baseline: Option<String>,
    /// The password of a fleet's hosts.
    pub password: Option<ApiSecret>,
    /// Targets are looked at before anything is made: whether they answer, may be used and have room. Otherwise cells find out.
    pub preflight: bool,
    /// What jobs found is kept in memory, for output that the results file is not enough for.
    pub keep_outcomes: bool,
    /// Where logs and dumps of jobs are written that name no directory.
    pub directory: PathBuf,
    /// What started the run, as results show it; without secrets.
    pub command: String,
}

impl RunOptions {
    /// The usual options; files of jobs are written to `directory`.
    pub fn new(directory: PathBuf) -> Self {
        Self {
            reactor: reactor::BackendChoice::Auto,
            destroy: None,
            results: None,
            journal: None,
            baseline: None,
            save_baseline: None,
            password: None,
            preflight: true,
            keep_outcomes: false,
            directory,
            command: String::new(),
        }
    }
}
