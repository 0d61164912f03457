//! Carrying out a run that has begun: signals, the view, the cells, and what is left.

use std::sync::atomic::AtomicU32;
use std::sync::{Arc, Mutex, PoisonError};

use experiment::Plan;
use reactor::{Backend, Reactor, clock};
use store::{Baseline, CellRecord, RunRecord, State, Store};
use targets::{HeldSecrets, Secrets};

use super::arguments::RunArguments;
use super::baseline;
use super::begin::{self, Begun, Refusal};
use super::context::Context;
use super::crew::{self, Happened};
use super::hosts;
use super::matrix::{self, Outcome};
use super::recorder::Recorder;
use super::{environment, output};
use crate::fio::outcome::{CellOutcome, DiskUse};
use crate::interrupt::{Interrupt, Manner, what_may_be_left};
use crate::limit::Alone;
use crate::live::line::line;
use crate::live::screen::Show;
use crate::live::{Model, Screen, screen};
use crate::messages::Messages;
use crate::results::show::baseline::shares;

/// What a command wants of a run besides its results.
pub struct Hooks {
    /// How people watch.
    pub show: Show,
    /// What the cells found is kept in memory too.
    pub keep: bool,
    /// Keys of targets that stand in no plan.
    pub secrets: Arc<dyn Secrets>,
}

impl Default for Hooks {
    fn default() -> Self {
        let secrets = Arc::new(HeldSecrets::default());
        Self { show: Show::Line { newline_ns: None, line }, keep: false, secrets }
    }
}

/// A run that is over.
pub struct Carried {
    /// The run as it is in the results file.
    pub record: RunRecord,
    /// Its cells.
    pub cells: Vec<CellRecord>,
    /// The results file.
    pub store: Store,
    /// What the results are held against, if that was asked for.
    baseline: Option<Baseline>,
    /// What jobs found, when that was to be kept; in the order in which they ended.
    pub found: Vec<CellOutcome>,
    /// What the disks under their files did, likewise.
    pub disks: Vec<DiskUse>,
    outcome: Outcome,
    left: Vec<String>,
    interrupt: Interrupt,
    flags: output::Flags,
}

impl Carried {
    fn code(&self) -> u8 {
        let fine = self.outcome.state == State::Finished && self.left.is_empty();
        // In a run that is finished, what is pending was left out because another cell ended its group or the run.
        let ran = self.cells.iter().filter(|cell| cell.state != State::Pending).cloned();
        match self.interrupt.ended_by() {
            Some((_, code)) => code,
            None if fine && output::success(&ran.collect::<Vec<_>>()) => 0,
            None => 1,
        }
    }

    /// The run as people read it.
    pub fn text(&self, width: Option<u16>) -> String {
        let against = |kept: &Baseline| shares(&self.record, &self.cells, kept);
        let against = self.baseline.as_ref().map_or_else(String::new, against);
        output::text(&self.record, &self.cells, width, &self.flags, &against)
    }

    /// Says why it went no further, and what it left behind; keeps it as a baseline, if that is asked for. The process's exit
    /// code.
    pub fn end(&self, arguments: &RunArguments, messages: &Messages) -> u8 {
        self.say_what_is_wrong(messages);
        let Some(name) = &arguments.save_baseline else { return self.code() };
        match baseline::keep(&self.store, &self.record, &self.cells, name) {
            Ok(told) => messages.note(&told),
            Err(line) => {
                messages.error(&line);
                return self.code().max(1);
            }
        }
        self.code()
    }

    fn say_what_is_wrong(&self, messages: &Messages) {
        if let Some(line) = &self.outcome.failure {
            messages.error(line);
        }
        if !self.left.is_empty() {
            let left = self.left.join(", ");
            messages.error(&format!("left behind: {left}; next: run `manometer cleanup`"));
        }
    }
}

/// Carries out a new run of a plan.
///
/// # Errors
/// It cannot begin; nothing was touched then.
pub fn execute_plan(
    plan: Plan,
    arguments: &RunArguments,
    messages: &Messages,
    hooks: Hooks,
) -> Result<Carried, Refusal> {
    execute(begin::new(plan, arguments)?, arguments, messages, hooks)
}

/// Carries out a run that has begun.
///
/// # Errors
/// It cannot go on; what was measured is in the results file.
pub fn execute(
    begun: Begun,
    arguments: &RunArguments,
    messages: &Messages,
    hooks: Hooks,
) -> Result<Carried, Refusal> {
    let (id, flags) = (begun.record.id.clone(), flags(arguments, &begun));
    let baseline = begun.baseline.clone();
    let (outcome, (found, disks), store, left, interrupt) = carry_out(begun, arguments, messages, hooks)?;
    let failure = |error: store::StoreError| Refusal::Failure(error.to_string());
    let record = store.run(&id).map_err(failure)?;
    let cells = store.cells(&id).map_err(failure)?;
    Ok(Carried { record, cells, store, baseline, found, disks, outcome, left, interrupt, flags })
}

