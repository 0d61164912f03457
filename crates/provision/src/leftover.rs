//! Why something that a dead run created stays.

use std::error::Error;
use std::time::Duration;

use crate::error::ProvisionError;

/// Why a protocol could not remove a place, with the next step.
pub type PlaceError = Box<dyn Error + Send + Sync>;

/// Why something that a run created was not removed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LeftoverError {
    /// The time limit of the clean-up is over.
    #[error(
        "not tried: the clean-up has taken {} s; next: run it again, or allow more with --time-limit",
        spent.as_secs()
    )]
    OutOfTime {
        /// Time since the clean-up began.
        spent: Duration,
    },
    /// The clean-up was stopped.
    #[error("not tried: the clean-up was stopped; next: run it again")]
    Stopped,
    /// Something on an array, in a journal without an array.
    #[error("the journal does not say which array it is about")]
    NoArray,
    /// The array at this address already failed to answer before.
    #[error("not tried: the array at {0} did not answer for an earlier journal")]
    Silent(String),
    /// There is no token for the array at this address.
    #[error("no API token for the array at {0}; next: set FB_TOKEN or give --token-file FILE")]
    NoToken(String),
    /// The array or the journal failed.
    #[error(transparent)]
    Provision(#[from] ProvisionError),
    /// The protocol of the place failed.
    #[error(transparent)]
    Place(PlaceError),
    /// There is no helper that knows protocols.
    #[error("there is nobody here to remove objects")]
    NoHelper,
}
