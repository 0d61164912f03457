//! The engine: workers, lanes, schedules and stages. It measures; it knows no protocol.
//!
//! A stage runs one workload against one target. Each worker is a thread with its own reactor, session and statistics;
//! its lanes are futures of one type that share nothing with other threads. There is one load loop (in `lane.rs`), one
//! [`Schedule`] that decides when operations should start, and one [`StopRule`].
//!
//! A lane's next operation comes from its source (`source/`): it fills, visits, checks, or draws from a [`Mix`] by
//! weight and access pattern (`access/`), in constant memory. Intended starts come from `arrivals.rs`, their queue is
//! `pacer.rs`, and `written/` tracks the expected content after verified writes. `docs/load.md` is the reference for
//! all of this.
//!
//! The exact counting rule: an operation belongs to the measured window if its end (the acknowledgement) lies in
//! `[start + ramp, start + ramp + window)`. Operations that end before or after are counted and shown separately.

mod access;
mod arrivals;
mod control;
mod data_set;
mod fault;
mod job;
mod lane;
mod merge;
mod mix;
mod pacer;
mod pass;
mod pin;
mod placement;
mod plan;
mod recorder;
mod rendezvous;
mod result;
mod samples;
mod share;
mod source;
mod stage;
mod start;
mod sum;
mod supervisor;
mod trace;
mod usage;
mod worker;
mod written;

pub use control::Control;
pub use data_set::{BesideFiles, DataSet, DataShape};
pub use job::{JobFacts, JobFile, JobLoad, JobSpan, Reason, ReplayOp, WorkerFailure, replay_ops};
pub use merge::Merger;
pub use mix::Mix;
pub use pass::{LanePass, PassLoad};
pub use plan::{Schedule, StageContext, StagePlan, StageWorkload, StopRule, VisitOrder};
pub use rendezvous::{Rendezvous, StartGate};
pub use result::{CheckedBlocks, CorruptRange, Counts, StageError, StageResult};
pub use stage::run_stage;
pub use trace::{Trace, TraceBuffer, TraceReader, TraceRecord, trace};
pub use usage::Usage;
pub use written::{ContentSummary, Left};
