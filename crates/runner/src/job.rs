//! Cells whose workload is a job: its files, its logs, and how its end is judged.

use std::collections::BTreeSet;

use engine::{Reason, StageResult};
use experiment::Cell;
use fleet::{Act, PartResult, StageTask};
use metrics::{ErrorKind, OpKind};
use reactor::clock;
use store::StageRecord;

use crate::context::{CellFailure, CellStage, Context};
use crate::job_outcome::JobFailure;
use crate::measure::Measured;
use crate::op_logs::{self, CellLogs, LogPlan};
use crate::site::Site;
use crate::stages::{self, PREPARE};

/// Creates the files of a job, each step as its own stage; returns the devices of this host that hold them.
///
/// # Errors
/// One line: which file, and why; or a signal arrived.
pub fn lay_out(
    context: &Context,
    cell: &Cell,
    site: &Site,
    stages: &mut Vec<StageRecord>,
) -> Result<BTreeSet<u64>, CellFailure> {
    let begun_ns = clock::now_ns();
    let (steps, devices) = site.lay_out(context)?;
    for (step, made) in steps.iter().enumerate() {
        let stage = CellStage {
            bytes_expected: (made.bytes > 0).then_some(made.bytes),
            trial: step as u32,
            ..CellStage::full_pass(cell, site, PREPARE, StageTask::LayOut { step: step as u32 })
        };
        let result = context.stage(stage, &mut |_, _| false)?.whole;
        if result.stopped {
            return Err(CellFailure::Interrupted);
        }
        if let Some(failure) = result.job.failures.first() {
            return Err(CellFailure::Failed(format!("{}: {}", made.name, failure.detail)));
        }
        if !result.exhausted {
            let cause = result.error_samples.first().map_or_else(
                || "look at the target's health, then run again".to_owned(),
                |(kind, detail)| format!("{kind}: {detail}"),
            );
            return Err(CellFailure::Failed(format!("{} did not come to its end: {cause}", made.name)));
        }
        stages.push(stages::record(PREPARE, &result));
    }
    if let Some(first) = stages.first_mut() {
        first.seconds = clock::now_ns().saturating_sub(begun_ns) as f64 / 1e9;
    }
    Ok(devices)
}

/// Whether this machine's cached pages of a job's files are dropped before the load.
pub fn gives_up_pages(cell: &Cell, site: &Site) -> bool {
    site.uses_page_cache() && cell.workload.gives_up_pages()
}

/// Opens the logs that a job asks for and starts writing them.
///
/// # Errors
/// A file cannot be created.
pub fn logs(context: &Context, cell: &Cell) -> Result<Option<CellLogs>, CellFailure> {
    let failed =
        |error: std::io::Error| CellFailure::Failed(format!("the job's logs cannot be made: {error}"));
    let started_ms = u64::try_from(crate::timestamp::now().as_millisecond()).unwrap_or(0);
    match LogPlan::of(&context.plan, cell.index as usize, &context.directory, started_ms) {
        Some(plan) => op_logs::begin(plan).map_err(failed),
        None => Ok(None),
    }
}

/// Treats the files as the job asks when it has ended.
pub fn end(context: &Context, cell: &Cell, site: &Site) {
    if cell.workload.lays_out_files()
        && let Err(CellFailure::Failed(error)) = site.act(context, &Act::FinishJob)
    {
        context.remark(cell, "warning", &format!("not removed: {error}"));
    }
}

/// Why a job failed, if it did.
pub fn failure(cell: &Cell, measured: &Measured) -> Option<JobFailure> {
    failure_of(&measured.result).or_else(|| nothing_verified(cell, &measured.result))
}