/// What is left of a run: how it ended, what jobs found, the results file, what it left behind against our will, signals.
type Rest = (Outcome, (Vec<CellOutcome>, Vec<DiskUse>), Store, Vec<String>, Interrupt);

/// Runs the cells; what came of it, the results file, and what is left behind against our will.
fn carry_out(
    mut begun: Begun,
    arguments: &RunArguments,
    messages: &Messages,
    hooks: Hooks,
) -> Result<Rest, Refusal> {
    let failure = |text: String| Refusal::Failure(text);
    let reactor = arguments.reactor;
    begun.record.environment = environment::capture(&reactor_facts(reactor, messages)?);
    let interrupt = Interrupt::listen(messages.clone(), Manner::Run)
        .map_err(|error| failure(format!("signals cannot be caught: {error}")))?;
    interrupt.leftovers(Some(what_may_be_left(&begun.run, arguments.journal_dir.as_deref())));
    interrupt.before_leaving(Some(Arc::new(screen::restore)));
    let plan = begun.record.plan.clone();
    let model = Model {
        run: begun.record.id.clone(),
        experiment: begun.record.name.clone(),
        began_ns: clock::now_ns(),
        cells: matrix::lines(&plan, &begun.cells),
        ..Model::default()
    };
    let screen = Screen::begin(model, messages, hooks.show)
        .map_err(|error| Refusal::Usage(format!("--live: {error}; next: run without --live")))?;
    let happened = Arc::new(Happened::default());
    let secrets = hooks.secrets;
    let crew = crew::assemble(&plan, &begun.run, arguments, messages, &interrupt, &happened, &secrets)?;
    let hosts = crew.names();
    if !begun.resumed {
        begun.store.begin_run(&begun.record).map_err(|error| failure(error.to_string()))?;
    }
    let alone = Alone::of_crew(&begun.store, &crew);
    let recorder =
        Recorder::new(begun.store, &begun.record.id).map_err(|error| failure(error.to_string()))?;
    let context = Context {
        run: begun.run,
        recorder: Mutex::new(recorder),
        screen,
        messages: messages.clone(),
        interrupt: interrupt.clone(),
        reactor,
        destroy: arguments.destroy.clone(),
        secrets,
        outcomes: hooks.keep.then(Mutex::default),
        disks: Mutex::default(),
        plan: plan.clone(),
        crew,
        hosts,
        alone,
        happened,
        sites: AtomicU32::new(0),
    };
    hosts::keep(&context);
    if begun.resumed {
        context.recorder().event(None, "resume", "the run goes on at its first unfinished cell");
    } else {
        let cells = output::count(plan.cells.len());
        messages.note(&format!("run {} of {}: {cells}", begun.record.id, begun.record.name));
    }
    let done: Vec<u32> =
        begun.cells.iter().filter(|cell| cell.state == State::Finished).map(|cell| cell.index).collect();
    let outcome = matrix::carry_out(&context, &plan, &done);
    context.tell_of_crew(None);
    let Context { screen, recorder, run, outcomes, disks, crew, .. } = context;
    crew.end();
    screen.end();
    interrupt.leftovers(None);
    let remaining = run.remaining();
    let kept = plan.cells.iter().any(|cell| !cell.stages.clean_up);
    let left = if kept { Vec::new() } else { remaining.clone() };
    if kept && !remaining.is_empty() {
        messages.note(&format!("kept: {}; `manometer cleanup` removes it", remaining.join(", ")));
    }
    let store = recorder.into_inner().unwrap_or_else(PoisonError::into_inner).into_store();
    let found = outcomes.map(|found| found.into_inner().unwrap_or_else(PoisonError::into_inner));
    let disks = disks.into_inner().unwrap_or_else(PoisonError::into_inner);
    Ok((outcome, (found.unwrap_or_default(), disks), store, left, interrupt))
}

/// Tries the reactor before anything is made, and says so when io_uring is refused.
fn reactor_facts(
    choice: reactor::Choice,
    messages: &Messages,
) -> Result<Vec<(&'static str, String)>, Refusal> {
    let reactor =
        Reactor::open(choice).map_err(|error| Refusal::Failure(format!("--reactor {choice}: {error}")))?;
    let backend = match reactor.backend() {
        Backend::Epoll => "epoll",
        Backend::Uring | Backend::Simulated => "io_uring",
    };
    let mut facts = vec![("reactor", backend.to_owned())];
    if let Some(reason) = reactor.refusal() {
        messages.note(&format!("io_uring is refused, epoll and threads are used: {reason}"));
        facts.push(("reactor.refusal", reason));
    }
    Ok(facts)
}

/// What has to be added to other commands so that they find what this run used.
fn flags(arguments: &RunArguments, begun: &Begun) -> output::Flags {
    let named = arguments.results.is_some() || begun.record.plan.results.is_some();
    let results = named.then(|| format!(" --results {}", begun.store.path().display()));
    let journal = arguments.journal_dir.as_ref();
    output::Flags {
        results: results.unwrap_or_default(),
        journal: journal.map_or_else(String::new, |path| format!(" --journal-dir {}", path.display())),
    }
}
