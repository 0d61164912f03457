//! Our place on a target: the directory or prefix that holds the data set. It is journaled right before the request
//! that creates it is sent, and not earlier: what was never requested is never reported as left behind.

use std::time::Duration;

use drivers::{Announce, DriverError};
use metrics::ErrorKind;
use provision::{EntryId, ProvisionError, Run};

use super::TargetError;
use super::journaled_place::{JournaledPlace, PlaceEntry};

/// Timeout of one response while the place is created or removed.
pub(super) const PATIENCE: Duration = Duration::from_secs(30);

/// Whether the place already existed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entered {
    /// Just created, and empty.
    New,
    /// Left from an earlier cell, from the interrupted run that is resumed, or by the user.
    Existing,
}

/// The place of a target's data, and whether it is removed.
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

    /// A place that the user chose, which stays.
    pub(super) fn stays(run: &Run) -> Self {
        Self { run: run.clone(), entry: None }
    }

    /// True when nothing in it is ever removed.
    pub(super) fn is_kept(&self) -> bool {
        self.entry.is_none()
    }

    /// Creates the place by `make`, which announces the request that creates it right before it is sent: the journal is
    /// written then. A place that is already ours is first looked for by `adopt`.
    pub(super) fn enter(
        &self,
        make: impl FnOnce(Announce<'_>) -> Result<(), DriverError>,
        adopt: impl FnOnce() -> Result<(), DriverError>,
    ) -> Result<Entered, TargetError> {
        // If the place is already journaled, new data may extend what the entry covers; the journal must say so.
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
                // Otherwise it may have been created although the response was lost: it stays in the journal.
                if let Some(id) = id.filter(|_| never_made(error.kind)) {
                    self.run.not_ours(id, &error.to_string())?;
                }
                Err(error.into())
            }
        }
    }

    /// Writes the place to the journal, as if it had been created here.
    pub(super) fn inherit(&self) -> Result<(), TargetError> {
        if let Some(entry) = &self.entry {
            entry.record(&self.run)?;
        }
        Ok(())
    }

    /// Removes the place by `remove`, and settles its journal entry.
    pub(super) fn leave(&self, remove: impl FnOnce() -> Result<(), DriverError>) -> Result<(), TargetError> {
        let Some(id) = self.id() else { return Ok(()) };
        remove()?;
        Ok(self.run.removed(id)?)
    }

    /// The place as journaled, covering what any cell of the run may have put there; `None` when it is not journaled.
    pub(super) fn known<P: JournaledPlace>(&self) -> Option<P> {
        let (_, place) = self.entry.as_ref()?.find(&self.run)?;
        P::deserialize(&place.place).ok()
    }

    /// The journal's unsettled entry, if any.
    fn id(&self) -> Option<EntryId> {
        self.entry.as_ref()?.find(&self.run).map(|(id, _)| id)
    }
}

/// Creates a place by `make`, which announces the request that creates it; `record` writes the journal right before
/// that is sent.
///
/// # Errors
/// The journal cannot be written: nothing was created. The inner result is the target's error.
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

/// True when the error of the creating request proves that our place was not created.
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
            version: Default::default(),
            server: IpAddr::from([127, 0, 0, 1]),
            export: "/export".into(),
            directory: run.id().object_name(),
            nfs_port: None,
            mount_port: None,
            portmap_port: 111,
            uid: 0,
            gid: 0,
            tree: drivers::tree::DirectoryTree::default(),
        });
        test(&run, &OwnPlace::own(&run, entry));
    }

    /// Creates a place that fails before any creating request is sent (`contact`), or with it (`request`).
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
