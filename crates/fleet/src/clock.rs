//! One clock for many hosts: how far the agents' clocks are from the leader's.
//!
//! A question and its answer give four moments, as in NTP (RFC 5905): asked and back on the leader's clock, received and
//! answered on the member's. However unequal the two ways are, the offset in the middle is off by half the time under way at
//! most. The shortest round trips say the most; what lies further back is worth less, because clocks drift.

use std::collections::VecDeque;

/// Exchanges that are kept, the last ones.
const RECENT: usize = 64;
/// Best exchanges of longer spans that are kept, for the drift.
const ANCHORS: usize = 32;
/// So long a span is at first, in nanoseconds; it doubles when there are too many.
const SPAN_NS: u64 = 4_000_000_000;
/// Two clocks may drift apart by so much as long as nothing is known: crystals, and how well each process knows its processor's
/// counter.
const UNKNOWN_DRIFT: f64 = 100e-6;
/// And by so much from what was found.
const FOUND_DRIFT: f64 = 10e-6;

/// What is known of a member's clock.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClockFacts {
    /// What is added to a moment on the leader's clock to have it on the member's, now, in nanoseconds. The clocks count from when
    /// each host booted, so that this may be days.
    pub offset_ns: i64,
    /// The offset is off by no more than this, in nanoseconds.
    pub uncertainty_ns: u64,
    /// So much faster the member's clock is, in parts per million; 0 until enough was seen.
    pub drift_ppm: f64,
    /// The shortest way there and back that was seen, in nanoseconds.
    pub round_trip_ns: u64,
}

impl ClockFacts {
    /// Of the leader itself.
    pub const OWN: ClockFacts =
        ClockFacts { offset_ns: 0, uncertainty_ns: 0, drift_ppm: 0.0, round_trip_ns: 0 };

    /// A moment of the leader's on the member's clock.
    pub(crate) fn theirs(&self, ours_ns: u64) -> u64 {
        ours_ns.saturating_add_signed(self.offset_ns)
    }
}

/// A question and its answer, in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Exchange {
    /// On the leader's clock.
    pub asked: u64,
    /// On the member's.
    pub received: u64,
    /// On the member's.
    pub answered: u64,
    /// On the leader's.
    pub back: u64,
}

/// An exchange, as far as it matters.
#[derive(Clone, Copy, Debug)]
struct Reading {
    /// The middle, on the leader's clock.
    at: u64,
    offset: i64,
    round_trip: u64,
}

/// What the exchanges with one member say of its clock. Bounded, however many there are.
#[derive(Clone, Debug)]
pub(crate) struct Estimate {
    recent: VecDeque<Reading>,
    /// The best of each span, by its beginning.
    anchors: Vec<(u64, Reading)>,
    span_ns: u64,
}

impl Default for Estimate {
    fn default() -> Self {
        Estimate { recent: VecDeque::new(), anchors: Vec::new(), span_ns: SPAN_NS }
    }
}

impl Estimate {
    /// Takes an exchange.
    ///
    /// # Errors
    /// No clock could have said so.
    pub(crate) fn add(&mut self, exchange: Exchange) -> Result<(), String> {
        let Exchange { asked, received, answered, back } = exchange;
        let whole = back.saturating_sub(asked);
        let impossible = || "its clock says what cannot be".to_owned();
        let held = answered.checked_sub(received).ok_or_else(impossible)?;
        // A member's clock may run a little faster than the leader's.
        if held > whole.saturating_add(whole / 1000).saturating_add(1_000_000) {
            return Err(impossible());
        }
        let middle = |a: u64, b: u64| a + (b - a.min(b)) / 2;
        let offset = i128::from(middle(received, answered)) - i128::from(middle(asked, back));
        // A century; sums of such offsets still fit.
        let offset = i64::try_from(offset).ok().filter(|o| o.abs() < i64::MAX / 4).ok_or_else(impossible)?;
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

    /// How much the offset grows with each nanosecond: the slope of the least squares over the best of each span, each weighted
    /// by how well it is known. `None` while the spans do not tell more than the uncertainty of each.
    fn drift(&self) -> Option<f64> {
        let (first, last) = (self.anchors.first()?.1, self.anchors.last()?.1);
        let long = last.at.saturating_sub(first.at) as f64;
        let blur = (first.round_trip + last.round_trip) as f64 / 2.0;
        if self.anchors.len() < 3 || blur > long * FOUND_DRIFT {
            return None;
        }
        let (mut weights, mut at, mut offset) = (0.0, 0.0, 0.0);
        // Far from zero there are no digits left: everything counts from the first.
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

    /// What is known of the clock at a moment of the leader's; `None` before the first exchange.
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

    /// A moment of the member's on the leader's clock, and by how much that may be off.
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
