//! The management REST API, generations 1.x and 2.x.

mod api;
mod array_info;
mod buckets;
mod call;
mod file_systems;
mod filter;
mod keys;
mod network;
mod page;
mod policies;
mod serve;
mod session;
mod users;
mod version;

pub(crate) use network::{Interface, Network};
pub(crate) use serve::{Options, Server};
