//! Keys of our own on a memcached server.

use std::fmt;
use std::net::SocketAddr;

use drivers::memcached::{MemcachedConfig, MemcachedDriver};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::journaled_place::JournaledPlace;
use super::place::PATIENCE;
use super::removal::{RemovalContext, RemoveLeftError};

/// The prefix of our keys on a server. The server lists its keys, so they can be found again by it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemcachedPlace {
    /// The server.
    pub address: SocketAddr,
    /// The prefix, such as `manometer-abcdefgh`; a colon follows.
    pub prefix: String,
}

impl JournaledPlace for MemcachedPlace {
    const SCHEME: &'static str = "memcached";

    fn name(&self) -> Option<&str> {
        Some(&self.prefix)
    }
}

impl fmt::Display for MemcachedPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "keys {}:… on memcached at {}", self.prefix, self.address)
    }
}

/// Removes what a dead run left behind.
pub(super) fn remove_left(place: &Value, cx: &mut RemovalContext<'_>) -> Result<(), RemoveLeftError> {
    let place: MemcachedPlace = cx.read(place)?;
    let server = format!("the memcached server at {}", place.address);
    let driver = MemcachedDriver::new(MemcachedConfig::new(place.address, place.prefix))?;
    cx.on_server(server, || driver.remove_all(PATIENCE))
}
