//! Configuration of an NFS target.

use std::net::IpAddr;
use std::sync::Arc;

use metrics::ErrorKind;
use reactor::SocketOptions;
use wire::nfs3::Status;
use wire::nfs4::Nfs4Status;

use super::named::ExportFiles;
use crate::DriverError;
use crate::paths::{DataAddress, Paths};
use crate::tree::DirectoryTree;

/// Another source of the same data: another address of the server, or another server.
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

/// A version of the protocol.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NfsVersion {
    /// Version 3 (RFC 1813): the export is found by MOUNT.
    #[default]
    V3,
    /// Version 4.1 (RFC 8881): the export is a path from the server's root, at one port.
    V4_1,
}

impl NfsVersion {
    /// Its number, such as `4.1`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::V3 => "3",
            Self::V4_1 => "4.1",
        }
    }

    /// A status under its name in this version.
    pub(super) fn shown(self, status: Status) -> String {
        match self {
            Self::V3 => status.to_string(),
            Self::V4_1 => Nfs4Status(status.0).to_string(),
        }
    }
}

/// How operations get the handles of files and directories.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Lookup {
    /// Known handles are used again, as by a client whose cache is warm.
    #[default]
    Cached,
    /// Every operation walks its path from the export's root, with a LOOKUP for each part.
    EachComponent,
}

/// An export of an NFS server, and how to use it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NfsConfig {
    /// Version of the protocol.
    pub version: NfsVersion,
    /// The server's address.
    pub server: IpAddr,
    /// Path of the export, as MOUNT expects it; with version 4.1 from the server's root.
    pub export: String,
    /// Port of the NFS program; `None` asks the portmapper, with version 4.1 it is 2049.
    pub nfs_port: Option<u16>,
    /// Port of the MOUNT program; `None` asks the portmapper.
    pub mount_port: Option<u16>,
    /// Port of the portmapper: 111 except in test setups.
    pub portmap_port: u16,
    /// User id of every call (`AUTH_SYS`).
    pub uid: u32,
    /// Group id of every call.
    pub gid: u32,
    /// TCP connections per worker.
    pub connections_per_worker: u32,
    /// Name of the directory in the export that holds everything the driver creates.
    /// [`NfsDriver::prepare`](super::NfsDriver::prepare) creates it, opening a session never does.
    pub directory: String,
    /// Request writes that are durable when acknowledged (`FILE_SYNC`), so that no COMMIT is needed.
    pub stable: bool,
    /// How operations get handles.
    pub lookup: Lookup,
    /// Directories of the files with numbers, in `directory`.
    pub tree: DirectoryTree,
    /// Maximum READ in bytes; when absent, the server's own limit (FSINFO), at most 1 MiB.
    pub read_size: Option<u32>,
    /// Maximum WRITE in bytes; default as for `read_size`.
    pub write_size: Option<u32>,
    /// Further addresses: workers are assigned the first and these in turn.
    pub more: Vec<NfsAddress>,
    /// Addresses of the same server that serve the same export: connections are spread over them, and `server` is not
    /// used. Excludes `more`.
    pub addresses: Vec<DataAddress>,
    /// Where connections leave this machine.
    pub paths: Paths,
    /// The files are at paths of the user's, below the export's root; `directory` is not used.
    pub named: Option<Arc<ExportFiles>>,
}

impl NfsConfig {
    /// An export with default values for everything else: portmapper, root, one connection per worker, UNSTABLE writes.
    pub fn new(server: IpAddr, export: impl Into<String>, directory: impl Into<String>) -> Self {
        Self {
            version: NfsVersion::V3,
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
            lookup: Lookup::Cached,
            tree: DirectoryTree::default(),
            read_size: None,
            write_size: None,
            more: Vec::new(),
            addresses: Vec::new(),
            paths: Paths::default(),
            named: None,
        }
    }

    /// The configuration for the worker with this number, with its address.
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

    /// The configuration for connection `number`, counted over all workers, with its address and socket options.
    pub(super) fn at(&self, number: u64) -> (Self, SocketOptions) {
        let (source, address) = self.paths.of(number, self.addresses.len());
        let mut config = self.clone();
        if let Some(address) = self.addresses.get(address) {
            config.server = address.ip;
            config.nfs_port = address.port.or(config.nfs_port);
        }
        // Servers may require a reserved port.
        let usual = SocketOptions { reserved_port: true, ..SocketOptions::default() };
        (config, Paths::options(source, usual))
    }

    /// Number of a worker's first connection, counted over all workers, when each has `count`.
    pub(super) fn first_connection(&self, worker: u32, count: u32) -> u64 {
        let number = self.named.as_ref().map_or(0, |named| named.first_number) + worker;
        u64::from(number) * u64::from(count)
    }

    /// Rejects settings that would otherwise fail only later.
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
        if self.named.is_some() && !self.tree.is_flat() {
            return wrong("only files with numbers are spread over a tree of directories".into());
        }
        if self.connections_per_worker == 0 {
            return wrong("connections per worker: at least 1 is needed".into());
        }
        if self.read_size == Some(0) || self.write_size == Some(0) {
            return wrong("read and write size: at least 1 byte is needed".into());
        }
        Ok(())
    }

    /// Server and export as shown in messages.
    pub(super) fn label(&self) -> String {
        match self.server {
            IpAddr::V4(v4) => format!("{v4}:{}", self.export),
            IpAddr::V6(v6) => format!("[{v6}]:{}", self.export),
        }
    }
}
