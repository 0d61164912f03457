//! Sizes, durations, rates and shares: parsed from user input, printed in the same form.
//!
//! No I/O, no clock, no randomness. Every type parses its own `Display` back to the same value, except the rounded
//! forms, which say so in their names. A text that cannot be parsed gives a [`ParseError`] with the text, what is wrong
//! with it, and the correct form.

mod error;
mod number;
mod rate;
mod share;
mod size;
mod span;

pub use error::ParseError;
pub use rate::{ByteRate, OpRate};
pub use share::Share;
pub use size::Size;
pub use span::{Span, latency};
