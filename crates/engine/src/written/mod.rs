//! Which generation of the content lies where.
//!
//! While a verified load writes, each lane owns an even share of the blocks and goes through it in an order in which each
//! block comes once a pass. So a few numbers a lane say what every block must hold, however many there are.

mod book;
mod doubts;

pub(crate) use book::{Rules, WriteLedger};
pub(crate) use doubts::UncertainRanges;

use crate::share::Shares;

/// What is known of a data set's content after a stage.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ContentSummary {
    content: Content,
}

#[derive(Clone, Debug, Default, PartialEq)]
enum Content {
    #[default]
    Unknown,
    Uniform(u32),
    Passes(Passes),
}

/// What the lanes of a stage wrote.
#[derive(Clone, Debug, PartialEq)]
struct Passes {
    rules: Rules,
    total: u64,
    books: Vec<WriteLedger>,
}

/// What a stage left in its data set, in short.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Left {
    /// Nothing is known: nothing can be compared.
    #[default]
    Unknown,
    /// All of it is of this generation.
    Uniform(u32),
    /// It is known which generation lies where.
    Known,
}

impl ContentSummary {
    /// In short.
    pub fn left(&self) -> Left {
        match &self.content {
            Content::Unknown => Left::Unknown,
            Content::Uniform(generation) => Left::Uniform(*generation),
            Content::Passes(_) => Left::Known,
        }
    }

    /// All of it is of one generation.
    pub fn uniform(generation: u32) -> Self {
        ContentSummary { content: Content::Uniform(generation) }
    }

    /// Nothing is known of it: nothing can be compared.
    pub fn unknown() -> Self {
        ContentSummary::default()
    }

    pub(crate) fn by_lanes(rules: Rules, total: u64, books: Vec<WriteLedger>) -> Self {
        ContentSummary { content: Content::Passes(Passes { rules, total, books }) }
    }

    /// True when all of it is of this generation, so that a stage may begin from there.
    pub fn is_uniform(&self, generation: u32) -> bool {
        self.content == Content::Uniform(generation)
    }

    /// True when it is known, but for blocks to which a write failed or was never answered.
    pub fn is_known(&self) -> bool {
        self.content != Content::Unknown
    }

    /// The size of the blocks that it is known in, when that matters.
    pub(crate) fn block_bytes(&self) -> Option<u64> {
        match &self.content {
            Content::Passes(passes) => passes.rules.block_bytes,
            _ => None,
        }
    }

    /// True when it speaks of a data set of this many blocks.
    pub(crate) fn fits(&self, total: u64) -> bool {
        match &self.content {
            Content::Passes(passes) => passes.total == total,
            _ => true,
        }
    }

    /// The generation that a block must hold; `None` when that is not known.
    pub(crate) fn expected(&self, block: u64) -> Option<u32> {
        match &self.content {
            Content::Unknown => None,
            Content::Uniform(generation) => Some(*generation),
            Content::Passes(passes) => {
                let shares = Shares { total: passes.total, parts: passes.books.len() as u64 };
                passes.books[shares.owner_of(block) as usize].expected(block)
            }
        }
    }
}
