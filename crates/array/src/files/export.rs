//! How file systems are exported: by which versions of NFS, to whom.

use std::net::IpAddr;

use super::ClientRange;

/// A version of NFS that file systems are exported by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExportVersion {
    /// Version 3: clients are admitted by MOUNT, and handles are good for everybody.
    V3,
    /// Version 4.1: clients are admitted with each handle.
    V4_1,
}

/// How a file system is exported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// NFSv3 is enabled; otherwise MOUNT does not know it, and its handles are stale there.
    pub nfs_v3: bool,
    /// NFSv4.1 is enabled; likewise.
    pub nfs_v4_1: bool,
    /// Read-only over NFS.
    pub read_only: bool,
    /// Clients that may mount it; `None` for all.
    pub allowed: Option<Vec<ClientRange>>,
    /// Clients that may not mount it.
    pub denied: Vec<IpAddr>,
    /// Maximum bytes it may use; `None` for as many as the array has.
    pub limit_bytes: Option<u64>,
}

impl Options {
    /// Whether a client may mount it.
    pub fn admits(&self, client: IpAddr) -> bool {
        let allowed =
            self.allowed.as_ref().is_none_or(|ranges| ranges.iter().any(|range| range.contains(client)));
        allowed && !self.denied.contains(&client)
    }

    /// Whether it is exported by this version.
    pub fn serves(&self, version: ExportVersion) -> bool {
        match version {
            ExportVersion::V3 => self.nfs_v3,
            ExportVersion::V4_1 => self.nfs_v4_1,
        }
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            nfs_v3: true,
            nfs_v4_1: true,
            read_only: false,
            allowed: None,
            denied: Vec::new(),
            limit_bytes: None,
        }
    }
}

/// An export, as listed by MOUNT and in the root directory of version 4.1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exported {
    /// Name of the file system; its path is `/` followed by this.
    pub name: String,
    /// How it is exported.
    pub options: Options,
}
