//! A run's own places: the interface between the protocols that know them and the journal that records them.

use std::fmt;

use provision::{Container, EntryId, ProvisionError, RecordedPlace, Run};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// A place that a protocol creates, such as a directory on an export, with what is needed to find it again; no secrets.
/// `Display` describes it for people.
pub trait JournaledPlace: Serialize + DeserializeOwned + Clone + PartialEq + fmt::Display {
    /// Scheme of the protocol that removes it.
    const SCHEME: &'static str;

    /// The run's name that the place bears; `None` when there is none where there should be one.
    fn name(&self) -> Option<&str>;

    /// What contains it, if the run may have created that.
    fn within(&self) -> Option<Container> {
        None
    }

    /// Merges two descriptions of one place, so that it covers what either says may lie there; `None` when they are two
    /// places.
    fn united(&self, other: &Self) -> Option<Self> {
        (self == other).then(|| self.clone())
    }
}

/// The run's name at the beginning of a directory's: what follows, if anything, tells the directories of one run apart.
pub(super) fn run_name(directory: &str) -> &str {
    // The run's name has one hyphen.
    directory.match_indices('-').nth(1).map_or(directory, |(end, _)| &directory[..end])
}

/// A place of any protocol, as written to the journal.
#[derive(Clone, Debug)]
pub struct PlaceEntry {
    place: RecordedPlace,
    united: fn(&Value, &Value) -> Option<RecordedPlace>,
}

impl PlaceEntry {
    /// The journal entry of a place.
    pub fn of<P: JournaledPlace>(place: &P) -> Self {
        Self { place: recorded(place), united: united::<P> }
    }

    /// Writes the place to the journal, unless an entry already says as much.
    ///
    /// # Errors
    /// The journal could not be written: the place must not be created, and nothing written to it.
    pub fn record(&self, run: &Run) -> Result<EntryId, ProvisionError> {
        let Some((known, recorded)) = self.find(run) else { return run.record_place(&self.place) };
        match (self.united)(&recorded.place, &self.place.place) {
            Some(both) if both.place != recorded.place => run.extend_place(known, &both),
            _ => Ok(known),
        }
    }

    /// The journal's entry for this place, if it is not settled.
    pub fn find(&self, run: &Run) -> Option<(EntryId, RecordedPlace)> {
        run.find_place(|known| {
            known.scheme == self.place.scheme && (self.united)(&known.place, &self.place.place).is_some()
        })
    }
}

fn recorded<P: JournaledPlace>(place: &P) -> RecordedPlace {
    RecordedPlace {
        scheme: P::SCHEME.to_owned(),
        name: place.name().unwrap_or_default().to_owned(),
        title: place.to_string(),
        within: place.within(),
        holds: None,
        place: serde_json::to_value(place).expect("places are plain data"),
    }
}

fn united<P: JournaledPlace>(known: &Value, place: &Value) -> Option<RecordedPlace> {
    let (known, place) = (P::deserialize(known).ok()?, P::deserialize(place).ok()?);
    known.united(&place).map(|both| recorded(&both))
}
