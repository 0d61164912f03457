//! What one host does for a run: it opens targets, keeps their journals, runs stages on them, and says what it is.
//!
//! [`LocalExecutor`] is called directly by a run on this host, and by `fleet::serve` in an agent.

mod address;
pub mod environment;
mod executor;
mod host_target;
pub mod load;
mod measurement;
mod phase;
pub mod replay;
mod sparse_check;
mod stage;
mod verify_dump;

pub use address::{ADDRESS, is_of_a_host, own as own_address};
pub use executor::LocalExecutor;
