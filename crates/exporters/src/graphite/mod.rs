//! A push to Graphite (Carbon's plaintext protocol) in `StorPerf`'s path scheme.
//!
//! A path is `<run>.<workload>.queue-depth.<q>.block-size.<b>.<host>-<target>.jobs.1.<read|write>.<bw|iops|lat_ns.mean>`
//! with KiB per second, operations per second and nanoseconds. Operations that neither read nor write have their own
//! name in place of `read` or `write`. Only the measured stage is sent.

mod client;
mod line;
mod run;
#[cfg(test)]
pub(crate) mod test_vectors;
#[cfg(test)]
mod tests;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use experiment::Plan;

use client::GraphiteClient;
pub use client::GraphiteLosses;
pub use run::GraphiteRun;

use crate::HostPort;

/// Carbon's port for the plaintext protocol.
const PORT: u16 = 2003;

/// Where metrics are pushed, and how often.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GraphiteOptions {
    /// Carbon's address.
    pub address: HostPort,
    /// Length of a sample: at least an interval. Values cover their own sample only.
    pub every: Duration,
}

impl GraphiteOptions {
    /// `StorPerf`'s length of a sample.
    pub const USUAL: Duration = Duration::from_secs(60);

    /// Reads Carbon's address; without a port it is 2003.
    ///
    /// # Errors
    /// It is no `HOST:PORT`.
    pub fn address(text: &str) -> Result<HostPort, crate::HostPortError> {
        HostPort::parse(text, PORT)
    }
}

/// A push to one Graphite server, for any number of runs.
#[derive(Debug)]
pub struct GraphitePush {
    client: Arc<GraphiteClient>,
    every: Duration,
}

impl GraphitePush {
    /// Starts its thread, which connects when there is something to send.
    ///
    /// # Errors
    /// No thread can be started.
    pub fn start(options: GraphiteOptions) -> io::Result<Self> {
        Ok(Self { client: Arc::new(GraphiteClient::start(options.address)?), every: options.every })
    }

    /// An observer that pushes the measurements of a run; `host` names this host in runs without a fleet.
    pub fn observe(&self, id: &str, plan: &Plan, host: &str) -> GraphiteRun {
        GraphiteRun::new(Arc::clone(&self.client), self.every, id, plan, host)
    }

    /// Sends what is queued, within this time, and ends the connection; returns what was not delivered, if anything.
    pub fn finish(&self, within: Duration) -> Option<GraphiteLosses> {
        self.client.finish(within)
    }
}
