//! memcached by its text protocol: values that are set, fetched and removed whole, each under a key of ours.
//!
//! Each lane has a connection of its own, with one command in flight. A value's payload is made straight into the buffer that is
//! sent; what is fetched is looked at in the buffer that it was received in, or dropped in the kernel.
//!
//! Nothing is sent again: an operation whose connection is lost fails, and the next one of its lane makes another connection. A
//! server may drop any value when it needs the room (eviction); fetching that fails as `not-found`.

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

/// Bytes of a key behind its prefix: a colon and the number in 16 hexadecimal digits.
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
    /// A prefix that no key can begin with.
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
