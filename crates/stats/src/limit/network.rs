//! Is the network between host and target the limit? Each rule with its source.

use super::baseline;
use super::client;
use super::evidence::{Card, Host, Path};
use super::finding::{Bound, Cause, Confidence, Found};
use super::target::round_trip_s;
use super::words::{part_of, percent, time};
use super::{foreign, loss};

/// A NIC is full from here on, headers included: the rest goes to gaps and preambles between packets.
pub(super) const CARD_FULL: f64 = 0.9;
/// Packets queue on a path whose round trip takes this many times the minimum and exceeds it by [`GROWN_BY_S`]. The
/// second condition keeps late interrupts on short paths from looking like a queue.
pub(super) const GROWN: f64 = 3.0;
/// Minimum increase, in seconds.
pub(super) const GROWN_BY_S: f64 = 0.0015;
/// An increase below this, in seconds, is no sign of a queue.
const LITTLE_S: f64 = 0.0003;
/// A sender with data to send for less than this share of the time is not held back by the path.
pub(super) const BUSY: f64 = 0.7;
/// A path is lossy from this share of retransmitted segments on, for warnings and verdict alike: above it TCP no longer
/// fills a path (Mathis et al., 1997: the rate falls with the square root of the loss).
pub const LOSSY: f64 = 0.002;
/// The threshold for small segments: the same rate takes more of them and tolerates less loss (by the same source, the
/// loss that a rate tolerates grows with the square of the segment size).
const LOSSY_WHEN_SMALL: f64 = 0.001;
/// Below this share of out-of-order segments, nothing that counts was lost: one missing segment puts many behind it out of
/// order, whereas a host that moves a receiver between cores reorders a few in a thousand without loss.
const DISORDERLY: f64 = 0.01;
/// Assumed segment size when unknown, in bytes.
const USUAL_SEGMENT: f64 = 1448.0;
/// With fewer segments than this, shares mean nothing.
const ENOUGH_SEGMENTS: u64 = 500;
/// A path is slow if it carries less than this share of what the others carry.
pub(super) const SLOW: f64 = 0.5;
/// A window is the limit when the data in flight fills this share of it.
pub(super) const WINDOW_USED: f64 = 0.5;
/// Segments smaller than this are neither Ethernet's usual 1448 bytes nor what a tunnel leaves of them.
pub(super) const SMALL: u32 = 1300;
/// A window that never grew beyond this is small; the kernel enlarges it automatically while programs read.
const SMALL_WINDOW: f64 = 256.0 * 1024.0;
/// A window of this size is filled by a few segments.
const TINY_WINDOW: f64 = 32.0 * 1024.0;
/// A larger window is the limit when the data in flight fills this share of it all the time: the kernel of a target
/// that reads promptly enlarges it to twice the data in flight.
const LARGE_WINDOW_USED: f64 = 0.8;
/// Of what a full NIC carries, the load accounts for more than this share if it fills the NIC alone: headers are the
/// rest.
const OWN: f64 = 0.75;
/// Window and buffer do not hold a sender back if they block it for less than this share of the time.
const SELDOM: f64 = 0.2;
/// If a window is full for this share of the time, nothing else can be the limit.
const CLOSED: f64 = 0.8;

fn found(cause: Cause, confidence: Confidence, why: String, next: &str) -> Option<Found> {
    Some(Found::new(Bound::Network, cause, confidence, why, next))
}

