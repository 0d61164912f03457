//! fio job files: their language becomes a [`Script`], a script becomes a [`Plan`](crate::Plan).
//!
//! The language, the meanings of options and the figures are facts of fio 3.33 and its HOWTO; nothing is taken from its
//! source. No I/O here: texts of included files and environment variables come through closures.

mod arguments;
mod expand;
mod faults;
mod include;
mod lines;
mod options;
mod script;
mod section;
mod settings;
pub mod values;

pub mod meaning;
mod plan;

pub use arguments::{Arguments, JobArgument, ProgramArgument, split_arguments};
pub use faults::{Fault, Faults, Warning};
pub use options::{
    Argument, Engine, FioOption, Group, Status, ValueKind, document, every_engine, every_option,
    find_argument, find_engine, find_option,
};
pub use plan::*;
pub use script::{Input, Reading, Script, read};
pub use section::{Origin, Section, Setting};
