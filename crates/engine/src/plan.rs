//! What a stage is to do.

use std::time::Duration;

use drivers::{Payload, Sink};
use experiment::{Arrivals, Directions, Job, Placement, Rate};
use metrics::OpKind;

use crate::{ContentSummary, DataSet, DataShape, JobLoad, Mix, Rendezvous, Trace};

/// One stage: a workload, how hard it is driven, and how long.
#[derive(Clone, Debug)]
pub struct StagePlan {
    /// Threads, each with its own connections.
    pub workers: u32,
    /// Operations that each worker keeps in flight.
    pub lanes_per_worker: u32,
    /// Which kind of reactor; targets with a virtual clock bring their own.
    pub reactor: reactor::BackendChoice,
    /// Bind each worker to one of the cores that this process may use.
    pub pin: bool,
    /// Load before the measured window begins.
    pub ramp: Duration,
    /// The measured window; with a stop rule other than [`StopRule::Window`], the longest that it may be.
    pub window: Duration,
    /// How long operations that are in flight at the window's end, and final commits, are waited for.
    pub drain: Duration,
    /// Length of the intervals that the observer sees, usually a second.
    pub interval: Duration,
    /// When operations are meant to start.
    pub schedule: Schedule,
    /// When the measured window ends.
    pub stop: StopRule,
    /// What the lanes do.
    pub workload: StageWorkload,
    /// What is written, and compared with on reading.
    pub payload: Payload,
    /// Where the payload of reads goes.
    pub sink: Sink,
    /// The longest that an operation may take.
    pub op_timeout: Duration,
    /// The longest that opening a session may take.
    pub connect_timeout: Duration,
    /// The stage ends itself once this many operations have failed, over all workers; `None`: never.
    pub error_limit: Option<u64>,
    /// Common start, operation log and placement; usually empty.
    pub beside: StageContext,
}

/// Context of a stage: common start, operation log, placement on cores, and the run that it belongs to. Empty by default.
#[derive(Clone, Debug, Default)]
pub struct StageContext {
    /// Stages that start at the same instant.
    pub rendezvous: Option<Rendezvous>,
    /// The lanes begin so much later than the common start; ramp and window are counted from there. With
    /// [`StageWorkload::Job`] each worker adds its own share of the job's `start_delay_spread_s`.
    pub start_delay: Duration,
    /// Each operation is handed over.
    pub trace: Option<Trace>,
    /// Cores and memory of the workers' threads; it goes before [`StagePlan::pin`].
    pub placement: Option<Placement>,
    /// The run to which connections and worker threads belong, where a process carries out several.
    pub scope: Option<reactor::live::Scope>,
}

/// When operations are meant to start.
#[derive(Clone, Debug, PartialEq)]
pub enum Schedule {
    /// As soon as a lane is free.
    Closed,
    /// At given times, over all lanes, whatever the target does. When all lanes are busy an operation waits for the
    /// first that is free; it starts later than it was meant to, and its response time says so.
    Open {
        /// The intended times, counted from the beginning of the stage.
        arrivals: Arrivals,
        /// Operations that may wait for a lane, over all workers; what comes when this many wait is shed: counted and
        /// never started. `u64::MAX` lets any number wait.
        backlog_limit: u64,
        /// Of everything random in the arrivals.
        seed: u64,
    },
    /// The rates of a job: one for each direction, on each worker. What cannot start in time is caught up with, and waits
    /// without limit. A direction without a rate goes on as soon as a lane is free.
    Directions {
        /// Bytes or operations a second.
        rates: Directions<Option<Rate>>,
        /// Starts are independent of each other instead of evenly spaced.
        poisson: bool,
    },
}

impl Schedule {
    /// Evenly spaced: the n-th operation is meant to start `n / ops_per_s` seconds after the stage began. Any number
    /// may wait.
    pub const fn rate(ops_per_s: f64) -> Schedule {
        Schedule::Open { arrivals: Arrivals::Constant { ops_per_s }, backlog_limit: u64::MAX, seed: 0 }
    }

    /// What a job's rates say.
    pub fn of_job(job: &Job) -> Schedule {
        let pace = &job.pace;
        if pace.rates == Directions::default() {
            return Schedule::Closed;
        }
        Schedule::Directions { rates: pace.rates, poisson: pace.poisson }
    }
}

/// When the measured window ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopRule {
    /// After its full length; the workload begins again from its start when it runs out.
    Window,
    /// When each lane has done its share of the workload once.
    Exhausted,
    /// When this many operations have been done, over all lanes.
    Ops(u64),
}

/// The order in which blocks or objects are visited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VisitOrder {
    /// One after the other; each lane begins at a place of its own.
    Sequential,
    /// At random. Each lane draws from an even share of its own, so that it keeps to few files; together they
    /// reach everything, each block as likely as any other.
    Random,
}

