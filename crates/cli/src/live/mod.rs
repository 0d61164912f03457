//! Live displays of a run.

mod chart;
pub mod line;
mod screen;
mod view;
#[cfg(test)]
mod view_tests;

pub use screen::{RunView, Show, WithoutNotes, restore_terminal};
