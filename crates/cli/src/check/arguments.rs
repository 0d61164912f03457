//! The arguments of `manometer check`, verbatim. [`super::request`] interprets them.

use std::net::IpAddr;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use provision::ExportProtocol;
use units::{Size, Span};

/// Measures NFS, S3 and RADOS throughput through each data address, and finds broken or slow paths.
///
/// On a FlashBlade, give the management address and an API token. The check creates a file system and a
/// bucket, writes and reads them through one data address per subnet, and removes everything it created. With
/// --ceph it does the same with a pool and a bucket of a Ceph cluster, through the public address of every host
/// with OSDs and of every object gateway. With --nfs, --s3 and --rados it uses an existing export, bucket or
/// pool, and removes only its own files and objects.
///
/// Exit code: 0 every row succeeded, 1 a row failed or the check could not run, 2 wrong usage, 129, 130 or
/// 143 interrupted.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES, args_override_self = true)]
pub struct CheckArguments {
    /// Management address of the array: host, host:port or [IPv6]:port
    #[arg(long, value_name = "HOST", env = "FB_MGMT_VIP", hide_env_values = true, help_heading = "Array")]
    pub management: Option<String>,
    /// File with the API token [default: FB_TOKEN from the environment; never taken from the command line]
    #[arg(long, value_name = "FILE", help_heading = "Array")]
    pub token_file: Option<PathBuf>,
    /// Check these data addresses instead of one per subnet; may be repeated. With --filesystem or --bucket
    /// but no --management, no array is contacted: the export and bucket of that name are used through these
    /// addresses
    #[arg(long, visible_alias = "datavip", value_name = "ADDRESS", help_heading = "Array")]
    pub data_vip: Vec<IpAddr>,
    /// Use this existing file system; the check only creates and removes a directory of its own in it
    #[arg(long, value_name = "NAME", help_heading = "Array")]
    pub filesystem: Option<String>,
    /// Use this existing bucket; the check only creates and removes objects of its own in it
    #[arg(long, value_name = "NAME", help_heading = "Array")]
    pub bucket: Option<String>,
    /// Trust the management certificate with this SHA-256 fingerprint (64 hex digits, colons allowed)
    #[arg(long, value_name = "SHA256", help_heading = "Array", conflicts_with_all = ["tls_ca", "tls_insecure"])]
    pub tls_fingerprint: Option<String>,
    /// Trust management certificates signed by a CA in this PEM file
    #[arg(long, value_name = "FILE", help_heading = "Array", conflicts_with = "tls_insecure")]
    pub tls_ca: Option<PathBuf>,
    /// Do not verify the management certificate; anyone on the path can then read the token
    #[arg(long, help_heading = "Array")]
    pub tls_insecure: bool,
    /// Timeout of one management API call
    #[arg(long, value_name = "DURATION", default_value = "30s", help_heading = "Array")]
    pub call_timeout: Span,
    /// Check a simulated array inside this process; needs nothing and touches nothing
    #[arg(long, help_heading = "Array", conflicts_with_all = ["management", "token_file", "nfs", "s3", "rados", "data_vip", "filesystem", "bucket"])]
    pub demo: bool,

