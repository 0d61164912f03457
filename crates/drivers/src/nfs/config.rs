//! What the driver must know of its target.

use std::net::IpAddr;

use metrics::ErrorKind;

use crate::DriverError;

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
        }
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
        let name = &self.directory;
        if name.is_empty() || name == "." || name == ".." || name.contains(['/', '\0']) || name.len() > 200 {
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
