//! What to check, as values.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use drivers::Sink;
use provision::Management;
use targets::{CheckTarget, CheckTraits};

use super::report::CheckSettings;

/// Files are not larger than this, so that a COMMIT comes now and then.
const MAX_FILE: u64 = 1 << 30;

/// Whose storage is checked.
#[derive(Debug)]
pub enum CheckSource {
    /// An array that makes the targets.
    Array(ArrayRequest),
    /// Exports, buckets and the like that exist.
    Existing(Vec<ExistingTarget>),
    /// A simulated array in this process.
    Demo,
}

/// A target that exists.
#[derive(Clone, Debug)]
pub struct ExistingTarget {
    /// Its protocol.
    pub protocol: &'static CheckTraits,
    /// Where it is.
    pub target: CheckTarget,
}

/// The array's two inputs and what may be asked of it.
#[derive(Debug)]
pub struct ArrayRequest {
    /// Where and with which token to log in.
    pub management: Management,
    /// An existing file system to use.
    pub filesystem: Option<String>,
    /// An existing bucket to use.
    pub bucket: Option<String>,
}

/// How much load of which shape.
#[derive(Clone, Debug)]
pub struct CheckLoad {
    /// Measured time of a phase.
    pub window: Duration,
    /// Time before it that is not counted.
    pub ramp: Duration,
    /// Threads.
    pub workers: u32,
    /// Operations in flight a thread.
    pub lanes: u32,
    /// Bytes of one operation on a part of a file.
    pub block_size: u64,
    /// Bytes of one object.
    pub object_size: u64,
    /// Most that is written before starting over.
    pub dataset: u64,
    /// Where the data of reads goes.
    pub sink: Sink,
    /// io_uring or epoll.
    pub reactor: reactor::BackendChoice,
    /// Longest wait for a connection.
    pub connect_timeout: Duration,
    /// Longest wait for an operation.
    pub op_timeout: Duration,
}

/// How targets of one protocol are reached.
#[derive(Clone, Debug)]
pub struct CheckAccess {
    /// The protocol.
    pub protocol: &'static CheckTraits,
    /// Whether it is checked.
    pub checked: bool,
    /// Port on the data addresses of an array, and of targets that name none; `None`: the usual one.
    pub port: Option<u16>,
    /// Whether the array's data addresses speak TLS.
    pub tls: bool,
    /// Options of all its targets, as an experiment file has them.
    pub options: BTreeMap<String, String>,
}

/// Everything that a check needs to know.
#[derive(Debug)]
pub struct CheckRequest {
    /// Whose storage.
    pub source: CheckSource,
    /// Addresses to use instead of the chosen ones.
    pub data_vips: Vec<IpAddr>,
    /// The load.
    pub load: CheckLoad,
    /// Reaching targets, by protocol.
    pub access: Vec<CheckAccess>,
    /// The results file; `None`: the user's, and of a demonstration none.
    pub results: Option<PathBuf>,
    /// What started the check, as results show it; without secrets.
    pub command: String,
    /// Directory of the journal; `None`: the user's.
    pub journal_dir: Option<PathBuf>,
    /// A directory for what lasts only as long as the check.
    pub scratch: PathBuf,
}

impl CheckLoad {
    /// Size of the files that a write phase makes, one after the other in each lane, in bytes.
    pub(super) fn file_bytes(&self) -> u64 {
        let block = self.block_size;
        let lanes = u64::from(self.workers) * u64::from(self.lanes);
        let blocks = (self.dataset / lanes).min(MAX_FILE) / block;
        blocks.max(1) * block
    }
}

impl CheckRequest {
    /// How targets of a protocol are reached, if it is checked.
    pub(super) fn access(&self, protocol: &CheckTraits) -> Option<&CheckAccess> {
        let is = |access: &&CheckAccess| access.checked && std::ptr::eq(access.protocol, protocol);
        self.access.iter().find(is)
    }

    /// The value of an option that one of the protocols has.
    fn option(&self, name: &str) -> Option<&str> {
        self.access.iter().find_map(|access| access.options.get(name)).map(String::as_str)
    }

    /// The load as the report shows it.
    pub fn settings(&self) -> CheckSettings {
        let load = &self.load;
        CheckSettings {
            duration_s: load.window.as_secs_f64(),
            ramp_s: load.ramp.as_secs_f64(),
            workers: load.workers,
            lanes: load.lanes,
            connections: self.option("connections").and_then(|text| text.parse().ok()).unwrap_or(1),
            block_size: load.block_size,
            object_size: load.object_size,
            dataset: load.dataset,
            sink: super::stage::sink_name(load.sink),
            stable: self.option("stable") == Some("true"),
            s3_payload: self.option("signing").unwrap_or("unsigned").to_owned(),
        }
    }
}