/// What the lanes do.
#[derive(Clone, Debug)]
pub enum StageWorkload {
    /// Each lane writes files or objects of its own: create, write block after block, commit; or put.
    Write {
        /// Files or objects, and their sizes.
        shape: DataShape,
        /// Size of the data set over all lanes, in bytes, from which on its files are written again. Each lane has at
        /// least one file.
        limit_bytes: u64,
    },
    /// Reads of what was written.
    Read {
        /// What was written.
        data_set: DataSet,
        /// Bytes that one operation reads; `None` reads whole files or objects.
        block_bytes: Option<u64>,
        /// Which block comes next.
        order: VisitOrder,
    },
    /// The same operation for ever, each lane on an object of its own.
    Repeat {
        /// The operation.
        kind: OpKind,
        /// Its length.
        bytes: u64,
    },
    /// Writes every byte of a data set exactly once; the lanes share the blocks evenly, each a contiguous run. Objects
    /// are put whole. Files must exist ([`StageWorkload::Visit`] with [`OpKind::Create`]); a lane commits what it wrote to
    /// a file when it goes on to the next and when its share is done. What fails is done again. Goes with
    /// [`StopRule::Exhausted`].
    Fill {
        /// What is to be there afterwards.
        data_set: DataSet,
        /// Bytes that one operation writes.
        block_bytes: u64,
        /// The generation of the content ([`drivers::Op::generation`]).
        generation: u32,
    },
    /// One operation on each file or object, once, whatever the stop rule: create, commit, stat, remove or delete.
    Visit {
        /// The files or objects.
        data_set: DataSet,
        /// The operation.
        kind: OpKind,
    },
    /// The load of an experiment.
    Mix(Mix),
    /// A job: one stream of operations for each worker, which its lanes share. Its schedule is [`Schedule::of_job`], or open:
    /// then commits and comparing reads are operations of the rate, too. Goes with [`StopRule::Exhausted`], the window
    /// being the job's runtime, or with [`StopRule::Window`] when it is to go on until then.
    Job(JobLoad),
    /// Reads everything once and compares it with what was acknowledged, whatever the stop rule. The plan's sink must
    /// be [`Sink::Verify`].
    Check {
        /// What is to be there.
        data_set: DataSet,
        /// Bytes that one operation reads, unless the load wrote in blocks of another size; objects are read whole.
        block_bytes: u64,
        /// Which generation lies where.
        written: ContentSummary,
    },
}

impl StagePlan {
    /// Operations are meant to start at given times, so that response time differs from service time and starts can be late.
    pub fn is_open_loop(&self) -> bool {
        match (&self.schedule, &self.workload) {
            (Schedule::Open { arrivals, .. }, _) => *arrivals != Arrivals::Closed,
            (Schedule::Directions { .. }, _) => true,
            (Schedule::Closed, StageWorkload::Job(load)) => load.has_times(),
            (Schedule::Closed, _) => false,
        }
    }

    /// The kinds of operations that it may do.
    pub(crate) fn kinds(&self) -> Vec<OpKind> {
        use OpKind::{Commit, Create, Get, Put, Read, Remove, Write};
        let of = |shape: &DataShape, objects: OpKind, others: &[OpKind]| match shape {
            DataShape::Objects { .. } => vec![objects],
            DataShape::Files { .. } | DataShape::Device { .. } => others.to_vec(),
        };
        let mut kinds = match &self.workload {
            StageWorkload::Write { shape, .. } => of(shape, Put, &[Create, Write, Commit]),
            StageWorkload::Read { data_set, .. } | StageWorkload::Check { data_set, .. } => {
                of(&data_set.shape(), Get, &[Read])
            }
            StageWorkload::Fill { data_set, .. } => of(&data_set.shape(), Put, &[Write, Commit]),
            StageWorkload::Repeat { kind, .. } | StageWorkload::Visit { kind, .. } => vec![*kind],
            StageWorkload::Mix(mix) => mix.kinds(),
            StageWorkload::Job(load) => {
                let mut kinds: Vec<OpKind> = load.ops.iter().map(|op| op.op).collect();
                // What is written may be committed, read back, and removed between two passes.
                kinds.extend([Read, Commit]);
                kinds.extend(load.job.files.layout.unlink_each_loop.then_some(Remove));
                kinds.extend((!load.replay.is_empty()).then_some(Write));
                kinds
            }
        };
        kinds.sort_unstable();
        kinds.dedup();
        kinds
    }

    /// All lanes of all workers.
    pub fn lanes(&self) -> u64 {
        u64::from(self.workers) * u64::from(self.lanes_per_worker)
    }
}
