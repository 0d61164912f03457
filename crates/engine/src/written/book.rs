//! A lane's ledger for its share of a data set: the number of passes, and the position in the current one.

use std::ops::Range;

use drivers::Op;
use experiment::Access;

use super::doubts::UncertainRanges;
use crate::access::{Turn, spread, turn_of};

/// How a share is traversed: common to all lanes.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Rules {
    /// Sequential, strided, or otherwise shuffled.
    pub access: Access,
    /// The generation of everything before the first pass.
    pub base: u32,
    /// Block length in bytes; `None` for whole objects.
    pub block_bytes: Option<u64>,
    /// Share of the writes that write zeroes.
    pub zeroed: f64,
    pub seed: u64,
}

/// What one lane wrote of its share: each block once per pass. Pass `p` (from 0) writes generation `base + p + 1`, so a
/// block's content follows from its position in the order of the pass. Whether that write wrote zeroes follows from block
/// and generation.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct WriteLedger {
    rules: Rules,
    share: Range<u64>,
    pass: u64,
    /// Position of the next block to write.
    next: u64,
    in_flight: bool,
    /// Writes since the last commit.
    uncommitted: u64,
    turn: Turn,
    turn_before: Turn,
    doubts: UncertainRanges,
    doubts_before: UncertainRanges,
}

impl WriteLedger {
    /// A ledger for a share that has not been written yet.
    pub(crate) fn new(rules: Rules, share: Range<u64>) -> Self {
        let mut book = WriteLedger {
            rules,
            share,
            pass: 0,
            next: 0,
            in_flight: false,
            uncommitted: 0,
            turn: Turn::Straight,
            turn_before: Turn::Straight,
            doubts: UncertainRanges::default(),
            doubts_before: UncertainRanges::default(),
        };
        book.turn = book.turn_of(0);
        book
    }

    fn turn_of(&self, pass: u64) -> Turn {
        let Rules { access, block_bytes, seed, .. } = &self.rules;
        let key = seed ^ self.share.start.rotate_left(32);
        turn_of(access, self.len(), block_bytes.unwrap_or(1), key, pass)
    }

    fn len(&self) -> u64 {
        self.share.end - self.share.start
    }

    /// The next block to write, and its new generation; [`Op::ZEROES`] for zeroes.
    #[inline]
    pub(crate) fn next(&self) -> (u64, u32) {
        let block = self.share.start + self.turn.at(self.next);
        (block, self.generation(block, self.pass + 1))
    }

    /// The generation of a block that was written in so many passes.
    #[inline]
    fn generation(&self, block: u64, passes: u64) -> u32 {
        let Rules { zeroed, seed, base, .. } = self.rules;
        if zeroed > 0.0 && passes > 0 && share_of(spread(spread(seed, !block), passes)) < zeroed {
            return Op::ZEROES;
        }
        base.wrapping_add(passes as u32)
    }

    /// Records the start of that block's write.
    #[inline]
    pub(crate) fn begin(&mut self) {
        self.in_flight = true;
    }

    /// Records the end of the write.
    #[inline]
    pub(crate) fn end(&mut self, acknowledged: bool) {
        self.in_flight = false;
        if !acknowledged {
            self.doubts.add(self.next..self.next + 1);
        }
        self.uncommitted += 1;
        self.next += 1;
        if self.next == self.len() {
            self.turn_page();
        }
    }

    #[cold]
    fn turn_page(&mut self) {
        (self.pass, self.next) = (self.pass + 1, 0);
        self.turn_before = self.turn;
        self.turn = self.turn_of(self.pass);
        std::mem::swap(&mut self.doubts, &mut self.doubts_before);
        self.doubts.clear();
    }

    /// Records a successful commit.
    pub(crate) fn committed(&mut self) {
        self.uncommitted = 0;
    }

    /// The target may have lost uncommitted data.
    pub(crate) fn lost(&mut self) {
        let count = std::mem::take(&mut self.uncommitted);
        self.doubts.add(self.next.saturating_sub(count)..self.next);
        if self.pass > 0 && count > self.next {
            let len = self.len();
            self.doubts_before.add(len.saturating_sub(count - self.next)..len);
        }
    }

