//! What the coordinator learns from its host group.

use engine::StageResult;
use metrics::Interval;

use crate::order::HostRefusal;
use crate::probe::HostSample;

/// Why a member did not carry out an order.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Trouble {
    /// It refused; it is still there.
    #[error("{0}")]
    Refused(HostRefusal),
    /// It is gone or malfunctioning; it receives no more orders. One line that says why.
    #[error("{0}")]
    Lost(String),
}

/// Updates from a running stage.
#[derive(Debug)]
pub enum StageUpdate<'a> {
    /// An interval of all members together, once each remaining one has delivered its part.
    Whole(&'a Interval),
    /// One member's part of an interval, on arrival; before the whole that it belongs to.
    Part {
        /// The member's number.
        member: usize,
        /// Its part.
        interval: &'a Interval,
    },
    /// A sample of a member's host, about every second.
    Sample {
        /// The member's number.
        member: usize,
        /// The sample.
        sample: &'a HostSample,
    },
}

/// The result of a stage over a whole host group.
#[derive(Clone, Debug)]
pub struct HostGroupResult {
    /// All members together, including those lost during the stage, as far as their intervals were received.
    pub whole: StageResult,
    /// Each member that took part, by number.
    pub parts: Vec<PartResult>,
    /// Between the first and the last worker's start over all members, on the coordinator's clock, in nanoseconds.
    pub start_skew_ns: u64,
    /// Maximum error of the skew, due to the uncertainty of the members' clocks, in nanoseconds.
    pub skew_uncertainty_ns: u64,
}

/// The result of a stage on one member.
#[derive(Clone, Debug)]
pub struct PartResult {
    /// The member's number.
    pub member: usize,
    /// Its name.
    pub name: String,
    /// What it measured; for a lost member, the sum of its intervals.
    pub result: StageResult,
    /// When its first worker started, on the coordinator's clock, in nanoseconds.
    pub started_ns: Option<u64>,
    /// Why it was lost during the stage.
    pub lost: Option<String>,
}

/// Events for the user. Times are on the coordinator's clock, in nanoseconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FleetEvent {
    /// A member is gone for good.
    Lost {
        /// Its number.
        member: usize,
        /// Its name.
        name: String,
        /// One line.
        why: String,
        /// When this was noticed.
        at_ns: u64,
    },
    /// A member's message for the user.
    Said {
        /// Its number.
        member: usize,
        /// Its name.
        name: String,
        /// The message, one line.
        text: String,
        /// When it arrived.
        at_ns: u64,
    },
}
