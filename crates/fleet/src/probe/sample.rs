//! A sample of a host. Shares are of the time between two readings, from 0 to 1, rounded to a thousandth; rates are per
//! second. Values that the kernel does not report are absent, never zero.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};
use stats::limit::DiskQuota;

/// Activity of a host between two readings, usually a second. Bounded: see the limits in `probe/mod.rs`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct HostSample {
    /// Time of the second reading on the host's own clock ([`reactor::clock::now_ns`]).
    pub at_ns: u64,
    /// Time between the two readings, in nanoseconds.
    pub length_ns: u64,
    /// Delay of the second reading, in nanoseconds: how long any thread here waits for a core.
    pub late_ns: u64,
    /// Every core that this process may run on, and the others.
    pub cores: Vec<CoreSample>,
    /// Cores that this process may run on (sched_getaffinity(2)).
    pub allowed_cores: u32,
    /// Pressure on CPU, memory and I/O, over the whole host.
    pub pressure: Option<Pressure>,
    /// The same for the control group of this process (version 2 only).
    pub own_pressure: Option<Pressure>,
    /// Limits of its control groups on CPU time.
    pub quota: Option<Quota>,
    /// Memory.
    pub memory: Memory,
    /// Network processing before any program sees a packet.
    pub softnet: Softnet,
    /// NICs that are up.
    pub nics: Vec<NicSample>,
    /// This process's connections, grouped by the addresses of both ends.
    pub paths: Vec<PathSample>,
    /// Disks with I/O.
    pub disks: Vec<DiskSample>,
    /// Disk I/O of this process itself; absent where the kernel does not report it.
    pub own_disks: Option<OwnDisks>,
    /// This process's workers.
    pub workers: Vec<WorkerSample>,
    /// CPU time of all threads of this process, in cores.
    pub own_cores: f32,
    /// CPU time of taking this sample, in nanoseconds.
    pub cost_ns: u64,
}

/// Time use of a core (proc_stat(5)); the rest was idle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CoreSample {
    /// The kernel's number.
    pub core: u32,
    /// Programs.
    pub user: f32,
    /// System calls and kernel threads.
    pub system: f32,
    /// Mostly network packets.
    pub softirq: f32,
    /// Device interrupts.
    pub irq: f32,
    /// Given to other machines by the hypervisor.
    pub steal: f32,
    /// Nothing to do.
    pub idle: f32,
}

impl CoreSample {
    /// Share of time that was not idle.
    pub fn busy(&self) -> f32 {
        (1.0 - self.idle).clamp(0.0, 1.0)
    }
}

/// Shares of time in which tasks stalled (the kernel's Documentation/accounting/psi.rst): `some` or all (`full`) of
/// them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Pressure {
    /// A runnable task had no core.
    pub cpu_some: f32,
    /// Nothing ran although a task was runnable: only in a control group.
    pub cpu_full: f32,
    /// A task waited for memory.
    pub memory_some: f32,
    /// All tasks waited for memory.
    pub memory_full: f32,
    /// A task waited for I/O.
    pub io_some: f32,
    /// All tasks waited for I/O.
    pub io_full: f32,
}

/// Limits of control groups on this process, the tightest of its own and those above.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Quota {
    /// CPU limit in cores; absent without a limit.
    pub cores: Option<f32>,
    /// Share of the periods in which the quota was used up.
    pub throttled_periods: f32,
    /// Time for which threads were throttled, in cores.
    pub throttled: f32,
}

/// Memory. Hardware counters are not read, only what the kernel reports to everyone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Memory {
    /// Bytes available without swapping.
    pub available_bytes: u64,
    /// Allocations that had to free memory first, per second (`allocstall_*` of /proc/vmstat).
    pub stalls_per_s: f32,
    /// Memory traffic in bytes per second, where resctrl is mounted.
    pub bytes_per_s: Option<u64>,
}

/// /proc/net/softnet_stat, summed over all cores.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Softnet {
    /// Packets per second.
    pub packets_per_s: f32,
    /// Packets dropped because a core's queue was full.
    pub dropped: u64,
    /// How often a core had to stop with packets left.
    pub squeezed: u64,
}

