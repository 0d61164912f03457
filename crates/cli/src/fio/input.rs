//! From the command line and job files to a plan: reads everything needed from this machine before a run.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;

use experiment::{Cell, Plan};
use fio::{DirectoryError, Input, Reading, Surroundings, Warning};
use metrics::OpKind;
use targets::AccessKey;

use crate::exit::CommandError;

/// Maximum size of a job file, in bytes.
const LARGEST_FILE: u64 = 16 << 20;

/// Jobs that are ready to run.
pub struct Jobs {
    /// Their plan.
    pub plan: Plan,
    /// What was tolerated.
    pub warnings: Vec<Warning>,
    /// Access keys from job files, by target name. They are not stored in any plan or results file.
    pub keys: BTreeMap<String, AccessKey>,
}

/// Reads the job files and jobs of a command line.
///
/// # Errors
/// Anything that cannot be read, and every fault in the jobs.
pub fn read(line: &fio::Arguments) -> Result<Jobs, CommandError> {
    let faults = |faults: fio::ScriptFaults| CommandError::Faults(faults.to_string());
    let mut files = Vec::new();
    for name in &line.files {
        let shown = if name == "-" { "standard input" } else { name.as_str() };
        let bytes = bytes_of(name).map_err(|error| {
            CommandError::Usage(format!(
                "{shown}: {error}; next: name a job file, or write the job as --name=JOB …"
            ))
        })?;
        files.push((shown, bytes));
    }
    if line.jobs.is_empty() && files.is_empty() {
        return Err(CommandError::Usage(
            "there is no job: name a job file, or write one as --name=JOB --rw=read …; \
             `manometer fio --help` says more"
                .to_owned(),
        ));
    }
    let mut inputs = vec![Input::Arguments(&line.jobs)];
    inputs.extend(files.iter().map(|(name, bytes)| Input::File { name, bytes }));
    let sections: Vec<String> = line.values("section").map(str::to_owned).collect();
    let cpus = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let reading = Reading {
        environment: &|name| std::env::var(name).ok(),
        include: &|path| bytes_of(path),
        page_bytes: rustix::param::page_size() as u64,
        memory_mib: memory_mib(),
        cpus: cpus as u64,
        sections: &sections,
        ignore_unsupported: line.has("ignore-unsupported"),
    };
    let (script, mut warnings) = fio::read(&inputs, &reading).map_err(faults)?;
    let directory = std::env::current_dir()
        .map_err(|error| CommandError::Failure(format!("the current directory cannot be found: {error}")))?;
    let directory = directory.to_str().ok_or_else(|| {
        CommandError::Usage("the current directory's name is no text: change to another".to_owned())
    })?;
    let around = Surroundings {
        directory,
        cpus: cpus as u32,
        seed: fastrand::u64(..),
        read_file: &|path| bytes_of(path),
        open_directory: &|path| files_below(Path::new(path)),
    };
    let (plan, more) = fio::plan(&script, &around).map_err(faults)?;
    warnings.extend(more);
    host::replay::look(&plan).map_err(|error| CommandError::Usage(error.to_string()))?;
    if line.has("warnings-fatal")
        && let Some(faults) =
            fio::ScriptFaults::of(warnings.iter().map(|warning| warning.0.clone()).collect())
    {
        return Err(CommandError::Faults(faults.to_string()));
    }
    if line.has("readonly")
        && let Some(cell) = plan.cells.iter().find(|cell| changes(cell))
    {
        return Err(CommandError::Usage(format!(
            "--readonly: job {} writes or trims; next: take --readonly away, or choose another job with --section",
            cell.name
        )));
    }
    Ok(Jobs { plan, warnings, keys: fio::meaning::access_keys(&script) })
}

/// Whether a job's load changes existing data.
fn changes(cell: &Cell) -> bool {
    cell.workload.changes_data()
}

/// The bytes of a file or of standard input; or why they cannot be read.
fn bytes_of(name: &str) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let read = if name == "-" {
        std::io::stdin().lock().take(LARGEST_FILE).read_to_end(&mut bytes)
    } else {
        std::fs::File::open(name).and_then(|file| file.take(LARGEST_FILE).read_to_end(&mut bytes))
    };
    read.map(|_| bytes)
}

/// All files below a directory, in order.
fn files_below(directory: &Path) -> Result<Vec<String>, DirectoryError> {
    let mut found = Vec::new();
    let mut left = vec![directory.to_owned()];
    while let Some(next) = left.pop() {
        let failed = |error| DirectoryError { directory: next.clone(), error };
        for entry in std::fs::read_dir(&next).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let path = entry.path();
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => left.push(path),
                Ok(kind) if kind.is_file() => found.extend(path.to_str().map(str::to_owned)),
                _ => {}
            }
        }
    }
    found.sort();
    Ok(found)
}

/// Memory of this machine, in MiB.
fn memory_mib() -> u64 {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"));
    let kib = line.and_then(|rest| rest.trim().trim_end_matches(" kB").parse::<u64>().ok());
    kib.unwrap_or(0) / 1024
}
