//! The ways to see a run while it goes on.

mod chart;
pub mod line;
mod screen;
mod view;
#[cfg(test)]
mod view_tests;

pub use screen::{RunView, Show, restore_terminal};
