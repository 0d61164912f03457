//! Blocks over plain TCP connections, from memory to memory: the network between two machines without storage.
//!
//! A write sends a block, a read receives one; only the blocks are on the wire, so any program that sends or receives
//! bytes can be the peer. With ping-pong, the receiver sends each block back and the sender waits for it: a write's
//! latency is then a round trip's.

mod config;
mod link;
mod session;

pub use config::NetConfig;
pub use session::NetSession;

use std::net::{SocketAddr, TcpListener};
use std::os::fd::OwnedFd;
use std::sync::{Mutex, PoisonError};

use metrics::ErrorKind;
use reactor::Reactor;

use crate::{Driver, DriverError, WorkerContext};

/// Maximum connections waiting to be accepted.
const BACKLOG: u32 = 1024;

/// Opens connections to a peer, or waits for them.
#[derive(Debug)]
pub struct NetDriver {
    config: NetConfig,
    /// The listening socket shared by all workers, when they share a port.
    shared: Mutex<Option<TcpListener>>,
}

impl NetDriver {
    /// Creates a driver for a peer; nothing is contacted and nothing listens yet.
    ///
    /// # Errors
    /// When the configuration is invalid; the message names the field.
    pub fn new(config: NetConfig) -> Result<Self, DriverError> {
        config.check()?;
        Ok(Self { config, shared: Mutex::default() })
    }

    /// The configuration.
    pub fn config(&self) -> &NetConfig {
        &self.config
    }

    /// Starts to listen before any session is opened: incoming connections wait for the sessions. Returns the listening
    /// address, with the port chosen when the configuration says 0; `None` when it does not listen, or each worker
    /// listens on a port of its own.
    ///
    /// # Errors
    /// The address does not belong to this machine, or the port is taken.
    pub fn bind(&self) -> Result<Option<SocketAddr>, DriverError> {
        if !self.config.listen || self.config.port_per_worker {
            return Ok(None);
        }
        let listener = TcpListener::from(self.listening(0)?);
        let address =
            listener.local_addr().map_err(|error| self.cannot_listen(self.config.address, &error))?;
        Ok(Some(address))
    }

    fn cannot_listen(&self, on: SocketAddr, error: &std::io::Error) -> DriverError {
        let text =
            format!("cannot listen on {on}: {error}; choose a free port and an address of this machine");
        DriverError::new(ErrorKind::Local, text)
    }

    /// The socket on which a worker waits for its connections.
    fn listening(&self, worker: u32) -> Result<OwnedFd, DriverError> {
        let on = self.config.address_of(worker)?;
        let options = &self.config.options();
        let failed = |error: std::io::Error| self.cannot_listen(on, &error);
        if self.config.port_per_worker {
            return reactor::listening(&on, BACKLOG, options).map_err(failed);
        }
        let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        let listener = match &*shared {
            Some(listener) => listener.try_clone(),
            None => reactor::listening(&on, BACKLOG, options)
                .and_then(|socket| shared.insert(TcpListener::from(socket)).try_clone()),
        };
        listener.map(OwnedFd::from).map_err(failed)
    }
}

impl Driver for NetDriver {
    type Session = NetSession;

    async fn connect(&self, reactor: &Reactor, context: &WorkerContext) -> Result<NetSession, DriverError> {
        NetSession::open(reactor, self, context).await
    }
}
