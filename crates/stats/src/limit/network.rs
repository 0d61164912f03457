//! Is what lies between host and target the limit? Each rule with its source.

use super::baseline;
use super::client;
use super::evidence::{Card, Host, Path};
use super::finding::{Bound, Cause, Confidence, Found};
use super::words::{part_of, percent, time};
use super::{foreign, loss};

/// A card is full from here on, headers included: what is left goes for gaps and preambles between packets.
pub(super) const CARD_FULL: f64 = 0.9;
/// Packets queue on a path whose round trip takes this many times the least, and this much longer in seconds. The second keeps
/// short paths apart from interrupts that come late.
pub(super) const GROWN: f64 = 3.0;
/// The much longer.
pub(super) const GROWN_BY_S: f64 = 0.0015;
/// A growth that is shorter than this, in seconds, is no sign of any queue.
const LITTLE_S: f64 = 0.0003;
/// A sender with something to send for less of the time than this is not held back by the path.
pub(super) const BUSY: f64 = 0.7;
/// From this share of segments sent again on, a path loses packets, for warnings as for the verdict: above it TCP no longer
/// fills a path (Mathis and others, 1997: the rate falls with the root of it).
pub const LOSSY: f64 = 0.002;
/// From this share on where segments are small: the same rate takes more of them, and falls with less loss (as Mathis and others say,
/// the loss that a rate bears goes with the square of the segments' size).
const LOSSY_WHEN_SMALL: f64 = 0.001;
/// Above this share of segments that came out of order some were lost: one that is missing puts many behind it out of order, and
/// a host that moves a receiver between its cores does so to a few in a thousand, with nothing lost.
const DISORDERLY: f64 = 0.01;
/// Fewer segments than this say nothing of shares.
const ENOUGH_SEGMENTS: u64 = 500;
/// A path with less than this share of what the others carry is slow.
pub(super) const SLOW: f64 = 0.5;
/// A window is the limit when what is under way fills this share of it.
pub(super) const WINDOW_USED: f64 = 0.5;
/// Smaller segments than these are not the usual 1448 of Ethernet, nor what a tunnel leaves of it.
pub(super) const SMALL: u32 = 1300;
/// A window that has never been wider than this is small; the kernel widens it by itself while programs read.
const SMALL_WINDOW: f64 = 256.0 * 1024.0;
/// And one that is filled by a few segments.
const TINY_WINDOW: f64 = 32.0 * 1024.0;
/// A larger window is the limit when what is under way fills this share of it all the time: a target that reads as it comes widens it
/// to twice of that.
const LARGE_WINDOW_USED: f64 = 0.8;
/// Of what a full card carries, more than this share is the load's, where it is full with it alone: headers take the rest.
const OWN: f64 = 0.75;
/// A sender is held back by neither window nor buffer when they do it for less of the time than this.
const SELDOM: f64 = 0.2;
/// A window that is full for this share of the time lets nothing else be the limit.
const CLOSED: f64 = 0.8;

fn found(cause: Cause, confidence: Confidence, why: String, next: &str) -> Option<Found> {
    Some(Found::new(Bound::Network, cause, confidence, why, next))
}

/// Cards: before the client's cores, which may be full because the card is. What counts is the direction of the load, where it is
/// known which that is.
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
    // Between all of it and half of it being this load's, it is full with both.
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

/// Packets so small that handling them takes the time: before the cores, which are full because of them.
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
        // This many packets that some are dropped on the way: with segments so small a little disorder is sign enough.
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

/// The rest, once the client is known to have time left.
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

/// Whether what a path carries goes over the loopback card.
pub(super) fn over_loopback(host: &Host, path: &Path) -> bool {
    let elsewhere = host.cards.iter().filter(|card| !card.loopback);
    let loopback = elsewhere.clone().all(|card| card.bytes_per_s * 2.0 < path.rate());
    stays_here(path) || loopback && host.cards.iter().any(|card| card.loopback)
}

pub(super) fn busiest(host: &Host) -> Option<&Path> {
    host.paths.iter().max_by(|a, b| a.rate().total_cmp(&b.rate()))
}