/// Failure of a job that had to verify, moved data, and verified none of it.
fn nothing_verified(cell: &Cell, result: &StageResult) -> Option<JobFailure> {
    let job = cell.workload.stream()?;
    let check = job.check.as_ref()?;
    let reads_back = cell.workload.does(OpKind::writes);
    let was_to =
        check.only || if reads_back { check.after_writes } else { cell.workload.does(OpKind::reads) };
    let checked = &result.checked;
    let judged = checked.right + checked.wrong + checked.unread;
    if !was_to || judged > 0 || result.stopped || result.total.ok() == 0 {
        return None;
    }
    let text = match checked.uncertain {
        0 if job.replay.is_some() => {
            "nothing was verified: what is replayed is not read back; next: verify with a job that reads it".to_owned()
        }
        0 => "nothing was verified: the job ended before what it wrote was read back; next: allow more time, or \
              read back between the writes (verify_backlog of job files, backlog of check)"
            .to_owned(),
        blocks => format!(
            "nothing was verified: of all {blocks} blocks the last write is not known to have ended well; next: see why writes \
             fail, or use smaller files"
        ),
    };
    Some(JobFailure { code: libc::ENODATA, text })
}

/// Written data that a job could not verify, in a line.
pub fn not_judged(cell: &Cell, result: &StageResult) -> Option<String> {
    let checked = &result.checked;
    cell.workload.stream()?.check.as_ref()?;
    (checked.uncertain > 0).then(|| {
        format!(
            "{} of {} blocks were written and not verified: it is unknown which write to them was the last",
            checked.uncertain,
            checked.blocks()
        )
    })
}

fn failure_of(result: &StageResult) -> Option<JobFailure> {
    result.job.failures.first().map(|failure| JobFailure {
        code: match failure.reason {
            Reason::Failed(_, kind) => code(kind),
            Reason::TooSlow => libc::ETIME,
            Reason::BelowRate | Reason::NoDepth => libc::EIO,
        },
        text: failure.detail.clone(),
    })
}

/// The error that fio reports at a job's end, including errors that it was told to ignore.
pub fn fault(cell: &Cell, measured: &Measured) -> Option<JobFailure> {
    fault_of(&measured.result).or_else(|| nothing_verified(cell, &measured.result))
}

/// The same for one host of a fleet, which may have been lost.
pub fn fault_of_host(part: &PartResult) -> Option<JobFailure> {
    let lost = part.lost.as_ref().map(|why| JobFailure { code: libc::EIO, text: format!("lost: {why}") });
    lost.or_else(|| fault_of(&part.result))
}

fn fault_of(result: &StageResult) -> Option<JobFailure> {
    let gone_on = || {
        let (kind, text) = result.error_samples.first()?;
        let failed = result.before.failed + result.total.failed() + result.after.failed;
        (failed > result.job.overlooked).then(|| JobFailure { code: code(*kind), text: text.clone() })
    };
    failure_of(result).or_else(gone_on)
}

/// The errno(3) value nearest to a kind of error.
fn code(kind: ErrorKind) -> i32 {
    match kind {
        ErrorKind::TimedOut => libc::ETIMEDOUT,
        ErrorKind::ConnectFailed => libc::ECONNREFUSED,
        ErrorKind::ConnectionLost => libc::ECONNRESET,
        ErrorKind::AccessDenied => libc::EACCES,
        ErrorKind::ReadOnly => libc::EROFS,
        ErrorKind::NoSpace => libc::ENOSPC,
        ErrorKind::NotFound => libc::ENOENT,
        ErrorKind::AlreadyExists => libc::EEXIST,
        ErrorKind::Stale => libc::ESTALE,
        ErrorKind::Busy => libc::EAGAIN,
        ErrorKind::Rejected => libc::EINVAL,
        ErrorKind::Protocol => libc::EPROTO,
        ErrorKind::Corrupt => libc::EILSEQ,
        ErrorKind::Local => libc::ENOMEM,
        ErrorKind::ServerFault | ErrorKind::Length | ErrorKind::VerifierChanged | ErrorKind::Tls => libc::EIO,
    }
}
