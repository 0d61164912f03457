//! fio: job files become a plan, and what a run found is shown in fio's shapes.
//!
//! The language becomes a [`JobScript`], a script becomes a [`Plan`](experiment::Plan), and a run of that becomes text, lines of fields or
//! JSON ([`output`]). The language, the meanings of options and the figures are facts of fio 3.33 and its HOWTO; nothing is taken
//! from its source. No I/O: texts of included files and environment variables come through closures, output goes to a writer.

mod convert;
mod language;
pub mod meaning;
pub mod output;
mod plan;

pub use convert::{convert, plain};
pub use language::*;
pub use plan::*;
