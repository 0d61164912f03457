//! A push of a run's current values by OTLP over HTTP (opentelemetry.io, "OTLP Specification 1"): the same metrics as
//! `/metrics`, for collectors that wait to be told.
//!
//! A push holds counts since a stage began, so one that is lost costs nothing but its own moment.

mod message;
mod options;
mod push;
#[cfg(test)]
mod tests;

pub use options::{OtlpOptions, OtlpOptionsError};
pub use push::{OtlpPush, PushedRun};
