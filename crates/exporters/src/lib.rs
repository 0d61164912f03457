//! What runs measure now, for other systems: `/metrics` for Prometheus, and a push to Graphite.
//!
//! Everything here observes a run through its events and never slows it: [`CurrentRun`] keeps the latest intervals for
//! scrapes, [`GraphiteRun`] hands samples to a [`GraphitePush`], which has a thread and a bounded queue of its own.

mod address;
mod buckets;
mod current;
mod exposition;
mod graphite;
mod http;
mod scrape;
#[cfg(test)]
mod test_support;
mod waiting;

pub use address::{HostPort, HostPortError};
pub use current::CurrentRun;
pub use exposition::{CONTENT_TYPE, registry, text};
pub use graphite::{GraphiteLosses, GraphiteOptions, GraphitePush, GraphiteRun};
pub use http::{ConnectionLimits, attend};
pub use scrape::{ListenError, MetricsListener};
