//! A running array: what was started, where it listens, and how it is stopped.

use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, RwLock};

use crate::capacity::Capacity;
use crate::config::{AddressConfig, Config, Token};
use crate::faults::{FaultHandle, Watch};
use crate::files::Files;
use crate::objects::{Objects, S3Key};
use crate::state::{Parts, state};
use crate::{nfs, rest, s3, tls};

/// The array could not be started.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// A listener could not be opened.
    #[error("cannot listen on {address} for {purpose}: {source}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// Its purpose.
        purpose: &'static str,
        /// The system's error.
        source: std::io::Error,
    },
    /// The certificate could not be created or loaded.
    #[error("certificate: {0}")]
    Certificate(String),
    /// The fault file could not be read.
    #[error("fault file {path}: {source}")]
    FaultFile {
        /// The file.
        path: std::path::PathBuf,
        /// The error.
        source: std::io::Error,
    },
    /// The configuration contradicts itself.
    #[error("configuration: {0}")]
    Config(String),
    /// The NFS servers could not be started.
    #[error(transparent)]
    Nfs(#[from] nfs::ServerError),
    /// A thread could not be started.
    #[error("cannot start a thread: {0}")]
    Thread(#[from] std::io::Error),
}

/// A data address with its actual ports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataEndpoint {
    /// The address.
    pub ip: IpAddr,
    /// Name of its subnet.
    pub subnet: String,
    /// Name of its interface.
    pub interface: String,
    /// Whether anything listens on it.
    pub enabled: bool,
    /// TCP port of NFS.
    pub nfs_port: u16,
    /// TCP port of MOUNT.
    pub mount_port: u16,
    /// TCP port of the portmapper.
    pub portmap_port: u16,
    /// TCP port of S3 over HTTP.
    pub s3_port: u16,
    /// TCP port of S3 over HTTPS, if any.
    pub s3_tls_port: Option<u16>,
}

/// A running simulated array. Dropping it stops it.
#[derive(Debug)]
pub struct Array {
    management: Option<rest::Server>,
    management_address: SocketAddr,
    s3: Option<s3::Server>,
    nfs: Option<nfs::NfsServer>,
    fingerprint: Option<String>,
    certificate_pem: Option<String>,
    token: Token,
    s3_key: Option<S3Key>,
    data: Vec<DataEndpoint>,
    faults: FaultHandle,
    state: Parts,
    capacity: Arc<Capacity>,
    watch: Option<Watch>,
}

impl Array {
    /// Starts all listeners and threads; when it returns, every address answers.
    ///
    /// # Errors
    /// [`StartError`] says what was not available; nothing keeps running then.
    pub fn start(config: Config) -> Result<Self, StartError> {
        let faults = FaultHandle::new(config.faults.clone());
        let capacity = Capacity::new(config.capacity_bytes);
        faults.govern(Arc::clone(&capacity));
        let watch = match config.fault_file.clone() {
            None => None,
            Some(path) => Some(
                Watch::start(path.clone(), faults.clone())
                    .map_err(|source| StartError::FaultFile { path, source })?,
            ),
        };
        let mut addresses = vec![config.management.ip()];
        addresses.extend(config.data.iter().map(|data| data.ip));
        let identity = tls::identity(&config.tls, &config.name, &addresses)?;
        let acceptor = identity.as_ref().map(|identity| identity.acceptor.clone());
        let files = Files::new(Arc::clone(&capacity));
        let mut objects = Objects::new(Arc::clone(&files));
        let s3_key = objects
            .create_initial(&config.exports, &config.buckets)
            .map_err(|refusal| StartError::Config(refusal.to_string()))?;
        let objects = Arc::new(RwLock::new(objects));

        let enabled: Vec<&AddressConfig> = config.data.iter().filter(|data| data.enabled).collect();
        let endpoints: Vec<s3::Endpoint> = enabled
            .iter()
            .map(|data| s3::Endpoint { ip: data.ip, port: data.s3_port, tls_port: data.s3_tls_port })
            .collect();
        let s3_options = s3::Options {
            threads: config.s3_threads,
            domain: config.s3_domain.clone(),
            tls: acceptor.clone(),
            seed: config.seed,
        };
        let s3 = s3::Server::start(&endpoints, Arc::clone(&objects), &faults, s3_options)?;
        let endpoints: Vec<nfs::NfsEndpoint> = enabled
            .iter()
            .map(|data| nfs::NfsEndpoint {
                ip: data.ip,
                nfs_port: data.nfs_port,
                mount_port: data.mount_port,
                portmap_port: data.portmap_port,
            })
            .collect();
        let settings = nfs::NfsServerSettings {
            threads: config.nfs_threads,
            reactor: config.nfs_reactor,
            seed: config.seed,
            lease: config.nfs_lease,
        };
        let nfs = nfs::NfsServer::start(&files, &faults, &endpoints, settings)?;
        let data = config.data.iter().map(|data| endpoint(data, &s3, &nfs)).collect();

        let state = Parts { objects: Arc::clone(&objects) };
        let management = rest::Server::start(rest::Options {
            address: config.management,
            tls: acceptor,
            name: config.name.clone(),
            token: config.token.clone(),
            versions: config.versions.clone(),
            network: network(&config),
            objects,
            capacity: Arc::clone(&capacity),
            faults: faults.clone(),
            page_items: config.page_items,
            state_endpoint: config.state_endpoint,
        })?;
        Ok(Self {
            management_address: management.address(),
            management: Some(management),
            s3: Some(s3),
            nfs: Some(nfs),
            fingerprint: identity.as_ref().map(|identity| identity.fingerprint.clone()),
            certificate_pem: identity.map(|identity| identity.pem),
            token: config.token,
            s3_key,
            data,
            faults,
            state,
            capacity,
            watch,
        })
    }

