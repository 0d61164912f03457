//! fio job files from requests, as experiments.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::Path;

use experiment::{Cell, Plan, TargetUrl, UrlForm};
use fio::{Input, JobScript, ReadFile, Reading, ScriptFaults, Surroundings, Warning};
use targets::AccessKey;

use crate::new_work::{NewWork, RunSecrets};
use crate::options::RequestPolicy;
use crate::policy;
use crate::problem::Problem;

/// The name of a request's job file in messages.
const FILE: &str = "jobs";

/// A job file from a request.
pub(crate) struct FioJobs {
    /// Its text.
    pub text: String,
    /// What its runs are called.
    pub name: String,
    /// The hosts whose agents run it; none: the service's own.
    pub hosts: Vec<String>,
    /// Seed of jobs with `randrepeat=0`.
    pub seed: u64,
}

/// A job file as an experiment.
pub(crate) struct ConvertedJobs {
    /// The experiment, with the keys from the file.
    pub experiment: NewWork,
    /// Its plan.
    pub plan: Plan,
    /// What fio warns about too.
    pub warnings: Vec<String>,
}

/// The plan of jobs from a request, which read no files of this host. The values of `$ncpus` and `$mb_memory` are given.
pub(crate) fn plan(
    input: Input<'_>,
    (cpus, memory_mib): (u32, u64),
    seed: u64,
    environment: &dyn Fn(&str) -> Option<String>,
) -> Result<(Plan, JobScript, Vec<Warning>), ScriptFaults> {
    let refuse: ReadFile<'_> = &|_| Err(not_read());
    let reading = Reading {
        environment,
        include: refuse,
        page_bytes: 4096,
        memory_mib,
        cpus: cpus.into(),
        sections: &[],
        ignore_unsupported: false,
    };
    let (script, mut warnings) = fio::read(&[input], &reading)?;
    let around = Surroundings {
        directory: "/",
        cpus,
        seed,
        read_file: refuse,
        open_directory: &|directory| {
            Err(fio::DirectoryError { directory: directory.into(), error: not_read() })
        },
    };
    let (plan, more) = fio::plan(&script, &around)?;
    warnings.extend(more);
    Ok((plan, script, warnings))
}

fn not_read() -> std::io::Error {
    std::io::Error::new(std::io::ErrorKind::PermissionDenied, "the service reads no files of its host")
}

/// Converts a job file into an experiment.
///
/// # Errors
/// The faults of the file, what the policy refuses, or what needs a directory or keys that a request cannot give.
pub(crate) fn convert(jobs: FioJobs, policy: &RequestPolicy) -> Result<ConvertedJobs, Problem> {
    let input = Input::File { name: FILE, bytes: jobs.text.as_bytes() };
    let variable = RefCell::new(None);
    let environment = |name: &str| {
        variable.borrow_mut().get_or_insert_with(|| name.to_owned());
        None
    };
    let (mut plan, script, warnings) = plan(input, this_host(), jobs.seed, &environment)
        .map_err(|faults| Problem::job_faults(faults.into()))?;
    if let Some(name) = variable.take() {
        return Err(refused(format!("the service gives no values of ${{{name}}}; next: write its value")));
    }
    if let Some(cell) = plan.cells.iter().find(|cell| is_relative(cell)) {
        let detail = format!(
            "job {:?} names no absolute path; next: write directory=/PATH, or filename=/PATH",
            cell.name
        );
        return Err(refused(detail));
    }
    plan.name = jobs.name;
    if !jobs.hosts.is_empty() {
        fio::spread(&mut plan, jobs.hosts);
    }
    let text = fio::convert(&plan, &warnings).ok_or_else(|| refused("the jobs are no load of files"))?;
    let converted = policy::plan(&text, policy).map_err(|faults| {
        // Their lines are those of the converted text, which the client has not seen.
        let lines: Vec<String> =
            faults.faults.iter().map(|fault| format!("{}; next: {}", fault.text, fault.hint)).collect();
        refused(lines.join("\n"))
    })?;
    let keys = keys(&plan, &converted, &fio::meaning::access_keys(&script))?;
    let warnings = warnings.into_iter().map(|Warning(fault)| fault.text).collect();
    let secrets = RunSecrets { keys, ..RunSecrets::default() };
    let experiment = NewWork { secrets, ..NewWork::experiment(text) };
    Ok(ConvertedJobs { experiment, plan: converted, warnings })
}

fn refused(detail: impl Into<String>) -> Problem {
    Problem::new(axum::http::StatusCode::UNPROCESSABLE_ENTITY, "jobs", detail)
}

/// Cores and memory (MiB) of this host.
fn this_host() -> (u32, u64) {
    let cpus = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let memory = rustix::system::sysinfo();
    let bytes = u64::from(memory.mem_unit).saturating_mul(memory.totalram);
    (u32::try_from(cpus).unwrap_or(u32::MAX), bytes >> 20)
}

/// Whether a job's files are relative to a current directory: a request has none.
fn is_relative(cell: &Cell) -> bool {
    let Ok(url) = TargetUrl::parse(targets::kinds(), &cell.target.url) else { return false };
    let Some(job) = cell.workload.stream().filter(|_| url.kind().form == UrlForm::Path) else { return false };
    let names = &job.files.names;
    let given = if names.listed.is_empty() { &names.directories } else { &names.listed };
    match given.is_empty() {
        true => !Path::new(&names.path(&job.name, job.first_number, 0)).is_absolute(),
        false => given.iter().any(|name| !Path::new(name).is_absolute()),
    }
}

/// The keys by the names of the converted targets: targets that differ in their keys only have become one.
fn keys(
    plan: &Plan,
    converted: &Plan,
    given: &BTreeMap<String, AccessKey>,
) -> Result<BTreeMap<String, AccessKey>, Problem> {
    let mut keys: BTreeMap<String, AccessKey> = BTreeMap::new();
    for (job, cell) in plan.cells.iter().zip(&converted.cells) {
        let Some(key) = given.get(&job.target.name) else { continue };
        if keys.insert(cell.target.name.clone(), key.clone()).is_some_and(|other| other != *key) {
            let detail = format!(
                "job {:?} has another key than an earlier job for the same bucket; next: post it on its own",
                job.name
            );
            return Err(refused(detail));
        }
    }
    Ok(keys)
}

#[cfg(test)]
#[path = "fio_jobs_tests.rs"]
mod tests;
