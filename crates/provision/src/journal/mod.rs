//! The journal: what was created and must be removed, on disk before it exists.
//!
//! One file a run, `<run id>.jsonl`, one JSON record a line, each forced to disk before the next thing
//! happens. The run holds the file's lock; a file that is not locked belongs to a run that is dead.
//! There is no API token and no secret key in it.

mod earlier;
mod elsewhere;
mod place;
mod record;
mod run;
mod store;

pub use elsewhere::{removed_elsewhere, settled_on, settled_told};
pub use place::{Container, RecordedPlace};
pub use record::this_host;
pub(crate) use record::{ArrayFacts, Resource, State};
pub(crate) use run::Entry;
pub use run::{EntryId, Run};
pub use store::Journal;
pub(crate) use store::{Locked, Opened};
