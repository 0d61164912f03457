//! Targets opened on this host and stages on them, as in a run or a check.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use engine::StageResult;
use experiment::Cell;
use fleet::{HostGroup, HostRefusal, StageRequest, StageTask, StageUpdate};
use host::LocalExecutor;
use provision::{Journal, Run, RunId};
use runner::StopToken;
use targets::{HeldSecrets, Patience};

use super::array_process::ArrayProcess;
use super::microbenchmarks::{BlockSize, Microbenchmark, RepetitionResult};
use super::plan;
use super::stored::StoredCalibration;
use super::{CalibrateRequest, WARM_UP};
use crate::error::CheckError;
use crate::measurement_start::MeasurementStart;
use crate::site::{OpenSite, SiteOpening};

/// Seed of all payload: every calibration moves the same bytes.
const SEED: u64 = 1;

/// State shared by all loads.
pub struct LoadRunner {
    /// Measured time of a step.
    pub window: Duration,
    /// Threads that generate load, where a server shares the cores.
    pub clients: u32,
    /// How to submit I/O to the kernel.
    pub reactor: reactor::BackendChoice,
    /// Stops the load when a signal arrives.
    pub stop: StopToken,
    /// Stores what is measured.
    stored: Arc<StoredCalibration>,
    host_group: HostGroup,
    executor: Arc<LocalExecutor>,
    journal: Journal,
    /// The run of loads that create nothing.
    run: Run,
    next_site: AtomicU32,
}

impl LoadRunner {
    /// For this host, with an array's credentials and journal.
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

    /// A run with places on targets separate from those of other runs.
    ///
    /// # Errors
    /// The journal cannot be written.
    pub fn begin_run(&self) -> Result<Run, CheckError> {
        let run = self.journal.begin(&RunId::random())?;
        self.executor.know(&run);
        Ok(run)
    }

    /// Opens the target of a cell, with its place in this run. Nothing is created yet.
    ///
    /// # Errors
    /// The target cannot be opened.
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

    /// Opens a target on which nothing is created.
    ///
    /// # Errors
    /// The target cannot be opened.
    pub fn open_placeless(&self, cell: &Cell) -> Result<OpenSite<'_>, CheckError> {
        self.open(cell, &self.run)
    }

    /// A measured stage of this length after its warm-up, alongside others on the same cores.
    pub fn timed(&self, site: &OpenSite<'_>, task: StageTask, length: Duration) -> StageRequest {
        StageRequest {
            warm_up_s: self.window.as_secs_f64() * WARM_UP,
            limit_s: length.as_secs_f64(),
            alone: false,
            ..StageRequest::to_the_end(site.id, task)
        }
    }

    /// Runs an unreported stage; a failed operation makes it worthless.
    ///
    /// # Errors
    /// It could not start, operations failed, or a stop was requested.
    pub fn run(&self, site: &OpenSite<'_>, request: StageRequest) -> Result<StageResult, CheckError> {
        self.whole(site.run(request, &self.stop, &mut |_| {}))
    }

    /// Runs a stage that is one repetition of a load, storing it as it goes.
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
        let mut start = MeasurementStart::default();
        let ran = site.run(request, &self.stop, &mut |seen| match seen {
            StageUpdate::Whole(interval) => {
                start.interval(interval);
                self.stored.interval(step, interval);
            }
            StageUpdate::Sample { sample, .. } => {
                if let Some(at_ns) = start.elapsed_ns() {
                    self.stored.sample(step, at_ns, sample);
                }
            }
            StageUpdate::Part { .. } => {}
        });
        let result = self.whole(ran)?;
        self.stored.end(step, &result, block);
        Ok(found(&result, block))
    }

    /// A stage that ran to its end without an error.
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

    /// Runs operations that do nothing, on this many cores.
    ///
    /// # Errors
    /// As [`Self::run`].
    pub fn null(&self, step: Microbenchmark, workers: u32) -> Result<RepetitionResult, CheckError> {
        let site = self.open_placeless(&plan::null(step, workers)?)?;
        let measure = self.timed(&site, StageTask::Measure { generation: 0 }, self.window);
        // No server competes for the cores.
        self.measure(&site, StageRequest { alone: true, ..measure }, step, BlockSize::Small)
    }
}

/// The error for a requested stop.
pub fn interrupted() -> CheckError {
    CheckError::Stopped("interrupted".to_owned())
}

/// The error for a refusal by this host.
pub fn refused(refusal: HostRefusal) -> CheckError {
    if refusal.stopped { interrupted() } else { CheckError::Failure(refusal.text) }
}

/// Throughput for large blocks, operations for small ones.
pub fn found(result: &StageResult, block: BlockSize) -> RepetitionResult {
    let ended =
        || result.total.ops.iter().filter(|(kind, _)| kind.moves_bytes()).map(|(_, stats)| stats.ok).sum();
    let amount = if block == BlockSize::Small { ended() } else { result.total.bytes() };
    RepetitionResult::rate(amount as f64, result.window_ns as f64 / 1e9, result.cpu_ns() as f64 / 1e9)
}