    /// Where the management API listens.
    pub fn management_address(&self) -> SocketAddr {
        self.management_address
    }

    /// The management API's URL: `https://…`, or `http://…` without TLS.
    pub fn management_url(&self) -> String {
        let scheme = if self.fingerprint.is_some() { "https" } else { "http" };
        format!("{scheme}://{}", self.management_address)
    }

    /// SHA-256 fingerprint of the certificate: 64 lower-case hex digits; `None` without TLS.
    pub fn fingerprint(&self) -> Option<&str> {
        self.fingerprint.as_deref()
    }

    /// The certificate in PEM, for clients that need a file to trust; `None` without TLS.
    pub fn certificate_pem(&self) -> Option<&str> {
        self.certificate_pem.as_deref()
    }

    /// The API token that logs in.
    pub fn token(&self) -> &Token {
        &self.token
    }

    /// The key with full access to the configured buckets; `None` without any.
    pub fn s3_key(&self) -> Option<&S3Key> {
        self.s3_key.as_ref()
    }

    /// The data addresses in the order of the configuration.
    pub fn data(&self) -> &[DataEndpoint] {
        &self.data
    }

    /// The handle for changing faults while the array runs.
    pub fn faults(&self) -> &FaultHandle {
        &self.faults
    }

    /// The space that files and objects share.
    pub fn capacity(&self) -> &Arc<Capacity> {
        &self.capacity
    }

    /// Everything that exists, in a fixed order, for comparing before and after; the same as `GET /state` returns.
    /// Excludes sessions.
    pub fn state(&self) -> serde_json::Value {
        state(&self.state)
    }

    /// Stops all listeners and threads and waits for them.
    pub fn stop(&mut self) {
        self.management = None;
        self.s3 = None;
        self.nfs = None;
        self.watch = None;
    }
}

impl Drop for Array {
    fn drop(&mut self) {
        self.stop();
    }
}

/// A data address with its actual ports; a disabled one has none.
fn endpoint(data: &AddressConfig, s3: &s3::Server, nfs: &nfs::NfsServer) -> DataEndpoint {
    let s3 = s3.endpoints().iter().find(|endpoint| endpoint.ip == data.ip).filter(|_| data.enabled);
    let nfs = nfs.endpoints().iter().find(|endpoint| endpoint.ip == data.ip).filter(|_| data.enabled);
    DataEndpoint {
        ip: data.ip,
        subnet: data.subnet.clone(),
        interface: data.interface.clone(),
        enabled: data.enabled,
        nfs_port: nfs.map_or(0, |endpoint| endpoint.nfs_port),
        mount_port: nfs.map_or(0, |endpoint| endpoint.mount_port),
        portmap_port: nfs.map_or(0, |endpoint| endpoint.portmap_port),
        s3_port: s3.map_or(0, |endpoint| endpoint.port),
        s3_tls_port: s3.and_then(|endpoint| endpoint.tls_port),
    }
}

/// The interfaces shown by management: those of the configuration, and those that every array has.
fn network(config: &Config) -> rest::Network {
    let of_array = |name: &str, address: IpAddr, service| rest::Interface {
        name: name.into(),
        address,
        prefix_bits: 24,
        subnet: service_subnet(service),
        mtu: 1500,
        service,
        enabled: true,
    };
    let mut interfaces = vec![
        of_array("management0", config.management.ip(), "management"),
        of_array("replication0", IpAddr::from([192, 0, 2, 10]), "replication"),
    ];
    interfaces.extend(config.data.iter().map(|data| rest::Interface {
        name: data.interface.clone(),
        address: data.ip,
        prefix_bits: data.prefix_bits,
        subnet: data.subnet.clone(),
        mtu: data.mtu,
        service: "data",
        enabled: data.enabled,
    }));
    rest::Network::new(interfaces)
}

fn service_subnet(service: &str) -> String {
    format!("{service}-net")
}
