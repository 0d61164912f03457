//! From addresses, exports and buckets to the list of what is checked, in the order of the report.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::path::PathBuf;

use drivers::nfs::NfsConfig;
use drivers::s3::{Credentials, Endpoint, S3Config, Secret, TlsConfig};
use provision::{DataInterface, RunId};
use targets::{AccessKey, Secrets};

use super::request::{CheckRequest, S3_KEY};
use super::row::{CheckedProtocol, DataAddressFacts};
use super::url::{NfsUrl, S3Url};

/// One row to be: an address, a protocol, and how to get there.
#[derive(Clone, Debug)]
pub struct RowTarget {
    /// The address and what is known of it.
    pub path: DataAddressFacts,
    /// How it is reached.
    pub access: TargetAccess,
    /// True when what is in it must be removed piece by piece, because the export or bucket stays.
    pub stays: bool,
    /// File that the S3 keys came from, for a later clean-up.
    pub credentials_file: Option<PathBuf>,
    /// Profile that they came from, likewise.
    pub profile: Option<String>,
}

/// How a target is reached.
#[derive(Clone, Debug)]
pub enum TargetAccess {
    /// Over NFS.
    Nfs(NfsConfig),
    /// Over S3.
    S3(Box<S3Config>),
}

impl RowTarget {
    /// Which protocol it is.
    pub fn protocol(&self) -> CheckedProtocol {
        match self.access {
            TargetAccess::Nfs(_) => CheckedProtocol::Nfs,
            TargetAccess::S3(_) => CheckedProtocol::S3,
        }
    }
}

impl RowTarget {
    /// Protocol and address, such as `nfs 10.0.0.1`.
    pub fn label(&self) -> String {
        format!("{} {}", self.protocol().name(), self.path.address)
    }

    /// The export or the bucket.
    pub fn place(&self) -> &str {
        match &self.access {
            TargetAccess::Nfs(config) => &config.export,
            TargetAccess::S3(config) => &config.bucket,
        }
    }
}

/// What an array has made or lent.
#[derive(Clone, Debug, Default)]
pub struct ArrayTargets {
    /// The export, and whether it was there before.
    pub export: Option<(String, bool)>,
    /// The bucket with its keys, and whether it was there before.
    pub bucket: Option<(String, Credentials, bool)>,
}

/// Ports of one data address that differ from the usual ones.
#[derive(Clone, Copy, Debug)]
pub struct DataPorts {
    /// NFS, if not asked for.
    pub nfs: Option<u16>,
    /// MOUNT, if not asked for.
    pub mount: Option<u16>,
    /// The portmapper.
    pub portmap: u16,
    /// S3.
    pub s3: u16,
}

impl DataPorts {
    fn of(request: &CheckRequest) -> Self {
        let nfs = &request.nfs_access;
        Self {
            nfs: nfs.nfs_port,
            mount: nfs.mount_port,
            portmap: nfs.portmap_port,
            s3: request.s3_access.port,
        }
    }
}

/// The rows of an array: for each address NFS, then S3. `ports` has those of addresses with their own.
pub fn on_array(
    request: &CheckRequest,
    addresses: &[DataInterface],
    made: &ArrayTargets,
    run: &RunId,
    ports: &BTreeMap<IpAddr, DataPorts>,
) -> Vec<RowTarget> {
    let facts = |address: IpAddr| {
        let known = addresses.iter().find(|known| known.address == address);
        DataAddressFacts {
            address,
            subnet: known.map(|known| known.subnet.clone()),
            array_mtu: known.and_then(|known| known.mtu),
        }
    };
    let chosen: Vec<DataAddressFacts> = if request.data_vips.is_empty() {
        addresses.iter().map(|known| facts(known.address)).collect()
    } else {
        request.data_vips.iter().copied().map(facts).collect()
    };
    let mut targets = Vec::new();
    for path in chosen {
        let ports = ports.get(&path.address).copied().unwrap_or_else(|| DataPorts::of(request));
        if let Some((export, stays)) = &made.export {
            let access = TargetAccess::Nfs(nfs_config(request, path.address, export, run, ports));
            targets.push(RowTarget {
                path: path.clone(),
                access,
                stays: *stays,
                credentials_file: None,
                profile: None,
            });
        }
        if let Some((bucket, credentials, stays)) = &made.bucket {
            let endpoint =
                Endpoint { tls: request.s3_access.tls, host: path.address.to_string(), port: ports.s3 };
            let to = SocketAddr::new(path.address, ports.s3);
            let config = s3_config(request, endpoint, to, bucket, credentials.clone(), run);
            let access = TargetAccess::S3(Box::new(config));
            targets.push(RowTarget { path, access, stays: *stays, credentials_file: None, profile: None });
        }
    }
    targets
}

