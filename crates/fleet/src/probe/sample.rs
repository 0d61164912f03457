//! What one look at a host says. Shares are of the time between two looks, from 0 to 1, rounded to a thousandth; rates are a
//! second. What the kernel does not tell is absent, never zero.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};
use stats::limit::DiskQuota;

/// What a host did between two looks, a second as a rule. Bounded: see the limits in `probe/mod.rs`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct HostSample {
    /// When the second look was, on the host's own clock ([`reactor::clock::now_ns`]).
    pub at_ns: u64,
    /// Time between the two looks, in nanoseconds.
    pub length_ns: u64,
    /// How much later the second look came than it was meant to, in nanoseconds: what any thread here waits for a core.
    pub late_ns: u64,
    /// Every core that this process may run on and those beside them.
    pub cores: Vec<CoreSample>,
    /// Cores that this process may run on (sched_getaffinity(2)).
    pub allowed_cores: u32,
    /// Waiting for processors, memory and disks, of all that runs on the host.
    pub pressure: Option<Pressure>,
    /// The same, of the control group that this process is in (version 2 only).
    pub own_pressure: Option<Pressure>,
    /// Limits of its control groups on processor time.
    pub quota: Option<Quota>,
    /// Memory.
    pub memory: Memory,
    /// The network's work before any program sees a packet.
    pub softnet: Softnet,
    /// Network cards that are up.
    pub nics: Vec<NicSample>,
    /// This process's connections, by the addresses of both ends.
    pub paths: Vec<PathSample>,
    /// Disks that did something.
    pub disks: Vec<DiskSample>,
    /// What this process itself had disks do; absent where the kernel does not tell.
    pub own_disks: Option<OwnDisks>,
    /// This process's workers.
    pub workers: Vec<WorkerSample>,
    /// Processor time of all threads of this process, in cores.
    pub own_cores: f32,
    /// Processor time that taking this sample cost, in nanoseconds.
    pub cost_ns: u64,
}

/// How a core spent its time (proc_stat(5)); the rest was idle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CoreSample {
    /// The kernel's number.
    pub core: u32,
    /// Programs.
    pub user: f32,
    /// System calls and the kernel's threads.
    pub system: f32,
    /// Network packets, above all.
    pub softirq: f32,
    /// Interrupts of devices.
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

/// Shares of time in which work waited (the kernel's Documentation/accounting/psi.rst): `some` of it, or `full`, all of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Pressure {
    /// Something was runnable and had no core.
    pub cpu_some: f32,
    /// Nothing ran although something was runnable: only in a control group.
    pub cpu_full: f32,
    /// Something waited for memory.
    pub memory_some: f32,
    /// All waited for memory.
    pub memory_full: f32,
    /// Something waited for a disk.
    pub io_some: f32,
    /// All waited for disks.
    pub io_full: f32,
}

/// What control groups allow this process, the narrowest of its own and those above.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Quota {
    /// Cores' worth of time; absent without a limit.
    pub cores: Option<f32>,
    /// Share of the periods in which all was used up.
    pub throttled_periods: f32,
    /// Time for which threads were held back, in cores.
    pub throttled: f32,
}

/// Memory. Hardware counters are not read: what is here is what the kernel tells anybody.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Memory {
    /// Bytes that could be had without swapping.
    pub available_bytes: u64,
    /// Allocations that had to free memory first, a second (`allocstall_*` of /proc/vmstat).
    pub stalls_per_s: f32,
    /// Bytes a second to and from memory, where resctrl is mounted.
    pub bytes_per_s: Option<u64>,
}

/// /proc/net/softnet_stat, all cores together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Softnet {
    /// Packets a second.
    pub packets_per_s: f32,
    /// Packets dropped because a core's queue was full.
    pub dropped: u64,
    /// How often a core had to stop with packets left.
    pub squeezed: u64,
}

