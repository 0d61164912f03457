//! What journals list, for people: reading them locks and changes nothing.

use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

use jiff::Timestamp;

use super::record::{ArrayFacts, State};
use super::run::{Entry, Listed};
use super::store::Journal;
use crate::error::ProvisionError;
use crate::run_id::RunId;

/// A run's journal as it is now; its run may be alive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JournalListing {
    /// The run.
    pub run: RunId,
    /// The host of the process that began it; empty if it cannot be read.
    pub host: String,
    /// When it began.
    pub started: Option<Timestamp>,
    /// Management address of the array that it uses.
    pub array: Option<String>,
    /// What it lists, in order of creation, including what was removed.
    pub items: Vec<ListedItem>,
    /// Why it cannot be read.
    pub unreadable: Option<String>,
}

/// Something that a run creates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedItem {
    /// What it is, in words: `bucket manometer-abcdefgh`.
    pub what: String,
    /// `file-system`, `account`, `user`, `access-key`, `bucket`, `place`.
    pub kind: &'static str,
    /// Whether the array creates and removes it.
    pub on_array: bool,
    /// Scheme of the protocol that removes it, for a place on a target.
    pub scheme: Option<String>,
    /// How far it got.
    pub state: ListedState,
    /// When it was about to be created.
    pub since: Option<Timestamp>,
}

/// State of something that a run creates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListedState {
    /// About to be created: it may or may not exist.
    Intended,
    /// Created.
    Created,
    /// Removed, or never ours.
    Settled,
    /// It does not bear the run's name, and is never touched.
    Foreign,
}

impl JournalListing {
    /// What may still exist.
    pub fn left(&self) -> impl Iterator<Item = &ListedItem> {
        self.items.iter().filter(|item| item.state != ListedState::Settled)
    }

    fn of(path: &Path, run: RunId) -> Option<Self> {
        let (listed, unreadable) = match std::fs::read(path) {
            // Its run ended in the meantime.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return None,
            Err(error) => (Listed::default(), Some(error.to_string())),
            Ok(bytes) => {
                let text = String::from_utf8_lossy(&bytes);
                // An incomplete line is just being written.
                let whole = text.rfind('\n').map_or(0, |at| at + 1);
                match Listed::read(&text[..whole], &run) {
                    Ok(listed) => (listed, None),
                    Err(error) => (Listed::default(), Some(error.to_string())),
                }
            }
        };
        let Listed { host, started, array, entries } = listed;
        Some(Self {
            run,
            host,
            started: started.parse().ok(),
            array: array.map(|ArrayFacts { address, .. }| address),
            items: entries.iter().map(ListedItem::of).collect(),
            unreadable,
        })
    }
}

impl ListedItem {
    fn of(entry: &Entry) -> Self {
        let since = UNIX_EPOCH + Duration::from_secs(entry.at_s);
        Self {
            what: entry.resource.to_string(),
            kind: entry.resource.kind(),
            on_array: entry.resource.is_on_array(),
            scheme: entry.resource.scheme().map(str::to_owned),
            state: match entry.state {
                State::Intended => ListedState::Intended,
                State::Created => ListedState::Created,
                State::Void | State::Removed => ListedState::Settled,
                State::Foreign => ListedState::Foreign,
            },
            since: Timestamp::try_from(since).ok(),
        }
    }
}

impl Journal {
    /// Every journal, by the ids of their runs.
    ///
    /// # Errors
    /// The directory cannot be read.
    pub fn listings(&self) -> Result<Vec<JournalListing>, ProvisionError> {
        let runs = self.files()?.into_iter().filter_map(|path| {
            let id = path.file_stem()?.to_str()?.parse().ok()?;
            JournalListing::of(&path, id)
        });
        Ok(runs.collect())
    }

    /// The journal of a run; `None` if it has none.
    pub fn listing(&self, run: &RunId) -> Option<JournalListing> {
        JournalListing::of(&self.file_of(run), run.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::super::record::Resource;
    use super::*;

    #[test]
    fn a_living_run_is_listed_with_what_it_created_and_what_is_left() {
        let directory = tempfile::tempdir().unwrap();
        let journal = Journal::open(directory.path()).unwrap();
        assert_eq!(journal.listings().unwrap(), []);
        let id = RunId::random();
        assert_eq!(journal.listing(&id), None);
        let run = journal.begin(&id).unwrap();
        let name = id.object_name();
        let bucket = run.record_intent(Resource::Bucket { name: name.clone() }).unwrap();
        run.created(bucket).unwrap();
        assert_eq!(run.created_on_array(), [format!("bucket {name}")]);
        let account = run.record_intent(Resource::Account { name: name.clone() }).unwrap();
        run.record_intent(Resource::FileSystem { name: "somebody\u{2019}s".to_owned() }).unwrap();
        run.removed(account).unwrap();
        let listing = journal.listing(&id).unwrap();
        assert_eq!(journal.listings().unwrap(), std::slice::from_ref(&listing));
        let states: Vec<_> = listing.items.iter().map(|item| (item.kind, item.state)).collect();
        let expected = [
            ("bucket", ListedState::Created),
            ("account", ListedState::Settled),
            ("file-system", ListedState::Foreign),
        ];
        assert_eq!(states, expected);
        assert_eq!(listing.left().count(), 2);
        assert!(listing.started.is_some() && listing.unreadable.is_none() && !listing.host.is_empty());
        // Reading it did not take it over.
        assert!(journal.reopen(&id).is_err());
        std::fs::write(run.path(), "{\"unknown\": 1}\n{\"half").unwrap();
        assert!(journal.listing(&id).unwrap().unreadable.unwrap().starts_with("line 1: "));
    }
}
