//! Does packet loss limit, or is it merely present? TCP tolerates some: what counts is the rate that it allows.

use super::evidence::{Host, ObservedLoad, Path};
use super::finding::{Bound, Cause, Confidence, Found};
use super::network::{self, BUSY};
use super::target::round_trip_s;
use super::words::percent;

/// Loss limits a connection that reaches this share of the rate TCP can achieve with it: estimates of loss and of round
/// trips are no more accurate than that.
const ALLOWED_USED: f64 = 0.5;
/// A sender at this many times the rate that TCP can carry with the loss does not slow down for it, like BBR.
const UNIMPRESSED: f64 = 2.0;
/// Where recovery costs the time, affected operations take much longer than the others: the mean is then this many
/// times the median.
const STALLS: f64 = 2.0;

/// Packet loss that explains the rate.
pub(super) fn limit(host: &Host) -> Option<Found> {
    let path = network::busiest(host)?;
    // Loopback loses nothing on the way: the receiver was too slow.
    let lost = network::lossy(path).filter(|_| !network::over_loopback(host, path))?;
    let (confidence, more) = explains(&host.load, path, lost)?;
    let why = format!("{} on the path to {}{more}", what(path, lost), path.name);
    let next = "look for drops and errors on the interfaces, cables and switch ports of this path";
    let found = Found::new(Bound::Network, Cause::Loss, confidence, why, next);
    Some(found.at(path.name.clone()).share(lost))
}

/// States that loss is present but explains nothing.
pub(super) fn without_effect(load: &ObservedLoad, path: &Path) -> Option<String> {
    let lost = network::lossy(path).filter(|lost| explains(load, path, *lost).is_none())?;
    let what = what(path, lost);
    Some(match unimpressed(path, lost) {
        true => format!("{what}, for which its senders do not slow down (BBR)"),
        false => format!("{what}, with which TCP could carry {}", units::ByteRate(allowed(path, lost))),
    })
}

/// Whether a sender continues as if nothing were lost. Only senders qualify: more segments arrive out of order than
/// were lost.
fn unimpressed(path: &Path, lost: f64) -> bool {
    path.sends() && path.rate() > UNIMPRESSED * allowed(path, lost)
}

fn what(path: &Path, lost: f64) -> String {
    let kind = if path.sends() { "retransmits" } else { "of the segments out of order" };
    format!("{} {kind}", percent(lost))
}

/// How surely loss explains the rate, and what else might; `None` if it does not.
fn explains(load: &ObservedLoad, path: &Path, lost: f64) -> Option<(Confidence, &'static str)> {
    if unimpressed(path, lost) {
        return None;
    }
    let held_back = path.window_limited + path.buffer_limited;
    let sending = path.sends() && path.busy >= BUSY && held_back < 0.5;
    if path.rate() >= ALLOWED_USED * allowed(path, lost) {
        // A sender that is idle most of the time is not limited by retransmits; a receiver cannot know whether the
        // sender has more to send.
        return Some(match sending {
            true => (Confidence::High, ""),
            false => (Confidence::Medium, ", and TCP carries about this much with it"),
        });
    }
    // A lost segment with none following it waits for a timer, which the rate formula does not cover.
    let short = round_trip_s(path) < 0.1 * load.latency_s;
    if sending && short {
        return Some((Confidence::High, ", and the sender waits for its retransmits"));
    }
    let stalls = load.median_s > 0.0 && load.latency_s >= STALLS * load.median_s;
    (!path.sends() && stalls).then_some((
        Confidence::Medium,
        ", and some operations take far longer than most: they wait for retransmits, or the target pauses",
    ))
}

/// Bytes per second that TCP can carry over all connections at this loss: 1.22 segments per round trip divided by the
/// square root of the loss (Mathis et al., 1997), or the rate that CUBIC reaches between two losses if that is higher
/// (RFC 9438, 5.1).
fn allowed(path: &Path, lost: f64) -> f64 {
    let trip = round_trip_s(path).max(1e-6);
    let lost = lost.max(1e-9);
    let segments = (1.22 / lost.sqrt()).max(1.054 * (trip / lost).powf(0.75));
    segments * network::segment_bytes(path) / trip * path.connections.max(1.0)
}
