//! Configuration of a TCP peer.

use std::net::SocketAddr;

use metrics::ErrorKind;
use reactor::SocketOptions;

use crate::DriverError;
use crate::paths::{DataAddress, Paths};

/// A peer, and how to connect to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NetConfig {
    /// Where the peer listens, or where to listen for it; port 0 listens on a free port ([`super::NetDriver::bind`]).
    pub address: SocketAddr,
    /// Connect to these addresses of the peer instead, spreading connections evenly; by default at the same port.
    pub addresses: Vec<DataAddress>,
    /// Where connections leave this machine.
    pub paths: Paths,
    /// Wait for the peer's connections instead of opening them.
    pub listen: bool,
    /// Connections per worker; at most one per lane is used.
    pub connections_per_worker: u32,
    /// Each worker uses a port of its own: the address's, the next, and so on.
    pub port_per_worker: bool,
    /// Number of the first worker, for its port.
    pub first_number: u32,
    /// The receiver sends each block back before the next is sent.
    pub ping_pong: bool,
    /// All blocks have the same bytes, generated once, instead of bytes of their own.
    pub repeat: bool,
    /// `TCP_NODELAY`: small blocks are sent at once.
    pub nodelay: bool,
    /// Size of the socket buffers in bytes; the kernel's default when absent.
    pub window_bytes: Option<u32>,
    /// Maximum segment size in bytes; the path's when absent.
    pub segment_bytes: Option<u32>,
}

impl NetConfig {
    /// A peer to connect to, with default values for everything else: one connection per worker, to one port.
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

    /// Rejects settings that would otherwise fail only later.
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

    /// Local and remote address of connection `number` of a worker with `count` connections.
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

    /// Where a worker connects or listens.
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
