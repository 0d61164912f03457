//! How good the rules are: coverage, error and time to decision on simulated measurements with known truth.
//!
//! `cargo test -p stats --release --test validation -- --nocapture` prints the tables of `docs/steady-state.md`.

#![allow(clippy::unwrap_used, clippy::print_stdout)] // a test may fail loudly, and these print their tables

mod estimators;
mod pairs;
mod rules;
mod series;
mod steadiness;
