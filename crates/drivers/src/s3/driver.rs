//! The driver: state shared by all workers.

use std::net::ToSocketAddrs;
use std::sync::Arc;
use std::time::Duration;

use metrics::ErrorKind;
use reactor::Reactor;
use rustls::pki_types::ServerName;

use super::addressing::Addressing;
use super::config::S3Config;
use super::session::{S3Session, Shared};
use super::tls::client_config;
use crate::{Driver, DriverError, WorkerContext};

/// S3's minimum part size in bytes, except for the last part.
const MIN_PART_BYTES: u64 = 5 << 20;

/// Opens sessions on one bucket. Cheap to clone.
#[derive(Clone)]
pub struct S3Driver {
    pub(super) shared: Arc<Shared>,
}

impl std::fmt::Debug for S3Driver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("S3Driver")
            .field("endpoint", &self.shared.config.endpoint)
            .field("bucket", &self.shared.config.bucket)
            .field("addresses", &self.shared.addresses)
            .finish_non_exhaustive()
    }
}

impl S3Driver {
    /// Checks the configuration, resolves the endpoint's name (which may block) and reads the CA certificates. Connects
    /// nowhere.
    ///
    /// # Errors
    /// A setting that cannot work, a name that does not resolve, or certificates that cannot be read; each error names
    /// its input.
    pub fn new(config: S3Config) -> Result<Self, DriverError> {
        let wrong = |detail: String| Err(DriverError::new(ErrorKind::Rejected, detail));
        if config.prefix.trim_matches('/').is_empty() {
            return wrong(
                "the prefix of our keys is empty: everything in the bucket would be ours".to_owned(),
            );
        }
        let bucket = &config.bucket;
        if bucket.is_empty()
            || bucket.len() > 255
            || bucket.contains(['/', '?', '#'])
            || bucket.chars().any(char::is_control)
        {
            return wrong(format!(
                "bucket name \"{bucket}\": a bucket's name has letters, digits, dots and hyphens"
            ));
        }
        if config.part_size < MIN_PART_BYTES {
            return wrong(format!(
                "part size {} bytes: parts have at least {MIN_PART_BYTES} bytes",
                config.part_size
            ));
        }
        let endpoint = &config.endpoint;
        let addresses = match config.connect_to {
            _ if !config.addresses.is_empty() => config.addresses.clone(),
            Some(address) => vec![address],
            None => {
                let resolved = (endpoint.host.as_str(), endpoint.port).to_socket_addrs();
                let unknown = |reason: String| {
                    let detail = format!(
                        "S3 endpoint {endpoint}: the name {} does not resolve: {reason}",
                        endpoint.host
                    );
                    DriverError::new(ErrorKind::ConnectFailed, detail)
                };
                let mut addresses: Vec<_> = resolved.map_err(|error| unknown(error.to_string()))?.collect();
                // A connection from an address of one family cannot go to one of the other.
                if let Some(source) = config.paths.sources.first() {
                    addresses.retain(|address| address.is_ipv6() == source.address.is_ipv6());
                }
                if addresses.is_empty() {
                    return Err(unknown("no address, or none of the kind of the local ones".to_owned()));
                }
                addresses
            }
        };
        let tls = if endpoint.tls {
            let host = if config.path_style || endpoint.host.parse::<std::net::IpAddr>().is_ok() {
                endpoint.host.clone()
            } else {
                format!("{bucket}.{}", endpoint.host)
            };
            let name = ServerName::try_from(host.clone()).map_err(|_| {
                DriverError::new(
                    ErrorKind::Tls,
                    format!("S3 endpoint {endpoint}: \"{host}\" is no name for TLS"),
                )
            })?;
            Some((client_config(&config.tls)?, name))
        } else {
            None
        };
        let addressing = Addressing::new(&config);
        Ok(Self { shared: Arc::new(Shared { config, addressing, addresses, tls }) })
    }

    /// The same target with another timeout for requests around a run. Resolves and reads nothing again.
    pub fn with_control_timeout(&self, limit: Duration) -> Self {
        let mut shared = (*self.shared).clone();
        shared.config.control_timeout = limit;
        Self { shared: Arc::new(shared) }
    }

    /// The target's settings.
    pub fn config(&self) -> &S3Config {
        &self.shared.config
    }

    /// The addresses used: those of the endpoint's name, or those configured instead.
    pub fn addresses(&self) -> &[std::net::SocketAddr] {
        &self.shared.addresses
    }

    /// The key of the object with this number.
    pub fn key(&self, object: u64) -> String {
        self.shared.addressing.key(object)
    }
}

impl Driver for S3Driver {
    type Session = S3Session;

    async fn connect(&self, reactor: &Reactor, context: &WorkerContext) -> Result<S3Session, DriverError> {
        S3Session::open(reactor, Arc::clone(&self.shared), context).await
    }
}
