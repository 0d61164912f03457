//! fio compatibility: turns job files into a plan, and shows a run's results in fio's formats.
//!
//! The language is parsed into a [`JobScript`], a script becomes a [`Plan`](experiment::Plan), and a run of it becomes
//! text, lines of fields or JSON ([`output`]). The language, the meanings of options and the figures follow fio 3.33
//! and its HOWTO; nothing is taken from its source. No I/O: closures supply included files and environment variables,
//! and output goes to a writer.

mod convert;
mod hosts;
mod language;
pub mod meaning;
pub mod output;
mod plan;

pub use convert::{convert, plain};
pub use hosts::spread;
pub use language::*;
pub use plan::*;
