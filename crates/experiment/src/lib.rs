//! What to run: experiment files become a validated plan of cells.
//!
//! No I/O, no clock, no randomness of its own: texts come in, values go out.

mod plan;

pub use plan::*;
