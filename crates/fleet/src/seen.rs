//! What the side that leads sees of its host group.

use engine::StageResult;
use metrics::Interval;

use crate::order::HostRefusal;
use crate::probe::HostSample;

/// Why a member did not do what it was asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Trouble {
    /// It said no; it is still there.
    #[error("{0}")]
    Refused(HostRefusal),
    /// It is gone, or does not know what it does; it is not asked again. One line that says why.
    #[error("{0}")]
    Lost(String),
}

/// What a running stage shows.
#[derive(Debug)]
pub enum StageUpdate<'a> {
    /// An interval of all members together, once each that is left has handed its part in.
    Whole(&'a Interval),
    /// One member's part of an interval, when it comes; before the whole that it belongs to.
    Part {
        /// The member's number.
        member: usize,
        /// Its part.
        interval: &'a Interval,
    },
    /// What a member's host did, about each second.
    Sample {
        /// The member's number.
        member: usize,
        /// What was seen there.
        sample: &'a HostSample,
    },
}

/// What a stage of a whole host group found.
#[derive(Clone, Debug)]
pub struct HostGroupResult {
    /// All members together, those included that were lost on the way, as far as their intervals came.
    pub whole: StageResult,
    /// Each member that was asked, in the order of their numbers.
    pub parts: Vec<PartResult>,
    /// Between the first and the last worker's start over all members, on the leader's clock, in nanoseconds.
    pub start_skew_ns: u64,
    /// So much the skew may be off, because the members' clocks are known only so well, in nanoseconds.
    pub skew_uncertainty_ns: u64,
}

/// What a stage found on one member.
#[derive(Clone, Debug)]
pub struct PartResult {
    /// The member's number.
    pub member: usize,
    /// Its name.
    pub name: String,
    /// What it measured; of a member that was lost, what its intervals say.
    pub result: StageResult,
    /// When its first worker started, on the leader's clock, in nanoseconds.
    pub started_ns: Option<u64>,
    /// Why it was lost during the stage.
    pub lost: Option<String>,
}

/// Something that the user should hear of. Times are on the leader's clock, in nanoseconds.
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
        /// When that was noticed.
        at_ns: u64,
    },
    /// A member has something to say.
    Said {
        /// Its number.
        member: usize,
        /// Its name.
        name: String,
        /// What it says, one line.
        text: String,
        /// When it came.
        at_ns: u64,
    },
}
