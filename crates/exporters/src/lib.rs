//! What runs measure now, for other systems: `/metrics` for Prometheus, and pushes to Graphite and by OTLP.
//!
//! Everything here observes a run through its events and never slows it: [`CurrentRun`] keeps the latest intervals for
//! scrapes and for OTLP, [`GraphiteRun`] hands samples to a [`GraphitePush`], which has a thread and a bounded queue of its own.

mod address;
mod buckets;
mod cpu_budget;
mod current;
mod exposition;
mod graphite;
mod http;
mod otlp;
mod paced;
mod pushes;
mod scrape;
#[cfg(test)]
mod test_support;
mod waiting;

pub use address::{HostPort, HostPortError};
pub use cpu_budget::{BesideLoad, CpuBudget};
pub use current::CurrentRun;
pub use exposition::{CONTENT_TYPE, registry, text};
pub use graphite::GraphiteOptions;
pub use http::{ConnectionLimits, attend};
pub use otlp::{OtlpOptions, OtlpOptionsError, PushedRun};
pub use pushes::{PushOptions, Pushes};
pub use scrape::{ListenError, MetricsListener};