    /// The expected generation of a block in the share; `None` if a write to it had no certain outcome.
    #[inline]
    pub(crate) fn expected(&self, block: u64) -> Option<u32> {
        let place = block - self.share.start;
        let position = self.turn.position_of(place);
        if position < self.next {
            return (!self.doubts.contains(position)).then(|| self.generation(block, self.pass + 1));
        }
        if self.in_flight && position == self.next {
            return None;
        }
        let doubted = !self.doubts_before.is_empty()
            && self.doubts_before.contains(self.turn_before.position_of(place));
        (!doubted).then(|| self.generation(block, self.pass))
    }
}

/// A number as a share, from 0 to below 1.
fn share_of(number: u64) -> f64 {
    (number >> 11) as f64 / (1_u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn rules(access: Access) -> Rules {
        Rules { access, base: 7, block_bytes: Some(10), zeroed: 0.0, seed: 5 }
    }

    #[derive(Clone, Copy, Debug)]
    enum Step {
        Good,
        Failed,
        Commit,
        Lost,
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            20 => Just(Step::Good),
            2 => Just(Step::Failed),
            2 => Just(Step::Commit),
            1 => Just(Step::Lost),
        ]
    }

    proptest! {
        /// Compares with a plain map of every block.
        #[test]
        fn the_book_knows_what_a_list_of_all_blocks_knows(
            total in 1u64..40,
            first in 0u64..100,
            pattern in 0usize..3,
            zeroed in prop::sample::select(vec![0.0, 0.3, 1.0]),
            steps in prop::collection::vec(step(), 0..300),
            dies in any::<bool>(),
        ) {
            let access = [Access::Sequential, Access::Random, Access::Strided { stride_bytes: 30 }][pattern];
            let mut book = WriteLedger::new(Rules { zeroed, ..rules(access) }, first..first + total);
            // The content of each block, `None` when in doubt.
            let mut content = vec![Some(7); total as usize];
            let mut since_commit = Vec::new();
            for step in steps {
                match step {
                    Step::Good | Step::Failed => {
                        let (block, generation) = book.next();
                        let at = (block - first) as usize;
                        book.begin();
                        prop_assert_eq!(book.expected(block), None, "in flight");
                        let good = matches!(step, Step::Good);
                        book.end(good);
                        content[at] = good.then_some(generation);
                        since_commit.push(at);
                    }
                    Step::Commit => {
                        book.committed();
                        since_commit.clear();
                    }
                    Step::Lost => {
                        book.lost();
                        // For blocks lost and then written again, `content` already refers to the later write.
                        for at in since_commit.drain(..) {
                            content[at] = None;
                        }
                    }
                }
            }
            if dies {
                content[(book.next().0 - first) as usize] = None;
                book.begin();
            }
            for (at, content) in content.iter().enumerate() {
                prop_assert_eq!(book.expected(first + at as u64), *content, "block {}", at);
            }
        }
    }

    #[test]
    fn each_block_is_written_once_a_pass_with_the_generation_of_the_pass() {
        let mut book = WriteLedger::new(rules(Access::Zipf { theta: 1.0 }), 10..20);
        for generation in [8, 9, 10] {
            let mut seen = Vec::new();
            for _ in 0..10 {
                let (block, wrote) = book.next();
                assert_eq!(wrote, generation);
                seen.push(block);
                book.begin();
                book.end(true);
            }
            seen.sort_unstable();
            assert_eq!(seen, (10..20).collect::<Vec<_>>());
        }
    }

    #[test]
    fn zeroes_are_written_in_their_share_and_nothing_else_is_taken_for_them() {
        for zeroed in [0.0, 0.25, 1.0] {
            let mut book = WriteLedger::new(Rules { zeroed, ..rules(Access::Random) }, 0..1000);
            assert!((0..1000).all(|block| book.expected(block) == Some(7)), "nothing is written yet");
            let mut zeroes = 0_u32;
            for _ in 0..4000 {
                zeroes += u32::from(book.next().1 == Op::ZEROES);
                book.begin();
                book.end(true);
            }
            let share = f64::from(zeroes) / 4000.0;
            assert!((share - zeroed).abs() < 0.03, "{share} instead of {zeroed}");
        }
    }
}
