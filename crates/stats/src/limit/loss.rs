//! Is loss what limits, or only there? TCP bears some: what counts is the rate that it leaves.

use super::evidence::{Host, ObservedLoad, Path};
use super::finding::{Bound, Cause, Confidence, Found};
use super::network::{self, BUSY};
use super::target::round_trip_s;
use super::words::percent;

/// Loss limits a connection that carries this share of what TCP can carry with it: estimates of loss and of round trips are no
/// better than that.
const ALLOWED_USED: f64 = 0.5;
/// Where recovery takes the time, operations that were hit take much longer than the others: then the mean is this many times the
/// median.
const STALLS: f64 = 2.0;
/// Segment size where it is not known, in bytes.
const USUAL_SEGMENT: f64 = 1448.0;

/// Packets are lost, and that explains the rate.
pub(super) fn limit(host: &Host) -> Option<Found> {
    let path = network::busiest(host)?;
    // On loopback nothing is lost on the way: there the other end was too slow to take it.
    let lost = network::lossy(path).filter(|_| !network::over_loopback(host, path))?;
    let (confidence, more) = explains(&host.load, path, lost)?;
    let why = format!("{} on the path to {}{more}", what(path, lost), path.name);
    let next = "look for drops and errors on the interfaces, cables and switch ports of this path";
    let found = Found::new(Bound::Network, Cause::Loss, confidence, why, next);
    Some(found.at(path.name.clone()).share(lost))
}

/// Loss that is there and explains nothing, in words.
pub(super) fn without_effect(load: &ObservedLoad, path: &Path) -> Option<String> {
    let lost = network::lossy(path).filter(|lost| explains(load, path, *lost).is_none())?;
    Some(format!("{}, with which TCP could carry {}", what(path, lost), units::ByteRate(allowed(path, lost))))
}

fn what(path: &Path, lost: f64) -> String {
    let kind = if path.sends() { "retransmits" } else { "of the segments out of order" };
    format!("{} {kind}", percent(lost))
}

/// How surely loss is the reason for the rate, and what else may be; `None` where it is not.
fn explains(load: &ObservedLoad, path: &Path, lost: f64) -> Option<(Confidence, &'static str)> {
    let held_back = path.window_limited + path.buffer_limited;
    let sending = path.sends() && path.busy >= BUSY && held_back < 0.5;
    if path.rate() >= ALLOWED_USED * allowed(path, lost) {
        // A sender with nothing to send for most of the time is not held back by what it sends; a reader cannot know whether the
        // sender would have more.
        return Some(match sending {
            true => (Confidence::High, ""),
            false => (Confidence::Medium, ", and TCP carries about this much with it"),
        });
    }
    // A lost segment behind which nothing follows waits for a timer, which that rate does not know.
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

/// Bytes a second that TCP can carry over all connections with so much loss: 1.22 segments a round trip by the root of it (Mathis and
/// others, 1997), or what CUBIC grows to between two losses where that is more (RFC 9438, 5.1).
fn allowed(path: &Path, lost: f64) -> f64 {
    let trip = round_trip_s(path).max(1e-6);
    let lost = lost.max(1e-9);
    let segments = (1.22 / lost.sqrt()).max(1.054 * (trip / lost).powf(0.75));
    let segment = if path.mss_bytes > 0 { f64::from(path.mss_bytes) } else { USUAL_SEGMENT };
    segments * segment / trip * path.connections.max(1.0)
}
