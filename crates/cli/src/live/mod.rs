//! A run while it goes on: a model of what there is to see, and the ways to see it.

mod chart;
pub mod line;
pub mod model;
pub mod screen;
mod view;
#[cfg(test)]
mod view_tests;

pub use model::Model;
pub use screen::Screen;