    /// Check a Ceph cluster: RADOS and S3 through each public address. The tools `ceph` and `radosgw-admin`
    /// create a pool with a user of its own, and a user of the object gateway with a bucket, and remove them
    #[arg(long, help_heading = "Ceph", conflicts_with_all = ["management", "token_file", "nfs", "s3", "rados", "filesystem", "bucket", "demo"])]
    pub ceph: bool,
    /// The cluster's configuration on this host [default: CEPH_CONF from the environment, else /etc/ceph/ceph.conf
    /// if there is one; with --ceph-via none: the monitors' addresses suffice]
    #[arg(long, value_name = "FILE", help_heading = "Ceph")]
    pub ceph_conf: Option<PathBuf>,
    /// Run the tools on this host, by ssh: host, user@host, host:port, or a name from your ssh configuration
    #[arg(
        long,
        value_name = "HOST",
        help_heading = "Ceph",
        requires = "ceph",
        conflicts_with = "ceph_via_command"
    )]
    pub ceph_via: Option<String>,
    /// Run the tools by this command, such as 'cephadm shell --' or 'kubectl exec -i deploy/rook-ceph-tools --'
    #[arg(long, value_name = "COMMAND", help_heading = "Ceph", requires = "ceph")]
    pub ceph_via_command: Option<String>,
    /// Option for the tools, such as --ceph-option=--id=operator; may be repeated
    #[arg(long, value_name = "OPTION", help_heading = "Ceph", requires = "ceph", allow_hyphen_values = true)]
    pub ceph_option: Vec<String>,
    /// Object gateway, as http://host:port or https://host:port, instead of those that the cluster knows; may be
    /// repeated
    #[arg(long, value_name = "URL", help_heading = "Ceph", requires = "ceph")]
    pub ceph_gateway: Vec<String>,
    /// Placement groups of the pool [default: 8 for each OSD, rounded up to a power of two]
    #[arg(long, value_name = "N", help_heading = "Ceph", requires = "ceph", value_parser = clap::value_parser!(u32).range(1..=i64::from(experiment::MAX_PLACEMENT_GROUPS)))]
    pub ceph_pg_num: Option<u32>,

    /// Check this export instead of an array: nfs://host[:port]/export; may be repeated
    #[arg(long, value_name = "URL", help_heading = "Any server")]
    pub nfs: Vec<String>,
    /// Check this bucket instead of an array: s3://bucket?endpoint=https://host or https://host/bucket; may be repeated
    #[arg(long, value_name = "URL", help_heading = "Any server")]
    pub s3: Vec<String>,
    /// Check this pool of a Ceph cluster through each public address of its OSDs: rados://pool?conf=/etc/ceph/ceph.conf;
    /// may be repeated
    #[arg(long, value_name = "URL", help_heading = "Any server")]
    pub rados: Vec<String>,

    /// Skip NFS
    #[arg(long, help_heading = "What to check")]
    pub skip_nfs: bool,
    /// Skip S3
    #[arg(long, help_heading = "What to check", conflicts_with = "skip_nfs")]
    pub skip_s3: bool,
    /// Skip RADOS
    #[arg(long, help_heading = "What to check")]
    pub skip_rados: bool,
    /// Measured time of each phase (write, then read); a bare number means seconds
    #[arg(long, value_name = "DURATION", default_value = "60s", value_parser = bare_seconds, help_heading = "What to check")]
    pub duration: Span,
    /// Do not try half and twice as much in flight after phases of at least 10 s with a doubtful limit (each
    /// trial takes a tenth of --duration, at most 3 s, outside the figures; never with --verify)
    #[arg(long, help_heading = "What to check")]
    pub no_probe: bool,
    /// Compare every byte read with what was written
    #[arg(long, help_heading = "What to check", conflicts_with = "sink")]
    pub verify: bool,
    /// Most data that one phase writes before it starts again from the beginning
    #[arg(long, value_name = "SIZE", default_value = "64GiB", help_heading = "What to check")]
    pub dataset: Size,

    /// Load threads [default: one per core]
    #[arg(long, value_name = "N", help_heading = "Load", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub workers: Option<u32>,
    /// Operations each worker keeps in flight
    #[arg(long, value_name = "N", default_value_t = 16, help_heading = "Load", value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub lanes: u32,
    /// NFS connections per worker (S3 uses one per lane)
    #[arg(long, value_name = "N", default_value_t = 4, help_heading = "Load", value_parser = clap::value_parser!(u32).range(1..=256))]
    pub connections: u32,
    /// Size of one NFS read or write; the server's limits apply
    #[arg(long, value_name = "SIZE", default_value = "1MiB", help_heading = "Load")]
    pub block_size: Size,
    /// Size of one S3 or RADOS object
    #[arg(long, value_name = "SIZE", default_value = "8MiB", help_heading = "Load")]
    pub object_size: Size,
    /// Where read data goes: into a buffer, or dropped in the kernel after its length is checked
    #[arg(long, value_name = "SINK", default_value = "buffer", help_heading = "Load")]
    pub sink: SinkChoice,
    /// How I/O is submitted to the kernel
    #[arg(long, value_name = "KIND", default_value = "auto", help_heading = "Load")]
    pub reactor: ReactorChoice,
    /// Timeout of connecting; an address that does not answer in time is reported and skipped
    #[arg(long, value_name = "DURATION", default_value = "10s", help_heading = "Load")]
    pub connect_timeout: Span,
    /// Timeout of one operation
    #[arg(long, value_name = "DURATION", default_value = "30s", help_heading = "Load")]
    pub op_timeout: Span,

    /// Ask the server to make every write durable at once (FILE_SYNC) instead of by COMMIT
    #[arg(long, help_heading = "NFS")]
    pub stable: bool,
    /// User ID in NFS requests [default: this process's]
    #[arg(long, value_name = "UID", help_heading = "NFS")]
    pub uid: Option<u32>,
    /// Group ID in NFS requests [default: this process's]
    #[arg(long, value_name = "GID", help_heading = "NFS")]
    pub gid: Option<u32>,
    /// Version of NFS [default: 3]; with 4.1 the export's path is the one that the server's NFSv4 root shows
    #[arg(long, value_name = "VERSION", help_heading = "NFS")]
    pub nfs_version: Option<NfsVersionChoice>,
    /// Port of NFS, instead of asking the portmapper (with --nfs-version 4.1, instead of 2049)
    #[arg(long, value_name = "PORT", help_heading = "NFS", value_parser = clap::value_parser!(u16).range(1..))]
    pub nfs_port: Option<u16>,
    /// Port of MOUNT, instead of asking the portmapper
    #[arg(long, value_name = "PORT", help_heading = "NFS", value_parser = clap::value_parser!(u16).range(1..))]
    pub mount_port: Option<u16>,
    /// Port of the portmapper
    #[arg(long, value_name = "PORT", default_value_t = 111, help_heading = "NFS", value_parser = clap::value_parser!(u16).range(1..))]
    pub portmap_port: u16,

    /// File with S3 keys, in the format of ~/.aws/credentials [default: AWS_ACCESS_KEY_ID and
    /// AWS_SECRET_ACCESS_KEY, then ~/.aws/credentials]
    #[arg(long, value_name = "FILE", help_heading = "S3")]
    pub s3_credentials_file: Option<PathBuf>,
    /// Port of S3 on the array's data addresses [default: 80, or 443 with --s3-tls]
    #[arg(long, value_name = "PORT", help_heading = "S3", value_parser = clap::value_parser!(u16).range(1..))]
    pub s3_port: Option<u16>,
    /// Use TLS on the array's data addresses
    #[arg(long, help_heading = "S3")]
    pub s3_tls: bool,
    /// Trust S3 certificates signed by a CA in this PEM file
    #[arg(long, value_name = "FILE", help_heading = "S3", conflicts_with = "s3_tls_insecure")]
    pub s3_tls_ca: Option<PathBuf>,
    /// Trust the S3 certificate with this SHA-256 fingerprint
    #[arg(long, value_name = "SHA256", help_heading = "S3", conflicts_with_all = ["s3_tls_ca", "s3_tls_insecure"])]
    pub s3_tls_fingerprint: Option<String>,
    /// Do not verify S3 certificates
    #[arg(long, help_heading = "S3")]
    pub s3_tls_insecure: bool,
    /// Region that S3 requests are signed for [default: AWS_REGION, AWS_DEFAULT_REGION or us-east-1]
    #[arg(long, value_name = "NAME", help_heading = "S3")]
    pub s3_region: Option<String>,
    /// Put the bucket name into the host name instead of the path
    #[arg(long, help_heading = "S3")]
    pub s3_virtual_host: bool,
    /// Integrity check of uploads: none, a signed SHA-256, or a CRC in a trailer
    #[arg(long, value_name = "KIND", default_value = "unsigned", help_heading = "S3")]
    pub s3_payload: PayloadChoice,

    /// Format of the report on standard output
    #[arg(long, short, value_name = "FORMAT", default_value = "table", help_heading = "Output")]
    pub output: CheckFormat,
    /// Write the report to this file; the table still goes to standard output
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub output_file: Option<PathBuf>,
    /// Store the check in this results file, for `manometer list`, `show`, `report` and `compare` [default:
    /// $XDG_DATA_HOME/manometer/results.sqlite or ~/.local/share/manometer/results.sqlite; with --demo none]
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub results: Option<PathBuf>,
    /// Directory for the journal of what was created [default: $XDG_STATE_HOME/manometer/journal or
    /// ~/.local/state/manometer/journal]
    #[arg(long, value_name = "DIRECTORY", help_heading = "Output")]
    pub journal_dir: Option<PathBuf>,
}

