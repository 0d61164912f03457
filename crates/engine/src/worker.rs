//! A worker: a thread with its own reactor, session, lanes and statistics.

use std::cell::{Cell, RefCell};
use std::pin::pin;
use std::time::Duration;

use drivers::connections::paths_between;
use drivers::{Driver, DriverError, Session, SessionFacts, WorkerContext};
use metrics::{ErrorKind, PathFacts};
use reactor::{Backend, Reactor};

use crate::lane::{self, Shared};
use crate::pacer::{Pacer, ScheduleStats};
use crate::recorder::{Handover, Measured, Recorder, Window, WorkerChannels};
use crate::source::{JobState, LaneRecord, Sources};
use crate::start::{self, Started};
use crate::supervisor::{Stop, supervise};
use crate::trace::Tracer;
use crate::{JobFacts, Schedule, StageError, StagePlan, StopRule, Usage, pin, placement};

/// A driver keeps its own deadlines; one that exceeds them by this much is cut off.
const CONNECT_GRACE: Duration = Duration::from_millis(500);
/// How often to check for a stop while connecting.
const TICK: Duration = Duration::from_millis(20);

/// A worker's final report.
#[derive(Debug)]
pub(crate) struct Report {
    pub measured: Measured,
    pub facts: SessionFacts,
    /// Traffic of each path inside the window.
    pub paths: Vec<PathFacts>,
    /// What each lane did to the data set.
    pub notes: Vec<LaneRecord>,
    pub backend: Backend,
    pub refusal: Option<String>,
    pub issued: u64,
    /// The worker's longest delay in waking up inside the window.
    pub longest_pause_ns: u64,
    pub schedule: ScheduleStats,
    pub exhausted: bool,
    pub job: JobFacts,
    pub usage: Usage,
    /// When the lanes started; 0 on virtual clocks.
    pub started: Started,
}

/// A connected worker that waits for the common start.
pub(crate) struct Connected<D: Driver> {
    // The session is dropped first: it uses the reactor.
    session: D::Session,
    reactor: Reactor,
}

/// Opens the reactor and the session.
pub(crate) fn connect<D: Driver>(
    driver: &D,
    plan: &StagePlan,
    worker: u32,
    stop: Stop<'_>,
) -> Result<Connected<D>, StageError> {
    if let Some(placement) = &plan.beside.placement {
        placement::place(placement, worker).map_err(|(text, error)| StageError::Placement {
            worker,
            text,
            error,
        })?;
    } else if plan.pin {
        pin::to_core(worker);
    }
    let reactor = if driver.virtual_clock() {
        Reactor::simulated()
    } else {
        Reactor::open(plan.reactor).map_err(|error| StageError::Reactor { worker, error })?
    };
    reactor.set_scope(plan.beside.scope);
    let context = WorkerContext {
        worker,
        lanes: plan.lanes_per_worker,
        payload: plan.payload,
        sink: plan.sink,
        op_timeout: plan.op_timeout,
        connect_timeout: plan.connect_timeout,
    };
    let session = reactor.block_on(open_session(driver, &reactor, &context, stop))?;
    Ok(Connected { session, reactor })
}

async fn open_session<D: Driver>(
    driver: &D,
    reactor: &Reactor,
    context: &WorkerContext,
    stop: Stop<'_>,
) -> Result<D::Session, StageError> {
    let failed = |error| StageError::Connect { worker: context.worker, error };
    let deadline = reactor.now() + nanoseconds(context.connect_timeout + CONNECT_GRACE);
    let mut session = pin!(driver.connect(reactor, context));
    loop {
        let tick = (reactor.now() + nanoseconds(TICK)).min(deadline);
        if let Ok(session) = reactor.timeout_at(tick, session.as_mut()).await {
            return session.map_err(failed);
        }
        if stop.is_set() {
            return Err(StageError::Stopped);
        }
        if reactor.now() >= deadline {
            let waited = context.connect_timeout.as_secs_f64();
            let detail = format!("no session after {waited} s: the target does not answer");
            return Err(failed(DriverError::new(ErrorKind::ConnectFailed, detail)));
        }
    }
}

