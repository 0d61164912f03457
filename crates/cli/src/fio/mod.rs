//! `manometer fio`: runs fio's job files.

pub mod arguments;
mod disks;
mod eta;
mod hosts;
mod input;
pub mod logs;
pub mod outcome;
pub mod output;
mod run;

pub use disks::DiskWatch;
pub use run::run;
