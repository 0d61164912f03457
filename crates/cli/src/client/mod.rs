//! What is known of this client while it makes load: its cores, its network cards and its disks. All of it
//! comes from /proc and /sys, which any user may read.

mod cpu;
mod disks;
mod nic;

pub use cpu::{CoreLoad, CpuWatch};
pub use disks::DiskWatch;
pub use nic::{Nic, nic_of};

/// What the client's hardware did while one phase was measured.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClientLoad {
    /// Every core, in the kernel's order; empty when the kernel did not tell.
    pub cores: Vec<CoreLoad>,
    /// The card that leads to the address; `None` when it could not be found.
    pub nic: Option<Nic>,
}

impl ClientLoad {
    /// The core that had least time left.
    pub fn busiest(&self) -> Option<CoreLoad> {
        self.cores.iter().copied().max_by(|a, b| a.busy.total_cmp(&b.busy))
    }

    /// The largest share of a core's time that the hypervisor gave to others.
    pub fn steal(&self) -> f64 {
        self.cores.iter().map(|core| core.steal).fold(0.0, f64::max)
    }
}