/// The rows of exports and buckets that exist.
///
/// # Errors
/// One line: a host without an address, or keys that cannot be found.
pub fn manual(
    request: &CheckRequest,
    nfs: &[NfsUrl],
    s3: &[S3Url],
    secrets: &dyn Secrets,
    run: &RunId,
) -> Result<Vec<RowTarget>, String> {
    let mut targets = Vec::new();
    let path = |address| DataAddressFacts { address, subnet: None, array_mtu: None };
    for url in nfs.iter().filter(|_| request.nfs) {
        let mut ports = DataPorts::of(request);
        ports.nfs = url.port.or(ports.nfs);
        for address in addresses(request, "--nfs", &url.host, 0)? {
            let config = nfs_config(request, address.ip(), &url.export, run, ports);
            let access = TargetAccess::Nfs(config);
            targets.push(RowTarget {
                path: path(address.ip()),
                access,
                stays: true,
                credentials_file: None,
                profile: None,
            });
        }
    }
    if s3.is_empty() || !request.s3 {
        return Ok(targets);
    }
    let key = secrets.key(S3_KEY).ok_or_else(|| "no S3 keys were given".to_owned())?;
    let credentials = credentials(key);
    for url in s3 {
        for to in addresses(request, "--s3", &url.endpoint.host, url.endpoint.port)? {
            let config = s3_config(request, url.endpoint.clone(), to, &url.bucket, credentials.clone(), run);
            let access = TargetAccess::S3(Box::new(config));
            let credentials_file = request.s3_access.credentials_file.clone();
            let profile = request.s3_access.profile.clone();
            targets.push(RowTarget { path: path(to.ip()), access, stays: true, credentials_file, profile });
        }
    }
    Ok(targets)
}

fn credentials(AccessKey { id, secret, token }: AccessKey) -> Credentials {
    Credentials { session_token: token.map(Secret::new), ..Credentials::new(id, secret) }
}

/// The addresses that the user named, else the first that the host's name has.
fn addresses(request: &CheckRequest, flag: &str, host: &str, port: u16) -> Result<Vec<SocketAddr>, String> {
    if !request.data_vips.is_empty() {
        return Ok(request.data_vips.iter().map(|ip| SocketAddr::new(*ip, port)).collect());
    }
    if let Ok(address) = host.parse::<IpAddr>() {
        return Ok(vec![SocketAddr::new(address, port)]);
    }
    let unknown = |why: String| {
        format!("{flag}: the host {host:?} has no address ({why}): check its spelling, or give an address")
    };
    let mut found = (host, port).to_socket_addrs().map_err(|error| unknown(error.to_string()))?;
    Ok(vec![found.next().ok_or_else(|| unknown("none was found".into()))?])
}

fn nfs_config(
    request: &CheckRequest,
    server: IpAddr,
    export: &str,
    run: &RunId,
    ports: DataPorts,
) -> NfsConfig {
    let block = u32::try_from(request.load.block_size).unwrap_or(u32::MAX);
    NfsConfig {
        nfs_port: ports.nfs,
        mount_port: ports.mount,
        portmap_port: ports.portmap,
        uid: request.nfs_access.uid,
        gid: request.nfs_access.gid,
        connections_per_worker: request.load.connections,
        stable: request.load.stable,
        read_size: Some(block),
        write_size: Some(block),
        ..NfsConfig::new(server, export, run.object_name())
    }
}

fn s3_config(
    request: &CheckRequest,
    endpoint: Endpoint,
    connect_to: SocketAddr,
    bucket: &str,
    credentials: Credentials,
    run: &RunId,
) -> S3Config {
    let access = &request.s3_access;
    let usual = S3Config::new(endpoint, bucket, &run.object_name(), credentials);
    S3Config {
        connect_to: Some(connect_to),
        region: access.region.clone(),
        path_style: !access.virtual_host,
        payload_signing: access.signing,
        tls: TlsConfig { trust: access.trust.clone() },
        control_timeout: request.load.op_timeout,
        may_put_parts: request.load.object_size > usual.part_size,
        ..usual
    }
}
