//! Is it the target, or were there too few operations in flight to tell?

use super::client::FULL;
use super::evidence::{Disk, Host, ObservedLoad, Path, TargetMedium};
use super::finding::{Bound, Cause, Confidence, Found};
use super::network;
use super::words::{percent, time};

/// Lanes are in use when Little's law finds this share of them busy.
pub(super) const LANES_USED: f64 = 0.8;
/// Fewer operations at once than this say little of a target: arrays serve dozens.
pub(super) const FEW_LANES: f64 = 4.0;
/// More of the latency than this being the network's makes more at once the way to more.
pub(super) const MOSTLY_ROUND_TRIP: f64 = 0.5;
/// A rate is kept when this share of it was done.
pub(super) const RATE_KEPT: f64 = 0.98;
/// Up to this share may fail.
const FAILED: f64 = 0.01;

/// Nothing can be said, or there is nothing to say: before all other rules.
pub(super) fn first(load: &ObservedLoad) -> Option<Found> {
    let found = |bound, cause, why: String, next| Some(Found::new(bound, cause, Confidence::High, why, next));
    if load.failed > FAILED {
        let why = format!("{} of the operations failed", percent(load.failed));
        return found(Bound::Unclear, Cause::Errors, why, "look at the errors first: the figures are theirs");
    }
    if load.ops_per_s <= 0.0 {
        let why = "no operation ended well".to_owned();
        return found(Bound::Unclear, Cause::Errors, why, "look at the errors, or measure longer");
    }
    let offered = load.offered_ops_per_s?;
    if load.ops_per_s >= offered * RATE_KEPT && load.not_started <= 1.0 - RATE_KEPT {
        let why = format!("the rate asked for ({offered:.0} op/s) was kept");
        let next = "to find the limit, ask for a higher rate or for none (closed loop)";
        return found(Bound::None, Cause::Rate, why, next).map(|found| found.share(load.ops_per_s / offered));
    }
    None
}

/// What is left when neither the client nor the network is full.
pub(super) fn limit(host: &Host) -> Found {
    let load = &host.load;
    paced(load)
        .or_else(|| disk(host))
        .or_else(|| not_taken(host))
        .or_else(|| depth(host))
        .unwrap_or_else(|| service(host))
}

/// Mean number of operations in flight (Little's law).
pub(super) fn in_use(load: &ObservedLoad) -> f64 {
    load.ops_per_s * load.latency_s
}

fn paced(load: &ObservedLoad) -> Option<Found> {
    if load.offered_ops_per_s.is_some() || load.lanes <= 0.0 {
        return None;
    }
    let used = in_use(load) / load.lanes;
    if used >= LANES_USED {
        return None;
    }
    let why = format!("{:.1} of {:.0} lanes were in use", in_use(load), load.lanes);
    Some(match load.paced {
        true => Found::new(
            Bound::None,
            Cause::Paced,
            Confidence::High,
            format!("{why}: the workload pauses by itself"),
            "to find the limit, take the pauses or the rate out of the workload",
        ),
        false => Found::new(
            Bound::Unclear,
            Cause::Nothing,
            Confidence::Low,
            format!("{why}, and nothing else was full"),
            "measure longer, and look at the intervals for pauses",
        ),
    })
}