/// How much longer than it must a packet is under way: how sure that is, and in words. Echoes are better than a
/// connection's own time, which holds the wait for an answer where requests are small.
pub(super) fn queue(path: &Path) -> Option<(Confidence, String)> {
    let least = time(path.least_rtt_s);
    match path.echo_s {
        Some(echo) => grown(path, echo)
            .then(|| (Confidence::High, format!("round trip {} under load, {least} without", time(echo)))),
        // Data that is sent is acknowledged at once: the time is the path's.
        None => (path.sends() && path.busy >= BUSY && grown(path, path.rtt_s)).then(|| {
            (Confidence::Medium, format!("round trip {} under load, {least} without", time(path.rtt_s)))
        }),
    }
}

/// Whether acknowledgements come late on a path where nothing tells if they wait on the way or for the target's answer, which
/// carries them.
pub(super) fn hidden(path: &Path) -> bool {
    path.echo_s.is_none() && !path.sends() && path.least_rtt_s > 0.0 && grown(path, path.rtt_s)
}

/// Whether echoes show that no packets wait: even the little that a short queue is would be seen.
pub(super) fn free(path: &Path) -> bool {
    let least = path.least_rtt_s;
    path.echo_s.is_some_and(|echo| echo < least * GROWN || echo - least < LITTLE_S)
}

fn grown(path: &Path, now_s: f64) -> bool {
    now_s >= path.least_rtt_s * GROWN && now_s - path.least_rtt_s >= GROWN_BY_S
}

/// One path far behind others that do the same.
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
    // Slow may also be what is asked for less: then nothing is wrong with the path.
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

/// A window so small that data leaves in little pieces, and that is full nearly always: before the cores, which are full
/// because of the pieces.
pub(super) fn closed_window(host: &Host) -> Option<Found> {
    let path = busiest(host)?;
    let closed = path.sends() && path.window_limited >= CLOSED && path.peer_window < TINY_WINDOW;
    if closed { window(host) } else { None }
}

/// The share of a receiver's window that a round trip carries; 0 where the window is not known.
pub(super) fn window_filled(path: &Path) -> f64 {
    let window = if path.sends() { path.peer_window } else { path.own_window };
    let carried = path.rate() / path.connections.max(1.0) * path.least_rtt_s;
    if window > 0.0 { carried / window } else { 0.0 }
}

/// The most that a window lets through is its size a round trip.
fn window(host: &Host) -> Option<Found> {
    let path = busiest(host)?;
    let filled = window_filled(path);
    let found = |why: String, next, share| {
        found(Cause::Window, Confidence::High, why, next)
            .map(|found| found.at(path.name.clone()).share(share))
    };
    if path.sends() {
        // The kernel counts a window as closed only while not a segment fits: one that opens in little steps is hardly ever.
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

/// Packets wait somewhere on the way: something there is full, whatever its rate is.
fn rate(host: &Host) -> Option<Found> {
    let path = busiest(host)?;
    let (confidence, why) = queue(path)?;
    // A sender that the other end holds back makes no queue; one with little to send neither.
    if path.sends() && (path.busy < BUSY || path.window_limited >= 0.5) {
        return None;
    }
    let why = format!(
        "the path to {} carries no more than {}: {why}",
        path.name,
        units::ByteRate(path.rate()).as_bits()
    );
    let next = "look for the narrowest link on this path, a shaper or a shared uplink; manometer network measures it";
    found(Cause::PathRate, confidence, why, next).map(|found| found.at(path.name.clone()))
}

/// A sender that always has data to send, and that neither window nor buffer nor program hold back, goes as fast as its congestion
/// control finds that the path lets it. Without a queue: shallow buffers, or BBR, which keeps none.
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
    let next = "look for the narrowest link on this path, a shaper or a shared uplink; manometer network measures it";
    found(Cause::PathRate, Confidence::Medium, why, next).map(|found| found.at(path.name.clone()))
}

/// What is seen of lost segments at this end, and from which share on it counts.
pub(super) fn losses(path: &Path) -> (f64, f64) {
    if path.sends() { (path.resent, LOSSY) } else { (path.out_of_order, DISORDERLY) }
}

/// The share of segments that were lost, if it is one that counts.
pub(super) fn lossy(path: &Path) -> Option<f64> {
    lost(path, losses(path).1)
}

/// The share of segments that were lost, from so much on.
fn lost(path: &Path, counts: f64) -> Option<f64> {
    let (lost, _) = losses(path);
    let echoes = if path.echoes_lost >= 0.01 { path.echoes_lost } else { 0.0 };
    let echoes = echoes.min(path.resent.max(path.out_of_order));
    let found = lost >= counts || echoes >= LOSSY;
    (path.segments >= ENOUGH_SEGMENTS && found).then(|| lost.max(echoes))
}
