//! One run's journal file: records are appended and synced; outstanding resources are known at any time.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::UNIX_EPOCH;

use super::place::RecordedPlace;
use super::record::{ArrayFacts, FORMAT, Record, Resource, State, this_host};
use crate::error::ProvisionError;
use crate::run_id::RunId;

/// A resource in the journal.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub id: EntryId,
    pub resource: Resource,
    pub state: State,
    /// Seconds since 1970 when it was about to be created.
    pub at_s: u64,
}

/// Number of an entry in a run's journal, settled by [`Run::removed`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EntryId(u32);

/// One run's journal. Clones share it; the lock that distinguishes a living run from a dead one is held until the last
/// clone is dropped. The file is then deleted if nothing is outstanding.
#[derive(Clone, Debug)]
pub struct Run(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    id: RunId,
    path: PathBuf,
    content: Mutex<Content>,
}

#[derive(Debug)]
struct Content {
    /// Locked (flock): closing it releases the run.
    file: File,
    array: Option<ArrayFacts>,
    entries: Vec<Entry>,
}

impl Run {
    /// The run's id.
    pub fn id(&self) -> &RunId {
        &self.0.id
    }

    /// The journal file.
    pub fn path(&self) -> &Path {
        &self.0.path
    }

    /// Records that a place of ours on a target is about to be created.
    ///
    /// # Errors
    /// The journal could not be written: the place must not be created.
    pub fn record_place(&self, place: &RecordedPlace) -> Result<EntryId, ProvisionError> {
        self.record_intent(Resource::Place(place.clone()))
    }

    /// Replaces a place's entry by `place`, which covers more, before more is put there.
    ///
    /// # Errors
    /// The journal could not be written: nothing more must be put there.
    pub fn extend_place(&self, known: EntryId, place: &RecordedPlace) -> Result<EntryId, ProvisionError> {
        let id = self.record_place(place)?;
        self.not_ours(known, "more is put there from now on: see the later entry")?;
        Ok(id)
    }

    /// The first journaled place for which `is_it` holds and that was not removed: this run, or the one being resumed,
    /// created it or was about to.
    pub fn find_place(
        &self,
        mut is_it: impl FnMut(&RecordedPlace) -> bool,
    ) -> Option<(EntryId, RecordedPlace)> {
        self.outstanding().into_iter().find_map(|entry| match entry.resource {
            Resource::Place(place) if is_it(&place) => Some((entry.id, place)),
            _ => None,
        })
    }

    /// Records that the resource is gone, with what it contained.
    ///
    /// # Errors
    /// The journal could not be written; `manometer cleanup` will look for it again.
    pub fn removed(&self, id: EntryId) -> Result<(), ProvisionError> {
        let outstanding = self.outstanding();
        let whole = outstanding.iter().find(|entry| entry.id == id);
        let inside = |entry: &&Entry| whole.is_some_and(|whole| whole.resource.contains(&entry.resource));
        // The contents first: if this process is killed in between, the next cleanup still checks the container.
        for id in outstanding.iter().filter(inside).map(|entry| entry.id).chain([id]) {
            self.settle(id, State::Removed, Record::Removed { n: id.0 })?;
        }
        Ok(())
    }

    /// Records that the resource existed before this run or could not be created: it is never removed.
    ///
    /// # Errors
    /// The journal could not be written.
    pub fn not_ours(&self, id: EntryId, why: &str) -> Result<(), ProvisionError> {
        self.settle(id, State::Void, Record::Void { n: id.0, why: why.to_owned() })
    }

    /// What the array created and has not removed, in words.
    pub fn created_on_array(&self) -> Vec<String> {
        let there = |entry: &&Entry| entry.state == State::Created && entry.resource.is_on_array();
        self.content().entries.iter().filter(there).map(|entry| entry.resource.to_string()).collect()
    }

    /// What remains to be removed, in words.
    pub fn remaining(&self) -> Vec<String> {
        let open = |entry: &&Entry| !entry.state.is_settled();
        self.content().entries.iter().filter(open).map(|entry| entry.resource.to_string()).collect()
    }

    /// Deletes the file if nothing is outstanding.
    ///
    /// # Errors
    /// The file could not be deleted.
    pub fn finish(&self) -> Result<(), ProvisionError> {
        if !self.content().is_settled() || !self.0.path.exists() {
            return Ok(());
        }
        std::fs::remove_file(&self.0.path).map_err(|error| ProvisionError::journal(&self.0.path, &error))
    }

