//! One clock for many hosts: how far the agents' clocks are from the leader's.

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
}
