//! What a lane of a mix creates and removes: its own range of numbers, used as a queue.

use metrics::ErrorKind;

use crate::data_set::Extent;

/// Marks numbers that are not part of a laid-out data set.
const OURS: u64 = 1 << 63;
/// Number of bits for counting within a lane.
const COUNT_BITS: u32 = 39;
/// Maximum number of lanes, over all workers, of a load that creates.
pub(crate) const MAX_LANES: u64 = 1 << (63 - COUNT_BITS);

/// The files or objects that a lane created and has not removed.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Churn {
    lane: u64,
    oldest: u64,
    next: u64,
    /// The next one may exist: creating it was attempted, but did not succeed.
    doubt: bool,
}

impl Churn {
    pub(crate) fn of_lane(lane: u64) -> Self {
        Churn { lane, ..Churn::default() }
    }

    /// Whether a number was created by a churning lane.
    pub(crate) fn made(object: u64) -> bool {
        object & OURS != 0
    }

    fn number(&self, count: u64) -> u64 {
        OURS | self.lane << COUNT_BITS | count & ((1 << COUNT_BITS) - 1)
    }

    /// The number of the next one to create.
    pub(crate) fn newest(&self) -> u64 {
        self.number(self.next)
    }

    /// The next one to remove, if there is one.
    pub(crate) fn oldest(&self) -> Option<u64> {
        (self.oldest < self.next).then(|| self.number(self.oldest))
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
        if matches!(error, None | Some(ErrorKind::NotFound)) {
            self.oldest += 1;
        }
    }

    /// What is left, including anything in doubt; `full` if the objects have their whole size.
    pub(crate) fn left(&self, full: bool) -> Extent {
        let there = self.next - self.oldest;
        let complete = if full { there } else { 0 };
        let existing = there + u64::from(self.doubt);
        Extent { first: self.number(self.oldest), existing, complete, ..Extent::default() }
    }
}
