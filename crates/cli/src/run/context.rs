//! What all cells of a run share, and the one place where a stage is run.

use std::path::PathBuf;

use engine::{Control, StageError, StagePlan, StageResult};
use experiment::Cell;
use metrics::Interval;
use reactor::clock;

use super::recorder::Recorder;
use crate::interrupt::Interrupt;
use crate::live::model::Stage;
use crate::live::{Model, Screen};
use crate::messages::Messages;
use crate::target::Opened;

/// What all cells of a run share.
pub struct Context {
    /// The journal: what was created and must be removed.
    pub run: provision::Run,
    /// The results file.
    pub recorder: Recorder,
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
    /// Bytes that it will move in all, when that is known.
    pub bytes_expected: Option<u64>,
}

impl Context {
    /// Seed of everything that is drawn in a cell: another in each, so that repetitions are not copies of each other.
    pub fn draws(&self, cell: &Cell) -> u64 {
        // An odd factor with its bits well spread (2^64 divided by the golden ratio).
        self.seed.wrapping_add(u64::from(cell.index).wrapping_mul(0x9E37_79B9_7F4A_7C15))
    }

    /// Runs a stage: shows it, keeps its intervals, and lets a signal end it. `each` sees every interval and may change
    /// what is shown; it returns true to end the measurement after that interval.
    ///
    /// # Errors
    /// As [`engine::run_stage`], or a signal came before.
    pub fn stage(
        &mut self,
        order: &Order<'_>,
        each: &mut dyn FnMut(&Interval, &mut Model) -> bool,
    ) -> Result<StageResult, Fault> {
        if self.interrupt.arrived_already() {
            return Err(Fault::Interrupted);
        }
        let plan = order.plan;
        let simulated = order.opened.virtual_clock();
        let measuring = order.name == super::MEASURE;
        let at_most_s = measuring.then_some(plan.window.as_secs_f64());
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
        self.screen.model().begin_stage(stage(first, clock::now_ns(), most));
        if measuring || order.trial == 0 {
            self.recorder.event(Some(order.cell.index), "stage", format!("{first} begins"));
        }

        let control = Control::new();
        self.interrupt.governs(&control);
        let (recorder, screen, interrupt) = (&mut self.recorder, &self.screen, &self.interrupt);
        let mut seen = false;
        let mut observer = |interval: &Interval| {
            let kept = recorder.interval(order.cell.index, order.name, order.trial, interval);
            let mut model = screen.model();
            if warming && !seen {
                let began_ns = clock::now_ns().saturating_sub(interval.length_ns);
                model.begin_stage(stage(order.name, began_ns, at_most_s));
            }
            if measuring && !seen {
                interrupt.ends_well();
            }
            seen = true;
            model.interval(interval);
            if each(interval, &mut model) || !kept || (measuring && interrupt.arrived_already()) {
                control.finish_after(interval.index);
            }
        };
        let result = order.opened.run_stage(plan, &control, &mut observer);
        self.interrupt.governs(&Control::new());
        Ok(result?)
    }

    /// Says something about a cell, to people and in the results.
    pub fn remark(&mut self, cell: &Cell, kind: &str, text: &str) {
        self.recorder.event(Some(cell.index), kind, text);
        self.messages.note(&format!("cell {} ({}): {text}", cell.index + 1, cell.name));
    }
}