impl<D: Driver> Connected<D> {
    /// Runs the stage from `start_ns` on, on the clock of real reactors; a virtual clock starts at its current time.
    pub(crate) fn run(
        self,
        plan: &StagePlan,
        worker: u32,
        start_ns: u64,
        stop: Stop<'_>,
        ways: WorkerChannels,
    ) -> Report {
        let reactor = &self.reactor;
        let simulated = reactor.backend() == Backend::Simulated;
        let delay_ns = nanoseconds(plan.beside.start_delay);
        let start_ns = if simulated { reactor.now() + delay_ns } else { start_ns };
        let start_ns = start_ns + JobState::own_delay_ns(&plan.workload, worker);
        let window_start = start_ns.saturating_add(nanoseconds(plan.ramp));
        let window_end = window_start.saturating_add(nanoseconds(plan.window));
        let interval_ns = nanoseconds(plan.interval);
        let pacer = Pacer::new(&plan.schedule, start_ns, window_start, worker, plan.workers);
        let handover = Handover::new(worker, ways, stop, simulated);
        let edges = Edges::new(&self.session, window_start);
        let window = Window { start_ns: window_start, end_ns: window_end, interval_ns };
        let drain_ns = nanoseconds(plan.drain);
        let shared = Shared {
            reactor,
            look: &|now, end_ns| edges.look(now, end_ns),
            recorder: RefCell::new(Recorder::new(window, (&plan.kinds(), plan.is_open_loop()), handover)),
            pacer,
            tracer: plan.beside.trace.as_ref().map(|way| RefCell::new(Tracer::new(way, worker, start_ns))),
            stop,
            lockstep: simulated && plan.workers > 1,
            end_ns: Cell::new(window_end),
            drain_end_ns: Cell::new(window_end.saturating_add(drain_ns)),
            drain_ns,
            stopped: Cell::new(false),
            issued: Cell::new(0),
            longest_pause_ns: Cell::new(0),
            exhausted: Cell::new(0),
        };

        let sources = Sources::new(plan, start_ns, !simulated);
        let job = JobState::of(plan, worker, reactor, (start_ns, window_start));
        let notes: Vec<LaneRecord> =
            (0..plan.lanes_per_worker).map(|lane| sources.notes_of(worker, lane)).collect();
        let lanes = notes.iter().zip(0..).map(|(notes, lane)| {
            let budget = budget_of(plan, worker, lane);
            lane::run(&shared, &self.session, sources.of(worker, lane, notes, job.as_ref()), budget)
        });
        let lanes = lanes.collect();
        // Everything is in place: the first operation comes next.
        let started = reactor.block_on(start::wait(reactor, start_ns, stop));
        reactor.run_lanes(lanes, supervise(&shared, stop));
        let paths = edges.paths();

        let exhausted = shared.exhausted.get() == plan.lanes_per_worker;
        let mut recorder = shared.recorder.into_inner();
        // If the workload ran out, the window ended with the last operation.
        let end = if exhausted { recorder.last_end() } else { reactor.now() };
        recorder.truncate(end);
        // A workload that ran out has missed nothing.
        let end_ns = if exhausted { 0 } else { shared.end_ns.get() };
        let (mut facts, checked, of_job) = job.map_or_else(Default::default, |job| job.settle(end_ns));
        let schedule = match plan.schedule {
            Schedule::Open { .. } => shared.pacer.settle(end_ns),
            Schedule::Directions { .. } | Schedule::Closed => of_job,
        };
        if let Some(note) = notes.first().filter(|_| checked.blocks() > 0) {
            note.checked.set(checked);
        }
        facts.trace_waits = shared.tracer.map_or(0, |tracer| tracer.into_inner().finish());
        Report {
            measured: recorder.finish(),
            facts: self.session.facts(),
            paths,
            notes,
            backend: reactor.backend(),
            refusal: reactor.refusal(),
            issued: shared.issued.get(),
            longest_pause_ns: shared.longest_pause_ns.get(),
            schedule,
            exhausted,
            job: facts,
            usage: Usage::of_thread(),
            started,
        }
    }
}

/// The sessions' connection data at the start and at the end of the window.
struct Edges<'a, S> {
    session: &'a S,
    start_ns: u64,
    begin: RefCell<Option<SessionFacts>>,
    end: RefCell<Option<SessionFacts>>,
}

impl<'a, S: Session> Edges<'a, S> {
    fn new(session: &'a S, start_ns: u64) -> Self {
        Edges { session, start_ns, begin: RefCell::default(), end: RefCell::default() }
    }

    /// Samples the connections when the window, which ends at `end_ns`, has just begun or ended.
    fn look(&self, now: u64, end_ns: u64) {
        if now >= self.start_ns {
            self.begin.borrow_mut().get_or_insert_with(|| self.session.facts());
        }
        if now >= end_ns {
            self.end.borrow_mut().get_or_insert_with(|| self.session.facts());
        }
    }

    /// Traffic of each path in between; lanes that ran out of work ended the window.
    fn paths(&self) -> Vec<PathFacts> {
        let begin = self.begin.take();
        let end = self.end.take().unwrap_or_else(|| self.session.facts());
        begin.map_or_else(Vec::new, |begin| paths_between(&begin, &end))
    }
}

/// Maximum number of operations for a lane.
fn budget_of(plan: &StagePlan, worker: u32, lane: u32) -> u64 {
    match plan.stop {
        StopRule::Window | StopRule::Exhausted => u64::MAX,
        StopRule::Ops(ops) => {
            let number = u64::from(worker) * u64::from(plan.lanes_per_worker) + u64::from(lane);
            ops / plan.lanes() + u64::from(number < ops % plan.lanes())
        }
    }
}

pub(crate) fn nanoseconds(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}
