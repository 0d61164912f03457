//! Faults: how the simulated array misbehaves on request, from the start or while it runs.
//!
//! A [`Plan`] says what is wrong; [`Faults`] is the shared handle through which all servers of one
//! array read the plan now in force. The same grammar serves the file (JSON, docs/simulated-array.md),
//! the command line ([`Plan::add_flag`]) and tests (the types below).

mod flag;
mod handle;
mod latency;
mod plan;
mod steps;
mod watch;

pub use flag::FlagError;
pub use handle::Faults;
pub use latency::{Latency, Sampler};
pub use plan::{
    Match, NfsError, PathFaults, PathRule, Plan, Protocol, SessionFault, StepAction, StepRule, Unreachable,
};
pub use steps::StepVerdict;
pub(crate) use watch::Watch;
pub use watch::read_plan;
