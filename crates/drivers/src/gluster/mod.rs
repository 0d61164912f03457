//! Gluster volumes through libgfapi, without a mount: a directory of files of our own, or files that the user names.
//!
//! libgfapi is loaded at run time ([`crate::library`]) and has threads of its own. Reads, writes, syncs, truncates and
//! discards are asynchronous calls, whose completions are passed to the worker's reactor; it copies written data when a call
//! is made, and copies what arrives into the memory of the operation. For everything else it has blocking calls only,
//! which the threads of the reactor's pool make ([`reactor::BlockingCall`]). An operation that exceeds its deadline keeps its
//! memory until libgfapi has returned it: nothing can be cancelled.
//!
//! Only files with our names in a directory with our mark are removed.

mod api;
mod calls;
mod config;
mod control;
mod errors;
mod manage;
mod operation;
mod remove;
mod session;
mod transfer;
mod volume;

pub use config::{GLUSTERD_PORT, GlusterConfig, MAX_PATH_BYTES};
pub use manage::VolumeLook;
pub use session::GlusterSession;

use std::sync::Arc;

use reactor::Reactor;

use self::volume::Volume;
use crate::shared_clients::SharedClients;
use crate::{Driver, DriverError, WorkerContext};

/// Loads one volume.
#[derive(Clone, Debug)]
pub struct GlusterDriver {
    config: Arc<GlusterConfig>,
    clients: Arc<SharedClients<Volume>>,
}

impl GlusterDriver {
    /// Checks the configuration. Loads nothing, and connects nowhere.
    ///
    /// # Errors
    /// A name that is none, or a path that is too long.
    pub fn new(config: GlusterConfig) -> Result<Self, DriverError> {
        config.check()?;
        let clients = Arc::new(SharedClients::kept(config.clients));
        Ok(Self { config: Arc::new(config), clients })
    }

    /// The target's settings.
    pub fn config(&self) -> &GlusterConfig {
        &self.config
    }
}

impl Driver for GlusterDriver {
    type Session = GlusterSession;

    async fn connect(
        &self,
        reactor: &Reactor,
        context: &WorkerContext,
    ) -> Result<GlusterSession, DriverError> {
        GlusterSession::open(reactor, Arc::clone(&self.config), Arc::clone(&self.clients), context).await
    }
}