/// A network card.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct NicSample {
    /// The kernel's name.
    pub name: String,
    /// Bytes a second received, headers included.
    pub received_bytes_per_s: u64,
    /// Bytes a second sent, headers included.
    pub sent_bytes_per_s: u64,
    /// Packets a second received.
    pub received_packets_per_s: u64,
    /// Packets a second sent.
    pub sent_packets_per_s: u64,
    /// Packets dropped, either way.
    pub dropped: u64,
    /// Packets with errors, either way.
    pub errors: u64,
    /// Speed of the link in Mbit/s; absent where there is none.
    pub speed_mbit: Option<u64>,
    /// Largest packet, in bytes.
    pub mtu: u32,
    /// Both ends are this machine.
    pub loopback: bool,
}

/// The connections between two addresses: sums, and means over connections.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PathSample {
    /// This end.
    pub local: IpAddr,
    /// The other.
    pub remote: IpAddr,
    /// Connections.
    pub connections: u32,
    /// Bytes a second that the other end acknowledged.
    pub sent_bytes_per_s: u64,
    /// Bytes a second received.
    pub received_bytes_per_s: u64,
    /// Share of time with something to send or to be acknowledged; mean of the connections.
    pub busy: f32,
    /// Of the time, in which the other end's window let nothing out.
    pub window_limited: f32,
    /// Of the time, in which the send buffer was too small.
    pub buffer_limited: f32,
    /// Segments sent again.
    pub retransmits: u64,
    /// Segments sent.
    pub segments_sent: u64,
    /// Segments that arrived out of order: what was lost on the way here, or overtaken.
    pub out_of_order: u64,
    /// Segments received.
    pub segments_received: u64,
    /// Smoothed round-trip time of the connections, the mean, in microseconds. With small requests it holds the time until the
    /// other end's answer.
    pub rtt_us: u32,
    /// The least that any connection saw, in microseconds.
    pub min_rtt_us: u32,
    /// Round-trip time of the fastest of the echoes (ICMP) sent beside the load, in microseconds; absent where they are not allowed or
    /// not answered.
    pub echo_us: Option<u32>,
    /// Echoes that were sent.
    pub echoes: u32,
    /// Of these, echoes without an answer so far.
    pub echoes_lost: u32,
    /// The card that has this end's address; absent when unknown.
    #[serde(default)]
    pub card: Option<String>,
    /// Share of the connections whose rate was bounded by the path and not by the program, when this look was taken.
    #[serde(default)]
    pub path_limited: f32,
    /// Smallest segment size, in bytes; 0 when unknown.
    pub mss_bytes: u32,
    /// Largest window that another end offers, in bytes; 0 when unknown.
    pub peer_window_bytes: u32,
    /// Largest window that is offered to the other end, in bytes; 0 when unknown.
    pub own_window_bytes: u32,
    /// Arrived and not read by this process, the mean over connections, in bytes.
    pub unread_bytes: u32,
}

/// What this process had disks do (/proc/self/io, proc(5)): past the page cache as it happens, through it when pages are filled or
/// become dirty.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct OwnDisks {
    /// Bytes a second read.
    pub read_bytes_per_s: u64,
    /// Bytes a second written.
    pub written_bytes_per_s: u64,
}

/// A disk (the kernel's Documentation/admin-guide/iostats.rst).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct DiskSample {
    /// The kernel's name.
    pub name: String,
    /// Bytes a second read.
    pub read_bytes_per_s: u64,
    /// Bytes a second written.
    pub written_bytes_per_s: u64,
    /// Requests a second ended.
    pub requests_per_s: f32,
    /// Of these, reads.
    pub reads_per_s: f32,
    /// Of these, writes.
    pub writes_per_s: f32,
    /// Share of time with at least one request in it.
    pub busy: f32,
    /// Requests in it, the mean over time.
    pub queue: f32,
    /// A control group of this process limits its bandwidth or its operations.
    pub limited: bool,
    /// What these groups allow, the narrowest of each.
    pub quota: DiskQuota,
}

/// One of this process's workers (`/proc/self/task/*/schedstat`).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct WorkerSample {
    /// Number of the worker, from 0.
    pub worker: u32,
    /// Share of time that it ran.
    pub ran: f32,
    /// Share of time that it was runnable and waited for a core.
    pub waited: f32,
}
