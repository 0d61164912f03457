//! What the driver must know of its target.

use std::net::IpAddr;
use std::sync::Arc;

use metrics::ErrorKind;
use reactor::SocketOptions;

use super::named::ExportFiles;
use crate::DriverError;
use crate::paths::{DataAddress, Paths};

/// Where the same data is to be had too: another address of the server, or another server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NfsAddress {
    /// The server's address.
    pub server: IpAddr,
    /// Path of the export there.
    pub export: String,
    /// Port of the NFS program there.
    pub nfs_port: Option<u16>,
    /// Port of the MOUNT program there.
    pub mount_port: Option<u16>,
}

/// An export of an NFSv3 server, and how to use it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NfsConfig {
    /// The server's address.
    pub server: IpAddr,
    /// Path of the export, as MOUNT wants it.
    pub export: String,
    /// Port of the NFS program; the portmapper is asked when absent.
    pub nfs_port: Option<u16>,
    /// Port of the MOUNT program; the portmapper is asked when absent.
    pub mount_port: Option<u16>,
    /// Port of the portmapper, 111 everywhere but in laboratories.
    pub portmap_port: u16,
    /// The user that every call is made as (`AUTH_SYS`).
    pub uid: u32,
    /// The group that every call is made as.
    pub gid: u32,
    /// TCP connections of each worker.
    pub connections_per_worker: u32,
    /// Name of the directory in the export that holds everything the driver creates. It is made by
    /// [`NfsDriver::prepare`](super::NfsDriver::prepare), never by opening a session.
    pub directory: String,
    /// Ask for writes that are durable when they are answered (`FILE_SYNC`) instead of by COMMIT.
    pub stable: bool,
    /// Largest READ in bytes; the server's own limit (FSINFO), at most 1 MiB, when absent.
    pub read_size: Option<u32>,
    /// Largest WRITE in bytes; as `read_size`.
    pub write_size: Option<u32>,
    /// Further addresses: the workers use the first and these in turn.
    pub more: Vec<NfsAddress>,
    /// Addresses of the same server through which the same export is reached: connections are spread over these, and
    /// `server` is not used. Not together with `more`.
    pub addresses: Vec<DataAddress>,
    /// Where connections leave this machine.
    pub paths: Paths,
    /// The files are named ones, below the export's root, and `directory` is not used.
    pub named: Option<Arc<ExportFiles>>,
}

impl NfsConfig {
    /// An export with the customary values for everything else: portmapper, root, one connection a
    /// worker, UNSTABLE writes.
    pub fn new(server: IpAddr, export: impl Into<String>, directory: impl Into<String>) -> Self {
        Self {
            server,
            export: export.into(),
            nfs_port: None,
            mount_port: None,
            portmap_port: wire::portmap::PORT,
            uid: 0,
            gid: 0,
            connections_per_worker: 1,
            directory: directory.into(),
            stable: false,
            read_size: None,
            write_size: None,
            more: Vec::new(),
            addresses: Vec::new(),
            paths: Paths::default(),
            named: None,
        }
    }

    /// As the worker with this number uses it: at its address.
    pub(super) fn of_worker(&self, worker: u32) -> Self {
        let number = self.named.as_ref().map_or(0, |named| named.first_number) + worker;
        let turn = number as usize % (1 + self.more.len());
        let mut config = self.clone();
        if let Some(address) = turn.checked_sub(1).and_then(|at| self.more.get(at)) {
            config.server = address.server;
            config.export.clone_from(&address.export);
            config.nfs_port = address.nfs_port;
            config.mount_port = address.mount_port;
        }
        config
    }

    /// As connection `number`, counted over all workers, uses it: at its address, with the options of its socket.
    pub(super) fn at(&self, number: u64) -> (Self, SocketOptions) {
        let (source, address) = self.paths.of(number, self.addresses.len());
        let mut config = self.clone();
        if let Some(address) = self.addresses.get(address) {
            config.server = address.ip;
            config.nfs_port = address.port.or(config.nfs_port);
        }
        // Servers may demand a reserved port.
        let usual = SocketOptions { reserved_port: true, ..SocketOptions::default() };
        (config, Paths::options(source, usual))
    }

    /// Number of a worker's first connection over all workers, when each has `count`.
    pub(super) fn first_connection(&self, worker: u32, count: u32) -> u64 {
        let number = self.named.as_ref().map_or(0, |named| named.first_number) + worker;
        u64::from(number) * u64::from(count)
    }

    /// Checks what would otherwise be found out in the middle of things.
    pub(super) fn check(&self) -> Result<(), DriverError> {
        let wrong = |what: String| Err(DriverError::new(ErrorKind::Rejected, what));
        if !self.export.starts_with('/') || self.export.len() > wire::mount::DirPath::LIMIT {
            return wrong(format!(
                "export \"{}\": a path from / on, of at most 1024 bytes, is needed",
                self.export
            ));
        }
        if let Some(other) = self.more.iter().find(|other| !other.export.starts_with('/')) {
            return wrong(format!("export \"{}\": a path from / on is needed", other.export));
        }
        if !self.more.is_empty() && !self.addresses.is_empty() {
            return wrong(
                "addresses and further URLs exclude each other: addresses are of one export, URLs name exports".into(),
            );
        }
        let name = &self.directory;
        if self.named.is_none()
            && (name.is_empty()
                || name == "."
                || name == ".."
                || name.contains(['/', '\0'])
                || name.len() > 200)
        {
            return wrong(format!(
                "directory \"{name}\": one name of at most 200 bytes, without \"/\", is needed"
            ));
        }
        if self.connections_per_worker == 0 {
            return wrong("connections per worker: at least 1 is needed".into());
        }
        if self.read_size == Some(0) || self.write_size == Some(0) {
            return wrong("read and write size: at least 1 byte is needed".into());
        }
        Ok(())
    }

    /// Server and export as messages name them.
    pub(super) fn label(&self) -> String {
        match self.server {
            IpAddr::V4(v4) => format!("{v4}:{}", self.export),
            IpAddr::V6(v6) => format!("[{v6}]:{}", self.export),
        }
    }
}
