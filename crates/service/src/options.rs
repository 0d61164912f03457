//! What the operator of a service decides.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use database::DatabaseServer;
use exporters::{CpuBudget, PushOptions, Pushes};

use crate::schedules::{Clock, WebhookPolicy};
use crate::token::TokenDigest;

/// Where the service reports what happens to it, one line each.
pub type Notes = Arc<dyn Fn(&str) + Send + Sync>;

/// How a service runs.
pub struct ServeOptions {
    /// The address to listen on; port 0 for any free one.
    pub listen: SocketAddr,
    /// Directory of the service's state: `results.sqlite`, `journal/`, `service.sqlite`. Created for its owner only.
    pub directory: PathBuf,
    /// Database that several services share, instead of `service.sqlite`.
    pub database: Option<DatabaseServer>,
    /// The token that every request must carry; required unless the address is a loopback one.
    pub token: Option<TokenDigest>,
    /// How connections are encrypted.
    pub tls: ServiceTls,
    /// Names under which the service may be addressed, besides its own addresses and `localhost`.
    pub host_names: Vec<String>,
    /// What experiments in requests may use of this host.
    pub policy: RequestPolicy,
    /// The `manometer` program, which calibrations start as a simulated array in a separate process.
    pub program: PathBuf,
    /// Options for ssh, before those of fleets.
    pub ssh_options: Vec<String>,
    /// Length of a sample of `StorPerf`'s jobs: a minute there.
    pub storperf_sample: Duration,
    /// What requests may use of the processors while a load runs on this host, in percent of all of them.
    pub request_cpu_percent: u32,
    /// Where the measurements of all runs are pushed.
    pub pushes: PushOptions,
    /// Where schedules may send webhooks.
    pub webhooks: WebhookPolicy,
    /// The clock that schedules follow.
    pub clock: Clock,
    /// Where the service reports what happens to it.
    pub notes: Notes,
}

/// How a service encrypts its connections.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ServiceTls {
    /// Not at all.
    #[default]
    Off,
    /// With a certificate that the first start creates in the service's directory: `certificate.pem` and `key.pem`.
    SelfSigned,
    /// With a certificate from files in PEM; a renewed one is used within a minute.
    Files {
        /// The certificate, followed by those of its issuers.
        certificate: PathBuf,
        /// Its private key.
        key: PathBuf,
    },
}

/// What the queue needs of these.
pub(crate) struct QueueSettings {
    pub database: Option<DatabaseServer>,
    pub policy: RequestPolicy,
    pub program: PathBuf,
    pub ssh_options: Vec<String>,
    pub storperf_sample: Duration,
    pub pushes: Arc<Pushes>,
    pub budget: Arc<CpuBudget>,
    pub notes: Notes,
}

/// What experiments in requests may use of this host, besides its network.
#[derive(Clone, Debug)]
pub struct RequestPolicy {
    /// Directories and devices that targets of this host may use, with everything below them.
    pub paths: Vec<PathBuf>,
    /// Whether fleets may name programs to start: the launcher `command`, options and binaries of the others.
    pub commands: bool,
    /// Whether fleets may be processes of this host (the launcher `local`), and this host may be calibrated.
    pub local: bool,
    /// Maximum number of cells of an experiment.
    pub max_cells: u32,
}

impl RequestPolicy {
    /// Maximum number of cells of an experiment, unless the operator sets another one.
    pub const MAX_CELLS: u32 = 10_000;
}

impl Default for RequestPolicy {
    fn default() -> Self {
        Self { paths: Vec::new(), commands: false, local: false, max_cells: Self::MAX_CELLS }
    }
}

/// Why a service cannot start: one line, with what to do next.
#[derive(Debug, thiserror::Error)]
pub enum ServiceError {
    /// It is set up wrongly.
    #[error("{0}")]
    Usage(String),
    /// The system refused something.
    #[error("{0}")]
    Failure(String),
}