    /// Creates a file for a new run; it is already locked when it gets its name.
    pub(super) fn begin(directory: &Path, id: &RunId) -> Result<Self, ProvisionError> {
        let path = directory.join(format!("{id}.jsonl"));
        let draft = directory.join(format!(".{id}.draft"));
        let failed = |error| ProvisionError::journal(&path, &error);
        if path.exists() {
            return Err(failed(std::io::Error::new(
                std::io::ErrorKind::AlreadyExists,
                "there is a run of this id already",
            )));
        }
        let file = File::options().read(true).append(true).create_new(true).open(&draft).map_err(failed)?;
        let made = file.try_lock().map_err(std::io::Error::from).and_then(|()| {
            std::fs::rename(&draft, &path)?;
            File::open(directory)?.sync_all()
        });
        if let Err(error) = made {
            // The draft is ours and empty; if it cannot be deleted either, no harm is done.
            let _ = std::fs::remove_file(&draft);
            return Err(failed(error));
        }
        let content = Content { file, array: None, entries: Vec::new() };
        let run = Self(Arc::new(Inner { id: id.clone(), path, content: Mutex::new(content) }));
        run.append(&Record::Run {
            format: FORMAT,
            id: id.to_string(),
            pid: std::process::id(),
            host: this_host(),
            started: started(),
        })?;
        Ok(run)
    }

    /// Takes over the file of a dead run; `file` is already locked by the caller.
    pub(crate) fn resume(path: &Path, mut file: File) -> Result<Self, ProvisionError> {
        let unreadable = |cause: String| ProvisionError::Journal {
            path: path.to_owned(),
            cause: format!(
                "{cause}; next: look into the file and remove by hand what it names, then delete it"
            ),
        };
        let id = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
        let id: RunId = id.parse().map_err(|error: crate::RunIdError| unreadable(error.to_string()))?;
        let mut text = String::new();
        file.read_to_string(&mut text).map_err(|error| unreadable(error.to_string()))?;
        // An incomplete line was being written when the run died: what it announces never started.
        let whole = text.rfind('\n').map_or(0, |at| at + 1);
        if whole < text.len() {
            file.set_len(whole as u64).map_err(|error| unreadable(error.to_string()))?;
            file.seek(SeekFrom::End(0)).map_err(|error| unreadable(error.to_string()))?;
        }
        let Listed { array, entries, .. } =
            Listed::read(&text[..whole], &id).map_err(|error| unreadable(error.to_string()))?;
        let content = Mutex::new(Content { file, array, entries });
        Ok(Self(Arc::new(Inner { id, path: path.to_owned(), content })))
    }

    /// Records which array the run uses.
    pub(crate) fn talk_to(&self, facts: ArrayFacts) -> Result<(), ProvisionError> {
        self.append(&Record::Array(facts.clone()))?;
        self.content().array = Some(facts);
        Ok(())
    }

    /// The array that the run used.
    pub(crate) fn array(&self) -> Option<ArrayFacts> {
        self.content().array.clone()
    }

    /// Records that a resource is about to be created.
    pub(crate) fn record_intent(&self, resource: Resource) -> Result<EntryId, ProvisionError> {
        let at_s = reactor::clock::wall().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        let mut content = self.content();
        let id = EntryId(content.entries.len() as u32);
        self.append_to(&mut content, &Record::Intend { n: id.0, at_s, resource: resource.clone() })?;
        content.entries.push(Entry { id, resource, state: State::Intended, at_s });
        Ok(id)
    }

    /// Records that a resource was created.
    pub(crate) fn created(&self, id: EntryId) -> Result<(), ProvisionError> {
        self.settle(id, State::Created, Record::Created { n: id.0 })
    }

    /// Resources that may exist and are ours, in order of creation.
    pub(crate) fn outstanding(&self) -> Vec<Entry> {
        let open = |entry: &&Entry| matches!(entry.state, State::Intended | State::Created);
        self.content().entries.iter().filter(open).cloned().collect()
    }

