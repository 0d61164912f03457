//! What a verdict is made from: means over the measured window, of every host that loaded.

use serde::{Deserialize, Serialize};

/// A whole measurement.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Evidence {
    /// What the load was and did, all hosts together.
    pub load: ObservedLoad,
    /// Every host.
    pub hosts: Vec<Host>,
}

/// What stands behind the target's URL.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TargetMedium {
    /// Something behind a network.
    #[default]
    Network,
    /// Files or a device of the host.
    Local,
    /// Nothing: `null:`.
    Nothing,
}

/// The load, on one host or all together.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ObservedLoad {
    /// What the target is.
    pub kind: TargetMedium,
    /// Length of the window, in seconds.
    pub seconds: f64,
    /// Operations that can be in flight at once.
    pub lanes: f64,
    /// Operations that ended well, a second.
    pub ops_per_s: f64,
    /// Payload bytes a second.
    pub bytes_per_s: f64,
    /// Of these, bytes a second read.
    pub read_bytes_per_s: f64,
    /// Of these, bytes a second written.
    pub written_bytes_per_s: f64,
    /// Mean service time, in seconds.
    pub latency_s: f64,
    /// Median and 99th percentile of the service time, in seconds.
    pub median_s: f64,
    /// The 99th.
    pub p99_s: f64,
    /// Share of the operations that failed, from 0 to 1.
    pub failed: f64,
    /// Operations that never had an answer.
    pub unanswered: u64,
    /// Operations a second that were asked for; `None` in a closed loop.
    pub offered_ops_per_s: Option<f64>,
    /// Share of the asked-for operations that were given up or still waited at the end.
    pub not_started: f64,
    /// The workload leaves lanes idle itself: think time, or a rate within a job.
    pub paced: bool,
    /// Other cells of the run were measured at the same time.
    pub concurrent: bool,
    /// The disk that the data is on, where the target is one of this host and it is known.
    pub place: Option<DiskPlace>,
}

/// Where the data of a local target is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct DiskPlace {
    /// The kernel's name of the disk or of its partition.
    pub device: String,
    /// The file system's type; empty where the target is the device itself.
    pub file_system: String,
    /// Past the page cache.
    pub direct: bool,
}

/// A host over the window. Shares are from 0 to 1.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Host {
    /// Its name.
    pub name: String,
    /// The kernel that it runs on (its boot id): hosts that have the same share cores, cards and disks. Empty when unknown.
    pub machine: String,
    /// Its part of the load.
    pub load: ObservedLoad,
    /// Samples that were taken; without any nothing is known of the host.
    pub samples: u32,
    /// Cores that the program may run on.
    pub cores: f64,
    /// The core with least time left.
    pub busiest_core: Core,
    /// The core with most packets to handle.
    pub softirq_core: Core,
    /// Share of all cores' time that was not idle.
    pub busy: f64,
    /// Largest share of a core's time that went to other machines.
    pub steal: f64,
    /// Processor time of this program, in cores.
    pub own_cores: f64,
    /// Workers.
    pub workers: u32,
    /// Of the worker that ran most: the share of time that it ran.
    pub ran: f64,
    /// Of the worker that waited for a core most: the share of time that it did.
    pub waited: f64,
    /// That worker ran so much of the time.
    pub ran_while_waiting: f64,
    /// Cores' worth of time that a control group allows.
    pub quota_cores: Option<f64>,
    /// Share of its periods in which the quota was used up.
    pub throttled_periods: f64,
    /// Share of time in which all waited for memory.
    pub memory_full: f64,
    /// Allocations a second that had to free memory first.
    pub memory_stalls_per_s: f64,
    /// Packets that a core dropped before any program saw them.
    pub softnet_dropped: u64,
    /// Its cards.
    pub cards: Vec<Card>,
    /// Its connections, by the addresses of both ends.
    pub paths: Vec<Path>,
    /// Its disks.
    pub disks: Vec<Disk>,
    /// What this program had disks read, by the kernel's account, in bytes a second.
    pub own_disk_read: f64,
    /// What this program gave disks to write, by the kernel's account, in bytes a second.
    pub own_disk_written: f64,
    /// Payload bytes a second that this host could drive at most, as calibrated.
    pub ceiling_bytes_per_s: Option<f64>,
    /// What the network gave this host in a test of its own, in the direction of the load.
    pub baseline: Option<NetworkBaseline>,
    /// The run's other agents on the same machine. Whoever judges fills it in ([`Host::machine`]).
    pub beside: AgentsBeside,
}

