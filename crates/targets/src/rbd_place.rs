//! An image of our own in a pool of a Ceph cluster.

use std::fmt;

use drivers::Secret;
use drivers::rados::rbd::{RbdConfig, RbdDriver};
use provision::Container;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::journaled_place::JournaledPlace;
use super::place::PATIENCE;
use super::rados_place::RadosPlace;
use super::removal::{RemovalContext, RemoveLeftError};

/// An image, with what is needed to reach it again. What is the prefix of objects' names for a pool is the image's name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RbdPlace(pub RadosPlace);

impl RbdPlace {
    /// The configuration of a driver for it, with the user's key if it is in no file.
    pub(super) fn config(&self, key: Option<Secret>) -> RbdConfig {
        RbdConfig::new(self.0.config(key), &self.0.prefix)
    }
}

impl JournaledPlace for RbdPlace {
    const SCHEME: &'static str = "rbd";

    fn name(&self) -> Option<&str> {
        Some(&self.0.prefix)
    }

    fn within(&self) -> Option<Container> {
        self.0.within()
    }
}

impl fmt::Display for RbdPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RBD image {}", self.config(None).spec())?;
        self.0.conf.as_ref().map_or(Ok(()), |conf| write!(f, ", of the cluster of {}", conf.display()))
    }
}

/// Removes what a dead run left behind.
pub(super) fn remove_left(place: &Value, cx: &mut RemovalContext<'_>) -> Result<(), RemoveLeftError> {
    let place: RbdPlace = cx.read(place)?;
    let driver = RbdDriver::new(place.config(None))?;
    cx.on_server(place.0.cluster(), || driver.remove(PATIENCE))
}
