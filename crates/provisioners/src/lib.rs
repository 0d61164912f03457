//! What a run creates on storage servers by their own tools, such as a Gluster volume, and removes again.
//!
//! A module per tool implements `Provisioner`: what exists already under a name, creating,
//! removing. [`ProvisionedItems`] does the rest alike for all: it looks before it creates, writes the journal in between, and
//! removes everything at the end, or when it is dropped; [`remove_left`] does so for a run that died. Commands run
//! where `via` says, with a timeout each.

mod ceph;
mod ceph_cluster;
mod error;
mod gluster;
mod item;
mod provisioned;
mod provisioner;
mod radosgw;
mod secret;
mod tgt;
mod tool;

pub use ceph_cluster::{CephCluster, ObjectGateway};
pub use error::{ProvisionerError, ToolError};
pub use item::remove_left;
pub use provisioned::{ProvisionedItems, look};
pub use tool::ToolAccess;