/// NICs come before the client's cores, which may be full because the NIC is. The direction of the load counts, where
/// it is known.
pub(super) fn card(host: &Host) -> Option<Found> {
    let seen = |card: &Card| foreign::on_its_way(host, card).map_or(card.bytes_per_s, |(seen, _)| seen);
    let share = |card: &&Card| seen(card) / card.speed.unwrap_or(f64::INFINITY);
    let card = host.cards.iter().max_by(|a, b| share(a).total_cmp(&share(b)))?;
    let used = share(&card);
    if used < CARD_FULL {
        return None;
    }
    if let Some(foreign) = foreign::on_card(host, card) {
        return Some(foreign.found(used, &format!("carried {} of its line rate", percent(used))));
    }
    let why = format!("{} carried {} of its line rate", card.name, percent(used));
    // If between half and all of it is this load's, this load and others fill it together.
    let (confidence, why) = match foreign::on_its_way(host, card).filter(|(seen, own)| *own < OWN * seen) {
        Some((seen, own)) => {
            let theirs = part_of(seen - own, seen);
            (Confidence::Medium, format!("{why}; {theirs} are headers, retransmits or other programs' load"))
        }
        None => (Confidence::High, why),
    };
    found(Cause::LineRate, confidence, why, "more hosts, more cards, or faster ones")
        .map(|found| found.at(card.name.clone()).share(used))
}

/// Packets so small that processing them takes the time: checked before the cores, which they fill.
pub(super) fn small_packets(host: &Host) -> Option<Found> {
    let path = busiest(host)?;
    if path.mss_bytes == 0 || path.mss_bytes >= SMALL {
        return None;
    }
    let why = |what: &str| format!("segments of {} bytes where 1448 are usual, and {what}", path.mss_bytes);
    let next = "look for the interface or switch port with the small MTU on this path";
    let full = host.busy >= client::FULL && client::wants_cores(host) || host.ran >= client::FULL;
    if full {
        let what = format!("cores {} busy with {} packets/s", percent(host.busy), packets(host));
        return found(Cause::SmallPackets, Confidence::Medium, why(&what), next)
            .map(|found| found.at(path.name.clone()));
    }
    let what = format!("the path at its limit ({})", queue(path).map_or_else(String::new, |(_, why)| why));
    if queue(path).is_none() {
        // So many packets that some are dropped on the way: with segments this small, slight reordering is sufficient
        // evidence.
        let lost = lost(path, LOSSY_WHEN_SMALL)?;
        let what = format!("{} of {} packets/s lost", percent(lost), packets(host));
        return found(Cause::SmallPackets, Confidence::Medium, why(&what), next)
            .map(|found| found.at(path.name.clone()));
    }
    found(Cause::SmallPackets, Confidence::Medium, why(&what), next).map(|found| found.at(path.name.clone()))
}

fn packets(host: &Host) -> String {
    format!("{:.0}", host.cards.iter().map(|card| card.packets_per_s).fold(0.0, f64::max))
}

/// The remaining rules, once the client is known to have time left.
pub(super) fn limit(host: &Host) -> Option<Found> {
    slow_path(host)
        .or_else(|| window(host))
        .or_else(|| rate(host))
        .or_else(|| loss::limit(host))
        .or_else(|| without_queue(host))
        .or_else(|| baseline::limit(host))
}

/// Whether both ends of a path are this machine.
pub(super) fn stays_here(path: &Path) -> bool {
    !path.own.is_empty() && path.own == path.name || path.name.starts_with("127.") || path.name == "::1"
}

/// Whether a path's traffic goes over the loopback interface.
pub(super) fn over_loopback(host: &Host, path: &Path) -> bool {
    let elsewhere = host.cards.iter().filter(|card| !card.loopback);
    let loopback = elsewhere.clone().all(|card| card.bytes_per_s * 2.0 < path.rate());
    stays_here(path) || loopback && host.cards.iter().any(|card| card.loopback)
}

pub(super) fn busiest(host: &Host) -> Option<&Path> {
    host.paths.iter().max_by(|a, b| a.rate().total_cmp(&b.rate()))
}

/// Whether packets queue on the path: how sure that is, and in words. Echoes are better evidence than a connection's
/// own RTT, which includes the wait for an answer where requests are small.
pub(super) fn queue(path: &Path) -> Option<(Confidence, String)> {
    let least = time(path.least_rtt_s);
    match path.echo_s {
        Some(echo) => grown(path, echo)
            .then(|| (Confidence::High, format!("round trip {} under load, {least} without", time(echo)))),
        // Sent data is acknowledged at once, so the RTT is the path's.
        None => (path.sends() && path.busy >= BUSY && grown(path, path.rtt_s)).then(|| {
            (Confidence::Medium, format!("round trip {} under load, {least} without", time(path.rtt_s)))
        }),
    }
}

