//! Our place on a target: the directory or prefix that holds the data set. It is in the journal before the request is sent
//! that makes it, and not earlier: what was never asked for is never said to be left behind.

use std::time::Duration;

use drivers::{Announce, DriverError};
use metrics::ErrorKind;
use provision::{EntryId, ProvisionError, Run};

use super::TargetError;
use super::journaled_place::{JournaledPlace, PlaceEntry};

/// The longest that a server may take for one answer while the place is made or removed.
pub(super) const PATIENCE: Duration = Duration::from_secs(30);

/// Whether the place was there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entered {
    /// It was made just now, and holds nothing.
    New,
    /// It is there from before: from an earlier cell, from the interrupted run that is resumed, or from the user.
    Existing,
}

/// The place of a target's data, and what becomes of it.
#[derive(Clone, Debug)]
pub struct OwnPlace {
    run: Run,
    /// `None` when the data stays: the user chose the directory.
    entry: Option<PlaceEntry>,
}

impl OwnPlace {
    /// A place of the run's own, which is removed with it.
    pub(super) fn own(run: &Run, entry: PlaceEntry) -> Self {
        Self { run: run.clone(), entry: Some(entry) }
    }

    /// A place that the user chose: it stays.
    pub(super) fn stays(run: &Run) -> Self {
        Self { run: run.clone(), entry: None }
    }

    /// True when nothing in it is ever removed.
    pub(super) fn is_kept(&self) -> bool {
        self.entry.is_none()
    }

    /// Makes the place by `make`, which announces the request that makes it right before it is sent: then the journal is
    /// written. A place that is ours already is looked for by `adopt` first.
    pub(super) fn enter(
        &self,
        make: impl FnOnce(Announce<'_>) -> Result<(), DriverError>,
        adopt: impl FnOnce() -> Result<(), DriverError>,
    ) -> Result<Entered, TargetError> {
        // Where it is known, more than before may follow, which the journal must know.
        let mut id = match (self.id(), &self.entry) {
            (Some(_), Some(entry)) => Some(entry.record(&self.run)?),
            _ => None,
        };
        if self.is_kept() || id.is_some() {
            match adopt() {
                Ok(()) => return Ok(Entered::Existing),
                Err(error) if error.kind == ErrorKind::NotFound => {}
                Err(error) => return Err(error.into()),
            }
        }
        let made = make_recorded(make, || {
            if let (None, Some(entry)) = (id, &self.entry) {
                id = Some(entry.record(&self.run)?);
            }
            Ok(())
        })?;
        match made {
            Ok(()) => Ok(Entered::New),
            Err(error) => {
                // Otherwise it may have been made although the answer was lost: it stays in the journal.
                if let Some(id) = id.filter(|_| never_made(error.kind)) {
                    self.run.not_ours(id, &error.to_string())?;
                }
                Err(error.into())
            }
        }
    }

    /// Writes the place into the journal, as if it had been made here.
    pub(super) fn inherit(&self) -> Result<(), TargetError> {
        if let Some(entry) = &self.entry {
            entry.record(&self.run)?;
        }
        Ok(())
    }

    /// Removes the place by `remove`, and says so in the journal.
    pub(super) fn leave(&self, remove: impl FnOnce() -> Result<(), DriverError>) -> Result<(), TargetError> {
        let Some(id) = self.id() else { return Ok(()) };
        remove()?;
        Ok(self.run.removed(id)?)
    }

    /// The place as the journal has it, with what any cell of the run may have put there; `None` when it is not there.
    pub(super) fn known<P: JournaledPlace>(&self) -> Option<P> {
        let (_, place) = self.entry.as_ref()?.find(&self.run)?;
        P::deserialize(&place.place).ok()
    }

    /// The journal's entry, if it has one that is not settled.
    fn id(&self) -> Option<EntryId> {
        self.entry.as_ref()?.find(&self.run).map(|(id, _)| id)
    }
}

/// Makes a place by `make`, which announces the request that makes it; right before that is sent, `record` writes the journal.
///
/// # Errors
/// The journal cannot be written: nothing was made. Inside: what the target said.
fn make_recorded(
    make: impl FnOnce(Announce<'_>) -> Result<(), DriverError>,
    mut record: impl FnMut() -> Result<(), ProvisionError>,
) -> Result<Result<(), DriverError>, ProvisionError> {
    let mut unwritten = None;
    let made = make(&mut || {
        record().map_err(|error| {
            let text = error.to_string();
            unwritten = Some(error);
            DriverError::new(ErrorKind::Local, text)
        })
    });
    unwritten.map_or(Ok(made), Err)
}

/// True when the error of the request that should have made our place proves that it was not made.
fn never_made(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::ConnectFailed
            | ErrorKind::AccessDenied
            | ErrorKind::ReadOnly
            | ErrorKind::NotFound
            | ErrorKind::AlreadyExists
            | ErrorKind::NoSpace
            | ErrorKind::Rejected
            | ErrorKind::Tls
            | ErrorKind::Local
    )
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use provision::{Journal, RunId};

    use super::*;
    use crate::NfsPlace;

    fn with_place(test: impl FnOnce(&Run, &OwnPlace)) {
        let directory = tempfile::tempdir().unwrap();
        let run = Journal::open(directory.path()).unwrap().begin(&RunId::random()).unwrap();
        let entry = PlaceEntry::of(&NfsPlace {
            server: IpAddr::from([127, 0, 0, 1]),
            export: "/export".into(),
            directory: run.id().object_name(),
            nfs_port: None,
            mount_port: None,
            portmap_port: 111,
            uid: 0,
            gid: 0,
        });
        test(&run, &OwnPlace::own(&run, entry));
    }

    /// Makes a place: it fails before anything that makes something is sent, or after.
    fn enter(place: &OwnPlace, contact: Option<ErrorKind>, request: Option<ErrorKind>) -> bool {
        let make = |announce: Announce<'_>| {
            contact.map_or(Ok(()), |kind| Err(DriverError::new(kind, "contact")))?;
            announce()?;
            request.map_or(Ok(()), |kind| Err(DriverError::new(kind, "request")))
        };
        place.enter(make, || panic!("it is not there yet")).is_ok()
    }

