//! The meaning of a section's options: each becomes a part of a [`Job`](experiment::Job), or a fault at its position.

mod asked;
mod cell;
mod check;
mod content;
mod ending;
mod engines;
mod errors;
mod files;
mod groups;
mod handled;
mod keys;
mod lists;
mod logs;
mod numbers;
mod order;
mod pace;
mod patterns;
mod placement;
mod region;
mod report;
mod seed;
mod sizes;
mod steady;

pub(crate) use asked::Asked;
pub(crate) use cell::meaning;
pub(crate) use groups::groups;
pub use handled::handled;
pub use keys::access_keys;
