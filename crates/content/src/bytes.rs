//! The content of writes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::is_default;

/// Content of blocks for which no check prescribes it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Content {
    /// Fresh bytes that can be neither compressed nor deduplicated, zeros, or a pattern.
    #[serde(skip_serializing_if = "is_default")]
    pub kind: ContentKind,
    /// Percentage of each `chunk_bytes` that compresses to nothing (`buffer_compress_percentage`).
    #[serde(skip_serializing_if = "is_default")]
    pub compress_percent: f64,
    /// Size of a chunk in bytes (`buffer_compress_chunk`); 0 for the whole block.
    #[serde(skip_serializing_if = "is_default")]
    pub chunk_bytes: u64,
    /// Percentage of duplicate blocks (`dedupe_percentage`).
    #[serde(skip_serializing_if = "is_default")]
    pub dedupe_percent: f64,
    /// Take duplicates from a working set of this percentage of the region (`dedupe_mode=working_set`) instead of
    /// repeating recent blocks.
    #[serde(skip_serializing_if = "is_default")]
    pub dedupe_set_percent: Option<f64>,
}

/// The source of the bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ContentKind {
    /// A function of seed, file and offset.
    #[default]
    Fresh,
    /// Zeros.
    Zeros,
    /// These pieces, repeated from the start of each block.
    Pattern(Vec<PatternPiece>),
}

/// A piece of a pattern.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PatternPiece {
    /// Bytes, in hexadecimal digits.
    Hex(String),
    /// The block's offset in the file, 8 bytes, little-endian (`%o`).
    Offset,
}
