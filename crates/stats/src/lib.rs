//! What the data means: steady state, confidence and comparison, from per-interval values alone.
//!
//! Pure: no I/O, no clock; where randomness is needed (bootstrap), the caller gives the seed.
//!
//! [`Monitor`] takes intervals and decides when a measurement may end; [`estimate`] gives a mean with its interval;
//! [`compare`] tells whether two results differ. `docs/steady-state.md` explains and justifies every formula.

mod autocorrelation;
mod bootstrap;
mod calibration;
mod change;
mod compare;
mod drift;
mod estimate;
mod history;
mod level_changes;
pub mod limit;
mod monitor;
mod mser;
mod network;
mod numbers;
mod op_summary;
mod outcome;
mod rule;
mod run_trend;
mod scale;
mod series;
mod shape;
#[cfg(test)]
mod simulation;
mod stalls;
pub mod storperf;
mod window_sums;

pub use bootstrap::percentile;
pub use calibration::*;
pub use compare::*;
pub use estimate::{estimate, estimate_of_repetitions};
pub use level_changes::{LevelChange, level_changes};
pub use monitor::*;
pub use network::*;
pub use op_summary::{ListingSummary, OpSummary, ProcedureSummary};
pub use outcome::*;
pub use run_trend::{RunTrend, run_trend};
pub use scale::*;
pub use stalls::Stalls;
pub use window_sums::{OpFigures, WindowFigures, WindowSums};
