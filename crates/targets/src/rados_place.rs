//! Objects of our own in a pool of a Ceph cluster.

use std::fmt;
use std::path::PathBuf;

use drivers::Secret;
use drivers::rados::{RadosAccess, RadosConfig, RadosDriver};
use provision::Container;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::journaled_place::JournaledPlace;
use super::place::PATIENCE;
use super::removal::{RemovalContext, RemoveLeftError};

/// The prefix of our objects in a pool, with what is needed to reach it again; the key stays in its keyring.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RadosPlace {
    /// Name of the cluster, where given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster: Option<String>,
    /// The cluster's configuration file; `None` if it was in its usual place, or the monitors suffice.
    pub conf: Option<PathBuf>,
    /// Addresses of monitors, where given.
    pub monitors: Option<String>,
    /// The user, without `client.`.
    pub id: String,
    /// File with the user's key, if not where the configuration says.
    pub keyring: Option<PathBuf>,
    /// The pool.
    pub pool: String,
    /// The namespace within the pool.
    pub namespace: String,
    /// The prefix, such as `manometer-abcdefgh`; a dot follows.
    pub prefix: String,
}

impl RadosPlace {
    /// The configuration of a driver for it, with the user's key if it is in no file.
    pub(super) fn config(&self, key: Option<Secret>) -> RadosConfig {
        let usual = RadosAccess::default();
        let access = RadosAccess {
            cluster: self.cluster.clone().unwrap_or(usual.cluster),
            conf: self.conf.clone(),
            monitors: self.monitors.clone(),
            user: self.id.clone(),
            keyring: self.keyring.clone(),
            key,
        };
        RadosConfig {
            namespace: self.namespace.clone(),
            ..RadosConfig::new(access, &self.pool, &self.prefix)
        }
    }

    /// The cluster for people.
    pub(super) fn cluster(&self) -> String {
        let conf =
            self.conf.as_ref().map_or_else(|| "in its usual place".into(), |conf| conf.display().to_string());
        format!("the Ceph cluster of the configuration {conf}")
    }
}

impl JournaledPlace for RadosPlace {
    const SCHEME: &'static str = "rados";

    fn name(&self) -> Option<&str> {
        Some(&self.prefix)
    }

    fn within(&self) -> Option<Container> {
        Some(Container::Provisioned(self.pool.clone()))
    }
}

impl fmt::Display for RadosPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "objects {}.… in pool {}", self.prefix, self.pool)?;
        if !self.namespace.is_empty() {
            write!(f, ", namespace {}", self.namespace)?;
        }
        self.conf.as_ref().map_or(Ok(()), |conf| write!(f, ", of the cluster of {}", conf.display()))
    }
}

/// Removes what a dead run left behind.
pub(super) fn remove_left(place: &Value, cx: &mut RemovalContext<'_>) -> Result<(), RemoveLeftError> {
    let place: RadosPlace = cx.read(place)?;
    let driver = RadosDriver::new(place.config(None))?;
    cx.on_server(place.cluster(), || driver.remove_all(PATIENCE))
}