    #[test]
    fn a_place_is_removed_once_when_it_is_left() {
        with_place(|run, place| {
            assert!(enter(place, None, None));
            assert_eq!(run.remaining().len(), 1);
            place.leave(|| Ok(())).unwrap();
            assert!(run.remaining().is_empty());
            place.leave(|| panic!("it is gone")).unwrap();
        });
    }

    #[test]
    fn what_was_there_before_is_not_touched() {
        with_place(|run, place| {
            assert!(!enter(place, None, Some(ErrorKind::AlreadyExists)));
            assert!(run.remaining().is_empty());
            place.leave(|| panic!("it is not ours")).unwrap();
        });
    }

    #[test]
    fn nothing_is_looked_for_or_left_behind_when_nothing_was_asked_for() {
        with_place(|run, place| {
            assert!(!enter(place, Some(ErrorKind::TimedOut), None));
            assert!(run.remaining().is_empty());
            place.leave(|| panic!("nothing was asked for")).unwrap();
        });
    }

    #[test]
    fn what_may_have_been_made_is_looked_for() {
        with_place(|run, place| {
            assert!(!enter(place, None, Some(ErrorKind::TimedOut)));
            assert_eq!(run.remaining().len(), 1);
            place.leave(|| Ok(())).unwrap();
            assert!(run.remaining().is_empty());
        });
    }

    #[test]
    fn what_cannot_be_removed_stays_in_the_journal() {
        with_place(|run, place| {
            assert!(enter(place, None, None));
            let lost = || Err(DriverError::new(ErrorKind::ConnectionLost, "removing"));
            assert!(place.leave(lost).is_err());
            assert_eq!(run.remaining().len(), 1);
        });
    }
}
