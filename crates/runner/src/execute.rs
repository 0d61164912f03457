//! Executes a run that has begun: its hosts, its cells, and the clean-up.

use std::path::Path;
use std::sync::atomic::AtomicU32;
use std::sync::{Arc, Mutex, PoisonError};

use experiment::Plan;
use provision::Run;
use provisioners::ProvisionedItems;
use reactor::{Backend, Reactor, clock};
use store::{Baseline, CellRecord, RunRecord, State, Store};
use targets::{HeldSecrets, Secrets};

use crate::accounting;
use crate::baseline::{self, BaselineNotKept};
use crate::begin::{self, Begun, RunError};
use crate::bottleneck::Alone;
use crate::context::Context;
use crate::events::{EndOnDrop, Events, RunEvent};
use crate::host_group::{self, HostGroupEvents};
use crate::hosts;
use crate::job_outcome::{CellOutcome, DiskUse};
use crate::matrix::{self, MatrixOutcome};
use crate::options::RunOptions;
use crate::progress::{RunProgress, SharedProgress};
use crate::recorder::Recorder;
use crate::servers::Servers;
use crate::stop::{StopReason, StopToken};
use crate::summary;

/// A run that has ended.
pub struct RunOutcome {
    /// The run as stored in the results file.
    pub record: RunRecord,
    /// Its cells.
    pub cells: Vec<CellRecord>,
    /// The results file.
    pub store: Store,
    /// The baseline that the results are compared against, if one was named.
    pub baseline: Option<Baseline>,
    /// The jobs' results, if [`RunOptions::keep_outcomes`] is set, in the order in which they ended.
    pub found: Vec<CellOutcome>,
    /// What the disks under their files did, under the same condition.
    pub disks: Vec<DiskUse>,
    /// Why the run ended early, in one line.
    pub failure: Option<String>,
    /// What could not be removed but should have been.
    pub left_behind: Vec<String>,
    /// Who or what ended the run early.
    pub stopped: Option<StopReason>,
    state: State,
}

impl RunOutcome {
    /// Whether the run succeeded: it finished, every cell ran, every gate passed, no data was wrong, and nothing is
    /// left behind.
    pub fn succeeded(&self) -> bool {
        // In a finished run, a pending cell was skipped because another cell ended its group or the run.
        let ran = self.cells.iter().filter(|cell| cell.state != State::Pending).cloned();
        self.stopped.is_none()
            && self.state == State::Finished
            && self.left_behind.is_empty()
            && summary::success(&ran.collect::<Vec<_>>())
    }

    /// Keeps the results as a baseline; returns a line that says so.
    ///
    /// # Errors
    /// The run did not finish or measured nothing, or the results file cannot be written.
    pub fn keep_as_baseline(&self, name: &str) -> Result<String, BaselineNotKept> {
        baseline::keep(&self.store, &self.record, &self.cells, name)
    }
}

/// Executes a new run of a plan, from its journal to the removal of what it created.
///
/// # Errors
/// It cannot start; nothing was touched.
pub fn run(
    plan: Plan,
    options: &RunOptions,
    events: Arc<dyn Events>,
    stop: &StopToken,
    secrets: Arc<dyn Secrets>,
) -> Result<RunOutcome, RunError> {
    execute(begin::new_run(plan, options)?, options, events, stop, secrets)
}

/// Carries out a run that has begun.
///
/// # Errors
/// It cannot continue; what was measured is in the results file.
pub fn execute(
    begun: Begun,
    options: &RunOptions,
    events: Arc<dyn Events>,
    stop: &StopToken,
    secrets: Arc<dyn Secrets>,
) -> Result<RunOutcome, RunError> {
    let id = begun.record.id.clone();
    let baseline = begun.baseline.clone();
    let _ended = EndOnDrop(&*events);
    let rest = carry_out(begun, options, &events, stop, secrets)?;
    stop.set_leftovers(None);
    let failure = |error: store::StoreError| RunError::Failure(error.to_string());
    let record = rest.store.run(&id).map_err(failure)?;
    let cells = rest.store.cells(&id).map_err(failure)?;
    Ok(RunOutcome {
        record,
        cells,
        store: rest.store,
        baseline,
        found: rest.found,
        disks: rest.disks,
        failure: rest.outcome.failure,
        left_behind: rest.left_behind,
        stopped: stop.reason(),
        state: rest.outcome.state,
    })
}

/// What remains of a run after its cells.
struct Rest {
    outcome: MatrixOutcome,
    found: Vec<CellOutcome>,
    disks: Vec<DiskUse>,
    store: Store,
    left_behind: Vec<String>,
}

