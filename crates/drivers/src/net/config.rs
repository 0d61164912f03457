//! What the driver must know of its peer.

use std::net::SocketAddr;

use metrics::ErrorKind;
use reactor::SocketOptions;

use crate::DriverError;
use crate::paths::{DataAddress, Paths};

/// A peer, and how the connections to it are made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NetConfig {
    /// Where the peer listens, or where to listen for it; port 0 listens on a free one ([`super::NetDriver::bind`]).
    pub address: SocketAddr,
    /// Connect to these addresses of the peer instead, each connection to one of them, evenly; by default at the same port.
    pub addresses: Vec<DataAddress>,
    /// Where connections leave this machine.
    pub paths: Paths,
    /// Wait for the peer's connections instead of making them.
    pub listen: bool,
    /// Connections of each worker; at most one a lane is used.
    pub connections_per_worker: u32,
    /// Each worker uses a port of its own: the address's, the next, and so on.
    pub port_per_worker: bool,
    /// Number of the first worker, for its port.
    pub first_number: u32,
    /// Each block is sent back by the receiver before the next is sent.
    pub ping_pong: bool,
    /// Each block has the same bytes, made once, instead of bytes of its own.
    pub repeat: bool,
    /// `TCP_NODELAY`: small blocks leave at once.
    pub nodelay: bool,
    /// Size of the socket's buffers in bytes; the kernel's own when absent.
    pub window_bytes: Option<u32>,
    /// Largest segment in bytes; the path's when absent.
    pub segment_bytes: Option<u32>,
}

impl NetConfig {
    /// A peer to connect to, with the customary values for everything else: one connection a worker, to one port.
    pub fn new(address: SocketAddr) -> Self {
        Self {
            address,
            addresses: Vec::new(),
            paths: Paths::default(),
            listen: false,
            connections_per_worker: 1,
            port_per_worker: false,
            first_number: 0,
            ping_pong: false,
            repeat: false,
            nodelay: true,
            window_bytes: None,
            segment_bytes: None,
        }
    }

    /// Checks what would otherwise be found out in the middle of things.
    pub(super) fn check(&self) -> Result<(), DriverError> {
        if self.connections_per_worker == 0 {
            return Err(DriverError::new(
                ErrorKind::Rejected,
                "connections per worker: at least 1 is needed",
            ));
        }
        if self.listen && !(self.addresses.is_empty() && self.paths.sources.is_empty()) {
            return Err(DriverError::new(
                ErrorKind::Rejected,
                "a listener is connected to: sources and addresses are for the side that connects",
            ));
        }
        if self.address.port() == 0 && (!self.listen || self.port_per_worker) {
            return Err(DriverError::new(
                ErrorKind::Rejected,
                "port 0 stands for any free port, and is for a listener with one port",
            ));
        }
        Ok(())
    }

    /// The options of every socket.
    pub(super) fn options(&self) -> SocketOptions {
        SocketOptions {
            nodelay: self.nodelay,
            send_buffer_bytes: self.window_bytes,
            receive_buffer_bytes: self.window_bytes,
            segment_bytes: self.segment_bytes,
            ..SocketOptions::default()
        }
    }

    /// From where to where connection `number` of a worker with `count` connections goes.
    ///
    /// # Errors
    /// There is no such port.
    pub(super) fn way(
        &self,
        worker: u32,
        (number, count): (u32, u32),
        usual: SocketOptions,
    ) -> Result<(SocketAddr, SocketOptions), DriverError> {
        let overall = u64::from(self.first_number + worker) * u64::from(count) + u64::from(number);
        let (source, address) = self.paths.of(overall, self.addresses.len());
        let mut remote = self.address_of(worker)?;
        if let Some(address) = self.addresses.get(address) {
            remote = SocketAddr::new(address.ip, address.port.unwrap_or(remote.port()));
        }
        Ok((remote, Paths::options(source, usual)))
    }

    /// Where a worker connects to, or listens.
    ///
    /// # Errors
    /// There is no such port.
    pub(super) fn address_of(&self, worker: u32) -> Result<SocketAddr, DriverError> {
        let mut address = self.address;
        if self.port_per_worker {
            let port = u32::from(address.port()).saturating_add(self.first_number).saturating_add(worker);
            let port = u16::try_from(port).map_err(|_| {
                let text =
                    format!("port {port} of worker {worker} is beyond 65535: begin with a smaller port");
                DriverError::new(ErrorKind::Rejected, text)
            })?;
            address.set_port(port);
        }
        Ok(address)
    }
}
