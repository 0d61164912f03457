//! Changes that a lane makes to each of its own files in turn, so that one position and a number say what every file is
//! like.

/// Goes through a queue from its oldest file to its newest, again and again. Files before its position have been changed once
/// more than the others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sweep {
    /// The file to change next, by its count.
    at: u64,
    /// Completed rounds: how often each file from the position on was changed, counting every file's own creation as if it
    /// had been there from the start.
    round: u32,
    /// The change of the next file was attempted, and nobody knows how that ended.
    doubt: bool,
}

impl Sweep {
    /// How often the file with this count was changed.
    pub(crate) fn of(&self, count: u64) -> u32 {
        self.round.wrapping_add(u32::from(count < self.at))
    }

    /// Whether [`Self::of`] is certain for the file with this count.
    pub(crate) fn is_certain(&self, count: u64) -> bool {
        !(self.doubt && count == self.at)
    }

    /// The next file to change among those that exist, if there are any. Starts a new round when all were changed.
    pub(crate) fn next(&mut self, existing: std::ops::Range<u64>) -> Option<u64> {
        if existing.is_empty() {
            return None;
        }
        if self.at < existing.start {
            // What was in doubt is gone.
            (self.at, self.doubt) = (existing.start, false);
        }
        if self.at >= existing.end {
            self.round = self.round.wrapping_add(1);
            (self.at, self.doubt) = (existing.start, false);
        }
        Some(self.at)
    }

    /// How many of the existing files come before its position.
    pub(crate) fn of_first(&self, existing: std::ops::Range<u64>) -> u64 {
        self.at.clamp(existing.start, existing.end) - existing.start
    }

    /// Whether the next change starts a new round, after which new files begin as the changed ones are.
    pub(crate) fn is_at_end(&self, existing: &std::ops::Range<u64>) -> bool {
        self.at >= existing.end
    }

    /// The change of the next file has ended.
    pub(crate) fn changed(&mut self) {
        (self.at, self.doubt) = (self.at + 1, false);
    }

    /// Nobody knows how the change of the next file ended.
    pub(crate) fn doubted(&mut self) {
        self.doubt = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_says_how_often_each_file_was_changed() {
        let mut random = fastrand::Rng::with_seed(5);
        let (mut sweep, mut oldest, mut files) = (Sweep::default(), 0, Vec::new());
        for _ in 0..10_000 {
            let existing = oldest..files.len() as u64;
            match random.u8(..4) {
                0 => files.push(sweep.of(existing.end)),
                1 if !existing.is_empty() => oldest += 1,
                _ => {
                    if let Some(count) = sweep.next(existing) {
                        files[count as usize] += 1;
                        sweep.changed();
                    }
                }
            }
            for count in oldest..files.len() as u64 {
                assert_eq!(files[count as usize], sweep.of(count));
            }
        }
        assert!(sweep.round > 10);
    }

    #[test]
    fn a_change_in_doubt_is_certain_again_once_it_is_repeated_or_the_file_is_gone() {
        let mut sweep = Sweep::default();
        assert_eq!(sweep.next(0..3), Some(0));
        sweep.doubted();
        assert!(!sweep.is_certain(0) && sweep.is_certain(1));
        assert_eq!(sweep.next(0..3), Some(0), "the same one is tried again");
        sweep.changed();
        assert!(sweep.is_certain(0) && sweep.is_certain(1));
        sweep.doubted();
        assert_eq!(sweep.next(2..3), Some(2));
        assert!(sweep.is_certain(2));
    }
}
