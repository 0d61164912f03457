//! Is the load-generating host the limit? Each rule with its source.

use super::evidence::{Host, TargetMedium};
use super::finding::{Bound, Cause, Confidence, Found};
use super::words::percent;

/// A worker or a core that is busier than this is full: it could not do a tenth more.
pub(super) const FULL: f64 = 0.9;
/// All cores together are full from here on; the limit is higher because one of many may have a little left.
pub const ALL_FULL: f64 = 0.95;
/// A quota exhausted in more than this share of its periods holds the load back; an occasional burst does not.
pub(super) const THROTTLED: f64 = 0.1;
/// A core that loses more than this to other guests cannot be relied on.
pub(super) const STOLEN: f64 = 0.1;
/// A worker that waits for a core longer than this is held back by others.
pub(super) const WAITED: f64 = 0.25;
/// With all cores full, a worker that waits longer than this may be held back slightly.
const WAITED_SOME: f64 = 0.1;
/// A core that spends this much of its time on packets has no time for anything else.
pub(super) const SOFTIRQ: f64 = 0.7;
/// More than this share of time without memory (the kernel's PSI: all tasks stalled).
pub(super) const STALLED: f64 = 0.1;

/// A thread that runs or waits for a core for less than this share of the time waits for something else; how full the
/// cores are does not matter then.
const WANTED: f64 = 0.7;
/// Or this much of a core goes to packets.
const PACKETS: f64 = 0.3;

/// The load wants more of the cores than may be left. By the kernel's account, a sender whose peer accepts nothing does
/// not.
pub(super) fn wants_cores(host: &Host) -> bool {
    if host.paths.iter().any(|path| path.sends() && path.window_limited >= 0.5) {
        return false;
    }
    // Packets can only be this load's if it uses the network.
    let network = host.load.kind == TargetMedium::Network;
    wanted(host) >= WANTED || network && host.softirq_core.softirq >= PACKETS
}

/// The share of time that a worker ran or waited for a core.
fn wanted(host: &Host) -> f64 {
    host.ran.max(host.ran_while_waiting + host.waited)
}

/// The first rule that applies.
pub(super) fn limit(host: &Host) -> Option<Found> {
    quota(host)
        .or_else(|| steal(host))
        .or_else(|| memory(host))
        .or_else(|| softirq(host))
        .or_else(|| worker(host))
        .or_else(|| others(host))
        .or_else(|| cores(host))
        .or_else(|| unread(host))
        .or_else(|| buffer(host))
        .or_else(|| ceiling(host))
}

fn found(cause: Cause, confidence: Confidence, why: String, next: &str) -> Option<Found> {
    Some(Found::new(Bound::Client, cause, confidence, why, next))
}

/// `nr_throttled` counts periods in which the quota ran out (the kernel's Documentation/scheduler/sched-bwc.rst).
fn quota(host: &Host) -> Option<Found> {
    let cores = host.quota_cores?;
    // A parent group may be throttled by its other children: this program must have wanted more as well.
    let wanted = host.own_cores >= 0.5 * cores || host.waited >= WAITED;
    if host.throttled_periods < THROTTLED || !wanted {
        return None;
    }
    let why = format!(
        "a control group allows this program {cores:.2} cores, and it used them up in {} of the periods",
        percent(host.throttled_periods)
    );
    let next =
        "raise the control group's processor quota (cpu.max, cpu.cfs_quota_us; a container's CPU limit)";
    found(Cause::CpuQuota, Confidence::High, why, next).map(|found| found.share(host.throttled_periods))
}

/// Steal in /proc/stat: the hypervisor ran another guest.
fn steal(host: &Host) -> Option<Found> {
    if host.steal < STOLEN || host.busy < FULL || !wants_cores(host) {
        return None;
    }
    let why = format!("the hypervisor gave {} of a core to other machines", percent(host.steal));
    found(Cause::Steal, Confidence::Medium, why, "use a machine that shares its cores with nobody")
        .map(|found| found.share(host.steal))
}

