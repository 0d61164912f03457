//! Agents as Slurm tasks: one step per node, within the allocation that this process is in, or one made for the run.
//!
//! An allocation made here is held by a `salloc` whose command waits for the end of its standard input: however this
//! process ends, the allocation is released. A request still queued at that time expires with the start timeout, which
//! is passed to salloc (`--immediate`).

use std::process::{ChildStdin, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use super::deadline::Deadline;
use super::process::{AgentProcess, Launched};
use super::start::start_all;
use super::start_error::AgentStartError;
use super::{LaunchError, LaunchSettings, Say};

const AT_ONCE: usize = 32;

/// Timeout of releasing an allocation.
const PATIENCE: Duration = Duration::from_secs(10);

/// How much longer than this process salloc itself waits for nodes. It waits on when this process is killed, and
/// ends its request then.
const GRACE: Duration = Duration::from_secs(5);

/// Delay before telling people that the queue is being waited for.
const SILENCE: Duration = Duration::from_secs(3);

/// What salloc runs, here and not on a node: it prints the allocation, and ends with its input.
const HOLD: &str = "echo \"$SLURM_JOB_ID $SLURM_JOB_NODELIST\"; exec cat >/dev/null";

/// Set by a batch job for its own tasks: they would change the size of our steps.
const OTHERS: [&str; 6] = [
    "SLURM_NTASKS",
    "SLURM_NPROCS",
    "SLURM_NTASKS_PER_NODE",
    "SLURM_CPUS_PER_TASK",
    "SLURM_TRES_PER_TASK",
    "SLURM_DISTRIBUTION",
];

/// The settings of `experiment::Launcher::Slurm`.
pub(super) struct Slurm<'a> {
    pub(super) nodes: Option<u32>,
    pub(super) options: &'a [String],
    /// The agent's path on the nodes; `None`: the same as here.
    pub(super) binary: Option<&'a str>,
}

/// An allocation that this process is in: its number and its nodes, as Slurm writes them.
pub(super) type Within = Option<(String, String)>;

/// The allocation given by the environment.
pub(super) fn within() -> Within {
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let nodes = variable("SLURM_JOB_NODELIST").or_else(|| variable("SLURM_NODELIST"))?;
    Some((variable("SLURM_JOB_ID")?, nodes))
}

pub(super) fn launch(
    slurm: &Slurm<'_>,
    within: Within,
    settings: &LaunchSettings<'_>,
    say: &Say,
) -> Result<Vec<Launched>, LaunchError> {
    let binary = match slurm.binary {
        Some(path) => path.to_owned(),
        None => own_path(settings)?,
    };
    let deadline = Deadline::after(settings.start_timeout, settings.stop);
    let ((job, list), options, held) = match within {
        Some(within) => (within, slurm.options, None),
        None => {
            let (granted, held) = allocate(slurm, settings, &deadline, say)?;
            (granted, &[][..], Some(Arc::new(held)))
        }
    };
    let mut nodes = experiment::host_list(&list).map_err(|error| {
        LaunchError::Tool(format!("Slurm's list of nodes {list:?} is not understood: {error}"))
    })?;
    if let Some(wanted) = slurm.nodes.map(|n| n as usize) {
        if wanted > nodes.len() {
            return Err(LaunchError::Input(format!(
                "the allocation {job} has {} nodes and {wanted} are asked for; ask for fewer or for a larger allocation",
                nodes.len()
            )));
        }
        nodes.truncate(wanted);
    }
    start_all(&nodes, AT_ONCE, |_, node| {
        let mut command = Command::new(settings.tool("srun"));
        for name in OTHERS {
            command.env_remove(name);
        }
        command
            .args([
                "--jobid",
                &job,
                "--nodes=1",
                "--ntasks=1",
                "--nodelist",
                node,
                "--overlap",
                "--unbuffered",
            ])
            // The agent pins its workers itself, and may use all that the node was given.
            .args(["--cpu-bind=none", "--mpi=none", "--job-name=manometer", "--quiet"])
            .args(options)
            .arg(&binary)
            .args(&settings.agent);
        let mut launched = Launched::spawn(node, &mut command)?;
        if let Some(held) = &held {
            launched.process.hold(held.clone());
        }
        launched.wait_for_output(&deadline).map_err(|error| {
            let next = format!(
                "look at `sinfo -N` and try by hand: srun --jobid {job} --overlap -N1 -n1 -w {node} {binary} --version"
            );
            error.advised(format!("srun on it in job {job}: "), next)
        })?;
        Ok(launched)
    })
}

