//! What one host does for a run: it opens targets, keeps their journals, runs stages on them, and reports facts about
//! itself.
//!
//! A run on this host calls [`LocalExecutor`] directly; in an agent, `fleet::serve` calls it.

mod address;
pub mod environment;
mod executor;
mod host_target;
pub mod load;
mod measurement;
mod phase;
pub mod replay;
mod share;
mod sparse_check;
mod stage;
mod verify_dump;

pub use address::{ADDRESS, is_of_a_host, own as own_address};
pub use executor::LocalExecutor;
