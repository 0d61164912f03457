//! The specification of a stage.

use std::time::Duration;

use drivers::{Payload, Sink};
use experiment::{Arrivals, Directions, Job, Placement, Rate};
use metrics::OpKind;

use crate::{ContentSummary, DataSet, DataShape, JobLoad, Mix, PassLoad, Rendezvous, Trace};

/// One stage: a workload, how hard to drive it, and for how long.
#[derive(Clone, Debug)]
pub struct StagePlan {
    /// Number of threads, each with its own connections.
    pub workers: u32,
    /// Operations that each worker keeps in flight.
    pub lanes_per_worker: u32,
    /// The reactor backend; targets with a virtual clock bring their own.
    pub reactor: reactor::BackendChoice,
    /// Bind each worker to one of the cores available to this process.
    pub pin: bool,
    /// Length of the load before the measured window.
    pub ramp: Duration,
    /// Length of the measured window; with a stop rule other than [`StopRule::Window`], its maximum.
    pub window: Duration,
    /// How long to wait for final commits and for operations in flight at the window's end.
    pub drain: Duration,
    /// Length of the observer's intervals, usually one second.
    pub interval: Duration,
    /// When operations should start.
    pub schedule: Schedule,
    /// When the measured window ends.
    pub stop: StopRule,
    /// What the lanes do.
    pub workload: StageWorkload,
    /// The data to write, and to compare reads with.
    pub payload: Payload,
    /// Destination of the payload of reads.
    pub sink: Sink,
    /// Timeout of an operation.
    pub op_timeout: Duration,
    /// Timeout of opening a session.
    pub connect_timeout: Duration,
    /// The stage ends itself once this many operations have failed, over all workers; `None` for never.
    pub error_limit: Option<u64>,
    /// Common start, operation log and placement; usually empty.
    pub beside: StageContext,
}

/// Context of a stage: common start, operation log, placement on cores, and the run it belongs to. Empty by default.
#[derive(Clone, Debug, Default)]
pub struct StageContext {
    /// Stages that start at the same instant.
    pub rendezvous: Option<Rendezvous>,
    /// Delay between the common start and the start of the lanes, from which ramp and window are counted. With
    /// [`StageWorkload::Job`] each worker adds its own share of the job's `start_delay_spread_s`.
    pub start_delay: Duration,
    /// Receives every operation.
    pub trace: Option<Trace>,
    /// Cores and memory of the workers' threads; takes precedence over [`StagePlan::pin`].
    pub placement: Option<Placement>,
    /// The run that connections and worker threads belong to, for a process that executes several.
    pub scope: Option<reactor::live::Scope>,
}

/// When operations should start.
#[derive(Clone, Debug, PartialEq)]
pub enum Schedule {
    /// As soon as a lane is free.
    Closed,
    /// At given times, over all lanes, whatever the target does. If all lanes are busy, an operation waits for the
    /// first free one; it starts later than intended, and its response time includes the delay.
    Open {
        /// The intended times, relative to the start of the stage.
        arrivals: Arrivals,
        /// Operations that may wait for a lane, over all workers; any that arrive while this many are waiting are shed:
        /// counted but never started. `u64::MAX` allows any number.
        backlog_limit: u64,
        /// Seed of everything random in the arrivals.
        seed: u64,
    },
    /// The rates of a job: one per direction, on each worker. Operations that cannot start in time catch up later, and
    /// wait without limit. A direction without a rate continues as soon as a lane is free.
    Directions {
        /// Bytes or operations per second.
        rates: Directions<Option<Rate>>,
        /// Whether starts are independent of each other instead of evenly spaced.
        poisson: bool,
    },
}

impl Schedule {
    /// Evenly spaced: the intended start of the n-th operation is `n / ops_per_s` seconds after the start of the stage.
    /// Any number may wait.
    pub const fn rate(ops_per_s: f64) -> Schedule {
        Schedule::Open { arrivals: Arrivals::Constant { ops_per_s }, backlog_limit: u64::MAX, seed: 0 }
    }

