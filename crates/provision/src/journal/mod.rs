//! The journal: everything that must be removed again, on disk before it is created.
//!
//! One file per run, `<run id>.jsonl`, with one JSON record per line, each synced to disk before the next step. The run
//! holds the file's lock; an unlocked file belongs to a dead run. It contains neither API tokens nor secret keys.

mod earlier;
mod elsewhere;
mod listing;
mod place;
mod record;
mod run;
mod store;

pub use elsewhere::{removed_elsewhere, settled_on, settled_told};
pub use listing::{JournalListing, ListedItem, ListedState};
pub use place::{Container, RecordedPlace};
pub use record::this_host;
pub(crate) use record::{ArrayFacts, Resource, State};
pub(crate) use run::Entry;
pub use run::{EntryId, Run};
pub use store::Journal;
pub(crate) use store::{Locked, Opened};
