//! What manometer measures without an experiment: the paths to storage, the network between hosts, this host.
//!
//! [`check`] tests whether the paths between this host and its storage work and what they carry, [`network`] finds the
//! links between a fleet's hosts that are worse than the others, [`calibrate`] measures the most that this host can
//! drive. Each takes values (a request, an observer, a [`runner::StopToken`], credentials) and returns a report;
//! nothing here reads arguments or the terminal, or keeps process-wide state.

mod array_places;
mod calibrate;
mod cell_measure;
mod check;
mod error;
mod measurement_start;
mod network;
mod reactor_facts;
mod record_options;
mod site;
mod stored;
#[doc(hidden)]
pub mod test_support;

#[doc(hidden)]
pub use calibrate::{BlockSize, Microbenchmark, RepetitionResult, gather};
pub use calibrate::{CalibrateRequest, calibrate};
pub use check::{
    ArrayRequest, BestFigure, CephRequest, CheckAccess, CheckInput, CheckInputError, CheckLoad,
    CheckNfsInput, CheckRadosInput, CheckReport, CheckRequest, CheckRow, CheckS3Input, CheckSettings,
    CheckSource, CheckVerdict, CheckedArray, DataAddressFacts, ExistingTarget, OptionStyle, PhaseFigures,
    RowOutcome, SlowPath, WrittenData, check, gateway, judge_check, management_address, positive,
};
pub use error::CheckError;
pub use network::{LinkChoice, NetworkReport, NetworkRequest, link_way, network, network_verdict};
pub use reactor_facts::ReactorFacts;
pub use record_options::RecordOptions;
