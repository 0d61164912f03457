//! Schedules the pieces of a payload on a bandwidth-limited path.
//!
//! A payload gets its turn on the path as a whole, and its pieces are spread over that turn: requests pass one after
//! another, as over a real bottleneck link, and so complete at even intervals.

use std::sync::Arc;

use crate::shape::TrafficShape;

/// Maximum turn taken at once, so that one huge object does not block all others.
const TURN_BYTES: u64 = 64 << 20;

/// Direction of a payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    /// From the client.
    In,
    /// To the client.
    Out,
}

/// The schedule of one payload.
pub(super) struct Flow {
    shape: Arc<TrafficShape>,
    direction: Direction,
    /// Bytes of the payload still to pass; 0 if unknown.
    expected: u64,
    /// When the last turn taken ends.
    end_ns: u64,
    /// Bytes left in the turns taken.
    left: u64,
}

impl Flow {
    /// A payload of about `expected` bytes (0 if unknown) that may start at `from_ns`.
    pub(super) fn new(shape: Arc<TrafficShape>, direction: Direction, expected: u64, from_ns: u64) -> Self {
        Self { shape, direction, expected, end_ns: from_ns, left: 0 }
    }

    /// When the next `bytes` have passed. `earliest_ns` bounds how far in the past a turn may start.
    pub(super) fn due(&mut self, bytes: u64, earliest_ns: u64) -> u64 {
        let Some(rate) = self.shape.faults().bandwidth_bytes_per_s.filter(|rate| *rate > 0) else {
            return self.end_ns;
        };
        if self.left < bytes {
            let turn = self.expected.min(TURN_BYTES).max(bytes) - self.left;
            let from = self.end_ns.max(earliest_ns);
            self.end_ns = match self.direction {
                Direction::In => self.shape.inbound(from, turn),
                Direction::Out => self.shape.outbound(from, turn),
            };
            self.left += turn;
        }
        self.left -= bytes;
        self.expected = self.expected.saturating_sub(bytes);
        let after = u128::from(self.left) * 1_000_000_000 / u128::from(rate);
        self.end_ns.saturating_sub(u64::try_from(after).unwrap_or(u64::MAX))
    }

    /// Bytes that may pass at once: about a millisecond's worth, so that they arrive evenly.
    pub(super) fn piece_bytes(&self) -> usize {
        match self.shape.faults().bandwidth_bytes_per_s {
            Some(rate) => (rate / 1000).clamp(16 << 10, 1 << 20) as usize,
            None => usize::MAX,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FaultHandle;
    use crate::faults::{DataProtocol, FaultPlan, PathRule};

    fn shape(rate: Option<u64>) -> Arc<TrafficShape> {
        let rule = PathRule { bandwidth_bytes_per_s: rate, ..PathRule::default() };
        let faults = FaultHandle::new(FaultPlan { paths: vec![rule], ..FaultPlan::default() });
        TrafficShape::new(faults, [127, 0, 0, 1].into(), DataProtocol::S3, 1)
    }

    #[test]
    fn payloads_pass_one_after_the_other_and_each_evenly() {
        // One byte per microsecond.
        let shape = shape(Some(1_000_000));
        let mut first = Flow::new(Arc::clone(&shape), Direction::Out, 1000, 0);
        let mut second = Flow::new(Arc::clone(&shape), Direction::Out, 1000, 0);
        let mut dues = Vec::new();
        for _ in 0..4 {
            dues.push((first.due(250, 0), second.due(250, 0)));
        }
        assert_eq!(
            dues,
            [(250_000, 1_250_000), (500_000, 1_500_000), (750_000, 1_750_000), (1_000_000, 2_000_000)]
        );
        let mut other_way = Flow::new(shape, Direction::In, 1000, 0);
        assert_eq!(other_way.due(1000, 0), 1_000_000);
    }

    #[test]
    fn a_payload_of_unknown_length_passes_as_it_comes() {
        let mut flow = Flow::new(shape(Some(1_000_000)), Direction::In, 0, 5_000);
        assert_eq!(flow.due(100, 0), 105_000);
        assert_eq!(flow.due(100, 0), 205_000);
        assert_eq!(flow.due(100, 1_000_000), 1_100_000, "what comes late does not pass in the past");
    }

    #[test]
    fn without_a_limit_nothing_waits() {
        let mut flow = Flow::new(shape(None), Direction::Out, 1000, 7);
        assert_eq!(flow.due(1000, 100), 7);
        assert_eq!(flow.piece_bytes(), usize::MAX);
    }
}
