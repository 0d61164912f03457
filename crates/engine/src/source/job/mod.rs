//! A job: one stream of operations that the lanes of a worker share.
//!
//! `stream.rs` draws the operations: which file (`queue.rs`), which direction, where (`place.rs`, `ground.rs`, `pieces.rs`,
//! `chance.rs`), how large (`sizes.rs`). It does not know the time, so that a copy of it, taken before a pass, says
//! afterwards what was written. `state.rs` says when a lane may begin (`pace.rs`, `think.rs`, `batch.rs`, `target.rs`), and
//! when the job goes on to commits, to reading back, to its next pass, to its end.

mod batch;
mod begin;
mod chance;
mod ends;
mod errors;
mod facts;
mod ground;
mod lanes;
mod least;
mod pace;
mod passes;
mod pieces;
mod place;
mod queue;
mod replay;
mod script;
mod seen;
mod sizes;
mod state;
mod stream;
mod target;
mod verify;

use std::cell::RefCell;
use std::ops::Range;

use drivers::{Op, OpError};
use reactor::{Backend, Reactor};

use crate::access::spread;
use crate::pacer::ScheduleStats;
use crate::source::think::compute;
use crate::{CheckedBlocks, JobFacts, Schedule, StagePlan, StageWorkload};
use state::State;

/// What a lane is to do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Next {
    /// This operation, when the schedule says.
    Op(Op),
    /// This operation, which was meant to start at this moment.
    Late(Op, u64),
    /// Nothing before this moment.
    Wait(u64),
    /// Nothing until another lane says so.
    Park,
    /// Nothing any more.
    Done,
}

/// What the lanes of a worker share of its job.
#[derive(Debug)]
pub(crate) struct JobState {
    state: RefCell<State>,
    /// Computing, in pauses, takes time only on a real clock.
    spins: bool,
    /// The worker's schedule, not the job, says when operations are meant to start.
    paced: bool,
}

impl JobState {
    /// The job of a worker whose lanes begin, and whose window begins, at these times; `None` when the workload is none.
    pub(crate) fn of(
        plan: &StagePlan,
        worker: u32,
        reactor: &Reactor,
        (start_ns, window_ns): (u64, u64),
    ) -> Option<JobState> {
        let StageWorkload::Job(load) = &plan.workload else { return None };
        let state =
            State::new((load, &plan.schedule), worker, plan.lanes_per_worker, reactor, (start_ns, window_ns));
        Some(JobState {
            state: RefCell::new(state),
            spins: reactor.backend() != Backend::Simulated,
            paced: matches!(plan.schedule, Schedule::Open { .. }),
        })
    }

    /// By how much later than the stage this worker begins.
    pub(crate) fn own_delay_ns(workload: &StageWorkload, worker: u32) -> u64 {
        let StageWorkload::Job(load) = workload else { return 0 };
        let spread_s = load.job.ending.start_delay_spread_s;
        if spread_s <= 0.0 {
            return 0;
        }
        let number = u64::from(load.job.first_number) + u64::from(worker);
        let mut random = fastrand::Rng::with_seed(spread(load.job.seed ^ 0x6465_6c61, number));
        (random.f64() * spread_s * 1e9) as u64
    }

    /// What the job did, and what became of the starts that were intended before `end_ns`.
    pub(crate) fn settle(self, end_ns: u64) -> (JobFacts, CheckedBlocks, ScheduleStats) {
        self.state.into_inner().settle(end_ns)
    }
}

/// A lane of a job's worker.
#[derive(Debug)]
pub(crate) struct JobLane<'a> {
    job: &'a JobState,
    lane: u32,
}

impl<'a> JobLane<'a> {
    pub(crate) fn new(job: &'a JobState, lane: u32) -> Self {
        JobLane { job, lane }
    }

    #[inline]
    pub(crate) fn next(&mut self, now: u64) -> Next {
        let mut state = self.job.state.borrow_mut();
        let next = state.next(self.lane, now);
        let spin_ns = state.take_spin();
        if spin_ns > 0 && self.job.spins {
            compute(spin_ns);
        }
        match next {
            Next::Late(op, _) if self.job.paced => Next::Op(op),
            next => next,
        }
    }

    /// The window ended before the operation's time came.
    #[cold]
    pub(crate) fn not_begun(&mut self, op: &Op) {
        self.job.state.borrow_mut().not_begun(self.lane, op);
    }

    #[inline]
    pub(crate) fn finished(&mut self, op: &Op, span: &Range<u64>, measured: bool, error: Option<&OpError>) {
        self.job.state.borrow_mut().finished(self.lane, op, span, measured, error);
    }

    /// A commit that is still to be made when the window has ended, once nothing is in flight.
    pub(crate) fn closing(&mut self) -> Option<Op> {
        self.job.state.borrow_mut().closing(self.lane)
    }

    /// Waits until another lane says that there may be something to do, or until a moment.
    pub(crate) async fn park(&mut self, reactor: &Reactor, until_ns: u64) {
        let signal = self.job.state.borrow().signal_of(self.lane);
        signal.clear();
        // Past the deadline the lane looks for itself.
        let _ = reactor.timeout_at(until_ns, signal.wait()).await;
    }

    /// The other side has ended the load: that is no error, and nothing more is to be begun.
    pub(crate) fn is_over(&mut self) {
        self.job.state.borrow_mut().end();
    }
}
