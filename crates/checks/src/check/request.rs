//! What to check, as values.

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use drivers::Sink;
use drivers::s3::PayloadSigning;
use engine::DataShape;
use provision::Management;

use super::report::CheckSettings;
use super::url::{NfsUrl, S3Url};

/// The name under which a check asks for the keys of buckets that exist ([`targets::Secrets::key`]).
pub const S3_KEY: &str = "s3";
/// Files are not larger than this, so that a COMMIT comes now and then.
const MAX_FILE: u64 = 1 << 30;

/// Whose storage is checked.
#[derive(Debug)]
pub enum CheckSource {
    /// An array that makes the targets.
    Array(ArrayRequest),
    /// Exports and buckets that exist.
    Manual {
        /// The exports.
        nfs: Vec<NfsUrl>,
        /// The buckets.
        s3: Vec<S3Url>,
    },
    /// A simulated array in this process.
    Demo,
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
    /// NFS connections a thread.
    pub connections: u32,
    /// Bytes of one NFS operation.
    pub block_size: u64,
    /// Bytes of one object.
    pub object_size: u64,
    /// Most that is written before starting over.
    pub dataset: u64,
    /// Where the data of reads goes.
    pub sink: Sink,
    /// Durable writes at once.
    pub stable: bool,
    /// io_uring or epoll.
    pub reactor: reactor::BackendChoice,
    /// Longest wait for a connection.
    pub connect_timeout: Duration,
    /// Longest wait for an operation.
    pub op_timeout: Duration,
}

/// How NFS is reached.
#[derive(Clone, Debug)]
pub struct NfsAccess {
    /// User that requests carry.
    pub uid: u32,
    /// Group that requests carry.
    pub gid: u32,
    /// Port of NFS, if not asked for.
    pub nfs_port: Option<u16>,
    /// Port of MOUNT, if not asked for.
    pub mount_port: Option<u16>,
    /// Port to ask on.
    pub portmap_port: u16,
}

/// How S3 is reached.
#[derive(Clone, Debug)]
pub struct S3Access {
    /// File that the keys of existing buckets come from, for a later clean-up.
    pub credentials_file: Option<PathBuf>,
    /// Profile in such a file, likewise.
    pub profile: Option<String>,
    /// Port on the array's data addresses.
    pub port: u16,
    /// Whether the array's data addresses speak TLS.
    pub tls: bool,
    /// Whose certificates are accepted.
    pub trust: drivers::s3::Trust,
    /// Region to sign for.
    pub region: String,
    /// Bucket in front of the host name.
    pub virtual_host: bool,
    /// How uploads are protected.
    pub signing: PayloadSigning,
}

/// Everything that a check needs to know.
#[derive(Debug)]
pub struct CheckRequest {
    /// Whose storage.
    pub source: CheckSource,
    /// Whether NFS is checked.
    pub nfs: bool,
    /// Whether S3 is checked.
    pub s3: bool,
    /// Addresses to use instead of the chosen ones.
    pub data_vips: Vec<IpAddr>,
    /// The load.
    pub load: CheckLoad,
    /// Reaching NFS.
    pub nfs_access: NfsAccess,
    /// Reaching S3.
    pub s3_access: S3Access,
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
    /// The files that an NFS write phase makes: one after the other in each lane.
    pub(super) fn files(&self) -> DataShape {
        let block = self.block_size;
        let lanes = u64::from(self.workers) * u64::from(self.lanes);
        let blocks = (self.dataset / lanes).min(MAX_FILE) / block;
        DataShape::Files { file_bytes: blocks.max(1) * block, block_bytes: block }
    }

    /// The objects that an S3 write phase puts.
    pub(super) fn objects(&self) -> DataShape {
        DataShape::Objects { object_bytes: self.object_size }
    }
}

impl CheckRequest {
    /// The load as the report shows it.
    pub fn settings(&self) -> CheckSettings {
        let load = &self.load;
        CheckSettings {
            duration_s: load.window.as_secs_f64(),
            ramp_s: load.ramp.as_secs_f64(),
            workers: load.workers,
            lanes: load.lanes,
            connections: load.connections,
            block_size: load.block_size,
            object_size: load.object_size,
            dataset: load.dataset,
            sink: super::stage::sink_name(load.sink),
            stable: load.stable,
            s3_payload: match self.s3_access.signing {
                PayloadSigning::Unsigned => "unsigned",
                PayloadSigning::Signed => "signed",
                PayloadSigning::CrcTrailer => "crc64nvme",
                PayloadSigning::Crc32cTrailer => "crc32c",
            },
        }
    }
}
