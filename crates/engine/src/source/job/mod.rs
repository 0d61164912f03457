//! A job: one stream of operations shared by the lanes of a worker.
//!
//! `stream.rs` draws the operations: which file (`queue.rs`), which direction, where (`place.rs`, `ground.rs`,
//! `pieces.rs`, `chance.rs`), how large (`sizes.rs`). It does not depend on time, so a copy taken before a pass can
//! tell afterwards what was written. `state.rs` decides when a lane may start (`pace.rs`, `think.rs`, `batch.rs`,
//! `target.rs`), and when the job moves on to commits, to reading back, to its next pass, to its end.

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

/// A lane's next step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Next {
    /// This operation, at the time set by the schedule.
    Op(Op),
    /// This operation, with the given intended start.
    Late(Op, u64),
    /// Nothing before this time.
    Wait(u64),
    /// Nothing until another lane wakes it.
    Park,
    /// Nothing more.
    Done,
}

/// Job state shared by the lanes of a worker.
#[derive(Debug)]
pub(crate) struct JobState {
    state: RefCell<State>,
    /// Whether computing during pauses takes time, as it does on a real clock only.
    spins: bool,
    /// The worker's schedule, not the job, sets the intended starts.
    paced: bool,
}

impl JobState {
    /// The job of a worker with the given start of its lanes and of its window; `None` if the workload is no job.
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

    /// This worker's additional start delay.
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

    /// The facts about the job, and the outcome of the starts intended before `end_ns`.
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

    /// The window ended before the operation was due.
    #[cold]
    pub(crate) fn not_begun(&mut self, op: &Op) {
        self.job.state.borrow_mut().not_begun(self.lane, op);
    }

    #[inline]
    pub(crate) fn finished(&mut self, op: &Op, span: &Range<u64>, measured: bool, error: Option<&OpError>) {
        self.job.state.borrow_mut().finished(self.lane, op, span, measured, error);
    }

    /// A commit that is still required after the end of the window, once nothing is in flight.
    pub(crate) fn closing(&mut self) -> Option<Op> {
        self.job.state.borrow_mut().closing(self.lane)
    }

    /// Waits until another lane signals that there may be something to do, or until a deadline.
    pub(crate) async fn park(&mut self, reactor: &Reactor, until_ns: u64) {
        let signal = self.job.state.borrow().signal_of(self.lane);
        signal.clear();
        // After the deadline the lane checks for itself.
        let _ = reactor.timeout_at(until_ns, signal.wait()).await;
    }

    /// The other side ended the load, which is no error; nothing more is started.
    pub(crate) fn is_over(&mut self) {
        self.job.state.borrow_mut().end();
    }
}
