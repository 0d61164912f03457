//! What a lane of a mix creates and removes: its own ranges of numbers, used as queues.

use std::ops::Range;

use drivers::numbers::{
    COUNT_BITS, COUNT_MASK, DIRECTORY, LANE_BITS, OWN, RENAMED, SYMLINK, is_directory, is_symlink,
};
use metrics::ErrorKind;

use super::sweep::Sweep;
use crate::data_set::Extent;

/// Maximum number of lanes, over all workers, of a load that creates.
pub(crate) const MAX_LANES: u64 = 1 << LANE_BITS;

/// Everything that a lane created and has not removed.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct OwnItems {
    /// Files or objects, hard links included.
    pub files: Churn,
    pub symlinks: Churn,
    pub directories: Churn,
    /// How often each file was renamed, if its content keeps its number.
    pub names: Sweep,
    /// How often each file was overwritten.
    pub contents: Sweep,
    /// Files whose content is not known, and possibly others between them: an operation on them had no definite outcome.
    unsure: (u64, u64),
}

impl OwnItems {
    pub(crate) fn of_lane(lane: u64) -> Self {
        let queue = |kind| Churn { first: OWN | kind | lane << COUNT_BITS, ..Churn::default() };
        OwnItems {
            files: queue(0),
            symlinks: queue(SYMLINK),
            directories: queue(DIRECTORY),
            ..OwnItems::default()
        }
    }

    /// The number of a file with the name that it has now.
    pub(crate) fn named(&self, file: u64) -> u64 {
        let renamed = self.names.of(count_of(file)) % 2 == 1;
        file & !RENAMED | if renamed { RENAMED } else { 0 }
    }

    /// How often a file was overwritten.
    pub(crate) fn overwrites_of(&self, file: u64) -> u32 {
        self.contents.of(count_of(file))
    }

    /// Whether a file is there, and what it holds is known.
    pub(crate) fn is_certain(&self, file: u64) -> bool {
        self.is_there(file) && self.contents.is_certain(count_of(file))
    }

    /// Whether a file is there, whatever it holds.
    pub(crate) fn is_there(&self, file: u64) -> bool {
        let count = count_of(file);
        self.files.certain().contains(&count) && !(self.unsure.0..self.unsure.1).contains(&count)
    }

    /// A random file of which [`Self::is_certain`] holds; `None` if there is none, or hardly any.
    pub(crate) fn any_certain(&self, random: &mut fastrand::Rng) -> Option<u64> {
        (0..TRIES).find_map(|_| self.files.any_certain(random).filter(|file| self.is_certain(*file)))
    }

    /// Nobody knows what this file holds.
    pub(crate) fn doubt_content(&mut self, file: u64) {
        let count = count_of(file);
        let (from, to) = self.unsure;
        let still = from < to && to > self.files.oldest;
        self.unsure = if still { (from.min(count), to.max(count + 1)) } else { (count, count + 1) };
    }

    /// The next file to rename, which keeps its content's number; `None` if one has to be created first.
    pub(crate) fn next_to_rename(&mut self) -> Option<u64> {
        let existing = self.files.oldest..self.files.next;
        // The name of the next one is not changed while it may exist already.
        if self.files.doubt && self.names.is_at_end(&existing) {
            return None;
        }
        self.names.next(existing).map(|count| self.files.number(count))
    }

    /// Renaming that file has ended. If it did not exist, an earlier attempt that seemed to fail had renamed it.
    pub(crate) fn renamed_in_turn(&mut self, file: u64, error: Option<ErrorKind>) {
        use ErrorKind::{AccessDenied, AlreadyExists, NoSpace, NotFound, ReadOnly, Rejected};
        match error {
            None => {}
            Some(NotFound) if self.files.moving => self.doubt_content(file),
            Some(NotFound) => {}
            Some(AccessDenied | AlreadyExists | NoSpace | ReadOnly | Rejected) => return,
            Some(_) => {
                self.files.moving = true;
                return;
            }
        }
        self.files.moving = false;
        self.names.changed();
    }

    /// The next file to overwrite, if there is one.
    pub(crate) fn next_to_overwrite(&mut self) -> Option<u64> {
        let certain = self.files.certain();
        self.contents.next(certain).map(|count| self.files.number(count))
    }

    /// The queue that a number belongs to.
    pub(crate) fn queue_of(&mut self, object: u64) -> &mut Churn {
        match object {
            object if is_directory(object) => &mut self.directories,
            object if is_symlink(object) => &mut self.symlinks,
            _ => &mut self.files,
        }
    }

    /// What is left, including anything in doubt; `full` if the objects have their whole size.
    pub(crate) fn left(&self, full: bool) -> [Extent; 4] {
        let all = self.files.left(full);
        // Up to here files were renamed once more than the others.
        let changed = (self.names.of_first(self.files.oldest..self.files.next)).min(all.existing);
        let part = |from: u64, to: u64| Extent {
            first: self.named(self.files.number(self.files.oldest + from)),
            existing: to - from,
            complete: all.complete.clamp(from, to) - from,
            ..all
        };
        let (before, after) = (part(0, changed), part(changed, all.existing));
        [before, after, self.symlinks.left(false), self.directories.left(false)]
    }
}

/// Draws of a file before the lane creates one instead.
const TRIES: u32 = 8;

/// The count in the number of something that a lane created.
fn count_of(number: u64) -> u64 {
    number & COUNT_MASK
}

/// The files, links or directories that a lane created and has not removed.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Churn {
    /// The number of the first one.
    first: u64,
    oldest: u64,
    next: u64,
    /// The next one may exist: creating it was attempted, but did not succeed.
    doubt: bool,
    /// The oldest may already have become the next: renaming it was attempted, and nobody knows how that ended.
    moving: bool,
    /// So many of the oldest may be gone: removing them was attempted, and nobody knows how that ended.
    leaving: u64,
}

