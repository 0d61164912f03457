//! Is the target the limit, or were too few operations in flight to tell?

use super::client::{self, FULL};
use super::evidence::{Disk, Host, ObservedLoad, Path, TargetMedium};
use super::finding::{Bound, Cause, Confidence, Found};
use super::words::{part_of, percent, time};
use super::{foreign, loss, network};

/// Lanes are in use when, by Little's law, this share of them is busy.
pub(super) const LANES_USED: f64 = 0.8;
/// A lower concurrency than this says little about a target: arrays serve dozens of operations at once.
pub(super) const FEW_LANES: f64 = 4.0;
/// If the network accounts for more than this share of the latency, more concurrency brings more throughput.
pub(super) const MOSTLY_ROUND_TRIP: f64 = 0.5;
/// A rate is kept when this share of it was achieved.
pub(super) const RATE_KEPT: f64 = 0.98;
/// A control group's limit on a disk holds back when this share of it was used: it is granted in slices, some of which
/// go unused.
pub(super) const QUOTA_USED: f64 = 0.85;
/// On paths longer than this, in seconds, senders may fill a link without a standing queue.
const LONG_PATH_S: f64 = 0.001;
/// What only a probe could tell.
pub(super) const MORE_WOULD_TELL: &str =
    "more lanes would show whether the target is saturated or just has this latency";
/// Acceptable share of failed operations.
const FAILED: f64 = 0.01;

/// Cases in which nothing can be said or nothing needs saying: checked before all other rules.
pub(super) fn first(load: &ObservedLoad) -> Option<Found> {
    let found = |bound, cause, why: String, next| Some(Found::new(bound, cause, Confidence::High, why, next));
    if load.failed > FAILED {
        let why = format!("{} of the operations failed", percent(load.failed));
        return found(
            Bound::Unclear,
            Cause::Errors,
            why,
            "look at the errors first: they dominate the figures",
        );
    }
    if load.ops_per_s <= 0.0 {
        let why = "no operation ended well".to_owned();
        return found(Bound::Unclear, Cause::Errors, why, "look at the errors, or measure longer");
    }
    let offered = load.offered_ops_per_s?;
    if load.ops_per_s >= offered * RATE_KEPT && load.not_started <= 1.0 - RATE_KEPT {
        let why = format!("the rate asked for ({offered:.0} op/s) was kept");
        let next = "to find the limit, use a higher rate or none (closed loop)";
        return found(Bound::None, Cause::Rate, why, next).map(|found| found.share(load.ops_per_s / offered));
    }
    None
}

/// What is left when neither the client nor the network is full.
pub(super) fn limit(host: &Host) -> Found {
    let load = &host.load;
    paced(load)
        .or_else(|| client::of_nothing(host))
        .or_else(|| idle(load))
        .or_else(|| disk(host))
        .or_else(|| not_taken(host))
        .or_else(|| depth(host))
        .unwrap_or_else(|| service(host))
}

/// Mean number of operations in flight (Little's law).
pub(super) fn in_use(load: &ObservedLoad) -> f64 {
    load.ops_per_s * load.latency_s
}

/// States how many lanes were in use, if not all were and only the load decides when operations begin.
fn lanes_idle(load: &ObservedLoad) -> Option<String> {
    let idle = load.offered_ops_per_s.is_none() && load.lanes > 0.0 && !all_in_use(load);
    idle.then(|| format!("{:.1} of {:.0} lanes were in use", in_use(load), load.lanes))
}

/// By Little's law, nearly all lanes are busy.
fn all_in_use(load: &ObservedLoad) -> bool {
    in_use(load) >= LANES_USED * load.lanes
}

fn paced(load: &ObservedLoad) -> Option<Found> {
    let why = lanes_idle(load).filter(|_| load.paced)?;
    let why = format!("{why}: the workload pauses by itself");
    let next = "to find the limit, remove the pauses or the rate from the workload";
    Some(Found::new(Bound::None, Cause::Paced, Confidence::High, why, next))
}

fn idle(load: &ObservedLoad) -> Option<Found> {
    let why = format!("{}, and nothing else was full", lanes_idle(load)?);
    let next = "measure longer, and look at the intervals for pauses";
    Some(Found::new(Bound::Unclear, Cause::Nothing, Confidence::Low, why, next))
}

