//! One host's side of a run: what the plan's cells ask of it is done here, in the process that leads or in an agent.

mod address;
mod command;
mod hand;
mod site;
mod stage;

pub use address::{ADDRESS, is_of_a_host};
pub use command::{AgentArguments, run};
pub use hand::OwnHand;
