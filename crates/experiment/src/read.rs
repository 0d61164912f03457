//! From the tree to values: one module for each part of a cell.

mod access;
mod accounting;
mod beside_job;
mod fleet;
mod gate;
mod hosts;
mod job;
mod launchers;
mod observe;
mod pass;
mod placement;
mod provision;
mod rate;
mod rules;
mod scale;
mod server_scale;
mod sizes;
mod stages;
mod study;
mod target;
mod think;
mod url;
mod user_files;
mod via;
mod weights;
mod workload;

pub use stages::SHORTEST_PROBE_S;

pub(crate) use fleet::fleet;
pub(crate) use gate::gate;
pub(crate) use hosts::Hosts;
pub(crate) use observe::observe;
pub(crate) use rules::shortest;
pub(crate) use scale::axes as scale;
pub(crate) use server_scale::{only_at_the_top as server_scale_only_at_the_top, server_scale};
pub(crate) use target::check_targets;
pub(crate) use workload::{Scene, USUAL_OP_TIMEOUT_S, cell, gates};

/// The default seed of an experiment.
pub(crate) const USUAL_SEED: u64 = 1;