/// A worker is one thread: it can use one core.
fn worker(host: &Host) -> Option<Found> {
    if host.ran < FULL {
        return None;
    }
    let free = host.cores * (1.0 - host.busy);
    let why = format!("a worker used {} of a core, the most that one thread can use", percent(host.ran));
    let next = match free >= 0.5 {
        true => format!("more jobs (workers): {free:.1} cores are free"),
        false => "more hosts, or a host with more cores: no core is free here".to_owned(),
    };
    let cause = if free >= 0.5 || host.workers <= 1 { Cause::WorkerFull } else { Cause::CoresFull };
    found(cause, Confidence::High, why, &next)
        .map(|found| found.at(format!("core {}", host.busiest_core.number)).share(host.ran))
}

/// CPU time used by programs outside this run, in cores.
fn others_cores(host: &Host) -> f64 {
    (host.busy * host.cores - host.own_cores - host.beside.cores).max(0.0)
}

/// Mentions the target if it is one of the other programs.
fn with_target(host: &Host) -> &'static str {
    let here = host.load.kind == TargetMedium::Network && host.paths.iter().any(super::network::stays_here);
    if here { " (the target is one of them: it is on this machine)" } else { "" }
}

/// Evidence that the workers did not get all the CPU time they wanted; `None` if they did. Cores filled by other
/// programs hold nothing back as long as the workers get theirs.
pub(super) fn short_of_time(host: &Host) -> Option<String> {
    let waited = format!("a worker waited for a core {} of the time", percent(host.waited));
    let full = host.busy >= ALL_FULL;
    match (host.waited >= WAITED, full && host.waited >= WAITED_SOME) {
        (_, true) => Some(format!("{waited} and all cores were {} busy", percent(host.busy))),
        (true, false) => Some(waited),
        (false, false) => None,
    }
}

/// States that all cores were full without affecting the workers.
pub(super) fn full_beside(host: &Host) -> Option<String> {
    let beside = host.busy >= ALL_FULL && short_of_time(host).is_none();
    beside.then(|| {
        let (busy, waited) = (percent(host.busy), percent(host.waited));
        format!("all cores were {busy} busy, but workers waited for one for {waited} of the time at most")
    })
}

/// A null target is no limit: if it is not the cores, it is the path to them.
pub(super) fn of_nothing(host: &Host) -> Option<Found> {
    if host.load.kind != TargetMedium::Nothing {
        return None;
    }
    let short = short_of_time(host).map_or_else(String::new, |short| format!("; {short}"));
    let why = format!("the target does no work: the whole cost of an operation is this host's{short}");
    let cause = if short.is_empty() { Cause::WorkerFull } else { Cause::CoresFull };
    found(cause, Confidence::Medium, why, "more jobs (workers), more hosts, or a host with more cores")
}

/// Time on the run queue (second field of schedstat): the worker was runnable but had no core.
fn others(host: &Host) -> Option<Found> {
    let wanted = host.ran_while_waiting + host.waited;
    let theirs = others_cores(host);
    if host.waited < WAITED
        || wanted < 0.8
        || !wants_cores(host)
        || theirs < (host.own_cores + host.beside.cores) * 0.5
    {
        return None;
    }
    let why = format!(
        "a worker waited for a core {} of the time while other programs{} used {theirs:.1} cores",
        percent(host.waited),
        with_target(host)
    );
    let next = "stop other programs on this host, or use dedicated hosts for the load";
    found(Cause::OtherPrograms, Confidence::High, why, next).map(|found| found.share(host.waited))
}

