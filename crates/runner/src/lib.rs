//! A run from its plan to its records: cells one after the other or in groups, studies, verification, verdict, gates.
//!
//! [`run`] takes values and keeps no process-wide state: a plan, [`RunOptions`], an observer ([`Events`]), a
//! [`StopToken`] and secrets. Several runs can share one process.
//!
//! The stages of a run, in order: plan, journal and results file, hosts, cells, removal. A cell goes through: target,
//! place, data set, caches, warm-up, measurement until steady, verification, probe, verdict.

mod accounting;
mod baseline;
mod begin;
pub mod bottleneck;
mod cell;
mod cell_group;
mod cell_probe;
mod cell_run;
mod context;
mod data_set_log;
mod data_sets;
mod disk_baseline;
mod disks;
pub mod events;
mod execute;
mod facts;
mod fill;
mod fleet_alone;
mod fleet_start;
mod gates;
mod host_group;
mod hosts;
mod interim;
mod job;
mod job_outcome;
mod limits;
mod matrix;
mod measure;
pub mod network_baseline;
pub mod op_logs;
mod open_requests;
mod options;
mod outcome;
mod preflight;
pub mod probe;
pub mod progress;
mod recorder;
mod samples;
mod server_command;
mod server_size;
mod servers;
mod site;
mod space;
mod stages;
mod stop;
mod study;
pub mod summary;
#[doc(hidden)]
pub mod test_support;
pub mod timestamp;
mod verdict;
#[cfg(test)]
mod verdict_tests;
mod verify;

pub use baseline::BaselineNotKept;
pub use begin::{Begun, RunError, new_run, resume};
pub use events::{Events, RunEvent, Severity};
pub use execute::{RunOutcome, execute, run, what_may_be_left};
pub use facts::{START_CORE_WAIT, of_result as stage_facts};
pub use fleet_alone::{OneHostOnly, check_for_several};
pub use fleet_start::start_fleet;
pub use interim::Interim;
pub use job_outcome::{
    CellOutcome, DiskUse, HostOutcome, JobFailure, JobsOutcome, SampleSeries, SampleSummary, Samples,
};
pub use options::RunOptions;
pub use outcome::nothing;
pub use preflight::{Preflight, TargetLook, preflight};
pub use recorder::Recorder;
pub use servers::ObservedServer;
pub use stages::{MEASURE, PREPARE, VERIFY, record as stage_record, warm_up as warm_up_record};
pub use stop::{Governed, StopReason, StopToken};
pub use summary::{cell_count, in_a_line, success};
pub use verdict::{WIDEST_INTERVAL, uncertain};
