//! NFS: latency and bandwidth, writing and reading.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use array::files::{Files, Options};
use array::nfs::{NfsEndpoint, NfsServer, NfsServerSettings};
use array::{Capacity, FaultHandle};
use drivers::nfs::{NfsConfig, NfsDriver};
use engine::DataShape;
use metrics::OpKind;

use crate::checks;
use crate::measure::{Target, WRITE_MAX};

/// Bytes per second at which 64 of the largest writes are 280 ms of work.
const BANDWIDTH: u64 = 30_000_000;

struct Nfs {
    server: NfsServer,
    faults: FaultHandle,
}

impl Nfs {
    fn new() -> Self {
        let files = Files::new(Capacity::new(4 << 30));
        files.create("fs", Options::default()).unwrap();
        let faults = FaultHandle::default();
        let endpoint =
            NfsEndpoint { ip: Ipv4Addr::LOCALHOST.into(), nfs_port: 0, mount_port: 0, portmap_port: 0 };
        let server =
            NfsServer::start(&Arc::clone(&files), &faults, &[endpoint], NfsServerSettings::default())
                .unwrap();
        Self { server, faults }
    }
}

impl Target for Nfs {
    type Driver = NfsDriver;
    const WRITE: OpKind = OpKind::Write;
    const READ: OpKind = OpKind::Read;

    fn driver(&self, place: &str) -> NfsDriver {
        let endpoint = self.server.endpoints()[0];
        let config = NfsConfig {
            portmap_port: endpoint.portmap_port,
            connections_per_worker: 2,
            ..NfsConfig::new(endpoint.ip, "/fs", place)
        };
        let driver = NfsDriver::new(config).unwrap();
        driver.prepare(Duration::from_secs(10)).unwrap();
        driver
    }

    fn faults(&self) -> &FaultHandle {
        &self.faults
    }

    fn shape(&self, write_bytes: u64) -> DataShape {
        DataShape::Files { file_bytes: 16 * write_bytes, block_bytes: write_bytes }
    }

    fn read_bytes(&self, write_bytes: u64) -> Option<u64> {
        Some(write_bytes)
    }
}

#[test]
fn a_fixed_latency_is_the_median_that_is_measured() {
    checks::fixed_latency(&Nfs::new());
}

#[test]
fn the_quantiles_of_a_distribution_are_those_that_are_measured() {
    checks::distribution(&Nfs::new());
}

#[test]
fn a_bandwidth_is_the_throughput_that_is_measured() {
    checks::bandwidth(&Nfs::new(), WRITE_MAX, BANDWIDTH);
}
