//! Blocks over plain TCP connections, from memory to memory: what the network between two machines gives, without storage.
//!
//! A write is a block that is sent, a read one that is received; nothing but the blocks is on the wire, so that any program
//! that sends or receives bytes may be the other side. With ping-pong the receiver sends each block back, and the sender waits
//! for it: then a write's latency is a round trip's.

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

/// Connections that wait to be accepted.
const BACKLOG: u32 = 1024;

/// Opens connections to a peer, or waits for them.
#[derive(Debug)]
pub struct NetDriver {
    config: NetConfig,
    /// The socket that listens for all workers, when they share a port.
    shared: Mutex<Option<TcpListener>>,
}

impl NetDriver {
    /// A driver for a peer; nothing is contacted and nothing listens yet.
    ///
    /// # Errors
    /// When the configuration cannot be right; the message names the field.
    pub fn new(config: NetConfig) -> Result<Self, DriverError> {
        config.check()?;
        Ok(Self { config, shared: Mutex::default() })
    }

    /// What it was made with.
    pub fn config(&self) -> &NetConfig {
        &self.config
    }

    /// Listens from now on, before any session is opened: connections that come wait for the sessions. Where it listens,
    /// with the port that was chosen when the configuration says 0; `None` when it does not listen, or each worker does on
    /// a port of its own.
    ///
    /// # Errors
    /// The address is not of this machine, or the port is taken.
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
