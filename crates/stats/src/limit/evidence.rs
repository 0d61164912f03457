//! The input of a verdict: means over the measured window for every load-generating host.

use serde::{Deserialize, Serialize};

/// A whole measurement.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Evidence {
    /// The load of all hosts together.
    pub load: ObservedLoad,
    /// Every host.
    pub hosts: Vec<Host>,
    /// Observed hosts of the server; they have no load of their own.
    pub servers: Vec<Host>,
    /// What those are, in one word: `server`, `osd`.
    pub server_role: String,
}

/// What kind of target the URL names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TargetMedium {
    /// A target behind a network.
    #[default]
    Network,
    /// Files or a device on the host.
    Local,
    /// Nothing: `null:`.
    Nothing,
}

/// The load of one host, or of all together.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ObservedLoad {
    /// What the target is.
    pub kind: TargetMedium,
    /// Length of the window, in seconds.
    pub seconds: f64,
    /// Operations that can be in flight at once.
    pub lanes: f64,
    /// Successful operations per second.
    pub ops_per_s: f64,
    /// Payload bytes per second.
    pub bytes_per_s: f64,
    /// Bytes read per second.
    pub read_bytes_per_s: f64,
    /// Bytes written per second.
    pub written_bytes_per_s: f64,
    /// Mean service time, in seconds.
    pub latency_s: f64,
    /// Median service time, in seconds.
    pub median_s: f64,
    /// 99th percentile of the service time, in seconds.
    pub p99_s: f64,
    /// Share of failed operations, from 0 to 1.
    pub failed: f64,
    /// Operations that never got an answer.
    pub unanswered: u64,
    /// Requested operations per second; `None` in a closed loop.
    pub offered_ops_per_s: Option<f64>,
    /// Share of the requested operations that were dropped or still waiting at the end.
    pub not_started: f64,
    /// The workload itself leaves lanes idle: think time, or a rate within a job.
    pub paced: bool,
    /// Other cells of the run were measured at the same time.
    pub concurrent: bool,
    /// The disk that holds the data, if the target is local and the disk is known.
    pub place: Option<DiskPlace>,
}

/// Where the data of a local target lives.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct DiskPlace {
    /// Kernel name of the disk or partition.
    pub device: String,
    /// The file system's type; empty where the target is the device itself.
    pub file_system: String,
    /// Bypasses the page cache.
    pub direct: bool,
}

/// A host over the window. Shares run from 0 to 1.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Host {
    /// Its name.
    pub name: String,
    /// Its kernel's boot id: hosts with the same one share cores, NICs and disks. Empty when unknown.
    pub machine: String,
    /// Its share of the load.
    pub load: ObservedLoad,
    /// Samples taken; with none, nothing is known about the host.
    pub samples: u32,
    /// Cores that the program may run on.
    pub cores: f64,
    /// The busiest core.
    pub busiest_core: Core,
    /// The core with the most packet work.
    pub softirq_core: Core,
    /// Busy share of all cores' time.
    pub busy: f64,
    /// Largest share of one core's time taken by other guests.
    pub steal: f64,
    /// CPU time of this program, in cores.
    pub own_cores: f64,
    /// Number of workers.
    pub workers: u32,
    /// Share of time that the busiest worker ran.
    pub ran: f64,
    /// Share of time spent waiting for a core, of the worker that waited most.
    pub waited: f64,
    /// Share of time that this worker ran.
    pub ran_while_waiting: f64,
    /// CPU quota of a control group, in cores.
    pub quota_cores: Option<f64>,
    /// Share of its periods in which the quota was exhausted.
    pub throttled_periods: f64,
    /// Share of time in which all tasks waited for memory.
    pub memory_full: f64,
    /// Allocations per second that had to reclaim memory first.
    pub memory_stalls_per_s: f64,
    /// Packets dropped by a core before any program saw them.
    pub softnet_dropped: u64,
    /// Its NICs.
    pub cards: Vec<Card>,
    /// Its connections, grouped by the addresses of both ends.
    pub paths: Vec<Path>,
    /// Its disks.
    pub disks: Vec<Disk>,
    /// Disk reads caused by this program, by the kernel's account, in bytes per second.
    pub own_disk_read: f64,
    /// Disk writes caused by this program, by the kernel's account, in bytes per second.
    pub own_disk_written: f64,
    /// Maximum payload that this host can drive according to its calibration, in bytes per second.
    pub ceiling_bytes_per_s: Option<f64>,
    /// Throughput of this host's network baseline, in the direction of the load.
    pub baseline: Option<NetworkBaseline>,
    /// What disks of this host did when measured alone; of observed hosts of the server only.
    pub disk_baselines: Vec<DiskBaseline>,
    /// The run's other agents on the same machine. The caller of the judgement fills it in ([`Host::machine`]).
    pub beside: AgentsBeside,
}

