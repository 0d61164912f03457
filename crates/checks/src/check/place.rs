//! A place that this run occupies on a target that stays: our directory, our prefix. It is in the
//! journal before it is made and is emptied when its guard goes, by whatever way that happens.

use std::time::Duration;

use drivers::nfs::NfsDriver;
use drivers::s3::S3Driver;
use drivers::{Announce, DriverError};
use provision::{EntryId, ProvisionError, Run};
use targets::{PlaceEntry, make_recorded, never_made};

/// A target in which a place of ours can be made and removed again. Both block; no single answer may
/// take longer than `limit`.
pub trait TestPlace {
    /// Checks the target and makes the place; calls `announce` right before the first request that makes something.
    ///
    /// # Errors
    /// One line: what was tried, on which address, what came back, and what to do next.
    fn prepare(&self, limit: Duration, announce: Announce<'_>) -> Result<(), DriverError>;

    /// Removes the place and all that is in it, nothing else. Not finding it is success.
    ///
    /// # Errors
    /// As [`TestPlace::prepare`].
    fn empty(&self, limit: Duration) -> Result<(), DriverError>;
}

impl TestPlace for NfsDriver {
    fn prepare(&self, limit: Duration, announce: Announce<'_>) -> Result<(), DriverError> {
        self.prepare_announced(limit, announce)
    }

    fn empty(&self, limit: Duration) -> Result<(), DriverError> {
        self.remove_all(limit).map(drop)
    }
}

impl TestPlace for S3Driver {
    fn prepare(&self, limit: Duration, announce: Announce<'_>) -> Result<(), DriverError> {
        // Looking at the bucket makes nothing; the first object does.
        self.with_control_timeout(limit).check_bucket()?;
        announce()
    }

    fn empty(&self, limit: Duration) -> Result<(), DriverError> {
        self.with_control_timeout(limit).remove_all().map(drop)
    }
}

/// How long a place may keep one waiting.
#[derive(Clone, Copy, Debug)]
pub struct PlaceTimeouts {
    /// For the first contact.
    pub connect: Duration,
    /// For one answer while removing.
    pub operation: Duration,
}

/// Guards a place: dropped, it empties it.
pub struct Occupied<'a, P: TestPlace> {
    place: &'a P,
    run: &'a Run,
    /// Its entry in the journal; `None` where the export or bucket itself is in there.
    id: Option<EntryId>,
    patience: PlaceTimeouts,
    gone: bool,
}

