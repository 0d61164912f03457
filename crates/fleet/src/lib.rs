//! Many hosts as one: agents, how they are started, one clock, one start, one stop, one result.
//!
//! The side that leads has a [`Crew`] of agents. Each is either in this process ([`Hand`] called directly: a local run is a
//! fleet of one) or behind a pipe (`link.rs`), where [`serve`] reads the same orders from frames and carries them out on
//! the same [`Hand`]. What is asked for says what is meant (fill, measure, verify this cell), not how: an agent makes its own
//! stage plan, so that hosts may differ.
//!
//! Launchers (`launch/`) start agents with tools that people run already: OpenSSH, Slurm's `srun`, Kubernetes through
//! `kubectl`, or any command. No port is opened and no daemon stays.

mod clock;
mod crew;
mod hand;
pub mod launch;
mod order;
pub mod probe;
mod sampling;
mod seen;

pub use clock::ClockFacts;
pub use crew::{Answers, Crew};
pub use hand::Hand;
pub use order::{
    AccessKey, Act, LayOutStep, Measurement, Opening, Part, Refusal, Reply, SiteFacts, SiteId, StageOrder,
    StageTask,
};
pub use seen::{CrewResult, Event, PartResult, Seen, Trouble};