/// A disk of this host that serves this load.
fn disk(host: &Host) -> Option<Found> {
    if host.load.kind != TargetMedium::Local {
        return None;
    }
    let carries = |disk: &&Disk| {
        disk.bytes_per_s >= 0.5 * host.load.bytes_per_s || disk.requests_per_s >= 0.5 * host.load.ops_per_s
    };
    let used = |disk: &Disk| quota_used(host, disk).map_or(0.0, |(used, _)| used);
    let carrying = || host.disks.iter().filter(carries);
    if let Some(disk) = carrying().max_by(|a, b| used(a).total_cmp(&used(b)))
        && let Some((share, what)) = quota_used(host, disk).filter(|(share, _)| *share >= QUOTA_USED)
    {
        let why = format!(
            "a control group allows {what} on {} (io.max, blkio.throttle), and {} of that was used",
            disk.name,
            percent(share)
        );
        let next = "raise or remove the control group's disk limit";
        let found = Found::new(Bound::Target, Cause::DiskQuota, Confidence::Medium, why, next);
        return Some(found.at(disk.name.clone()).share(share.min(1.0)));
    }
    if let Some(found) = foreign::disk(host) {
        return Some(found);
    }
    let known = foreign::disk_of(host).map(|(disk, _)| disk).filter(carries);
    let disk = known.or_else(|| carrying().max_by(|a, b| a.busy.total_cmp(&b.busy)))?;
    if disk.busy < FULL {
        return None;
    }
    let mut why =
        format!("{} was {} busy with {:.1} requests at once", disk.name, percent(disk.busy), disk.queue);
    // Anything beyond what the load requested may come from the file system or from others.
    let asked = host.load.bytes_per_s + host.beside.disk_read + host.beside.disk_written;
    let more = disk.bytes_per_s > 2.0 * asked;
    if more {
        let moved = part_of(disk.bytes_per_s - asked, disk.bytes_per_s);
        why = format!("{why}; {moved} are the file system's work or that of other programs");
    }
    let few = host.load.lanes + host.beside.requests <= FEW_LANES;
    if few {
        why = format!(
            "{why}: with {:.0} at most it is busy whenever one is under way, and more may be served at once",
            host.load.lanes
        );
    }
    // A device that serves many requests at once may be busy all the time and still have capacity left.
    let filled = disk.queue >= 0.5 * host.load.lanes;
    let confidence = if filled && !more && !few { Confidence::High } else { Confidence::Medium };
    let next = "a faster disk or more of them; or other block sizes and more lanes";
    let found = Found::new(Bound::Target, Cause::Disk, confidence, why, next);
    Some(found.at(disk.name.clone()).share(disk.busy))
}

/// How much of a control group's disk limit was used in the directions of the load, and which limit; of several, the
/// most used.
pub(super) fn quota_used(host: &Host, disk: &Disk) -> Option<(f64, String)> {
    let load = &host.load;
    let unknown = load.read_bytes_per_s + load.written_bytes_per_s <= 0.0;
    let (reads, writes) = (unknown || load.read_bytes_per_s > 0.0, unknown || load.written_bytes_per_s > 0.0);
    // This program's limit does not cover what others do on the disk.
    let shared = foreign::on_disk(host).is_some_and(|foreign| foreign.place == disk.name);
    let (own_read, own_written) = foreign::own_disk_bytes(host);
    let bytes = |seen: f64, own: f64| if shared { seen.min(own) } else { seen };
    let ops = |seen: f64| if shared { seen.min(load.ops_per_s) } else { seen };
    let rate = |limit: u64| units::ByteRate(limit as f64).to_string();
    let quota = &disk.quota;
    let each = [
        (reads, quota.read_bytes, bytes(disk.read_bytes_per_s, own_read), "read"),
        (writes, quota.written_bytes, bytes(disk.written_bytes_per_s, own_written), "written"),
        (reads, quota.reads, ops(disk.reads_per_s), "reads/s"),
        (writes, quota.writes, ops(disk.writes_per_s), "writes/s"),
    ];
    let used = each.into_iter().filter(|(loads, ..)| *loads).filter_map(|(_, limit, seen, what)| {
        let limit = limit.filter(|limit| *limit > 0)?;
        let words = match what {
            "read" | "written" => format!("{} {what}", rate(limit)),
            _ => format!("{limit} {what}"),
        };
        Some((seen / limit as f64, words))
    });
    used.max_by(|a, b| a.0.total_cmp(&b.0))
}

/// The kernel's own account of why a sender paused (tcpi_rwnd_limited): the program on the other side does not read.
fn not_taken(host: &Host) -> Option<Found> {
    let path = main_path(host)?;
    if !path.sends() || path.window_limited < 0.5 {
        return None;
    }
    let why = format!(
        "its window was closed {} of the time: it reads data more slowly than it arrives",
        percent(path.window_limited)
    );
    // On a long path, too small a window also counts as closed.
    let (confidence, why) = match network::window_filled(path) >= network::WINDOW_USED {
        true => {
            let (window, trip) = (units::Size(path.peer_window as u64).rounded(), time(path.least_rtt_s));
            (
                Confidence::Medium,
                format!("{why}, or its window of {window} is too small for a round trip of {trip}"),
            )
        }
        false => (Confidence::High, why),
    };
    let next = "look at the target: its processors, its disks, its own limits";
    Some(Found::new(Bound::Target, Cause::NotTaken, confidence, why, next).share(path.window_limited))
}

fn main_path(host: &Host) -> Option<&Path> {
    host.paths.iter().max_by(|a, b| a.rate().total_cmp(&b.rate()))
}