/// Whether acknowledgements are late on a path and nothing tells whether they are delayed by the network or by the
/// target's answer, which carries them.
pub(super) fn hidden(path: &Path) -> bool {
    path.echo_s.is_none() && !path.sends() && path.least_rtt_s > 0.0 && grown(path, path.rtt_s)
}

/// Whether echoes show that no packets queue; even a short queue would be visible.
pub(super) fn free(path: &Path) -> bool {
    let least = path.least_rtt_s;
    path.echo_s.is_some_and(|echo| echo < least * GROWN || echo - least < LITTLE_S)
}

fn grown(path: &Path, now_s: f64) -> bool {
    now_s >= path.least_rtt_s * GROWN && now_s - path.least_rtt_s >= GROWN_BY_S
}

/// One path far slower than others with the same role.
fn slow_path(host: &Host) -> Option<Found> {
    let each = |path: &Path| path.rate() / path.connections.max(1.0);
    let mut paths: Vec<&Path> = host.paths.iter().filter(|path| path.connections > 0.0).collect();
    if paths.len() < 2 {
        return None;
    }
    paths.sort_by(|a, b| each(a).total_cmp(&each(b)));
    let slow = paths[0];
    let middle = each(paths[(paths.len() - 1) / 2 + 1]);
    if each(slow) >= SLOW * middle {
        return None;
    }
    // Less may also be requested of a slow path: then nothing is wrong with it.
    let sign = match (queue(slow), lossy(slow)) {
        (Some((_, words)), _) => words,
        (None, Some(share)) => format!("{} of its segments lost", percent(share)),
        (None, None) if slow.sends() && slow.busy >= BUSY => "always with data to send".to_owned(),
        (None, None) => return None,
    };
    let why = format!(
        "the path to {} carried {}, the others {} each ({sign})",
        slow.name,
        units::ByteRate(slow.rate()),
        units::ByteRate(middle * slow.connections.max(1.0))
    );
    found(
        Cause::SlowPath,
        Confidence::High,
        why,
        "compare cables, ports and routes of this path with the others'",
    )
    .map(|found| found.at(slow.name.clone()).share(each(slow) / middle))
}

/// A window so small that data leaves in small pieces, and that is nearly always full: checked before the cores, which
/// those pieces fill.
pub(super) fn closed_window(host: &Host) -> Option<Found> {
    let path = busiest(host)?;
    let closed = path.sends() && path.window_limited >= CLOSED && path.peer_window < TINY_WINDOW;
    if closed { window(host) } else { None }
}

/// Share of a receiver's window that one round trip carries; 0 if the window is unknown.
pub(super) fn window_filled(path: &Path) -> f64 {
    let window = if path.sends() { path.peer_window } else { path.own_window };
    let carried = path.rate() / path.connections.max(1.0) * path.least_rtt_s;
    if window > 0.0 { carried / window } else { 0.0 }
}

/// A window lets through at most its size per round trip.
fn window(host: &Host) -> Option<Found> {
    let path = busiest(host)?;
    let filled = window_filled(path);
    let found = |why: String, next, share| {
        found(Cause::Window, Confidence::High, why, next)
            .map(|found| found.at(path.name.clone()).share(share))
    };
    if path.sends() {
        // The kernel counts a window as closed only while no segment fits: one that opens in small steps hardly ever
        // is.
        let closed = path.window_limited >= 0.5;
        let small = path.peer_window < SMALL_WINDOW && (closed || filled >= WINDOW_USED);
        let large = path.busy >= BUSY && filled >= LARGE_WINDOW_USED;
        if path.peer_window == 0.0 || !(small || large) {
            return None;
        }
        let window = units::Size(path.peer_window as u64).rounded();
        let why = match closed {
            true => format!(
                "the target offers a window of {window}, which was full {} of the time",
                percent(path.window_limited)
            ),
            false => format!(
                "the target offers a window of {window} a connection, of which a round trip of {} fills {}",
                time(path.least_rtt_s),
                percent(filled.min(1.0))
            ),
        };
        let next = "raise the receive buffer at the target (net.ipv4.tcp_rmem), or use more connections";
        return found(why, next, if closed { path.window_limited } else { filled });
    }
    if filled < WINDOW_USED {
        return None;
    }
    let why = format!(
        "this host offers a window of {} a connection, of which a round trip of {} fills {}",
        units::Size(path.own_window as u64).rounded(),
        time(path.least_rtt_s),
        percent(filled.min(1.0))
    );
    let next = "raise the receive buffer here (net.ipv4.tcp_rmem), or use more connections";
    found(why, next, filled)
}

