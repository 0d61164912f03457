//! From the tree to values: one module for each part of a cell.

mod access;
mod gate;
mod job;
mod rate;
mod rules;
mod stages;
mod study;
mod target;
mod weights;
mod workload;

pub(crate) use gate::gate;
pub(crate) use rules::shortest;
pub(crate) use target::check_targets;
pub(crate) use workload::{Scene, cell, gates};
