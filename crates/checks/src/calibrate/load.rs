//! Targets that are opened on this host and stages on them, as those of a run or a check are.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use engine::StageResult;
use experiment::Cell;
use fleet::{HostGroup, HostRefusal, StageRequest, StageTask, StageUpdate};
use host::LocalExecutor;
use provision::{Journal, Run, RunId};
use reactor::clock;
use runner::StopToken;
use targets::{HeldSecrets, Patience};

use super::array_process::ArrayProcess;
use super::microbenchmarks::{BlockSize, Microbenchmark, RepetitionResult};
use super::plan;
use super::stored::StoredCalibration;
use super::{CalibrateRequest, WARM_UP};
use crate::error::CheckError;
use crate::site::{OpenSite, SiteOpening};

/// Seed of all payload: every calibration moves the same bytes.
const SEED: u64 = 1;

/// What all loads share.
pub struct LoadRunner {
    /// Measured time of a step.
    pub window: Duration,
    /// Threads that make load, where a server shares the cores.
    pub clients: u32,
    /// How the kernel is asked for I/O.
    pub reactor: reactor::BackendChoice,
    /// What a signal must reach.
    pub stop: StopToken,
    /// Keeps what is measured.
    stored: Arc<StoredCalibration>,
    host_group: HostGroup,
    executor: Arc<LocalExecutor>,
    journal: Journal,
    /// Of loads that leave nothing anywhere.
    run: Run,
    next_site: AtomicU32,
}

impl LoadRunner {
    /// On this host, with the keys and beside the journal of an array.
    ///
    /// # Errors
    /// The journal cannot be written.
    pub fn new(
        request: &CalibrateRequest,
        clients: u32,
        stop: &StopToken,
        server: &ArrayProcess,
        stored: &Arc<StoredCalibration>,
    ) -> Result<Self, CheckError> {
        let journal = server.journal().clone();
        let run = journal.begin(&RunId::random())?;
        let keys = Arc::new(server.keys().collect::<HeldSecrets>());
        let executor = Arc::new(LocalExecutor::of_run(&run, keys, request.scratch.clone()));
        Ok(Self {
            window: Duration::from_secs_f64(request.seconds),
            clients,
            reactor: request.reactor,
            stop: stop.clone(),
            stored: Arc::clone(stored),
            host_group: HostGroup::here(executor.clone()),
            executor,
            journal,
            run,
            next_site: AtomicU32::new(0),
        })
    }

    /// A run of its own: its places on targets are others than those of other runs.
    ///
    /// # Errors
    /// The journal cannot be written.
    pub fn begin_run(&self) -> Result<Run, CheckError> {
        let run = self.journal.begin(&RunId::random())?;
        self.executor.know(&run);
        Ok(run)
    }

    /// Opens the target of a cell, whose place is that of a run. Nothing is made yet.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn open(&self, cell: &Cell, run: &Run) -> Result<OpenSite<'_>, CheckError> {
        let opening = SiteOpening {
            number: self.next_site.fetch_add(1, Ordering::Relaxed),
            run: run.id().as_str(),
            seed: SEED,
            reactor: self.reactor,
            patience: Patience::default(),
        };
        OpenSite::open(&self.host_group, cell, opening).map_err(refused)
    }

    /// Opens a target on which nothing is made.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn open_placeless(&self, cell: &Cell) -> Result<OpenSite<'_>, CheckError> {
        self.open(cell, &self.run)
    }

    /// A stage that is measured, for this long after its warm-up, beside others on the same cores.
    pub fn timed(&self, site: &OpenSite<'_>, task: StageTask, length: Duration) -> StageRequest {
        StageRequest {
            warm_up_s: self.window.as_secs_f64() * WARM_UP,
            limit_s: length.as_secs_f64(),
            alone: false,
            ..StageRequest::to_the_end(site.id, task)
        }
    }

    /// Runs a stage of which nothing is reported; an operation that fails makes it worthless.
    ///
    /// # Errors
    /// It could not begin, operations failed, or a stop came.
    pub fn run(&self, site: &OpenSite<'_>, request: StageRequest) -> Result<StageResult, CheckError> {
        self.whole(site.run(request, &self.stop, &mut |_| {}))
    }

    /// Runs a stage that is a repetition of a load, which is kept as it goes on.
    ///
    /// # Errors
    /// As [`Self::run`].
    pub fn measure(
        &self,
        site: &OpenSite<'_>,
        request: StageRequest,
        step: Microbenchmark,
        block: BlockSize,
    ) -> Result<RepetitionResult, CheckError> {
        self.stored.begin(step);
        let mut began_ns = None;
        let ran = site.run(request, &self.stop, &mut |seen| match seen {
            StageUpdate::Whole(interval) => {
                began_ns.get_or_insert_with(|| clock::now_ns().saturating_sub(interval.length_ns));
                self.stored.interval(step, interval);
            }
            StageUpdate::Sample { sample, .. } => {
                if let Some(began_ns) = began_ns {
                    self.stored.sample(step, clock::now_ns().saturating_sub(began_ns), sample);
                }
            }
            StageUpdate::Part { .. } => {}
        });
        let result = self.whole(ran)?;
        self.stored.end(step, &result, block);
        Ok(found(&result, block))
    }

    /// A stage that ran to its end, without an error.
    fn whole(&self, ran: Result<StageResult, HostRefusal>) -> Result<StageResult, CheckError> {
        let result = ran.map_err(refused)?;
        if let Some((kind, detail)) = result.error_samples.first() {
            return Err(CheckError::Failure(format!(
                "{} operations failed, such as {kind}: {detail}",
                result.total.failed().max(1)
            )));
        }
        if result.stopped || self.stop.is_requested() {
            return Err(interrupted());
        }
        Ok(result)
    }

    /// Operations that do nothing, on this many cores.
    ///
    /// # Errors
    /// As [`Self::run`].
    pub fn null(&self, step: Microbenchmark, workers: u32) -> Result<RepetitionResult, CheckError> {
        let site = self.open_placeless(&plan::null(step, workers)?)?;
        let measure = self.timed(&site, StageTask::Measure { generation: 0 }, self.window);
        // There is no server that wants the cores too.
        self.measure(&site, StageRequest { alone: true, ..measure }, step, BlockSize::Small)
    }
}

/// A stop came.
pub fn interrupted() -> CheckError {
    CheckError::Stopped("interrupted".to_owned())
}

/// What this host said no to.
pub fn refused(refusal: HostRefusal) -> CheckError {
    if refusal.stopped { interrupted() } else { CheckError::Failure(refusal.text) }
}

/// Bytes of large blocks, operations of small ones.
pub fn found(result: &StageResult, block: BlockSize) -> RepetitionResult {
    let ended =
        || result.total.ops.iter().filter(|(kind, _)| kind.moves_bytes()).map(|(_, stats)| stats.ok).sum();
    let amount = if block == BlockSize::Small { ended() } else { result.total.bytes() };
    RepetitionResult::rate(amount as f64, result.window_ns as f64 / 1e9, result.cpu_ns() as f64 / 1e9)
}