/// Why a place could not be had.
#[derive(Debug, thiserror::Error)]
pub enum EnterError {
    /// The target refused or did not answer.
    #[error(transparent)]
    Driver(#[from] DriverError),
    /// The journal could not be written.
    #[error(transparent)]
    Journal(#[from] ProvisionError),
}

impl<'a, P: TestPlace> Occupied<'a, P> {
    /// Makes the place; the journal is written right before the request that makes it.
    ///
    /// # Errors
    /// [`EnterError`]; nothing is left then, or the journal knows it.
    pub fn enter(
        place: &'a P,
        run: &'a Run,
        entry: Option<&PlaceEntry>,
        patience: PlaceTimeouts,
    ) -> Result<Self, EnterError> {
        let mut occupied = Self { place, run, id: None, patience, gone: true };
        let make = |announce: Announce<'_>| place.prepare(patience.connect, announce);
        let made = make_recorded(make, || {
            occupied.id = entry.map(|entry| entry.record(run)).transpose()?;
            occupied.gone = false;
            Ok(())
        })?;
        match made {
            Ok(()) => Ok(occupied),
            Err(error) => {
                if never_made(error.kind) {
                    occupied.gone = true;
                    if let Some(id) = occupied.id {
                        run.not_ours(id, &error.to_string())?;
                    }
                }
                // Otherwise it may have been made although the answer was lost: dropping the guard looks.
                Err(error.into())
            }
        }
    }

    /// Empties the place.
    ///
    /// # Errors
    /// What could not be removed; it stays in the journal.
    pub fn leave(mut self) -> Result<(), EnterError> {
        self.vacate()
    }

    fn vacate(&mut self) -> Result<(), EnterError> {
        // Tried once: whoever failed to say good-bye would wait for the same deadline again.
        if std::mem::replace(&mut self.gone, true) {
            return Ok(());
        }
        self.place.empty(self.patience.operation)?;
        if let Some(id) = self.id {
            self.run.removed(id)?;
        }
        Ok(())
    }
}

impl<P: TestPlace> Drop for Occupied<'_, P> {
    fn drop(&mut self) {
        // What fails here stays in the journal, and the end of the run says so.
        let _ = self.vacate();
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::net::IpAddr;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use metrics::ErrorKind;
    use provision::{Journal, RunId};
    use targets::NfsPlace;

    use super::*;

    const PATIENCE: PlaceTimeouts = PlaceTimeouts { connect: Duration::ZERO, operation: Duration::ZERO };

    #[derive(Default)]
    struct Fake {
        /// Fails before anything that makes something is sent.
        contact: Option<ErrorKind>,
        prepare: Option<ErrorKind>,
        empty: Option<ErrorKind>,
        calls: RefCell<Vec<&'static str>>,
    }

    impl TestPlace for Fake {
        fn prepare(&self, _: Duration, announce: Announce<'_>) -> Result<(), DriverError> {
            self.calls.borrow_mut().push("prepare");
            self.contact.map_or(Ok(()), |kind| Err(DriverError::new(kind, "contact")))?;
            announce()?;
            self.prepare.map_or(Ok(()), |kind| Err(DriverError::new(kind, "prepare")))
        }

        fn empty(&self, _: Duration) -> Result<(), DriverError> {
            self.calls.borrow_mut().push("empty");
            self.empty.map_or(Ok(()), |kind| Err(DriverError::new(kind, "empty")))
        }
    }

    fn with_run(test: impl FnOnce(&Run, Option<&PlaceEntry>)) {
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
        test(&run, Some(&entry));
    }

    #[test]
    fn a_place_is_emptied_once_when_it_is_left() {
        with_run(|run, entry| {
            let fake = Fake::default();
            let occupied = Occupied::enter(&fake, run, entry, PATIENCE).unwrap();
            assert_eq!(run.remaining().len(), 1);
            occupied.leave().unwrap();
            assert_eq!(*fake.calls.borrow(), ["prepare", "empty"]);
            assert!(run.remaining().is_empty());
        });
    }

    #[test]
    fn a_panic_empties_it_too() {
        with_run(|run, entry| {
            let fake = Fake::default();
            let panicked = catch_unwind(AssertUnwindSafe(|| {
                let _occupied = Occupied::enter(&fake, run, entry, PATIENCE).unwrap();
                panic!("a defect");
            }));
            assert!(panicked.is_err());
            assert_eq!(*fake.calls.borrow(), ["prepare", "empty"]);
            assert!(run.remaining().is_empty());
        });
    }

    #[test]
    fn what_was_there_before_is_not_touched() {
        with_run(|run, entry| {
            let fake = Fake { prepare: Some(ErrorKind::AlreadyExists), ..Fake::default() };
            assert!(Occupied::enter(&fake, run, entry, PATIENCE).is_err());
            assert_eq!(*fake.calls.borrow(), ["prepare"]);
            assert!(run.remaining().is_empty());
        });
    }

    #[test]
    fn nothing_is_looked_for_or_left_behind_when_nothing_was_asked_for() {
        with_run(|run, entry| {
            let fake = Fake { contact: Some(ErrorKind::TimedOut), ..Fake::default() };
            assert!(Occupied::enter(&fake, run, entry, PATIENCE).is_err());
            assert_eq!(*fake.calls.borrow(), ["prepare"]);
            assert!(run.remaining().is_empty());
        });
    }

    #[test]
    fn what_may_have_been_made_is_looked_for() {
        with_run(|run, entry| {
            let fake = Fake { prepare: Some(ErrorKind::TimedOut), ..Fake::default() };
            assert!(Occupied::enter(&fake, run, entry, PATIENCE).is_err());
            assert_eq!(*fake.calls.borrow(), ["prepare", "empty"]);
            assert!(run.remaining().is_empty());
        });
    }

    #[test]
    fn what_cannot_be_removed_stays_in_the_journal() {
        with_run(|run, entry| {
            let fake = Fake { empty: Some(ErrorKind::ConnectionLost), ..Fake::default() };
            let occupied = Occupied::enter(&fake, run, entry, PATIENCE).unwrap();
            assert!(occupied.leave().is_err());
            assert_eq!(*fake.calls.borrow(), ["prepare", "empty"]);
            assert_eq!(run.remaining().len(), 1);
        });
    }
}