/// What other agents of the same run did on the same machine, all together.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct AgentsBeside {
    /// Processor time, in cores.
    pub cores: f64,
    /// Operations a second.
    pub ops_per_s: f64,
    /// Requests that they can have in a disk at once.
    pub requests: f64,
    /// Bytes a second that they read from disks.
    pub disk_read: f64,
    /// Bytes a second that they wrote to disks.
    pub disk_written: f64,
    /// Payload bytes a second read.
    pub read: f64,
    /// Payload bytes a second written.
    pub written: f64,
    /// Their connections.
    pub paths: Vec<Path>,
}

/// What a host's network carried when it was measured alone (`manometer network`).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct NetworkBaseline {
    /// The baseline's name.
    pub name: String,
    /// Seconds since it was measured.
    pub age_s: f64,
    /// The most that one of the host's links carried in this direction, in payload bytes a second.
    pub bytes_per_s: f64,
    /// The host received; else it sent.
    pub received: bool,
    /// The host's address that was measured.
    pub address: String,
}

/// A core.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Core {
    /// The kernel's number.
    pub number: u32,
    /// Share of time that was not idle.
    pub busy: f64,
    /// Share of time spent with packets and other soft interrupts.
    pub softirq: f64,
}

/// A network card.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Card {
    /// The kernel's name.
    pub name: String,
    /// Speed in bytes a second; `None` where there is none.
    pub speed: Option<f64>,
    /// Bytes a second in the fuller direction, headers included.
    pub bytes_per_s: f64,
    /// Bytes a second sent, headers included.
    pub sent: f64,
    /// Bytes a second received, headers included.
    pub received: f64,
    /// Packets a second, both directions.
    pub packets_per_s: f64,
    /// Packets dropped.
    pub dropped: u64,
    /// Both ends are this machine.
    pub loopback: bool,
}

/// Connections between two addresses.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Path {
    /// For people: the other end's address.
    pub name: String,
    /// This end's address; empty when unknown.
    pub own: String,
    /// Connections.
    pub connections: f64,
    /// Bytes a second sent and acknowledged.
    pub sent: f64,
    /// Bytes a second received.
    pub received: f64,
    /// Share of time with something to send or unacknowledged.
    pub busy: f64,
    /// Share of time in which the other end's window let nothing out.
    pub window_limited: f64,
    /// Share of time in which the send buffer was too small.
    pub buffer_limited: f64,
    /// Share of the segments sent that were sent again.
    pub resent: f64,
    /// Share of the segments received that came out of order.
    pub out_of_order: f64,
    /// Segments that these shares are of: sent and received.
    pub segments: u64,
    /// Round-trip time of the connections, in seconds.
    pub rtt_s: f64,
    /// The least round-trip time, in seconds; 0 when unknown.
    pub least_rtt_s: f64,
    /// Round-trip time of echoes beside the load, in seconds: the least of each second, of which the median. A queue that
    /// stands is in each of them; a host that is slow to answer now and then is not.
    pub echo_s: Option<f64>,
    /// Share of the echoes without an answer.
    pub echoes_lost: f64,
    /// The card that its connections leave by; empty when unknown.
    pub card: String,
    /// Share of the looks at which the path and not the program bounded the rate of the connections (`tcpi_delivery_rate_app_limited`).
    pub path_limited: f64,
    /// Smallest segment, in bytes; 0 when unknown.
    pub mss_bytes: u32,
    /// Largest window that the other end offered, in bytes; 0 when unknown.
    pub peer_window: f64,
    /// Largest window that was offered to it, in bytes; 0 when unknown.
    pub own_window: f64,
    /// Bytes a connection that had arrived and were not read, the mean.
    pub unread: f64,
}

impl Path {
    /// Bytes a second in the fuller direction.
    pub fn rate(&self) -> f64 {
        self.sent.max(self.received)
    }

    /// Data goes mostly to the other end.
    pub fn sends(&self) -> bool {
        self.sent > self.received
    }
}

/// A disk.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Disk {
    /// The kernel's name.
    pub name: String,
    /// Bytes a second, both directions.
    pub bytes_per_s: f64,
    /// Requests a second.
    pub requests_per_s: f64,
    /// Share of time with a request in it.
    pub busy: f64,
    /// Requests in it, the mean.
    pub queue: f64,
    /// Bytes a second read.
    pub read_bytes_per_s: f64,
    /// Bytes a second written.
    pub written_bytes_per_s: f64,
    /// Reads a second.
    pub reads_per_s: f64,
    /// Writes a second.
    pub writes_per_s: f64,
    /// What control groups of this program allow; without any nothing is limited.
    pub quota: DiskQuota,
}

/// What control groups allow of a disk, a second; the narrowest of several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct DiskQuota {
    /// Bytes read.
    pub read_bytes: Option<u64>,
    /// Bytes written.
    pub written_bytes: Option<u64>,
    /// Reads.
    pub reads: Option<u64>,
    /// Writes.
    pub writes: Option<u64>,
}
