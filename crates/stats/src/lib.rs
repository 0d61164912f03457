//! What it means: steady state, confidence and comparison, from per-interval values alone.
//!
//! Pure: no I/O, no clock; where chance is needed (bootstrap) the caller gives the seed.

mod outcome;

pub use outcome::*;
