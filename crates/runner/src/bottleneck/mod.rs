//! What limited a result, for every command that measures: the input to `stats::limit`, and how its finding is shown.

mod alone;
mod ceiling;
mod find;
mod load;
mod witness;
pub mod words;

pub use alone::{Alone, own_host};
use ceiling::Work;
pub(crate) use find::find;
pub use find::{HostPart, of_cell};
use load::{RequestedLoad, load};
pub use witness::HostEvidence;