/// A disk of this host that carries this load.
fn disk(host: &Host) -> Option<Found> {
    if host.load.kind != TargetMedium::Local {
        return None;
    }
    let carries = |disk: &&Disk| {
        disk.bytes_per_s >= 0.5 * host.load.bytes_per_s || disk.requests_per_s >= 0.5 * host.load.ops_per_s
    };
    let disk = host.disks.iter().filter(carries).max_by(|a, b| {
        (a.limited, a.busy).partial_cmp(&(b.limited, b.busy)).unwrap_or(std::cmp::Ordering::Equal)
    })?;
    let found = |cause, confidence, why: String, next| {
        let found = Found::new(Bound::Target, cause, confidence, why, next);
        Some(found.at(disk.name.clone()).share(disk.busy))
    };
    if disk.limited {
        let why = format!("a control group limits what {} may do (io.max, blkio.throttle)", disk.name);
        return found(
            Cause::DiskQuota,
            Confidence::Medium,
            why,
            "raise or remove the control group's disk limit",
        );
    }
    if disk.busy < FULL {
        return None;
    }
    let why =
        format!("{} was {} busy with {:.1} requests at once", disk.name, percent(disk.busy), disk.queue);
    // A device that serves many at once may be busy all the time and still have room.
    let confidence = if disk.queue >= 0.5 * host.load.lanes { Confidence::High } else { Confidence::Medium };
    found(Cause::Disk, confidence, why, "a faster disk or more of them; or other block sizes and more lanes")
}

/// The kernel's own account of why a sender paused (tcpi_rwnd_limited): the other side's program does not read.
fn not_taken(host: &Host) -> Option<Found> {
    let path = main_path(host)?;
    if !path.sends() || path.window_limited < 0.5 {
        return None;
    }
    let why = format!(
        "its window was closed {} of the time: it does not take data as fast as it comes",
        percent(path.window_limited)
    );
    let next = "look at the target: its processors, its disks, its own limits";
    Some(Found::new(Bound::Target, Cause::NotTaken, Confidence::High, why, next).share(path.window_limited))
}

fn main_path(host: &Host) -> Option<&Path> {
    host.paths.iter().max_by(|a, b| a.rate().total_cmp(&b.rate()))
}

/// The time a packet needs to the target and back, as measured under this load.
pub(super) fn round_trip_s(path: &Path) -> f64 {
    path.echo_s.unwrap_or(path.least_rtt_s)
}

fn depth(host: &Host) -> Option<Found> {
    let load = &host.load;
    if load.offered_ops_per_s.is_some() || load.lanes <= 0.0 {
        return None;
    }
    let many = load.lanes;
    let next = format!("more in flight: queue depth {:.0} and more, or more jobs", (many * 4.0).max(8.0));
    let found = |confidence, why: String| {
        Found::new(Bound::Tool, Cause::Depth, confidence, why, &next).share(in_use(load) / many)
    };
    let trip = main_path(host).map(round_trip_s).filter(|trip| *trip > 0.0 && load.latency_s > 0.0);
    if let Some(trip) = trip.filter(|trip| trip / load.latency_s >= MOSTLY_ROUND_TRIP) {
        return Some(found(
            Confidence::High,
            format!(
                "{many:.0} operations at once, each of which takes {}, of that {} on the way there and back",
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
                "only {many:.0} {} at once, of {} each: that alone makes {:.0} op/s, and nothing is full",
                if many <= 1.0 { "operation" } else { "operations" },
                time(load.latency_s),
                many / load.latency_s
            ),
        )
    })
}

/// By elimination: the client has time left, the network too, and all lanes wait for answers.
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
        let next = "let this user send echoes (net.ipv4.ping_group_range) and the target answer them; or measure the path \
                    with manometer network";
        return Found::new(Bound::Unclear, Cause::Nothing, Confidence::Low, why, next);
    }
    let trip = path.map(round_trip_s).filter(|trip| *trip > 0.0);
    let why = match (load.kind, trip) {
        (TargetMedium::Network, Some(trip)) => format!(
            "operations take {}, of that {} on the way; client and network have time left",
            time(load.latency_s),
            time(trip)
        ),
        _ => format!("operations take {} while the client has time left", time(load.latency_s)),
    };
    let known = load.kind == TargetMedium::Local || path.is_some_and(network::free);
    let confidence = match (known, host.busy < 0.8) {
        (true, true) => Confidence::High,
        (true, false) | (false, true) => Confidence::Medium,
        (false, false) => Confidence::Low,
    };
    let next = "look at the target: its processors, disks and limits; try more lanes to see whether it can do more at once";
    Found::new(Bound::Target, Cause::Service, confidence, why, next)
}
