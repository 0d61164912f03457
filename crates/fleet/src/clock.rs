//! One clock for many hosts: the offset of each agent's clock from the coordinator's.
//!
//! A ping and its reply give four timestamps, as in NTP (RFC 5905): sent and returned on the coordinator's clock,
//! received and answered on the member's. However asymmetric the path, the error of the midpoint offset is at most half
//! the round trip. The shortest round trips are the most informative; older ones count less, because clocks drift.

use std::collections::VecDeque;

use crate::agent_fault::AgentFault;

/// Most recent exchanges kept.
const RECENT: usize = 64;
/// Best exchanges of longer spans, kept for the drift.
const ANCHORS: usize = 32;
/// Initial length of a span in nanoseconds; it doubles when there are too many.
const SPAN_NS: u64 = 4_000_000_000;
/// Assumed drift between two clocks while nothing is known: that of crystals and of each process's calibration of its
/// CPU counter.
const UNKNOWN_DRIFT: f64 = 100e-6;
/// Assumed deviation from an estimated drift.
const FOUND_DRIFT: f64 = 10e-6;

/// What is known of a member's clock.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClockFacts {
    /// Added to a time on the coordinator's clock, gives the time on the member's, now, in nanoseconds. The clocks
    /// count from each host's boot, so this may be days.
    pub offset_ns: i64,
    /// Maximum error of the offset, in nanoseconds.
    pub uncertainty_ns: u64,
    /// How much faster the member's clock is, in parts per million; 0 until enough exchanges were seen.
    pub drift_ppm: f64,
    /// The shortest round trip seen, in nanoseconds.
    pub round_trip_ns: u64,
}

impl ClockFacts {
    /// The coordinator's own clock.
    pub const OWN: ClockFacts =
        ClockFacts { offset_ns: 0, uncertainty_ns: 0, drift_ppm: 0.0, round_trip_ns: 0 };

    /// Converts a time of the coordinator's to the member's clock.
    pub(crate) fn theirs(&self, ours_ns: u64) -> u64 {
        ours_ns.saturating_add_signed(self.offset_ns)
    }
}

/// A ping and its reply, in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Exchange {
    /// On the coordinator's clock.
    pub asked: u64,
    /// On the member's.
    pub received: u64,
    /// On the member's.
    pub answered: u64,
    /// On the coordinator's.
    pub back: u64,
}

/// The relevant values of an exchange.
#[derive(Clone, Copy, Debug)]
struct Reading {
    /// The midpoint, on the coordinator's clock.
    at: u64,
    offset: i64,
    round_trip: u64,
}

/// Estimates one member's clock from its exchanges. Bounded, however many there are.
#[derive(Clone, Debug)]
pub(crate) struct Estimate {
    recent: VecDeque<Reading>,
    /// The best exchange of each span, by the span's start.
    anchors: Vec<(u64, Reading)>,
    span_ns: u64,
}

impl Default for Estimate {
    fn default() -> Self {
        Estimate { recent: VecDeque::new(), anchors: Vec::new(), span_ns: SPAN_NS }
    }
}

impl Estimate {
    /// Adds an exchange.
    ///
    /// # Errors
    /// No clock can have given these times.
    pub(crate) fn add(&mut self, exchange: Exchange) -> Result<(), AgentFault> {
        let Exchange { asked, received, answered, back } = exchange;
        let whole = back.saturating_sub(asked);
        let held = answered.checked_sub(received).ok_or(AgentFault::Clock)?;
        // A member's clock may run slightly faster than the coordinator's.
        if held > whole.saturating_add(whole / 1000).saturating_add(1_000_000) {
            return Err(AgentFault::Clock);
        }
        let middle = |a: u64, b: u64| a + (b - a.min(b)) / 2;
        let offset = i128::from(middle(received, answered)) - i128::from(middle(asked, back));
        // Below a century, so that sums of offsets do not overflow.
        let offset =
            i64::try_from(offset).ok().filter(|o| o.abs() < i64::MAX / 4).ok_or(AgentFault::Clock)?;
        let reading = Reading { at: middle(asked, back), offset, round_trip: whole.saturating_sub(held) };
        if self.recent.len() == RECENT {
            self.recent.pop_front();
        }
        self.recent.push_back(reading);
        self.anchor(reading);
        Ok(())
    }

