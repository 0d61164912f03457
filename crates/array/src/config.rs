//! Configuration of a simulated array: addresses, credentials, size.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use crate::faults::FaultPlan;

/// An API token. Its `Debug` reveals nothing.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

impl Token {
    /// A token given by the user.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// A new token in the form that arrays issue: `T-` and a UUID.
    pub fn random() -> Self {
        let bytes: [u8; 16] = std::array::from_fn(|_| fastrand::u8(..));
        let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        Self(format!("T-{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]))
    }

    /// The token itself, for comparison or for its owner; never to be logged.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

/// How the management API is served.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ManagementTls {
    /// TLS with a certificate created at start (as with a new array).
    #[default]
    SelfSigned,
    /// TLS with a certificate chain and key from PEM files.
    Files {
        /// PEM file with the certificate chain, leaf first.
        certificate: PathBuf,
        /// PEM file with the private key.
        key: PathBuf,
    },
    /// Plain HTTP: only for experiments, because the token is then sent in clear text.
    Off,
}

/// One data address of the array. Each port may be 0 to choose a free one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AddressConfig {
    /// The address; on Linux every 127.x.y.z can be used without setup.
    pub ip: IpAddr,
    /// Name of the network interface, as shown by management.
    pub interface: String,
    /// Name of the subnet the interface belongs to.
    pub subnet: String,
    /// Length of the subnet's prefix in bits.
    pub prefix_bits: u8,
    /// MTU configured on the subnet, in bytes.
    pub mtu: u32,
    /// A disabled interface is shown, but nothing listens on it.
    pub enabled: bool,
    /// TCP port of NFS.
    pub nfs_port: u16,
    /// TCP port of MOUNT.
    pub mount_port: u16,
    /// TCP port of the portmapper (111 on real arrays, which needs root here).
    pub portmap_port: u16,
    /// TCP port of S3 over HTTP.
    pub s3_port: u16,
    /// TCP port of S3 over HTTPS, with the management API's certificate; `None` for no HTTPS.
    pub s3_tls_port: Option<u16>,
}

impl AddressConfig {
    /// An enabled address on free ports, in a /24 with an MTU of 9000.
    pub fn new(ip: impl Into<IpAddr>, interface: &str, subnet: &str) -> Self {
        Self {
            ip: ip.into(),
            interface: interface.into(),
            subnet: subnet.into(),
            prefix_bits: 24,
            mtu: 9000,
            enabled: true,
            nfs_port: 0,
            mount_port: 0,
            portmap_port: 0,
            s3_port: 0,
            s3_tls_port: None,
        }
    }
}

/// Everything about a simulated array that is fixed while it runs. What can change is in [`crate::FaultHandle`].
#[derive(Clone, Debug)]
pub struct Config {
    /// Name of the array.
    pub name: String,
    /// Where the management API listens; port 0 chooses a free one.
    pub management: SocketAddr,
    /// How the management API is served.
    pub tls: ManagementTls,
    /// The API token that logs in.
    pub token: Token,
    /// API versions that are supported and listed by `GET /api/api_version`; see [`all_versions`].
    pub versions: Vec<String>,
    /// The data addresses.
    pub data: Vec<AddressConfig>,
    /// Total bytes for files and objects.
    pub capacity_bytes: u64,
    /// Domain for virtual-host style S3 (`bucket.domain`); path style always works.
    pub s3_domain: Option<String>,
    /// Threads that serve S3, for all data addresses together.
    pub s3_threads: usize,
    /// Threads that serve NFS, for all data addresses together.
    pub nfs_threads: usize,
    /// The reactor of the NFS threads.
    pub nfs_reactor: reactor::BackendChoice,
    /// How long a silent client of NFSv4.1 is remembered.
    pub nfs_lease: Duration,
    /// Maximum items on a page of a management list.
    pub page_items: usize,
    /// Whether `GET /state` of the management listener answers.
    pub state_endpoint: bool,
    /// Seed of all randomness in faults.
    pub seed: u64,
    /// Faults from the start.
    pub faults: FaultPlan,
    /// JSON file with faults: read at start, and again whenever it changes.
    pub fault_file: Option<PathBuf>,
    /// File systems that exist from the start, exported over NFS to everyone.
    pub exports: Vec<String>,
    /// Buckets that exist from the start; [`Array::s3_key`](crate::Array::s3_key) has full access to them.
    pub buckets: Vec<String>,
}

impl Config {
    /// An array for tests: management on 127.0.0.1, two subnets with one data address each
    /// (127.0.1.1 and 127.0.2.1), all on free ports, a random token, 8 GiB.
    pub fn loopback() -> Self {
        Self {
            name: "simulated".into(),
            management: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            tls: ManagementTls::SelfSigned,
            token: Token::random(),
            versions: all_versions(),
            data: vec![
                AddressConfig::new(Ipv4Addr::new(127, 0, 1, 1), "data1", "subnet1"),
                AddressConfig::new(Ipv4Addr::new(127, 0, 2, 1), "data2", "subnet2"),
            ],
            capacity_bytes: 8 << 30,
            s3_domain: None,
            s3_threads: 1,
            nfs_threads: 1,
            nfs_reactor: reactor::BackendChoice::Auto,
            nfs_lease: crate::nfs::LEASE,
            page_items: 1000,
            state_endpoint: false,
            seed: 1,
            faults: FaultPlan::default(),
            fault_file: None,
            exports: Vec::new(),
            buckets: Vec::new(),
        }
    }
}

/// Every version that the simulated array supports, oldest first: 1.0 to 1.12 and 2.0 to 2.29.
pub fn all_versions() -> Vec<String> {
    let mut all: Vec<String> = (0..=8).map(|minor| format!("1.{minor}")).collect();
    all.push("1.8.1".into());
    all.extend((9..=12).map(|minor| format!("1.{minor}")));
    all.extend((0..=29).map(|minor| format!("2.{minor}")));
    all
}
