//! Which operation comes next, where, and its size.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Directions, is_default};
use crate::WeightedSize;

/// Which operation comes next, and where.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Pattern {
    /// Random instead of sequential.
    pub random: bool,
    /// Sequential operations after each random draw (`randread:8`); 0: one.
    #[serde(skip_serializing_if = "is_default")]
    pub run: u32,
    /// Gap after each sequential operation (`read:4k`), in bytes; negative: backwards. 0: none.
    #[serde(skip_serializing_if = "is_default")]
    pub skip: i64,
    /// Offsets within a run of operations: consecutive, or all identical (`rw_sequencer=identical`).
    #[serde(skip_serializing_if = "is_default")]
    pub run_identical: bool,
    /// Trim each block, then write it (`rw=trimwrite`); the directions alternate and share a cursor.
    #[serde(skip_serializing_if = "is_default")]
    pub trim_then_write: bool,
    /// Percentage of random operations in a random pattern; the others follow their predecessor
    /// (`percentage_random`).
    #[serde(skip_serializing_if = "Directions::are_hundred")]
    pub percent_random: Directions<Percent>,
    /// Visit each block once before any block repeats (`norandommap=0`). Only for the uniform distribution with
    /// one block size.
    #[serde(skip_serializing_if = "is_default")]
    pub with_repeats: bool,
    /// The random distribution.
    #[serde(skip_serializing_if = "is_default")]
    pub distribution: Directions<Distribution>,
    /// Choose sizes by access (sequential: `read`; random: `write`) instead of by direction (`bs_is_seq_rand`).
    #[serde(skip_serializing_if = "is_default")]
    pub sizes_by_order: bool,
    /// Never have operations on overlapping ranges in flight together (`serialize_overlap`).
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

/// Random distribution over the region.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Distribution {
    /// Uniform: each block is equally likely.
    #[default]
    Even,
    /// Zipf with this theta; popular blocks are scattered unless a centre, from 0 to 1, is given.
    Zipf {
        /// The exponent.
        theta: f64,
        /// Where the popular blocks are.
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
    /// Normal, around the middle or the given centre.
    Normal {
        /// Standard deviation, in percent of the region.
        deviation: f64,
        /// The centre.
        #[serde(default, skip_serializing_if = "is_default")]
        centre: Option<f64>,
    },
    /// Consecutive zones of the region, each with a share of the operations.
    Zoned {
        /// The zones.
        zones: Vec<Zone>,
    },
}

/// A zone of the region and its share of the operations.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Zone {
    /// Share of the operations, in percent.
    pub percent: f64,
    /// Length of the zone.
    pub length: super::Amount,
}

/// Block sizes by direction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct BlockSizes {
    /// The sizes.
    pub sizes: Directions<SizeChoice>,
    /// Alignment of random offsets (`blockalign`), in bytes; 0: the smallest size.
    #[serde(skip_serializing_if = "is_default")]
    pub align: Directions<u64>,
    /// Allow sizes of a range that are not multiples of the smallest (`bs_unaligned`).
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
/// In experiment files also as text: `4KiB`.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(transform = super::short::or_text)]
pub enum SizeChoice {
    /// A fixed size, in bytes.
    Fixed(u64),
    /// Any multiple of the minimum up to the maximum, all equally likely.
    Range {
        /// In bytes.
        least: u64,
        /// In bytes.
        most: u64,
    },
    /// Several sizes by weight.
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