impl Churn {
    /// Whether a number was created by a churning lane.
    pub(crate) fn made(object: u64) -> bool {
        object & OWN != 0
    }

    fn number(&self, count: u64) -> u64 {
        self.first | count & COUNT_MASK
    }

    /// The number of the next one to create.
    pub(crate) fn newest(&self) -> u64 {
        self.number(self.next)
    }

    /// The next one to remove, if there is one.
    pub(crate) fn oldest(&self) -> Option<u64> {
        (self.count() > 0).then(|| self.number(self.oldest))
    }

    /// The first and last of the `count` next ones to remove, if there are as many.
    pub(crate) fn oldest_batch(&self, count: u64) -> Option<(u64, u64)> {
        let all = count > 0 && self.count() >= count;
        all.then(|| (self.number(self.oldest), self.number(self.oldest + count - 1)))
    }

    /// The one created last, if it is still there.
    pub(crate) fn last(&self) -> Option<u64> {
        (self.count() > 0).then(|| self.number(self.next - 1))
    }

    /// A random one, if there is one.
    pub(crate) fn any(&self, random: &mut fastrand::Rng) -> Option<u64> {
        (self.count() > 0).then(|| self.number(random.u64(self.oldest..self.next)))
    }

    /// A random one of those that are certainly there, if there is one.
    pub(crate) fn any_certain(&self, random: &mut fastrand::Rng) -> Option<u64> {
        let certain = self.certain();
        (!certain.is_empty()).then(|| self.number(random.u64(certain)))
    }

    /// The counts of those that are certainly there.
    fn certain(&self) -> Range<u64> {
        self.oldest + self.leaving..self.next
    }

    /// Whether nobody knows if some of the oldest were removed.
    pub(crate) fn is_leaving(&self) -> bool {
        self.leaving > 0
    }

    /// How many there are.
    pub(crate) fn count(&self) -> u64 {
        self.next - self.oldest
    }

    /// Whether a rename has to be repeated: until it has a definite end, the file's name is unknown.
    pub(crate) fn is_moving(&self) -> bool {
        self.moving
    }

    pub(crate) fn begin(&mut self) {
        self.doubt = true;
    }

    /// Creating one has ended. If it already existed, an earlier attempt that seemed to fail had created it.
    pub(crate) fn made_one(&mut self, error: Option<ErrorKind>) {
        if matches!(error, None | Some(ErrorKind::AlreadyExists)) {
            self.next += 1;
            self.doubt = false;
        }
    }

    /// Removing the oldest has ended. If it did not exist, an earlier attempt that seemed to fail had removed it.
    pub(crate) fn removed_one(&mut self, error: Option<ErrorKind>) {
        self.removed(1, matches!(error, None | Some(ErrorKind::NotFound)));
    }

    /// Removing a batch of the oldest has ended. After an error any of them may be gone; the same ones are tried again.
    pub(crate) fn removed_batch(&mut self, count: u64, error: Option<ErrorKind>) {
        self.removed(count, error.is_none());
    }

    fn removed(&mut self, count: u64, done: bool) {
        if done {
            self.oldest += count;
            self.leaving = self.leaving.saturating_sub(count);
        } else {
            self.leaving = self.leaving.max(count);
        }
    }

    /// Renaming the oldest to the next has ended. If it did not exist, an earlier attempt that seemed to fail had
    /// renamed it; without such an attempt it is lost.
    pub(crate) fn renamed_one(&mut self, error: Option<ErrorKind>) {
        use ErrorKind::{AccessDenied, AlreadyExists, NoSpace, NotFound, ReadOnly, Rejected};
        match error {
            Some(NotFound) if !self.moving => self.oldest_is_gone(),
            // Either the attempt to rename it had succeeded, or one to remove it: the next one may exist.
            Some(NotFound) if self.leaving > 0 => {
                self.oldest_is_gone();
                self.moving = false;
            }
            None | Some(NotFound) => {
                self.oldest_is_gone();
                self.next += 1;
                (self.doubt, self.moving) = (false, false);
            }
            Some(AccessDenied | AlreadyExists | NoSpace | ReadOnly | Rejected) => {}
            Some(_) => self.moving = true,
        }
    }

    fn oldest_is_gone(&mut self) {
        self.oldest += 1;
        self.leaving = self.leaving.saturating_sub(1);
    }

    /// What is left, including anything in doubt; `full` if the objects have their whole size.
    fn left(&self, full: bool) -> Extent {
        let there = self.count();
        let complete = if full { there } else { 0 };
        let existing = there + u64::from(self.doubt);
        Extent { first: self.number(self.oldest), existing, complete, ..Extent::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn two_files() -> Churn {
        let mut files = Churn::default();
        for _ in 0..2 {
            files.begin();
            files.made_one(None);
        }
        files
    }

    #[test]
    fn a_file_that_was_removed_or_renamed_is_in_doubt() {
        let mut files = two_files();
        files.removed_one(Some(ErrorKind::TimedOut));
        files.begin();
        files.renamed_one(Some(ErrorKind::TimedOut));
        assert!(files.is_moving());
        files.renamed_one(Some(ErrorKind::NotFound));
        assert!(!files.is_moving());
        assert_eq!((files.count(), files.left(false).existing), (1, 2), "one is there, one may be");
    }

    #[test]
    fn a_file_that_was_only_renamed_is_there() {
        let mut files = two_files();
        files.begin();
        files.renamed_one(Some(ErrorKind::TimedOut));
        files.renamed_one(Some(ErrorKind::NotFound));
        assert_eq!((files.count(), files.left(false).existing), (2, 2));
    }
}
