//! A running array: what was started, where it listens, and how it is stopped.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use crate::capacity::Capacity;
use crate::config::{Config, Token};
use crate::faults::{Faults, Watch};

/// The array could not be started.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// A listener could not be opened.
    #[error("cannot listen on {address} for {purpose}: {source}")]
    Listen {
        /// Where.
        address: SocketAddr,
        /// What for.
        purpose: &'static str,
        /// What the system said.
        source: std::io::Error,
    },
    /// The certificate could not be made or loaded.
    #[error("certificate: {0}")]
    Certificate(String),
    /// The fault file could not be read.
    #[error("fault file {path}: {source}")]
    FaultFile {
        /// Which file.
        path: std::path::PathBuf,
        /// What is wrong with it.
        source: std::io::Error,
    },
    /// The configuration contradicts itself.
    #[error("configuration: {0}")]
    Config(String),
    /// A thread could not be started.
    #[error("cannot start a thread: {0}")]
    Thread(#[from] std::io::Error),
}

/// A data address with the ports it really listens on.
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
    management: SocketAddr,
    fingerprint: Option<String>,
    token: Token,
    data: Vec<DataEndpoint>,
    faults: Faults,
    capacity: Arc<Capacity>,
    watch: Option<Watch>,
}

impl Array {
    /// Starts all listeners and threads; when it returns, every address answers.
    ///
    /// # Errors
    /// [`StartError`] names what could not be had; nothing keeps running then.
    pub fn start(config: Config) -> Result<Self, StartError> {
        let faults = Faults::new(config.faults.clone());
        let capacity = Capacity::new(config.capacity_bytes);
        faults.govern(Arc::clone(&capacity));
        let watch = match config.fault_file {
            None => None,
            Some(path) => Some(
                Watch::start(path.clone(), faults.clone())
                    .map_err(|source| StartError::FaultFile { path, source })?,
            ),
        };
        Ok(Self {
            management: config.management,
            fingerprint: None,
            token: config.token,
            data: Vec::new(),
            faults,
            capacity,
            watch,
        })
    }

    /// Where the management API listens.
    pub fn management_address(&self) -> SocketAddr {
        self.management
    }

    /// The management API's URL: `https://…`, or `http://…` without TLS.
    pub fn management_url(&self) -> String {
        let scheme = if self.fingerprint.is_some() {
            "https"
        } else {
            "http"
        };
        format!("{scheme}://{}", self.management)
    }

    /// SHA-256 fingerprint of the certificate: 64 lower-case hex digits; `None` without TLS.
    pub fn fingerprint(&self) -> Option<&str> {
        self.fingerprint.as_deref()
    }

    /// The API token that logs in.
    pub fn token(&self) -> &Token {
        &self.token
    }

    /// The data addresses in the order of the configuration.
    pub fn data(&self) -> &[DataEndpoint] {
        &self.data
    }

    /// The handle through which faults are changed while the array runs.
    pub fn faults(&self) -> &Faults {
        &self.faults
    }

    /// The space that files and objects share.
    pub fn capacity(&self) -> &Arc<Capacity> {
        &self.capacity
    }

    /// Everything that exists, in a fixed order, for a comparison of before and after; the same as
    /// `GET /state` answers. Sessions are not part of it.
    pub fn state(&self) -> serde_json::Value {
        serde_json::json!({})
    }

    /// Stops all listeners and threads and waits for them.
    pub fn stop(&mut self) {
        self.watch = None;
    }
}

impl Drop for Array {
    fn drop(&mut self) {
        self.stop();
    }
}
