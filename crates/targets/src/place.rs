//! Our place on a target: the directory or prefix that holds the data set. It is in the journal before the request is sent
//! that makes it, and not earlier: what was never asked for is never said to be left behind.

use std::time::Duration;

use drivers::{Announce, DriverError};
use metrics::ErrorKind;
use provision::{LocalPlace, Mark, NfsPlace, ProvisionError, Run, S3Place};

use super::TargetError;

/// The longest that a server may take for one answer while the place is made or removed.
pub(super) const PATIENCE: Duration = Duration::from_secs(30);

/// What the journal is told of a place.
#[derive(Clone, Debug)]
pub(super) enum Entry {
    /// A directory on an export.
    Nfs(NfsPlace),
    /// A prefix in a bucket.
    S3(Box<S3Place>),
    /// A directory of this machine.
    Local(LocalPlace),
}

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
    entry: Option<Entry>,
}

impl OwnPlace {
    /// A place of the run's own, which is removed with it.
    pub(super) fn own(run: &Run, entry: Entry) -> Self {
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
        let mut mark = match (self.mark(), &self.entry) {
            // Larger objects than before may follow, which the journal must know.
            (Some(_), Some(Entry::S3(place))) => Some(self.run.objects(place)?),
            (known, _) => known,
        };
        if self.is_kept() || mark.is_some() {
            match adopt() {
                Ok(()) => return Ok(Entered::Existing),
                Err(error) if error.kind == ErrorKind::NotFound => {}
                Err(error) => return Err(error.into()),
            }
        }
        let made = make_recorded(make, || {
            if let (None, Some(entry)) = (mark, &self.entry) {
                mark = Some(self.intend(entry)?);
            }
            Ok(())
        })?;
        match made {
            Ok(()) => Ok(Entered::New),
            Err(error) => {
                // Otherwise it may have been made although the answer was lost: it stays in the journal.
                if let Some(mark) = mark.filter(|_| never_made(error.kind)) {
                    self.run.not_ours(mark, &error.to_string())?;
                }
                Err(error.into())
            }
        }
    }

    /// Writes the place into the journal, as if it had been made here.
    pub(super) fn inherit(&self) -> Result<(), TargetError> {
        if let (None, Some(entry)) = (self.mark(), &self.entry) {
            self.intend(entry)?;
        }
        Ok(())
    }

    /// Removes the place by `remove`, and says so in the journal.
    pub(super) fn leave(&self, remove: impl FnOnce() -> Result<(), DriverError>) -> Result<(), TargetError> {
        let Some(mark) = self.mark() else { return Ok(()) };
        remove()?;
        Ok(self.run.removed(mark)?)
    }

    /// Whether unfinished uploads may be there, put by this cell or by another of the run.
    pub(super) fn may_have_parts(&self) -> bool {
        match &self.entry {
            Some(Entry::S3(place)) => self.run.objects_may_have_parts(place),
            _ => true,
        }
    }

    /// The journal's entry, if it has one that is not settled.
    fn mark(&self) -> Option<Mark> {
        match self.entry.as_ref()? {
            Entry::Nfs(place) => self.run.directory_mark(place),
            Entry::S3(place) => self.run.objects_mark(place),
            Entry::Local(place) => self.run.local_directory_mark(place),
        }
    }

    fn intend(&self, entry: &Entry) -> Result<Mark, ProvisionError> {
        match entry {
            Entry::Nfs(place) => self.run.directory(place),
            Entry::S3(place) => self.run.objects(place),
            Entry::Local(place) => self.run.local_directory(place),
        }
    }
}

/// Makes a place by `make`, which announces the request that makes it; right before that is sent, `record` writes the journal.
///
/// # Errors
/// The journal cannot be written: nothing was made. Inside: what the target said.
pub fn make_recorded(
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
pub fn never_made(kind: ErrorKind) -> bool {
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
