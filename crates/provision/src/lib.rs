//! Management APIs of real arrays, and the journal of what must be removed again.
//!
//! The public API of this crate blocks; internally, a `hyper` client runs on a current-thread `tokio` runtime. The
//! command line uses it in this order:
//!
//! ```text
//! let journal = Journal::open(&Journal::default_directory()?)?;   // or --journal-dir
//! let run     = journal.begin(&RunId::random())?;                 // Run: Clone + Send + Sync; holds the run's lock until the last clone is dropped
//! let cancel  = Cancel::new();                                    // Clone + Send + Sync; the signal thread calls cancel.cancel()
//!
//! // managed: the array makes the targets
//! let mut session = ArraySession::open(Management { address, token, trust, call_timeout }, &run, &cancel)?;
//! session.version();                                              // ApiVersion, Display "2.29"
//! let choice  = session.data_addresses()?;                        // AddressChoice { chosen: Vec<DataInterface>, reasons: Vec<String> }
//! let targets = session.create(&Wanted::both())?;
//!     // Want::Existing(name) uses a file system or bucket that is there (a user and a key of ours are made in its account)
//!     // Targets { export: Option<String> /* "/manometer-xxxxxxxx" */, bucket: Option<BucketAccess { bucket, access_key, secret_key: ApiSecret }> }
//! // ... load; remove our objects over S3 while the key still exists ...
//! session.remove()?;                                              // RemoveError lists everything that could not be removed; safe to call again
//! session.close()?;                                               // logout
//! run.finish()?;                                                  // deletes the journal file if nothing is left in it
//! // dropping an ArraySession (error, panic) removes what it created, too; what then still remains stays in the journal
//!
//! // manual: an existing export or bucket of any vendor; only our directory and our prefix are ever removed
//! let id = run.record_place(&RecordedPlace { .. })?;              // before MKDIR or the first PUT; fsynced
//! run.removed(id)?;                                               // after it is gone
//!
//! // manometer cleanup
//! let report = cleanup(&journal, &CleanupOptions { call_timeout, time_limit, trust: None }, &mut helper, &mut |line| println(line))?;
//!     // helper: impl Helper { token_for(address), remove(&RecordedPlace, Option<&BucketAccess>) }
//! ```
//!
//! [`steps`] enumerates every management call that this crate can make.

mod addresses;
mod cancel;
mod cleanup;
mod client;
mod error;
mod forget;
mod http;
mod journal;
mod leftover;
mod remove;
mod run_id;
mod secret;
mod session;
mod steps;
mod version;

pub use addresses::{AddressChoice, DataInterface};
pub use cancel::Cancel;
pub use cleanup::{CleanupOptions, CleanupReport, Helper, cleanup, cleanup_run};
pub use client::Management;
pub use error::{ArrayMessage, CallError, Failure, ProvisionError, RemoveError};
pub use forget::{Forgotten, forget};
pub use http::{Fingerprint, PostUrl, PostUrlError, Trust};
pub use journal::{
    Container, EntryId, Journal, JournalListing, ListedItem, ListedState, RecordedPlace, Run,
    removed_elsewhere, settled_on, settled_told, this_host,
};
pub use leftover::PlaceError;
pub use run_id::{RunId, RunIdError};
pub use secret::ApiSecret;
pub use session::{ArraySession, BucketAccess, ExportProtocol, Targets, Want, Wanted};
pub use steps::{ManagementStep, StepPhase, steps};
pub use version::{ApiVersion, ApiVersionError, Generation};