/// No core has time left, whichever thread used it.
fn cores(host: &Host) -> Option<Found> {
    if host.busy < ALL_FULL || !wants_cores(host) {
        return None;
    }
    let theirs = others_cores(host);
    let own = host.own_cores + host.beside.cores;
    // Packets are handled before programs: other programs do not slow them down while workers get their cores.
    let pressed = wanted(host) >= WANTED || host.waited >= WAITED_SOME;
    if !pressed && theirs > own {
        return None;
    }
    let why = format!("all {:.0} cores were {} busy", host.cores, percent(host.busy));
    if theirs > own && host.waited >= WAITED_SOME {
        let why = format!("{why}, {theirs:.1} of them with other programs{}", with_target(host));
        let next = "stop other programs on this host, or use dedicated hosts for the load";
        return found(Cause::OtherPrograms, Confidence::Medium, why, next);
    }
    let confidence = if own * 2.0 >= host.cores { Confidence::High } else { Confidence::Medium };
    found(Cause::CoresFull, confidence, why, "more hosts, or a host with more cores")
        .map(|found| found.share(host.busy))
}

/// One core handles the packets of one NIC queue.
fn softirq(host: &Host) -> Option<Found> {
    let core = host.softirq_core;
    if core.softirq < SOFTIRQ || core.busy < ALL_FULL || host.busy >= ALL_FULL {
        return None;
    }
    let why = format!("core {} spent {} of its time on packets", core.number, percent(core.softirq));
    let next = "spread the card's packets over more cores: receive side scaling, interrupt affinity, more connections";
    found(Cause::SoftirqCore, Confidence::High, why, next)
        .map(|found| found.at(format!("core {}", core.number)).share(core.softirq))
}

fn memory(host: &Host) -> Option<Found> {
    if host.memory_full < STALLED {
        return None;
    }
    let why = format!("everything waited for memory {} of the time", percent(host.memory_full));
    let next = "free memory on this host, or ask for fewer lanes and smaller blocks";
    found(Cause::Memory, Confidence::High, why, next).map(|found| found.share(host.memory_full))
}

/// Once data has arrived in the kernel, network and target have done their work.
fn unread(host: &Host) -> Option<Found> {
    let path = host
        .paths
        .iter()
        .filter(|path| path.own_window > 0.0)
        .max_by(|a, b| a.received.total_cmp(&b.received))?;
    // A small window fills between two reads of any program.
    if path.own_window < 256.0 * 1024.0 || path.unread < 0.5 * path.own_window || path.sends() {
        return None;
    }
    let why = format!(
        "{} per connection waited unread: data arrived faster than it was read",
        units::Size(path.unread as u64).rounded()
    );
    // If the workers sleep meanwhile, they wait for the rest of their data and are not slow to take it.
    let (confidence, why) = match wants_cores(host) {
        true => (Confidence::Medium, why),
        false => (Confidence::Low, format!("{why}, although the workers had time left")),
    };
    found(Cause::Unread, confidence, why, "more jobs (workers), or reads with sink: discard")
}

/// The kernel's own account of why a sender paused (tcpi_sndbuf_limited).
fn buffer(host: &Host) -> Option<Found> {
    let path = host.paths.iter().max_by(|a, b| a.sent.total_cmp(&b.sent))?;
    if path.buffer_limited < 0.5 || !path.sends() {
        return None;
    }
    let why = format!("the send buffer was too small {} of the time", percent(path.buffer_limited));
    found(
        Cause::SendBuffer,
        Confidence::High,
        why,
        "raise net.ipv4.tcp_wmem on this host, or use more connections",
    )
    .map(|found| found.share(path.buffer_limited).at(path.name.clone()))
}

/// The maximum found by a test of this host alone.
fn ceiling(host: &Host) -> Option<Found> {
    let share = host.load.bytes_per_s / host.ceiling_bytes_per_s.filter(|most| *most > 0.0)?;
    if share < FULL {
        return None;
    }
    let why = format!("this host made {} of its calibrated limit", percent(share));
    found(Cause::Ceiling, Confidence::Medium, why, "more hosts").map(|found| found.share(share))
}
