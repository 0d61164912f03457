//! `memcached://host[:port]`: values of a cache, set, fetched and removed whole.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use drivers::memcached::{MemcachedConfig, MemcachedDriver};
use drivers::{Announce, DriverError};
use experiment::{OptionHelp, TargetKind, Transport, UrlForm};
use metrics::ErrorKind;
use metrics::OpKind::{Delete, Get, Put};
use serde_json::Value;

use super::hosts::{address, host_and_port};
use super::memcached_place::{self, MemcachedPlace};
use super::options::{ADDRESSES, DIRECTORY, PAIRING, SOURCE, USE_ADDRESSES};
use super::paths::{named, shown};
use super::place::{Entered, OwnPlace, PATIENCE};
use super::{
    Look, OpenRequest, OpenTarget, Patience, Protocol, RemovalContext, RemoveLeftError, StageRunner,
    TargetError, paths,
};

/// The protocol of `memcached:`.
pub(super) struct Memcached;

/// Default port.
const PORT: u16 = 11211;

const OPTIONS: &[OptionHelp] = &[DIRECTORY, SOURCE, ADDRESSES, USE_ADDRESSES, PAIRING];

static KIND: TargetKind = TargetKind {
    objects: true,
    // A server's largest item is 1 MiB by default.
    usual_object_bytes: 4 << 10,
    remote: true,
    own_place: true,
    prefix_place: true,
    sink_discard: true,
    transport: Transport::Network,
    ..TargetKind::new("memcached", "memcached://host", UrlForm::Host, &[Put, Get, Delete], OPTIONS)
};

impl Protocol for Memcached {
    fn kind(&self) -> &'static TargetKind {
        &KIND
    }

    fn open(&self, request: &OpenRequest<'_>) -> Result<Box<dyn OpenTarget>, TargetError> {
        Ok(Box::new(open(request)?))
    }

    fn remove_left(&self, place: &Value, cx: &mut RemovalContext<'_>) -> Result<(), RemoveLeftError> {
        memcached_place::remove_left(place, cx)
    }
}

/// A server.
struct MemcachedTarget {
    driver: MemcachedDriver,
    place: OwnPlace,
    patience: Patience,
    /// Connections across all jobs.
    connections: u64,
}

fn open(request: &OpenRequest<'_>) -> Result<MemcachedTarget, TargetError> {
    let OpenRequest { target, url, options: given, workload, context } = *request;
    let (host, port) = host_and_port(&target.url, url.authority(), KIND.example)?;
    let server = SocketAddr::new(address(&target.url, &host)?, port.unwrap_or(PORT));
    let ways = paths::read(request, &[server.ip()])?;
    let kept = given.text("directory");
    let prefix = kept.map_or_else(|| context.place.object_name(), str::to_owned);
    // Address where keys are listed and removed.
    let first = ways.addresses.first();
    let address =
        first.map_or(server, |first| SocketAddr::new(first.ip, first.port.unwrap_or(server.port())));
    let config = MemcachedConfig {
        addresses: ways.addresses,
        paths: ways.paths,
        ..MemcachedConfig::new(address, prefix.clone())
    };
    let place = context.place_unless(kept.is_some(), || MemcachedPlace { address, prefix });
    let driver = MemcachedDriver::new(config)
        .map_err(|error| TargetError::Input(format!("target {}: {}", target.name, error.detail)))?;
    let connections = paths::connections(workload, workload.queue_depth);
    Ok(MemcachedTarget { driver, place, patience: context.patience, connections })
}

impl OpenTarget for MemcachedTarget {
    fn kind(&self) -> &'static TargetKind {
        &KIND
    }

    fn driver(&self) -> &dyn StageRunner {
        &self.driver
    }

    fn own_facts(&self) -> BTreeMap<String, String> {
        let config = self.driver.config();
        let version = self.driver.version(PATIENCE);
        let mut facts = named([
            ("protocol", "memcached's text protocol, a connection for each operation in flight".to_owned()),
            ("address", config.address.to_string()),
            ("key prefix", format!("{}:", config.prefix)),
            (
                "server",
                version.map_or_else(
                    |error| format!("unknown: {}", error.detail),
                    |text| format!("memcached {text}"),
                ),
            ),
        ]);
        facts.extend(named(paths::facts(&config.paths, &shown(&config.addresses), self.connections)));
        facts
    }

    fn place(&self) -> Option<&OwnPlace> {
        Some(&self.place)
    }

    fn look(&self, _writes: bool) -> Look {
        let config = self.driver.config();
        match self.driver.version(self.patience.connect) {
            Ok(version) => Look { seen: format!("memcached {version} answers"), ..Look::default() }
                .with_mtu(&config.paths, config.address),
            Err(error) => Look::refused(&error.into()),
        }
    }

    fn prepare(&self) -> Result<Entered, TargetError> {
        // A prefix needs no creation. Removal relies on listing keys, so whether they can be listed is checked before
        // there are any.
        let make = |announce: Announce<'_>| {
            match self.driver.adopt(self.patience.connect) {
                Err(error) if error.kind != ErrorKind::NotFound => return Err(error),
                _ => {}
            }
            announce()
        };
        self.place.enter(make, || self.driver.adopt(self.patience.connect))
    }

    fn adopt(&self) -> Result<(), TargetError> {
        Ok(self.driver.adopt(self.patience.connect)?)
    }

    fn remove_all(&self) -> Result<(), TargetError> {
        self.place
            .leave(|| -> Result<(), DriverError> { self.driver.remove_all(self.patience.answer).map(drop) })
    }

    fn first_bytes(&self, object: u64, len: u32) -> Option<Vec<u8>> {
        self.driver.beginning(object, len, PATIENCE).ok()
    }

    fn interface(&self) -> Result<String, paths::InterfaceError> {
        let config = self.driver.config();
        paths::interface(&config.paths, config.address.ip())
    }
}
