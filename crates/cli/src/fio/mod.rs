//! `manometer fio`: runs fio's job files.

pub mod arguments;
mod eta;
mod hosts;
mod input;
pub mod output;
mod run;

pub use run::run;
