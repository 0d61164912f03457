//! Faults: how the simulated array misbehaves on request, from the start or while it runs.
//!
//! A [`FaultPlan`] describes the faults; [`FaultHandle`] is the shared handle through which all servers of an array
//! read the active plan. The same grammar is used in the file (JSON, docs/simulated-array.md), on the command line
//! ([`FaultPlan::add_flag`]) and in tests (the types below).

mod flag;
mod handle;
mod latency;
mod plan;
mod steps;
mod watch;

pub use flag::FlagError;
pub use handle::FaultHandle;
pub use latency::{LatencyDistribution, LatencySampler};
pub use plan::{
    DataProtocol, FaultPlan, Match, NfsError, PathFaults, PathRule, SessionFault, StepAction, StepRule,
    Unreachable,
};
pub use steps::StepOutcome;
pub(crate) use watch::Watch;
pub use watch::read_plan;