fn carry_out(
    mut begun: Begun,
    options: &RunOptions,
    events: &Arc<dyn Events>,
    stop: &StopToken,
    secrets: Arc<dyn Secrets>,
) -> Result<Rest, RunError> {
    let failure = |error: store::StoreError| RunError::Failure(error.to_string());
    let reactor_facts = reactor_facts(options.reactor, &**events)?;
    begun.record.environment = host::environment::capture(&reactor_facts, &options.command);
    stop.set_leftovers(Some(what_may_be_left(&begun.run, options.journal.as_deref())));
    let plan = begun.record.plan.clone();
    let progress = Arc::new(SharedProgress::new(RunProgress {
        run: begun.record.id.clone(),
        experiment: begun.record.name.clone(),
        began_ns: clock::now_ns(),
        cells: matrix::lines(&plan, &begun.cells),
        ..RunProgress::default()
    }));
    events.event(RunEvent::Began(&progress));
    let host_group_events = Arc::new(HostGroupEvents::default());
    // Before anything is written: a server that cannot be observed ends the run here.
    let servers = Servers::start(&plan, options, events, stop, &host_group_events)?;
    let mut provisioned = provision(&plan, &begun.run, options, events, stop)?;
    let keys: HeldSecrets = provisioned.keys().collect();
    let secrets: Arc<dyn Secrets> = Arc::new(keys.over(secrets));
    let host_group = host_group::assemble(
        &plan,
        &begun.run,
        (options, begun.resumed),
        events,
        stop,
        &secrets,
        &host_group_events,
    )?;
    if !begun.resumed {
        begun.store.begin_run(&begun.record).map_err(failure)?;
    }
    if let Some(servers) = &servers {
        servers.know(&begun.store);
    }
    let context = Context {
        alone: Alone::of_host_group(&begun.store, &host_group),
        recorder: Mutex::new(Recorder::new(begun.store, &begun.record.id).map_err(failure)?),
        run: begun.run,
        progress,
        events: Arc::clone(events),
        stop: stop.clone(),
        reactor: options.reactor,
        destroy: options.destroy.clone(),
        directory: options.directory.clone(),
        outcomes: options.keep_outcomes.then(Mutex::default),
        disks: Mutex::default(),
        plan: plan.clone(),
        hosts: host_group.names(),
        host_group,
        servers,
        host_group_events,
        secrets,
        login: options.login.clone(),
        started_profiles: Mutex::default(),
        sites: AtomicU32::new(0),
    };
    hosts::keep(&context);
    if begun.resumed {
        context.recorder().event(None, "resume", "resumed at the first unfinished cell");
    } else {
        let cells = summary::cell_count(plan.cells.len());
        events.note(&format!("run {} of {}: {cells}", begun.record.id, begun.record.name));
    }
    let done: Vec<u32> =
        begun.cells.iter().filter(|cell| cell.state == State::Finished).map(|cell| cell.index).collect();
    let outcome = matrix::carry_out(&context, &plan, &done);
    accounting::stop_profiles(&context);
    context.tell_of_host_group(None);
    Ok(finish(context, &plan, outcome, &mut provisioned))
}

/// Creates what the plan's targets need on servers.
fn provision(
    plan: &Plan,
    run: &Run,
    options: &RunOptions,
    events: &Arc<dyn Events>,
    stop: &StopToken,
) -> Result<ProvisionedItems, RunError> {
    let said = Arc::clone(events);
    let say: fleet::launch::Say = Arc::new(move |line: &str| said.note(line));
    ProvisionedItems::create(plan, run, &options.login, &|| stop.is_requested(), &say)
        .map_err(|error| RunError::Failure(error.to_string()))
}

/// Releases the hosts, removes what was provisioned, closes the files, and reports what stays on purpose.
fn finish(context: Context, plan: &Plan, outcome: MatrixOutcome, provisioned: &mut ProvisionedItems) -> Rest {
    let Context { recorder, run, outcomes, disks, host_group, servers, events, .. } = context;
    drop(servers);
    host_group.end();
    let kept = plan.cells.iter().any(|cell| !cell.stages.clean_up);
    match kept {
        true => provisioned.keep(),
        false => provisioned.remove().iter().for_each(|failure| events.warn(failure)),
    }
    let remaining = run.remaining();
    if kept && !remaining.is_empty() {
        events.note(&format!("kept: {}; `manometer cleanup` removes it", remaining.join(", ")));
    }
    let found = outcomes.map(|found| found.into_inner().unwrap_or_else(PoisonError::into_inner));
    Rest {
        outcome,
        found: found.unwrap_or_default(),
        disks: disks.into_inner().unwrap_or_else(PoisonError::into_inner),
        store: recorder.into_inner().unwrap_or_else(PoisonError::into_inner).into_store(),
        left_behind: if kept { Vec::new() } else { remaining },
    }
}

/// Tests the reactor before anything is created, and reports if io_uring is refused.
fn reactor_facts(
    choice: reactor::BackendChoice,
    events: &dyn Events,
) -> Result<Vec<(&'static str, String)>, RunError> {
    let reactor =
        Reactor::open(choice).map_err(|error| RunError::Failure(format!("--reactor {choice}: {error}")))?;
    let backend = match reactor.backend() {
        Backend::Epoll => "epoll",
        Backend::Uring | Backend::Simulated => "io_uring",
    };
    let mut facts = vec![("reactor", backend.to_owned())];
    if let Some(reason) = reactor.refusal() {
        events.note(&format!("io_uring is not available, using epoll and threads: {reason}"));
        facts.push(("reactor.refusal", reason));
    }
    Ok(facts)
}

/// What a process that exits mid-run may leave behind, and the command that removes it.
pub fn what_may_be_left(run: &Run, journal: Option<&Path>) -> String {
    let flag = match journal {
        Some(directory) => format!(" --journal-dir {}", directory.display()),
        None => String::new(),
    };
    format!(
        "whatever is named {} may still exist; next: `manometer cleanup{flag}` removes what the journal {} lists",
        run.id().object_name(),
        run.path().display()
    )
}
