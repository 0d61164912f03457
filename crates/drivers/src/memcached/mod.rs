//! memcached's text protocol: values that are set, fetched and removed whole, each under a key of ours.
//!
//! Each lane has a connection of its own, with one command in flight. A value's payload is generated directly in the
//! send buffer; fetched data is checked in the receive buffer, or discarded in the kernel.
//!
//! Nothing is retransmitted: an operation whose connection is lost fails, and the lane's next one opens another
//! connection. A server may evict any value when it needs space; fetching an evicted value fails as `not-found`.

mod config;
mod exchange;
mod manage;
mod session;

pub use config::MemcachedConfig;
pub use session::MemcachedSession;

use std::sync::Arc;

use metrics::ErrorKind;
use reactor::Reactor;
use wire::memcached::MAX_KEY_BYTES;

use crate::{Driver, DriverError, WorkerContext};

/// Bytes of a key after its prefix: a colon and the number as 16 hexadecimal digits.
const NUMBER_BYTES: usize = 17;

/// Loads one memcached server.
#[derive(Clone, Debug)]
pub struct MemcachedDriver {
    config: Arc<MemcachedConfig>,
}

impl MemcachedDriver {
    /// Checks the configuration. Connects nowhere.
    ///
    /// # Errors
    /// The prefix cannot begin a key.
    pub fn new(config: MemcachedConfig) -> Result<Self, DriverError> {
        let prefix = &config.prefix;
        let most = MAX_KEY_BYTES - NUMBER_BYTES;
        let fit = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        if prefix.is_empty() || prefix.len() > most || !prefix.bytes().all(fit) {
            let detail = format!(
                "key prefix \"{prefix}\": write 1 to {most} letters, digits, hyphens, underscores and dots"
            );
            return Err(DriverError::new(ErrorKind::Rejected, detail));
        }
        Ok(Self { config: Arc::new(config) })
    }

    /// The target's settings.
    pub fn config(&self) -> &MemcachedConfig {
        &self.config
    }
}

impl Driver for MemcachedDriver {
    type Session = MemcachedSession;

    async fn connect(
        &self,
        reactor: &Reactor,
        context: &WorkerContext,
    ) -> Result<MemcachedSession, DriverError> {
        MemcachedSession::open(reactor, Arc::clone(&self.config), context).await
    }
}
