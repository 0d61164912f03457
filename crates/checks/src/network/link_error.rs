//! Why a link between two hosts could not be measured, in a few words for its row.

use fleet::{HostRefusal, Trouble};

/// Why a link could not be measured.
#[derive(Debug, thiserror::Error)]
pub enum LinkError {
    /// The host with this number has no address.
    #[error("host {0} has no address; this is a defect")]
    NoAddress(u32),
    /// The link has no cells.
    #[error(transparent)]
    Plan(#[from] LinkPlanError),
    /// One of its hosts refused or was lost before the load.
    #[error("{host}: {trouble}")]
    Host {
        /// The host's name.
        host: String,
        /// What happened there.
        trouble: Trouble,
    },
    /// The load could not be started.
    #[error(transparent)]
    Refused(#[from] HostRefusal),
    /// One of its hosts was lost during the load.
    #[error("{host}: {why}")]
    Lost {
        /// The host's name.
        host: String,
        /// Why.
        why: String,
    },
    /// One of its hosts is not among those that answered.
    #[error("a host did not answer; this is a defect")]
    NoAnswer,
    /// A host answered something that was not asked.
    #[error("a host answers a probe with something else; this is a defect")]
    WrongAnswer,
    /// Nothing arrived, because an operation failed as this line says.
    #[error("{0}")]
    Operation(String),
    /// Nothing arrived, and nothing failed.
    #[error("nothing arrived in the measured time")]
    Nothing,
}

/// Why there is no plan for a link, which is a defect.
#[derive(Debug, thiserror::Error)]
pub enum LinkPlanError {
    /// Its text does not parse.
    #[error("{}", .0.to_string().replace('\n', " "))]
    Text(#[from] experiment::Diagnostics),
    /// It lacks a cell.
    #[error("the link's plan has no cells; this is a defect")]
    NoCells,
}
