//! A job: one stream of operations that the lanes of a worker share.

use std::cell::RefCell;
use std::ops::Range;

use drivers::{Op, OpError};
use metrics::OpKind;
use reactor::Reactor;

use crate::{JobFacts, JobFile, JobLoad, StagePlan, Workload};

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
    inner: RefCell<Inner>,
}

#[derive(Debug)]
struct Inner {
    files: Vec<JobFile>,
    kind: OpKind,
    block: u64,
    file: usize,
    offset: u64,
}

impl JobState {
    pub(crate) fn of(
        plan: &StagePlan,
        worker: u32,
        _reactor: &Reactor,
        _times: (u64, u64),
    ) -> Option<JobState> {
        let Workload::Job(JobLoad { job, ops, files, .. }) = &plan.workload else { return None };
        let kind = ops.first().map_or(OpKind::Read, |op| op.op);
        let block = job.block_sizes.sizes.read.least();
        let files = files[worker as usize].clone();
        Some(JobState { inner: RefCell::new(Inner { files, kind, block, file: 0, offset: 0 }) })
    }

    pub(crate) fn own_delay_ns(_workload: &Workload, _worker: u32) -> u64 {
        0
    }

    pub(crate) fn into_facts(self) -> JobFacts {
        JobFacts::default()
    }
}

/// A lane of a job's worker.
#[derive(Debug)]
pub(crate) struct JobLane<'a> {
    state: &'a JobState,
    lane: u32,
}

impl<'a> JobLane<'a> {
    pub(crate) fn new(state: &'a JobState, lane: u32) -> Self {
        JobLane { state, lane }
    }

    pub(crate) fn next(&mut self, _now: u64) -> Next {
        let mut inner = self.state.inner.borrow_mut();
        let inner = &mut *inner;
        while let Some(file) = inner.files.get(inner.file) {
            if inner.offset + inner.block <= file.length {
                let offset = file.start + inner.offset;
                inner.offset += inner.block;
                let op = Op {
                    kind: inner.kind,
                    lane: self.lane,
                    object: file.object,
                    offset,
                    len: inner.block,
                    generation: 0,
                };
                return Next::Op(op);
            }
            (inner.file, inner.offset) = (inner.file + 1, 0);
        }
        Next::Done
    }

    pub(crate) fn begin(&mut self, _now: u64) {}

    pub(crate) fn finished(
        &mut self,
        _op: &Op,
        _span: &Range<u64>,
        _measured: bool,
        _error: Option<&OpError>,
    ) {
    }

    pub(crate) fn closing(&mut self) -> Option<Op> {
        None
    }

    pub(crate) async fn park(&mut self, reactor: &Reactor, until_ns: u64) {
        reactor.sleep_until(until_ns).await;
    }
}
