//! Which operation comes next, where, and its size.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Directions, is_default};
use crate::WeightedSize;

/// Which operation comes next, and where.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Pattern {
    /// In order, or at random.
    pub random: bool,
    /// How many operations follow each other before the next is drawn at random (`randread:8`); 0: one.
    #[serde(skip_serializing_if = "is_default")]
    pub run: u32,
    /// Added to the offset after each operation in order (`read:4k`), in bytes; backwards when below zero. 0: no holes.
    #[serde(skip_serializing_if = "is_default")]
    pub skip: i64,
    /// What `run` operations share: one place after the other, or all the same (`rw_sequencer=identical`).
    #[serde(skip_serializing_if = "is_default")]
    pub run_identical: bool,
    /// Trims a block, then writes it (`rw=trimwrite`); the directions alternate and share a cursor.
    #[serde(skip_serializing_if = "is_default")]
    pub trim_then_write: bool,
    /// Of operations in a random pattern, the percentage that is random; the others follow their predecessor
    /// (`percentage_random`).
    #[serde(skip_serializing_if = "Directions::are_hundred")]
    pub percent_random: Directions<Percent>,
    /// Random means: each block once before any comes again (`norandommap=0`). Only for even distributions of one block size.
    #[serde(skip_serializing_if = "is_default")]
    pub with_repeats: bool,
    /// How chance is distributed.
    #[serde(skip_serializing_if = "is_default")]
    pub distribution: Directions<Distribution>,
    /// Sizes are drawn by whether the operation is in order (first, `read`) or at random (`write`) instead of by direction
    /// (`bs_is_seq_rand`).
    #[serde(skip_serializing_if = "is_default")]
    pub sizes_by_order: bool,
    /// Operations on overlapping ranges are not in flight at once (`serialize_overlap`).
    #[serde(skip_serializing_if = "is_default")]
    pub no_overlap: bool,
}

/// A percentage whose usual value is 100.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Percent(pub f64);

impl Default for Percent {
    fn default() -> Self {
        Percent(100.0)
    }
}

impl Directions<Percent> {
    fn are_hundred(&self) -> bool {
        is_default(self)
    }
}

/// How chance is distributed over the region.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Distribution {
    /// Each block as likely as any other.
    #[default]
    Even,
    /// Zipf with this theta; the favourites are scattered unless a centre is given, a share from 0 to 1.
    Zipf {
        /// The exponent.
        theta: f64,
        /// Where the favourites lie.
        #[serde(default, skip_serializing_if = "is_default")]
        centre: Option<f64>,
    },
    /// Pareto with this power.
    Pareto {
        /// The power, `h`.
        h: f64,
        /// Where the favourites lie.
        #[serde(default, skip_serializing_if = "is_default")]
        centre: Option<f64>,
    },
    /// Normal around the middle, or the centre.
    Normal {
        /// In percent of the region.
        deviation: f64,
        /// Where the middle lies.
        #[serde(default, skip_serializing_if = "is_default")]
        centre: Option<f64>,
    },
    /// Stretches of the region, one after the other, each with a share of the operations.
    Zoned {
        /// The stretches.
        zones: Vec<Zone>,
    },
}

/// A stretch of the region and its share of the operations.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Zone {
    /// Share of the operations, in percent.
    pub percent: f64,
    /// How long it is.
    pub length: super::Amount,
}

/// Sizes of blocks, for each direction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct BlockSizes {
    /// The sizes.
    pub sizes: Directions<SizeChoice>,
    /// Offsets of random operations are multiples of this (`blockalign`), in bytes; 0: of the smallest size.
    #[serde(skip_serializing_if = "is_default")]
    pub align: Directions<u64>,
    /// Sizes from a range need not be multiples of the smallest (`bs_unaligned`).
    #[serde(skip_serializing_if = "is_default")]
    pub unaligned: bool,
}

impl Default for BlockSizes {
    fn default() -> Self {
        BlockSizes {
            sizes: Directions::all(SizeChoice::Fixed(4096)),
            align: Directions::default(),
            unaligned: false,
        }
    }
}

/// One size, or several.
///
/// In files also as a text: `4KiB`.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(transform = super::short::or_text)]
pub enum SizeChoice {
    /// Always this, in bytes.
    Fixed(u64),
    /// Any multiple of the least, up to the most; each as likely as any other.
    Range {
        /// In bytes.
        least: u64,
        /// In bytes.
        most: u64,
    },
    /// By weight.
    Split(Vec<WeightedSize>),
}

impl Default for SizeChoice {
    fn default() -> Self {
        SizeChoice::Fixed(4096)
    }
}

impl SizeChoice {
    /// The smallest size.
    pub fn least(&self) -> u64 {
        match self {
            SizeChoice::Fixed(bytes) => *bytes,
            SizeChoice::Range { least, .. } => *least,
            SizeChoice::Split(sizes) => sizes.iter().map(|size| size.bytes).min().unwrap_or(0),
        }
    }

    /// The largest size.
    pub fn most(&self) -> u64 {
        match self {
            SizeChoice::Fixed(bytes) => *bytes,
            SizeChoice::Range { most, .. } => *most,
            SizeChoice::Split(sizes) => sizes.iter().map(|size| size.bytes).max().unwrap_or(0),
        }
    }
}
