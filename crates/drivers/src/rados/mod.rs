//! RADOS, Ceph's object store, through librados' asynchronous calls: objects that are put and fetched whole, or read and
//! written by ranges, with keys and values (omap), and methods of object classes (exec).
//!
//! librados is loaded at run time ([`crate::library`]) and has threads of its own; they pass completions to the worker's
//! reactor. It copies written data when a call is made, and reads into the memory of the operation. An operation that
//! exceeds its deadline is cancelled, and keeps its memory until librados has returned it.

mod api;
mod client;
mod config;
mod error;
mod exec;
mod flights;
mod lister;
mod listing;
mod locators;
mod manage;
mod omap;
mod osd_map;
pub mod rbd;
mod session;

pub use config::{MAX_NAME_BYTES, MAX_PREFIX_BYTES, ObjectMethod, OmapShape, RadosAccess, RadosConfig};
pub use osd_map::{OsdMap, OsdsAtAddress, address_of, short_version};
pub use session::RadosSession;

use std::sync::Arc;

use metrics::ErrorKind;
use reactor::Reactor;

use self::client::RadosClient;
use self::locators::SharedLocators;
use crate::shared_clients::SharedClients;
use crate::{Driver, DriverError, WorkerContext};

/// Loads one pool.
#[derive(Clone, Debug)]
pub struct RadosDriver {
    config: Arc<RadosConfig>,
    clients: Arc<SharedClients<RadosClient>>,
    locators: Arc<SharedLocators>,
}

impl RadosDriver {
    /// Checks the configuration. Loads nothing, and connects nowhere.
    ///
    /// # Errors
    /// The prefix cannot begin an object's name, or a name cannot be one.
    pub fn new(config: RadosConfig) -> Result<Self, DriverError> {
        let prefix = &config.prefix;
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        if prefix.is_empty() || prefix.len() > MAX_PREFIX_BYTES || !prefix.bytes().all(fits) {
            let detail = format!(
                "name prefix \"{prefix}\": write 1 to {MAX_PREFIX_BYTES} letters, digits, hyphens, underscores and dots"
            );
            return Err(DriverError::new(ErrorKind::Rejected, detail));
        }
        if let Some(name) = config.named.values().find(|name| !can_be_named(name)) {
            let detail = format!("object name \"{name}\": write 1 to {MAX_NAME_BYTES} bytes, none of them 0");
            return Err(DriverError::new(ErrorKind::Rejected, detail));
        }
        let clients = Arc::new(SharedClients::new(config.clients));
        Ok(Self { config: Arc::new(config), clients, locators: Arc::default() })
    }

    /// The target's settings.
    pub fn config(&self) -> &RadosConfig {
        &self.config
    }
}

/// Whether an object can have this name.
fn can_be_named(name: &str) -> bool {
    (1..=MAX_NAME_BYTES).contains(&name.len()) && !name.contains('\0')
}

impl Driver for RadosDriver {
    type Session = RadosSession;

    async fn connect(&self, reactor: &Reactor, context: &WorkerContext) -> Result<RadosSession, DriverError> {
        RadosSession::open(reactor, self.clone(), context).await
    }
}