    /// Journaled resources that do not bear the run's name, in words.
    pub(crate) fn foreign(&self) -> Vec<String> {
        let foreign = |entry: &&Entry| entry.state == State::Foreign;
        self.content().entries.iter().filter(foreign).map(|entry| entry.resource.to_string()).collect()
    }

    fn settle(&self, id: EntryId, state: State, record: Record) -> Result<(), ProvisionError> {
        let mut content = self.content();
        self.append_to(&mut content, &record)?;
        if let Some(entry) = content.entries.get_mut(id.0 as usize) {
            entry.state = state;
        }
        Ok(())
    }

    fn append(&self, record: &Record) -> Result<(), ProvisionError> {
        self.append_to(&mut self.content(), record)
    }

    fn append_to(&self, content: &mut Content, record: &Record) -> Result<(), ProvisionError> {
        let mut line = serde_json::to_vec(record).expect("records are plain data");
        line.push(b'\n');
        let written = content.file.write_all(&line).and_then(|()| content.file.sync_data());
        written.map_err(|error| ProvisionError::journal(&self.0.path, &error))
    }

    fn content(&self) -> MutexGuard<'_, Content> {
        // A panic elsewhere must not prevent removal from reading what to remove.
        self.0.content.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What the lines of a journal list.
#[derive(Debug, Default)]
pub(super) struct Listed {
    /// The host of the process that began it.
    pub host: String,
    /// When it began.
    pub started: String,
    pub array: Option<ArrayFacts>,
    pub entries: Vec<Entry>,
}

/// A line that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("line {line}: {cause}")]
pub(super) struct LineError {
    /// Its number, from 1.
    line: usize,
    cause: RecordError,
}

/// Why a record does not continue a journal.
#[derive(Debug, thiserror::Error)]
enum RecordError {
    /// It is no record.
    #[error("{0}")]
    Json(#[source] serde_json::Error),
    /// The journal has this format.
    #[error("its format is {0}, and this program reads 1 to {FORMAT}")]
    Format(u32),
    /// It creates this entry, and another number was next.
    #[error("entry {0} out of order")]
    OutOfOrder(u32),
    /// It is about this entry, which was not created before.
    #[error("there is no entry {0}")]
    NoEntry(u32),
}

impl Content {
    fn is_settled(&self) -> bool {
        self.entries.iter().all(|entry| entry.state.is_settled())
    }
}

impl Listed {
    /// Reads complete lines of the journal of a run.
    ///
    /// # Errors
    /// The first line that cannot be read, and why.
    pub(super) fn read(text: &str, id: &RunId) -> Result<Self, LineError> {
        let mut listed = Self::default();
        for (number, line) in text.lines().enumerate() {
            let read = serde_json::from_str(line).map_err(RecordError::Json);
            let replayed = read.and_then(|record| listed.replay(record));
            replayed.map_err(|cause| LineError { line: number + 1, cause })?;
        }
        for entry in &mut listed.entries {
            if !entry.state.is_settled() && !entry.resource.is_of(id) {
                entry.state = State::Foreign;
            }
        }
        Ok(listed)
    }

    fn replay(&mut self, record: Record) -> Result<(), RecordError> {
        let (n, state) = match record {
            Record::Run { format, .. } if !(1..=FORMAT).contains(&format) => {
                return Err(RecordError::Format(format));
            }
            Record::Run { host, started, .. } => {
                (self.host, self.started) = (host, started);
                return Ok(());
            }
            Record::Array(facts) => {
                self.array = Some(facts);
                return Ok(());
            }
            Record::Intend { n, at_s, resource } => {
                if n as usize != self.entries.len() {
                    return Err(RecordError::OutOfOrder(n));
                }
                self.entries.push(Entry { id: EntryId(n), resource, state: State::Intended, at_s });
                return Ok(());
            }
            Record::Created { n } => (n, State::Created),
            Record::Void { n, .. } => (n, State::Void),
            Record::Removed { n } => (n, State::Removed),
        };
        self.entries.get_mut(n as usize).ok_or(RecordError::NoEntry(n))?.state = state;
        Ok(())
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        let content = self.content.get_mut().unwrap_or_else(PoisonError::into_inner);
        if content.is_settled() {
            // An empty journal that stays costs one check at the next cleanup.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

fn started() -> String {
    jiff::Timestamp::try_from(reactor::clock::wall()).map_or_else(|_| String::new(), |at| at.to_string())
}
