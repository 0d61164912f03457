//! What all cells of a run share, and the one place where a stage is run.

use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use engine::{Control, StageError, StagePlan, StageResult};
use experiment::{Cell, Plan, WITHOUT_LIMIT_S};
use metrics::Interval;
use reactor::clock;

use super::load;
use super::recorder::Recorder;
use super::together::Together;
use crate::fio::outcome::{CellOutcome, DiskUse};
use crate::interrupt::Interrupt;
use crate::live::model::Stage;
use crate::live::{Model, Screen};
use crate::messages::Messages;
use crate::target::Opened;

/// What all cells of a run share.
pub struct Context {
    /// The journal: what was created and must be removed.
    pub run: provision::Run,
    /// The results file; cells that run at the same time share it.
    pub recorder: Mutex<Recorder>,
    /// Where people watch.
    pub screen: Screen,
    /// Where people read.
    pub messages: Messages,
    /// What a signal must reach.
    pub interrupt: Interrupt,
    /// How the kernel is asked for I/O where the target does not say.
    pub reactor: reactor::Choice,
    /// The device that may be overwritten.
    pub destroy: Option<PathBuf>,
    /// The experiment's seed: of the payload, and in other ways of all draws.
    pub seed: u64,
    /// Memory in which files can be cached, in bytes.
    pub cache_bytes: Option<u64>,
    /// What jobs found, for output that the results file is not enough for; `None`: nobody asks.
    pub outcomes: Option<Mutex<Vec<CellOutcome>>>,
    /// What the disks under the jobs' files did, once the run is over, if outcomes are kept.
    pub disks: Mutex<Vec<DiskUse>>,
    /// All cells.
    pub plan: Plan,
}

/// Why a cell went no further.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It cannot be run: one line that says why and what to do.
    Failed(String),
    /// A signal ended it.
    Interrupted,
}

impl From<StageError> for Fault {
    fn from(error: StageError) -> Self {
        match error {
            StageError::Stopped => Fault::Interrupted,
            other => Fault::Failed(other.to_string()),
        }
    }
}

impl From<store::StoreError> for Fault {
    fn from(error: store::StoreError) -> Self {
        Fault::Failed(error.to_string())
    }
}

/// A stage about to be run.
pub struct Order<'a> {
    /// Its cell.
    pub cell: &'a Cell,
    /// The target.
    pub opened: &'a Opened,
    /// `prepare`, `measure`, `verify`.
    pub name: &'static str,
    /// Which measurement of a study.
    pub trial: u32,
    /// What the engine is to do.
    pub plan: &'a StagePlan,
    /// The cells beside it; `None` when nothing runs beside this stage.
    pub together: Option<&'a Together>,
    /// Bytes that it will move in all, when that is known.
    pub bytes_expected: Option<u64>,
}

impl Context {
    /// Seed of everything that is drawn in a cell: another in each, so that repetitions are not copies of each other.
    pub fn draws(&self, cell: &Cell) -> u64 {
        // An odd factor with its bits well spread (2^64 divided by the golden ratio).
        self.seed.wrapping_add(u64::from(cell.index).wrapping_mul(0x9E37_79B9_7F4A_7C15))
    }

    /// The results file.
    pub fn recorder(&self) -> MutexGuard<'_, Recorder> {
        self.recorder.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs a stage: shows it, keeps its intervals, and lets a signal end it. `each` sees every interval and may change
    /// what is shown; it returns true to end the measurement after that interval.
    ///
    /// # Errors
    /// As [`engine::run_stage`], or a signal came before.
    pub fn stage(
        &self,
        order: &Order<'_>,
        each: &mut dyn FnMut(&Interval, &mut Model) -> bool,
    ) -> Result<StageResult, Fault> {
        if self.interrupt.arrived_already() {
            return Err(Fault::Interrupted);
        }
        let plan = order.plan;
        let cell = order.cell.index as usize;
        let simulated = order.opened.virtual_clock();
        let measuring = order.name == super::MEASURE;
        let limited = plan.window < load::WITHOUT_LIMIT && plan.window.as_secs_f64() < WITHOUT_LIMIT_S;
        let at_most_s = (measuring && limited).then_some(plan.window.as_secs_f64());
        let stage = |name: &str, began_ns: u64, at_most_s: Option<f64>| Stage {
            name: name.to_owned(),
            began_ns,
            at_most_s,
            simulated,
            bytes_expected: order.bytes_expected,
            ..Stage::default()
        };
        let warming = measuring && !plan.ramp.is_zero();
        let (first, most) = match warming {
            true => ("warm-up", Some(plan.ramp.as_secs_f64())),
            false => (order.name, at_most_s),
        };
        self.screen.model().begin_stage(Some(cell), stage(first, clock::now_ns(), most));
        if measuring || order.trial == 0 {
            self.recorder().event(Some(order.cell.index), "stage", format!("{first} begins"));
        }

        let control = Control::new();
        let governed = self.interrupt.governs(&control);
        let _listed = order.together.map(|together| together.lists(order.cell.index, &control));
        let mut seen = false;
        let mut observer = |interval: &Interval| {
            let kept = self.recorder().interval(order.cell.index, order.name, order.trial, interval);
            let mut model = self.screen.model();
            if warming && !seen {
                let began_ns = clock::now_ns().saturating_sub(interval.length_ns);
                model.begin_stage(Some(cell), stage(order.name, began_ns, at_most_s));
            }
            if measuring && !seen {
                governed.ends_well();
            }
            seen = true;
            model.interval(cell, interval);
            if each(interval, &mut model) || !kept || (measuring && self.interrupt.arrived_already()) {
                control.finish_after(interval.index);
            }
        };
        Ok(order.opened.run_stage(plan, &control, &mut observer)?)
    }

    /// Says something about a cell, to people and in the results.
    pub fn remark(&self, cell: &Cell, kind: &str, text: &str) {
        self.recorder().event(Some(cell.index), kind, text);
        self.messages.note(&format!("cell {} ({}): {text}", cell.index + 1, cell.name));
    }
}
