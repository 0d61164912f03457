//! What no correct agent does: an agent that does it is malfunctioning and receives no more orders.

use crate::message::DecodeError;

/// Why what an agent says cannot be true, or is not its turn. Reads after the agent's name.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AgentFault {
    /// Longer than any message of its kind.
    #[error("it sends a message of {0} bytes, which is too long for its kind")]
    MessageTooLong(usize),
    #[error(transparent)]
    Decode(#[from] DecodeError),
    #[error("an agent says hello first, and once")]
    Hello,
    #[error("it answers what was not asked")]
    UnknownQuestion,
    #[error("it answers a ping that was not sent")]
    UnknownPing,
    #[error("it speaks of a stage that does not run")]
    UnknownStage,
    #[error("it was ready for a stage twice")]
    ReadyTwice,
    /// The interval with this number.
    #[error("it handed in interval {0} before the stage began")]
    IntervalBeforeStage(u32),
    #[error("it handed in interval {index} when {next} or a later one was to come")]
    IntervalOutOfOrder { index: u32, next: u32 },
    #[error("its interval {0} begins before the one before it ended")]
    IntervalsOverlap(u32),
    #[error("it handed in interval {0} before the last one was seen")]
    IntervalUnseen(u32),
    #[error("it handed in interval {0}, which cannot have ended yet")]
    IntervalInFuture(u32),
    #[error("it hands in more samples than a stage has")]
    TooManySamples,
    #[error("its result counts less than its intervals")]
    ResultTooSmall,
    /// More operations, bytes or nanoseconds than there can be.
    #[error("it counts {0} of something, which cannot be")]
    ImpossibleCount(u64),
    #[error("it counts fewer operations than latencies")]
    TooManyLatencies,
    #[error("it hands in a list of more than {most} entries")]
    ListTooLong { most: usize },
    #[error("its clock says what cannot be")]
    Clock,
    #[error("it says more than {most} lines in a minute")]
    TooManyLines { most: u32 },
    #[error("it sent {sent} messages, and {received} came")]
    MessagesLost { sent: u64, received: u64 },
    #[error("it said farewell before it was told to go")]
    EarlyFarewell,
}