/// This program's path, which the nodes must have too.
fn own_path(settings: &LaunchSettings<'_>) -> Result<String, LaunchError> {
    let path = std::fs::canonicalize(&settings.program)
        .map_err(|error| LaunchError::Tool(format!("this program's own path cannot be found: {error}")))?;
    path.into_os_string().into_string().map_err(|path| {
        LaunchError::Tool(format!(
            "the path {} is not UTF-8; give the program's path on the nodes with --agent-binary",
            path.display()
        ))
    })
}

/// Asks Slurm for nodes and waits until they are granted.
fn allocate(
    slurm: &Slurm<'_>,
    settings: &LaunchSettings<'_>,
    deadline: &Deadline<'_>,
    say: &Say,
) -> Result<((String, String), Allocation), LaunchError> {
    let nodes = slurm.nodes.ok_or_else(|| {
        LaunchError::Input(
            "this is not within a Slurm allocation: say how many nodes to ask for, such as --slurm nodes=4"
                .to_owned(),
        )
    })?;
    let mut command = Command::new(settings.tool("salloc"));
    // Whole nodes: next to another job, a benchmark measures both. The user's own option takes precedence.
    command.arg(format!("--nodes={nodes}")).args(["--exclusive", "--job-name=manometer"]);
    command.arg(format!("--immediate={}", settings.start_timeout.saturating_add(GRACE).as_secs()));
    command.args(slurm.options);
    command.args(["/bin/sh", "-c", HOLD]);
    let failed = |error: AgentStartError| {
        let next = "look at `sinfo` and `squeue --me`, or give a longer start_timeout";
        LaunchError::Tool(error.advised(format!("salloc for {nodes} nodes: "), next).to_string())
    };
    let mut launched = Launched::spawn("salloc", &mut command).map_err(failed)?;
    let brief = Deadline::after(SILENCE, settings.stop);
    if launched.wait_for_output(&brief).is_err() && launched.process.ended().is_none() {
        say(&format!("waiting for Slurm to grant {nodes} nodes"));
    }
    let line = launched.read_line(deadline);
    let Launched { input, process, .. } = launched;
    let mut held = Allocation {
        input: Some(input),
        process,
        job: None,
        scancel: settings.tool("scancel"),
        say: say.clone(),
    };
    let line = line.map_err(failed)?;
    let (job, list) = line
        .split_once(' ')
        .filter(|(job, _)| !job.is_empty() && job.bytes().all(|byte| byte.is_ascii_digit()))
        .ok_or_else(|| failed(AgentStartError::NoJobNumber(line.clone())))?;
    held.job = Some(job.to_owned());
    Ok(((job.to_owned(), list.to_owned()), held))
}

/// An allocation, released when this is dropped.
struct Allocation {
    /// When it is closed, salloc releases the nodes.
    input: Option<ChildStdin>,
    process: AgentProcess,
    job: Option<String>,
    scancel: std::path::PathBuf,
    say: Say,
}

impl Drop for Allocation {
    fn drop(&mut self) {
        drop(self.input.take());
        if self.job.is_none() {
            // Still queued: when asked to end, salloc withdraws its request.
            self.process.terminate();
        }
        if self.process.end(PATIENCE).is_some_and(|status| status.success()) {
            return;
        }
        let Some(job) = &self.job else { return };
        let mut scancel = Command::new(&self.scancel);
        scancel.arg(job).stdout(Stdio::null());
        let cancelled =
            Launched::spawn("scancel", &mut scancel).map(|mut scancel| scancel.process.end(PATIENCE));
        if !matches!(cancelled, Ok(Some(status)) if status.success()) {
            (self.say)(&format!("Slurm's allocation {job} could not be given back; next: scancel {job}"));
        }
    }
}
