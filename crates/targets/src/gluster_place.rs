//! A directory of our own in a Gluster volume.

use std::fmt;

use drivers::gluster::{GLUSTERD_PORT, GlusterConfig, GlusterDriver};
use drivers::tree::DirectoryTree;
use provision::Container;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::journaled_place::{JournaledPlace, run_name};
use super::place::PATIENCE;
use super::removal::{RemovalContext, RemoveLeftError};

/// Our directory in a volume, with what is needed to find it again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GlusterPlace {
    /// Name or address of a server of the volume.
    pub host: String,
    /// TCP port of its glusterd.
    pub port: u16,
    /// The volume.
    pub volume: String,
    /// Path within the volume of the directory that holds ours; empty for the volume's root.
    pub parent: String,
    /// Name of our directory, such as `manometer-abcdefgh`.
    pub directory: String,
    /// The tree of directories in ours: a removal enters no others.
    #[serde(default, with = "super::tree", skip_serializing_if = "DirectoryTree::is_flat")]
    pub tree: DirectoryTree,
}

impl GlusterPlace {
    /// The configuration of a driver for it.
    pub(super) fn config(&self) -> GlusterConfig {
        GlusterConfig {
            port: self.port,
            parent: self.parent.clone(),
            tree: self.tree,
            ..GlusterConfig::new(&self.host, &self.volume, &self.directory)
        }
    }
}

impl JournaledPlace for GlusterPlace {
    const SCHEME: &'static str = "gluster";

    fn name(&self) -> Option<&str> {
        Some(run_name(&self.directory))
    }

    fn within(&self) -> Option<Container> {
        Some(Container::Provisioned(self.volume.clone()))
    }
}

impl fmt::Display for GlusterPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { host, port, volume, parent, directory, .. } = self;
        let parent = if parent.is_empty() { String::new() } else { format!("/{parent}") };
        write!(f, "directory {directory} in {volume}{parent} on {host}")?;
        if *port == GLUSTERD_PORT { Ok(()) } else { write!(f, ":{port}") }
    }
}

/// Removes what a dead run left behind.
pub(super) fn remove_left(place: &Value, cx: &mut RemovalContext<'_>) -> Result<(), RemoveLeftError> {
    let place: GlusterPlace = cx.read(place)?;
    let server = format!("glusterd at {} port {}", place.host, place.port);
    let driver = GlusterDriver::new(place.config())?;
    cx.on_server(server, || driver.remove_all(PATIENCE))
}
