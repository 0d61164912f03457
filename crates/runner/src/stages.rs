//! Names of the stages of a cell, as results have them.

/// The stage in which every byte is written.
pub const PREPARE: &str = "prepare";
/// The stage that is reported.
pub const MEASURE: &str = "measure";
/// The stage in which everything is read and compared.
pub const VERIFY: &str = "verify";
