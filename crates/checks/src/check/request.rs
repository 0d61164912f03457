//! What to check, as values.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use drivers::Sink;
use experiment::Via;
use fleet::launch::SshLogin;
use provision::{ExportProtocol, Management};
use targets::{CheckTarget, CheckTraits};

use super::report::CheckSettings;
use crate::record_options::RecordOptions;

/// Maximum file size, so that a COMMIT occurs now and then.
const MAX_FILE: u64 = 1 << 30;

/// The storage to check.
#[derive(Debug)]
pub enum CheckSource {
    /// An array that creates the targets.
    Array(ArrayRequest),
    /// A Ceph cluster whose tools create the targets.
    Ceph(CephRequest),
    /// Existing exports, buckets, pools and the like.
    Existing(Vec<ExistingTarget>),
    /// A simulated array in this process.
    Demo,
}

/// An existing target.
#[derive(Clone, Debug)]
pub struct ExistingTarget {
    /// Its protocol.
    pub protocol: &'static CheckTraits,
    /// Where it is.
    pub target: CheckTarget,
}

/// Login and options for an array.
#[derive(Debug)]
pub struct ArrayRequest {
    /// Where to log in and with which token.
    pub management: Management,
    /// An existing file system to use.
    pub filesystem: Option<String>,
    /// An existing bucket to use.
    pub bucket: Option<String>,
}

/// How a Ceph cluster's tools are called, and what they create.
#[derive(Clone, Debug, Default)]
pub struct CephRequest {
    /// How to log in to the host that runs them.
    pub login: SshLogin,
    /// Options for `ceph` and `radosgw-admin`.
    pub options: Vec<String>,
    /// How the host that runs them is reached; `None`: this host.
    pub via: Option<Via>,
    /// Addresses of object gateways in place of those that the cluster knows.
    pub gateways: Vec<CheckTarget>,
    /// Number of placement groups of the pool; `None`: a power of two that is at least eight times the number of OSDs.
    pub pg_num: Option<u32>,
}

/// The shape and amount of the load.
#[derive(Clone, Debug)]
pub struct CheckLoad {
    /// Measured time of a phase.
    pub window: Duration,
    /// Ramp before it, which is not counted.
    pub ramp: Duration,
    /// Try half and twice as much in flight after phases whose limit is in doubt, if there is time.
    pub probe: bool,
    /// Threads.
    pub workers: u32,
    /// Operations in flight per thread.
    pub lanes: u32,
    /// Bytes per operation on part of a file.
    pub block_size: u64,
    /// Bytes of one object.
    pub object_size: u64,
    /// Maximum bytes written before starting over.
    pub dataset: u64,
    /// Where read data goes.
    pub sink: Sink,
    /// io_uring or epoll.
    pub reactor: reactor::BackendChoice,
    /// Timeout for a connection.
    pub connect_timeout: Duration,
    /// Timeout for an operation.
    pub op_timeout: Duration,
}

/// How to reach targets of one protocol.
#[derive(Clone, Debug)]
pub struct CheckAccess {
    /// The protocol.
    pub protocol: &'static CheckTraits,
    /// Whether it is checked.
    pub checked: bool,
    /// Port on an array's data addresses, and on targets that name none; `None`: the default port.
    pub port: Option<u16>,
    /// Whether the array's data addresses use TLS.
    pub tls: bool,
    /// Options of all its targets, as in an experiment file.
    pub options: BTreeMap<String, String>,
}

/// All inputs of a check.
#[derive(Debug)]
pub struct CheckRequest {
    /// The storage to check.
    pub source: CheckSource,
    /// Addresses to use instead of the automatically chosen ones.
    pub data_vips: Vec<IpAddr>,
    /// The load.
    pub load: CheckLoad,
    /// How to reach targets, by protocol.
    pub access: Vec<CheckAccess>,
    /// What a file system of an array is exported over.
    pub export_protocol: ExportProtocol,
    /// How it is recorded; a demonstration without a named place for its results has none.
    pub record: RecordOptions,
    /// Directory of the journal; `None`: the user's.
    pub journal_dir: Option<PathBuf>,
    /// A directory for files that exist only during the check.
    pub scratch: PathBuf,
}

impl CheckLoad {
    /// Size of the files that a write phase creates one after the other in each lane, in bytes.
    pub(super) fn file_bytes(&self) -> u64 {
        let block = self.block_size;
        let lanes = u64::from(self.workers) * u64::from(self.lanes);
        let blocks = (self.dataset / lanes).min(MAX_FILE) / block;
        blocks.max(1) * block
    }
}

impl CheckRequest {
    /// How to reach targets of a protocol, if it is checked.
    pub(super) fn access(&self, protocol: &CheckTraits) -> Option<&CheckAccess> {
        let is = |access: &&CheckAccess| access.checked && std::ptr::eq(access.protocol, protocol);
        self.access.iter().find(is)
    }

    /// Whether anything is checked over TLS.
    pub(super) fn uses_tls(&self) -> bool {
        self.access.iter().filter(|access| access.checked).any(|access| match &self.source {
            CheckSource::Existing(given) => {
                given.iter().any(|one| std::ptr::eq(one.protocol, access.protocol) && one.target.tls)
            }
            CheckSource::Ceph(ceph) => access.protocol.has_keys && ceph.gateways.iter().any(|one| one.tls),
            CheckSource::Array(_) | CheckSource::Demo => access.tls,
        })
    }

    /// The value of an option that one of the protocols has.
    fn option(&self, name: &str) -> Option<&str> {
        self.access.iter().find_map(|access| access.options.get(name)).map(String::as_str)
    }

    /// The load's settings as the report shows them.
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