    fn anchor(&mut self, reading: Reading) {
        match self.anchors.last_mut() {
            Some((from, best)) if reading.at < *from + self.span_ns => {
                if reading.round_trip < best.round_trip {
                    *best = reading;
                }
            }
            _ => self.anchors.push((reading.at, reading)),
        }
        if self.anchors.len() > ANCHORS {
            self.span_ns *= 2;
            let pairs = self.anchors.chunks(2).map(|pair| {
                let best = pair.iter().map(|(_, r)| *r).min_by_key(|r| r.round_trip).unwrap_or(pair[0].1);
                (pair[0].0, best)
            });
            self.anchors = pairs.collect();
        }
    }

    /// Growth of the offset per nanosecond: the least-squares slope over the best exchange of each span, weighted by
    /// certainty. `None` while the spans show no more than the uncertainty of each.
    fn drift(&self) -> Option<f64> {
        let (first, last) = (self.anchors.first()?.1, self.anchors.last()?.1);
        let long = last.at.saturating_sub(first.at) as f64;
        let blur = (first.round_trip + last.round_trip) as f64 / 2.0;
        if self.anchors.len() < 3 || blur > long * FOUND_DRIFT {
            return None;
        }
        let (mut weights, mut at, mut offset) = (0.0, 0.0, 0.0);
        // Far from zero, floating-point precision is lost: everything is relative to the first.
        let points: Vec<(f64, f64, f64)> = self
            .anchors
            .iter()
            .map(|(_, r)| {
                let weight = 1.0 / (r.round_trip as f64 + 1000.0).powi(2);
                ((r.at - first.at) as f64, (r.offset - first.offset) as f64, weight)
            })
            .collect();
        for (x, y, weight) in &points {
            weights += weight;
            at += weight * x;
            offset += weight * y;
        }
        let (at, offset) = (at / weights, offset / weights);
        let (mut above, mut below) = (0.0, 0.0);
        for (x, y, weight) in &points {
            above += weight * (x - at) * (y - offset);
            below += weight * (x - at).powi(2);
        }
        (below > 0.0).then(|| above / below).filter(|slope| slope.is_finite() && slope.abs() < 0.01)
    }

    /// The member's clock at a time of the coordinator's; `None` before the first exchange.
    pub(crate) fn at(&self, ours_ns: u64) -> Option<ClockFacts> {
        let found = self.drift();
        let drift = found.unwrap_or(0.0);
        let unsure = if found.is_some() { FOUND_DRIFT } else { UNKNOWN_DRIFT };
        let all = || self.recent.iter().chain(self.anchors.iter().map(|(_, reading)| reading));
        let off = |r: &Reading| r.round_trip as f64 / 2.0 + ours_ns.abs_diff(r.at) as f64 * unsure;
        let best = all().min_by(|a, b| off(a).total_cmp(&off(b)))?;
        let since = ours_ns as f64 - best.at as f64;
        Some(ClockFacts {
            offset_ns: best.offset + (since * drift).round() as i64,
            uncertainty_ns: off(best).ceil() as u64,
            drift_ppm: drift * 1e6,
            round_trip_ns: all().map(|r| r.round_trip).min().unwrap_or(0),
        })
    }

    /// Converts a time of the member's to the coordinator's clock, with the maximum error.
    pub(crate) fn ours(&self, theirs_ns: u64) -> Option<(u64, u64)> {
        let near = self.recent.back()?;
        let mut ours = theirs_ns.saturating_add_signed(-near.offset);
        let facts = self.at(ours)?;
        ours = theirs_ns.saturating_add_signed(-facts.offset_ns);
        Some((ours, facts.uncertainty_ns))
    }
}

#[cfg(test)]
mod tests;