const EXAMPLES: &str = "\
Examples:
  FB_MGMT_VIP=10.1.2.3 FB_TOKEN=… manometer check
  manometer check --management array1 --token-file ~/token --duration 20s --output csv
  manometer check --nfs nfs://filer/export --skip-s3
  manometer check --s3 's3://bucket?endpoint=https://s3.example.com' --verify
  manometer check --ceph --ceph-via admin@mon1
  manometer check --rados 'rados://pool?id=bench' --object-size 4MiB
  manometer check --demo";

/// A duration; a bare number is in seconds, as in flashblade-plumbing.
fn bare_seconds(text: &str) -> Result<Span, units::ParseError> {
    match text.parse::<u32>() {
        Ok(seconds) => Ok(Span::from_secs(seconds.into())),
        Err(_) => text.parse(),
    }
}

/// Formats of the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum CheckFormat {
    /// For people.
    Table,
    /// dataVip,protocol,result,write_tput,read_tput
    Csv,
    /// The same, followed by every measured figure.
    CsvFull,
    /// Everything, as in schemas/check.schema.json.
    Json,
}

/// A version of NFS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum NfsVersionChoice {
    /// Version 3
    #[value(name = "3")]
    V3,
    /// Version 4.1
    #[value(name = "4.1")]
    V4_1,
}

impl NfsVersionChoice {
    /// The version as the check takes it.
    pub fn protocol(self) -> ExportProtocol {
        match self {
            Self::V3 => ExportProtocol::Nfs3,
            Self::V4_1 => ExportProtocol::Nfs4_1,
        }
    }
}

/// Where the data of reads goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SinkChoice {
    /// Into a buffer, as an application would read it.
    Buffer,
    /// Dropped in the kernel.
    Discard,
}

/// How I/O is submitted to the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ReactorChoice {
    /// io_uring when the kernel allows it, else epoll.
    Auto,
    /// io_uring, or fail.
    Uring,
    /// epoll.
    Epoll,
}

/// How uploads are protected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PayloadChoice {
    /// UNSIGNED-PAYLOAD.
    Unsigned,
    /// A SHA-256 of the data in the signature.
    Signed,
    /// A CRC-64/NVME in a trailer.
    Crc64nvme,
    /// A CRC-32C in a trailer.
    Crc32c,
}
