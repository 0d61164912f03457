//! A directory of our own on an NFS export.

use std::fmt;
use std::net::IpAddr;

use drivers::nfs::{NfsConfig, NfsDriver, NfsVersion};
use drivers::tree::DirectoryTree;
use provision::Container;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::journaled_place::{JournaledPlace, run_name};
use super::place::PATIENCE;
use super::removal::{RemovalContext, RemoveLeftError};

/// Our directory on an NFS export, with what is needed to find it again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NfsPlace {
    /// Version of the protocol.
    #[serde(default)]
    pub version: PlaceVersion,
    /// Address of the server.
    pub server: IpAddr,
    /// Path of the export, such as `/export`.
    pub export: String,
    /// Name of our directory in it, such as `manometer-abcdefgh`.
    pub directory: String,
    /// TCP port of NFS; `None` asks the portmapper.
    pub nfs_port: Option<u16>,
    /// TCP port of MOUNT; `None` asks the portmapper.
    pub mount_port: Option<u16>,
    /// TCP port of the portmapper.
    pub portmap_port: u16,
    /// User id of AUTH_SYS.
    pub uid: u32,
    /// Group id of AUTH_SYS.
    pub gid: u32,
    /// The tree of directories in ours: a removal enters no others.
    #[serde(default, with = "super::tree", skip_serializing_if = "DirectoryTree::is_flat")]
    pub tree: DirectoryTree,
}

/// A version of the protocol, as the journal records it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum PlaceVersion {
    /// Version 3.
    #[default]
    #[serde(rename = "3")]
    V3,
    /// Version 4.1.
    #[serde(rename = "4.1")]
    V4_1,
}

impl From<NfsVersion> for PlaceVersion {
    fn from(version: NfsVersion) -> Self {
        match version {
            NfsVersion::V3 => Self::V3,
            NfsVersion::V4_1 => Self::V4_1,
        }
    }
}

impl From<PlaceVersion> for NfsVersion {
    fn from(version: PlaceVersion) -> Self {
        match version {
            PlaceVersion::V3 => Self::V3,
            PlaceVersion::V4_1 => Self::V4_1,
        }
    }
}

impl JournaledPlace for NfsPlace {
    const SCHEME: &'static str = "nfs";

    fn name(&self) -> Option<&str> {
        Some(run_name(&self.directory))
    }

    fn within(&self) -> Option<Container> {
        self.export.strip_prefix('/').map(|name| Container::FileSystem(name.to_owned()))
    }

    /// A directory is the same one over either version. Another port is another server, and what one user makes another may
    /// not be able to remove: each of these has an entry of its own, so that the journal lists all of them.
    fn united(&self, other: &Self) -> Option<Self> {
        let is_same = self.is_same_server(other)
            && (self.uid, self.gid) == (other.uid, other.gid)
            && self.export == other.export
            && self.directory == other.directory
            && self.tree == other.tree;
        is_same.then(|| self.clone())
    }
}

impl fmt::Display for NfsPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "directory {} on {}:{}", self.directory, self.server, self.export)
    }
}

impl NfsPlace {
    /// Whether both are on one server. A port that is not named is taken for the usual one.
    fn is_same_server(&self, other: &Self) -> bool {
        let port = |place: &Self| place.nfs_port.unwrap_or(wire::nfs4::PORT);
        let asks = |place: &Self| place.nfs_port.is_none() && place.version == PlaceVersion::V3;
        self.server == other.server
            && port(self) == port(other)
            && (!(asks(self) && asks(other)) || self.portmap_port == other.portmap_port)
    }

    /// The port that distinguishes servers on the same address.
    fn port(&self) -> u16 {
        if self.version == PlaceVersion::V4_1 {
            return self.nfs_port.unwrap_or(wire::nfs4::PORT);
        }
        self.nfs_port.or(self.mount_port).unwrap_or(self.portmap_port)
    }
}

/// Removes what a dead run left behind.
pub(super) fn remove_left(place: &Value, cx: &mut RemovalContext<'_>) -> Result<(), RemoveLeftError> {
    let place: NfsPlace = cx.read(place)?;
    let server = format!("the NFS server at {} port {}", place.server, place.port());
    let driver = NfsDriver::new(NfsConfig {
        version: place.version.into(),
        nfs_port: place.nfs_port,
        mount_port: place.mount_port,
        portmap_port: place.portmap_port,
        uid: place.uid,
        gid: place.gid,
        tree: place.tree,
        ..NfsConfig::new(place.server, place.export, place.directory)
    })?;
    cx.on_server(server, || driver.remove_all(PATIENCE))
}
