//! The expected generation of every block's content.
//!
//! While a verified load writes, each lane owns an even share of the blocks and visits each of them once per pass, in a
//! known order. A few numbers per lane therefore determine what every block must hold, however many there are.

mod book;
mod doubts;

pub(crate) use book::{Rules, WriteLedger};
pub(crate) use doubts::UncertainRanges;

use crate::share::Shares;

/// What is known about a data set's content after a stage.
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

/// Summary of what a stage left in its data set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Left {
    /// Nothing is known: nothing can be compared.
    #[default]
    Unknown,
    /// Everything has this generation.
    Uniform(u32),
    /// The generation of every block is known.
    Known,
}

impl ContentSummary {
    /// The summary.
    pub fn left(&self) -> Left {
        match &self.content {
            Content::Unknown => Left::Unknown,
            Content::Uniform(generation) => Left::Uniform(*generation),
            Content::Passes(_) => Left::Known,
        }
    }

    /// Everything has one generation.
    pub fn uniform(generation: u32) -> Self {
        ContentSummary { content: Content::Uniform(generation) }
    }

    /// Nothing is known: nothing can be compared.
    pub fn unknown() -> Self {
        ContentSummary::default()
    }

    pub(crate) fn by_lanes(rules: Rules, total: u64, books: Vec<WriteLedger>) -> Self {
        ContentSummary { content: Content::Passes(Passes { rules, total, books }) }
    }

    /// Whether everything has this generation, so that a stage may start from there.
    pub fn is_uniform(&self, generation: u32) -> bool {
        self.content == Content::Uniform(generation)
    }

    /// Whether it is known, except for blocks where a write failed or was never answered.
    pub fn is_known(&self) -> bool {
        self.content != Content::Unknown
    }

    /// The block size in which it is known, where that matters.
    pub(crate) fn block_bytes(&self) -> Option<u64> {
        match &self.content {
            Content::Passes(passes) => passes.rules.block_bytes,
            _ => None,
        }
    }

    /// Whether it describes a data set of this many blocks.
    pub(crate) fn fits(&self, total: u64) -> bool {
        match &self.content {
            Content::Passes(passes) => passes.total == total,
            _ => true,
        }
    }

    /// The expected generation of a block; `None` if unknown.
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
