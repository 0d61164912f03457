//! The journal: what was created and must be removed, on disk before it exists.
//!
//! One file a run, `<run id>.jsonl`, one JSON record a line, each forced to disk before the next thing
//! happens. The run holds the file's lock; a file that is not locked belongs to a run that is dead.
//! There is no API token and no secret key in it.

mod elsewhere;
mod record;
mod run;
mod store;

pub use elsewhere::{removed_elsewhere, settled_on, settled_told};
pub(crate) use record::{ArrayFacts, State, Thing};
pub use record::{LocalPlace, NfsPlace, S3Place};
pub(crate) use run::Entry;
pub use run::{Mark, Run};
pub use store::Journal;
pub(crate) use store::{Locked, Opened};