/// Packets queue somewhere on the path: something there is full, whatever its rate.
fn rate(host: &Host) -> Option<Found> {
    let path = busiest(host)?;
    let (confidence, why) = queue(path)?;
    // Neither a sender that the other end holds back nor one with little to send causes a queue.
    if path.sends() && (path.busy < BUSY || path.window_limited >= 0.5) {
        return None;
    }
    let why = format!(
        "the path to {} carries no more than {}: {why}",
        path.name,
        units::ByteRate(path.rate()).as_bits()
    );
    let next = "look for a bottleneck link, a traffic shaper or a shared uplink on this path; `manometer network` measures it";
    found(Cause::PathRate, confidence, why, next).map(|found| found.at(path.name.clone()))
}

/// A sender that always has data to send, limited by neither window nor buffer nor program, sends as fast as congestion
/// control allows on this path. There is no queue with shallow buffers, or with BBR, which keeps none.
fn without_queue(host: &Host) -> Option<Found> {
    let path = busiest(host)?;
    let free = path.window_limited + path.buffer_limited < SELDOM;
    if !path.sends() || path.busy < BUSY || path.path_limited < BUSY || !free || over_loopback(host, path) {
        return None;
    }
    let why = format!(
        "the path to {} takes no more than {}: there was always data to send, and neither window nor send buffer held it back; \
         no queue was seen (BBR, or shallow buffers)",
        path.name,
        units::ByteRate(path.rate()).as_bits()
    );
    let next = "look for a bottleneck link, a traffic shaper or a shared uplink on this path; `manometer network` measures it";
    found(Cause::PathRate, Confidence::Medium, why, next).map(|found| found.at(path.name.clone()))
}

/// The loss visible at this end, and the threshold from which it counts.
pub(super) fn losses(path: &Path) -> (f64, f64) {
    if path.sends() { (path.resent, LOSSY) } else { (path.out_of_order, disorderly(path)) }
}

/// The share of out-of-order segments from which a path is as lossy as [`LOSSY`]. A lost segment arrives a round trip later at
/// the earliest, so everything that a connection receives meanwhile is out of order; with less, more was reordered than lost.
fn disorderly(path: &Path) -> f64 {
    let behind = path.rate() / path.connections.max(1.0) * round_trip_s(path) / segment_bytes(path);
    DISORDERLY.max(LOSSY * behind)
}

/// The size of a path's segments, or the usual one where it is unknown.
pub(super) fn segment_bytes(path: &Path) -> f64 {
    if path.mss_bytes > 0 { f64::from(path.mss_bytes) } else { USUAL_SEGMENT }
}

/// The share of lost segments, if it is significant.
pub(super) fn lossy(path: &Path) -> Option<f64> {
    lost(path, losses(path).1)
}

/// The share of lost segments, if it reaches `counts`.
fn lost(path: &Path, counts: f64) -> Option<f64> {
    let (lost, _) = losses(path);
    let echoes = if path.echoes_lost >= 0.01 { path.echoes_lost } else { 0.0 };
    let echoes = echoes.min(path.resent.max(path.out_of_order));
    let found = lost >= counts || echoes >= LOSSY;
    (path.segments >= ENOUGH_SEGMENTS && found).then(|| lost.max(echoes))
}