/// Total load of the same run's other agents on the same machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct AgentsBeside {
    /// CPU time, in cores.
    pub cores: f64,
    /// Operations per second.
    pub ops_per_s: f64,
    /// Requests that they can have in flight at a disk.
    pub requests: f64,
    /// Bytes per second read from disks.
    pub disk_read: f64,
    /// Bytes per second written to disks.
    pub disk_written: f64,
    /// Payload bytes per second read.
    pub read: f64,
    /// Payload bytes per second written.
    pub written: f64,
    /// Their connections.
    pub paths: Vec<Path>,
}

/// What a host's network carried when measured alone (`manometer network`).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct NetworkBaseline {
    /// The baseline's name.
    pub name: String,
    /// Seconds since it was measured.
    pub age_s: f64,
    /// The most that one of the host's links carried in this direction, in payload bytes per second.
    pub bytes_per_s: f64,
    /// The host received; otherwise it sent.
    pub received: bool,
    /// The measured address of the host.
    pub address: String,
}

/// What a disk did when measured alone, in one direction (`--save-baseline` of a run).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct DiskBaseline {
    /// The baseline's name.
    pub name: String,
    /// Seconds since it was measured.
    pub age_s: f64,
    /// Kernel name of the disk or partition.
    pub device: String,
    /// It was written; otherwise read.
    pub written: bool,
    /// The most that it did in this direction, in payload bytes per second.
    pub bytes_per_s: f64,
}

/// A CPU core.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Core {
    /// The kernel's number for it.
    pub number: u32,
    /// Busy share of its time.
    pub busy: f64,
    /// Share of time spent on packets and other soft interrupts.
    pub softirq: f64,
}

/// A NIC.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Card {
    /// Its kernel name.
    pub name: String,
    /// Link speed in bytes per second; `None` if it has none.
    pub speed: Option<f64>,
    /// Bytes per second in the busier direction, headers included.
    pub bytes_per_s: f64,
    /// Bytes per second sent, headers included.
    pub sent: f64,
    /// Bytes per second received, headers included.
    pub received: f64,
    /// Packets per second, both directions.
    pub packets_per_s: f64,
    /// Packets dropped.
    pub dropped: u64,
    /// Both ends are this machine.
    pub loopback: bool,
}

/// The connections between two addresses.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Path {
    /// Human-readable name: the other end's address.
    pub name: String,
    /// This end's address; empty when unknown.
    pub own: String,
    /// Number of connections.
    pub connections: f64,
    /// Bytes per second sent and acknowledged.
    pub sent: f64,
    /// Bytes per second received.
    pub received: f64,
    /// Share of time with data to send or unacknowledged.
    pub busy: f64,
    /// Share of time in which the other end's receive window blocked sending.
    pub window_limited: f64,
    /// Share of time limited by the send buffer.
    pub buffer_limited: f64,
    /// Share of sent segments that were retransmitted.
    pub resent: f64,
    /// Share of received segments that arrived out of order.
    pub out_of_order: f64,
    /// Segments behind these shares: sent and received.
    pub segments: u64,
    /// Round-trip time of the connections, in seconds.
    pub rtt_s: f64,
    /// Minimum round-trip time, in seconds; 0 when unknown.
    pub least_rtt_s: f64,
    /// Round-trip time of echoes sent alongside the load, in seconds: the median of each second's minimum. A standing
    /// queue raises all of them; a host that is occasionally slow to answer does not.
    pub echo_s: Option<f64>,
    /// Share of echoes without an answer.
    pub echoes_lost: f64,
    /// The NIC that its connections use; empty when unknown.
    pub card: String,
    /// Share of samples in which the path, not the program, limited the connections' rate
    /// (`tcpi_delivery_rate_app_limited`).
    pub path_limited: f64,
    /// Smallest segment, in bytes; 0 when unknown.
    pub mss_bytes: u32,
    /// Largest window offered by the other end, in bytes; 0 when unknown.
    pub peer_window: f64,
    /// Largest window offered to the other end, in bytes; 0 when unknown.
    pub own_window: f64,
    /// Mean bytes per connection that had arrived but were unread.
    pub unread: f64,
}

impl Path {
    /// Bytes per second in the busier direction.
    pub fn rate(&self) -> f64 {
        self.sent.max(self.received)
    }

    /// Whether data flows mostly to the other end.
    pub fn sends(&self) -> bool {
        self.sent > self.received
    }
}

/// A disk.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Disk {
    /// Its kernel name.
    pub name: String,
    /// Bytes per second, both directions.
    pub bytes_per_s: f64,
    /// Requests per second.
    pub requests_per_s: f64,
    /// Share of time with a request in flight.
    pub busy: f64,
    /// Mean number of requests in flight.
    pub queue: f64,
    /// Bytes per second read.
    pub read_bytes_per_s: f64,
    /// Bytes per second written.
    pub written_bytes_per_s: f64,
    /// Reads per second.
    pub reads_per_s: f64,
    /// Writes per second.
    pub writes_per_s: f64,
    /// Limits of this program's control groups; unlimited without any.
    pub quota: DiskQuota,
}

/// Per-second limits of control groups on a disk; the tightest of several.
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
