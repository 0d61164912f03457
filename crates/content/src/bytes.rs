//! The content of writes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::is_default;

/// What is written where no check prescribes it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Content {
    /// Fresh bytes that no target can compress or find twice, zeros, or a pattern.
    #[serde(skip_serializing_if = "is_default")]
    pub kind: ContentKind,
    /// Of each `chunk_bytes`, the percentage that compresses to nothing (`buffer_compress_percentage`).
    #[serde(skip_serializing_if = "is_default")]
    pub compress_percent: f64,
    /// 0: the whole block (`buffer_compress_chunk`), in bytes.
    #[serde(skip_serializing_if = "is_default")]
    pub chunk_bytes: u64,
    /// Percentage of blocks that occur elsewhere too (`dedupe_percentage`).
    #[serde(skip_serializing_if = "is_default")]
    pub dedupe_percent: f64,
    /// The repeated blocks are taken from a working set of this percentage of the region (`dedupe_mode=working_set`), instead of
    /// repeating what was just written.
    #[serde(skip_serializing_if = "is_default")]
    pub dedupe_set_percent: Option<f64>,
}

/// What bytes are made of.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ContentKind {
    /// A function of seed, file and offset.
    #[default]
    Fresh,
    /// Zeros.
    Zeros,
    /// These pieces, repeated from each block's beginning.
    Pattern(Vec<PatternPiece>),
}

/// A piece of a pattern.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PatternPiece {
    /// Bytes, in hexadecimal digits.
    Hex(String),
    /// The block's offset in the file, 8 bytes, little endian (`%o`).
    Offset,
}
