//! `manometer fio`: runs fio's job files.

pub mod arguments;
mod eta;
mod hosts;
mod input;
mod run;
mod status;

pub use run::run;
