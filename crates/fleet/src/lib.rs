//! Many hosts as one: agents, how they are started, one clock, one start, one stop, one result.
//!
//! The side that leads has a [`Crew`] of agents. Each is either in this process ([`HostExecutor`] called directly: a local run is a
//! fleet of one) or behind a pipe (`link.rs`), where [`serve`] reads the same orders from frames and carries them out on
//! the same [`HostExecutor`]. What is asked for says what is meant (fill, measure, verify this cell), not how: an agent makes its own
//! stage plan, so that hosts may differ.
//!
//! Launchers (`launch/`) start agents with tools that people run already: OpenSSH, Slurm's `srun`, Kubernetes through
//! `kubectl`, or any command. No port is opened and no daemon stays.

mod agent;
mod check;
mod clock;
mod crew;
pub mod frame;
mod host_executor;
mod inlet;
pub mod launch;
mod link;
mod message;
mod order;
mod outlet;
pub mod probe;
mod sampling;
mod seen;

pub use agent::{Ended, Leaving, serve};
pub use clock::ClockFacts;
pub use crew::{Answers, Crew, CrewSettings, Member};
pub use host_executor::HostExecutor;
pub use link::{Ends, Greeting, Link, Process, greet};
pub use message::{Hello, PROGRAM, PROTOCOL};
pub use order::{Act, LayOutStep, Opening, Part, Refusal, Reply, SiteFacts, SiteId, StageRequest, StageTask};
pub use seen::{CrewResult, Event, PartResult, Seen, Trouble};