    /// The schedule given by a job's rates.
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
    /// After its full length; a workload that runs out starts again.
    Window,
    /// When each lane has finished its share of the workload once.
    Exhausted,
    /// When this many operations have been done, over all lanes.
    Ops(u64),
}

/// The order in which blocks or objects are visited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VisitOrder {
    /// One after the other; each lane starts at its own place.
    Sequential,
    /// At random. Each lane draws from its own even share, so that it uses few files; together the lanes reach
    /// everything, with all blocks equally likely.
    Random,
}

/// What the lanes do.
#[derive(Clone, Debug)]
pub enum StageWorkload {
    /// Each lane writes its own files or objects: create, write block by block, commit; or put.
    Write {
        /// Files or objects, and their sizes.
        shape: DataShape,
        /// Size of the data set over all lanes, in bytes; once it is reached, files are overwritten. Each lane has at
        /// least one file.
        limit_bytes: u64,
    },
    /// Reads existing data.
    Read {
        /// The data to read.
        data_set: DataSet,
        /// Bytes per read; `None` to read whole files or objects.
        block_bytes: Option<u64>,
        /// Which block comes next.
        order: VisitOrder,
    },
    /// Repeats the same operation indefinitely, each lane on its own object.
    Repeat {
        /// The operation.
        kind: OpKind,
        /// Its length.
        bytes: u64,
    },
    /// Writes every byte of a data set exactly once; the lanes share the blocks evenly in contiguous runs. Objects are
    /// put whole. Files must exist ([`StageWorkload::Visit`] with [`OpKind::Create`]); a lane commits what it wrote to
    /// a file before it continues with the next, and when its share is finished. Failed operations are repeated. Use
    /// with [`StopRule::Exhausted`].
    Fill {
        /// The data set to create.
        data_set: DataSet,
        /// Bytes per write.
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
    /// A job: one stream of operations per worker, shared by its lanes. Its schedule is [`Schedule::of_job`], or open:
    /// then commits and comparing reads also count towards the rate. Use with [`StopRule::Exhausted`], where the window
    /// is the job's runtime, or with [`StopRule::Window`] for a job that continues until then.
    Job(JobLoad),
    /// A pass: each lane performs the same steps on each of its files once, whatever the stop rule.
    Pass(PassLoad),
    /// Reads everything once and compares it with what was acknowledged, whatever the stop rule. The plan's sink must
    /// be [`Sink::Verify`].
    Check {
        /// The expected data.
        data_set: DataSet,
        /// Bytes per read, unless the load wrote in blocks of another size; objects are read whole.
        block_bytes: u64,
        /// The expected generation of each block.
        written: ContentSummary,
    },
}

impl StagePlan {
    /// Whether operations have intended start times, so that response time differs from service time and starts can be
    /// late.
    pub fn is_open_loop(&self) -> bool {
        match (&self.schedule, &self.workload) {
            (Schedule::Open { arrivals, .. }, _) => *arrivals != Arrivals::Closed,
            (Schedule::Directions { .. }, _) => true,
            (Schedule::Closed, StageWorkload::Job(load)) => load.has_times(),
            (Schedule::Closed, _) => false,
        }
    }

    /// The kinds of operations that it may execute.
    pub(crate) fn kinds(&self) -> Vec<OpKind> {
        use OpKind::{Commit, Create, Get, Put, Read, Remove, Rmdir, Write};
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
            StageWorkload::Visit { kind: Remove, .. } => vec![Remove, Rmdir],
            StageWorkload::Repeat { kind, .. } | StageWorkload::Visit { kind, .. } => vec![*kind],
            StageWorkload::Mix(mix) => mix.kinds(),
            StageWorkload::Pass(load) => load.kinds(),
            StageWorkload::Job(load) => {
                let mut kinds: Vec<OpKind> = load.ops.iter().map(|op| op.op).collect();
                // Written data may be committed, read back, and removed between two passes.
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

    /// Number of lanes over all workers.
    pub fn lanes(&self) -> u64 {
        u64::from(self.workers) * u64::from(self.lanes_per_worker)
    }
}
