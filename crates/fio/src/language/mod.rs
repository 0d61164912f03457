//! fio's language: parses job files and command lines into a [`JobScript`].
//!
//! No I/O here: closures supply included files and environment variables.

mod arguments;
mod expand;
mod faults;
mod include;
mod lines;
mod options;
mod script;
pub(crate) mod section;
pub(crate) mod settings;
pub mod values;

pub use arguments::{Arguments, JobArgument, ProgramArgument, split_arguments};
pub use faults::{ScriptFault, ScriptFaults, Warning};
pub(crate) use options::is_secret;
pub use options::{
    Argument, FioEngine, FioOption, OptionGroup, OptionSupport, ValueKind, document, every_engine,
    every_option, find_argument, find_engine, find_option,
};
pub use script::{Input, JobScript, ReadFile, Reading, read};
pub use section::{Origin, Section, Setting};
