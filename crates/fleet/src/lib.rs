//! Many hosts as one: agents, how they are started, one clock, one start, one stop, one result.
//!
//! The coordinator has a [`HostGroup`] of agents. Each is either in this process ([`HostExecutor`] called directly: a
//! local run is a fleet of one) or behind a pipe (`link.rs`), where [`serve`] reads the same orders from frames and
//! carries them out on the same [`HostExecutor`]. An order says what to do (fill, measure, verify this cell), not how:
//! an agent makes its own stage plan, so hosts may differ.
//!
//! Launchers (`launch/`) start agents with tools that people already use: OpenSSH, Slurm's `srun`, Kubernetes through
//! `kubectl`, or any command. No port is opened and no daemon stays.

mod agent;
mod agent_fault;
mod check;
mod clock;
pub mod frame;
mod host_executor;
mod host_group;
mod inlet;
pub mod launch;
mod link;
mod message;
mod order;
mod outlet;
pub mod probe;
mod sampling;
mod seen;

pub use agent::{AgentEnd, Leaving, serve};
pub use clock::ClockFacts;
pub use host_executor::HostExecutor;
pub use host_group::{Answers, HostGroup, HostGroupSettings, Member};
pub use link::{Ends, Greeting, Link, Process, greet};
pub use message::{Hello, PROGRAM, PROTOCOL};
pub use order::{
    Act, HostRefusal, HostShare, LayOutStep, OpenOrder, Reply, SiteFacts, SiteId, StageRequest, StageTask,
};
pub use seen::{FleetEvent, HostGroupResult, PartResult, StageUpdate, Trouble};