/// Round-trip time to the target, as measured under this load.
pub(super) fn round_trip_s(path: &Path) -> f64 {
    path.echo_s.unwrap_or(path.least_rtt_s)
}

fn depth(host: &Host) -> Option<Found> {
    let load = &host.load;
    // If a rate is not kept, lanes are too few when all of them are in use.
    if load.lanes <= 0.0 || load.offered_ops_per_s.is_some() && !all_in_use(load) {
        return None;
    }
    let many = load.lanes;
    let next = format!("more in flight: queue depth {:.0} and more, or more jobs", (many * 4.0).max(8.0));
    // An operation's time also includes waiting for a core.
    let short = client::short_of_time(host);
    let found = |confidence: Confidence, why: String| {
        let (confidence, why) = match &short {
            Some(short) => (confidence.min(Confidence::Medium), format!("{why}; {short}")),
            None => (confidence, why),
        };
        Found::new(Bound::Tool, Cause::Depth, confidence, why, &next).share(in_use(load) / many)
    };
    let trip = main_path(host).map(round_trip_s).filter(|trip| *trip > 0.0 && load.latency_s > 0.0);
    if let Some(trip) = trip.filter(|trip| trip / load.latency_s >= MOSTLY_ROUND_TRIP) {
        return Some(found(
            Confidence::High,
            format!(
                "{many:.0} operations in flight, each taking {}, of which {} is round-trip time",
                time(load.latency_s),
                time(trip)
            ),
        ));
    }
    (many <= FEW_LANES).then(|| {
        let confidence = if many <= 1.0 { Confidence::High } else { Confidence::Medium };
        found(
            confidence,
            format!(
                "only {many:.0} {} in flight at {} each: at most {:.0} op/s{}",
                if many <= 1.0 { "operation" } else { "operations" },
                time(load.latency_s),
                many / load.latency_s,
                if short.is_none() && host.busy < client::ALL_FULL { ", and nothing is full" } else { "" }
            ),
        )
    })
}

/// By elimination: client and network have capacity left, and all lanes wait for answers.
fn service(host: &Host) -> Found {
    let load = &host.load;
    let path = main_path(host);
    if let Some(path) = path.filter(|path| load.kind == TargetMedium::Network && network::hidden(path)) {
        let why = format!(
            "operations take {}; their acknowledgements {}, and {} at best: whether packets wait on the way or the target \
             answers late cannot be told without echoes",
            time(load.latency_s),
            time(path.rtt_s),
            time(path.least_rtt_s)
        );
        let next = "allow this user to ping (net.ipv4.ping_group_range) and the target to reply; or measure the path \
                    with manometer network";
        return Found::new(Bound::Unclear, Cause::Nothing, Confidence::Low, why, next);
    }
    let why = format!("operations take {}{}; {}", time(load.latency_s), on_the_way(host), room(host));
    let known = load.kind == TargetMedium::Local || path.is_some_and(network::free);
    let doubtful = client::short_of_time(host).is_some() || path.is_some_and(hides_rate);
    // Only a test with more concurrency shows how much a target could do.
    let confidence = if known && !doubtful { Confidence::Medium } else { Confidence::Low };
    let next = "look at the target: its processors, disks and limits; try more lanes to see whether it can do more at once";
    Found::new(Bound::Target, Cause::Service, confidence, why, next)
}

/// The network's part of an operation's time.
fn on_the_way(host: &Host) -> String {
    let trip = main_path(host).map(round_trip_s).filter(|trip| *trip > 0.0);
    match (host.load.kind, trip) {
        (TargetMedium::Network, Some(trip)) => format!(", of which {} is round-trip time", time(trip)),
        _ => String::new(),
    }
}

/// Whether a path may be full without any sign at this end: readers see only queues.
fn hides_rate(path: &Path) -> bool {
    !path.sends() && path.least_rtt_s >= LONG_PATH_S
}

/// What is known to have capacity left, and what else may be the limit.
fn room(host: &Host) -> String {
    let load = &host.load;
    let path = main_path(host).filter(|_| load.kind == TargetMedium::Network);
    let short = client::short_of_time(host);
    let full = client::full_beside(host);
    let mut parts = Vec::new();
    let unseen = path.is_some_and(hides_rate);
    match (short.is_some() || full.is_some(), path.is_some_and(network::free) && !unseen) {
        (false, true) => parts.push("client and network have time left".to_owned()),
        (false, false) => parts.push("the client has time left".to_owned()),
        (true, true) => parts.push("the network has time left".to_owned()),
        (true, false) => {}
    }
    if unseen && path.is_some_and(network::free) {
        parts.push("no queue on the path".to_owned());
    }
    parts.extend(full);
    parts.extend(short.map(|short| format!("{short}, so the client may be part of it")));
    parts.extend(path.and_then(|path| loss::without_effect(load, path)));
    parts.push(MORE_WOULD_TELL.to_owned());
    if unseen {
        parts.push(
            "a path that is full without a queue (BBR, shallow buffers) looks the same to a reader"
                .to_owned(),
        );
    }
    parts.join("; ")
}
