//! How to execute a run, as values: what a command line, a job file or a request specifies beside the plan.

use std::path::PathBuf;

use fleet::launch::SshLogin;
use provision::RunId;
use store::DatabaseServer;

/// How to execute a run.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// The id of a new run; `None`: a random one.
    pub id: Option<RunId>,
    /// How to submit I/O to the kernel where the target does not say.
    pub reactor: reactor::BackendChoice,
    /// Devices and files that may be overwritten even if they hold data.
    pub destroy: Vec<PathBuf>,
    /// The results file; `None`: the plan's, else the user's.
    pub results: Option<PathBuf>,
    /// Results on a server, instead of any file.
    pub database: Option<DatabaseServer>,
    /// The journal directory; `None`: the user's.
    pub journal: Option<PathBuf>,
    /// Name of the baseline to compare the results against.
    pub baseline: Option<String>,
    /// Name under which to keep the results as a baseline.
    pub save_baseline: Option<String>,
    /// How to log in to a fleet's hosts by ssh.
    pub login: SshLogin,
    /// Check every target before creating anything: whether it answers, may be used and has enough space. Otherwise
    /// cells find out.
    pub preflight: bool,
    /// Keep jobs' results in memory, for output that needs more than the results file holds.
    pub keep_outcomes: bool,
    /// Directory for job logs and dumps whose paths name none.
    pub directory: PathBuf,
    /// The command that started the run, as results show it; without secrets.
    pub command: String,
}

impl RunOptions {
    /// Default options; job files are written to `directory`.
    pub fn new(directory: PathBuf) -> Self {
        Self {
            id: None,
            reactor: reactor::BackendChoice::Auto,
            destroy: Vec::new(),
            results: None,
            database: None,
            journal: None,
            baseline: None,
            save_baseline: None,
            login: SshLogin::default(),
            preflight: true,
            keep_outcomes: false,
            directory,
            command: String::new(),
        }
    }
}