/// A NIC.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct NicSample {
    /// The kernel's name.
    pub name: String,
    /// Bytes received per second, headers included.
    pub received_bytes_per_s: u64,
    /// Bytes sent per second, headers included.
    pub sent_bytes_per_s: u64,
    /// Packets received per second.
    pub received_packets_per_s: u64,
    /// Packets sent per second.
    pub sent_packets_per_s: u64,
    /// Packets dropped in either direction.
    pub dropped: u64,
    /// Packets with errors in either direction.
    pub errors: u64,
    /// Link speed in Mbit/s; absent where there is none.
    pub speed_mbit: Option<u64>,
    /// MTU, in bytes.
    pub mtu: u32,
    /// Both ends are this machine.
    pub loopback: bool,
}

/// The connections between two addresses: sums, and means over the connections.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PathSample {
    /// Local address.
    pub local: IpAddr,
    /// Remote address.
    pub remote: IpAddr,
    /// Connections.
    pub connections: u32,
    /// Bytes per second acknowledged by the other end.
    pub sent_bytes_per_s: u64,
    /// Bytes received per second.
    pub received_bytes_per_s: u64,
    /// Share of time with unsent or unacknowledged data; mean over the connections.
    pub busy: f32,
    /// Share of time limited by the other end's window.
    pub window_limited: f32,
    /// Share of time limited by the send buffer.
    pub buffer_limited: f32,
    /// Segments retransmitted.
    pub retransmits: u64,
    /// Segments sent.
    pub segments_sent: u64,
    /// Segments that arrived out of order: lost or overtaken on the way here.
    pub out_of_order: u64,
    /// Segments received.
    pub segments_received: u64,
    /// Mean of the connections' smoothed round-trip times, in microseconds. With small requests it includes the time
    /// until the other end's response.
    pub rtt_us: u32,
    /// The minimum of any connection, in microseconds.
    pub min_rtt_us: u32,
    /// Round-trip time of the fastest ICMP echo sent during the load, in microseconds; absent where echoes are not
    /// allowed or not answered.
    pub echo_us: Option<u32>,
    /// Echoes sent.
    pub echoes: u32,
    /// Of these, echoes not answered so far.
    pub echoes_lost: u32,
    /// The NIC that has the local address; absent when unknown.
    #[serde(default)]
    pub card: Option<String>,
    /// Share of the connections whose rate was limited by the path and not by the program, at the time of this sample.
    #[serde(default)]
    pub path_limited: f32,
    /// Minimum segment size, in bytes; 0 when unknown.
    pub mss_bytes: u32,
    /// Maximum window offered by the other end, in bytes; 0 when unknown.
    pub peer_window_bytes: u32,
    /// Maximum window offered to the other end, in bytes; 0 when unknown.
    pub own_window_bytes: u32,
    /// Bytes received by the kernel and not yet read by this process; mean over the connections.
    pub unread_bytes: u32,
}

/// Disk I/O of this process (/proc/self/io, proc(5)): direct I/O as it happens, buffered I/O when pages are filled or
/// become dirty.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct OwnDisks {
    /// Bytes read per second.
    pub read_bytes_per_s: u64,
    /// Bytes written per second.
    pub written_bytes_per_s: u64,
}

/// A disk (the kernel's Documentation/admin-guide/iostats.rst).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct DiskSample {
    /// The kernel's name.
    pub name: String,
    /// Bytes read per second.
    pub read_bytes_per_s: u64,
    /// Bytes written per second.
    pub written_bytes_per_s: u64,
    /// Requests completed per second.
    pub requests_per_s: f32,
    /// Of these, reads.
    pub reads_per_s: f32,
    /// Of these, writes.
    pub writes_per_s: f32,
    /// Share of time with at least one request in flight.
    pub busy: f32,
    /// Mean number of requests in flight.
    pub queue: f32,
    /// A control group of this process limits its bandwidth or IOPS.
    pub limited: bool,
    /// The limits of these groups, the tightest of each.
    pub quota: DiskQuota,
}

/// One of this process's workers (`/proc/self/task/*/schedstat`).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct WorkerSample {
    /// Number of the worker, from 0.
    pub worker: u32,
    /// Share of time in which it ran.
    pub ran: f32,
    /// Share of time in which it was runnable and waited for a core.
    pub waited: f32,
}
