//! What manometer measures without an experiment: the paths to a storage, the network between hosts, this host.
//!
//! [`check`] asks whether the paths between this host and its storage work and what they carry, [`network`] which link between
//! the hosts of a fleet is worse than the others, [`calibrate`] what this host could drive at most. Each takes values (a
//! request, an observer, a [`runner::StopToken`], keys) and returns a report; nothing here reads arguments or the terminal, and
//! nothing is kept in the process.

mod array_places;
mod calibrate;
mod cell_measure;
mod check;
mod error;
mod network;
mod reactor_facts;
mod site;
mod stored;
#[doc(hidden)]
pub mod test_support;

#[doc(hidden)]
pub use calibrate::{BlockSize, Microbenchmark, RepetitionResult, gather};
pub use calibrate::{CalibrateRequest, calibrate};
pub use check::{
    ArrayRequest, BestFigure, CheckAccess, CheckLoad, CheckReport, CheckRequest, CheckRow, CheckSettings,
    CheckSource, CheckVerdict, CheckedArray, DataAddressFacts, ExistingTarget, PhaseFigures, RowOutcome,
    SlowPath, WrittenData, check, judge_check,
};
pub use error::CheckError;
pub use network::{LinkChoice, NetworkReport, NetworkRequest, link_way, network, network_verdict};
pub use reactor_facts::ReactorFacts;
