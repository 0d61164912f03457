//! `--demo`: checks a simulated array in this process, on free loopback addresses.

use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::time::Duration;

use array::{AddressConfig, Array, Config};
use provision::{ApiSecret, Management, Trust};

use super::request::{ArrayRequest, CheckRequest, CheckSource};
use crate::array_places::{AddressPorts, SimulatedAddress};
use crate::error::{CheckError, While};

/// Capacity of the array, in bytes: what a demonstration writes must fit into this machine's memory.
const CAPACITY: u64 = 4 << 30;
/// Maximum bytes that one phase writes.
const DATASET: u64 = 1 << 30;

/// The array and its journal, which exist as long as the demonstration.
pub struct DemoArray {
    _array: Array,
    journal: Option<PathBuf>,
    /// The ports on which each address really listens.
    pub ports: AddressPorts,
}

impl DemoArray {
    /// Starts the array and points the request at it.
    ///
    /// # Errors
    /// No address or thread was available.
    pub fn start(request: &mut CheckRequest) -> Result<Self, CheckError> {
        // Its own network within 127.0.0.0/8, so that concurrent demonstrations do not collide.
        let (a, b) = (fastrand::u8(1..=250), fastrand::u8(0..=250));
        let address = |last: u8| Ipv4Addr::new(127, a, b, last);
        let config = Config {
            data: vec![
                AddressConfig::new(address(1), "data1.eth1", "subnet1"),
                AddressConfig::new(address(2), "data2.eth1", "subnet2"),
            ],
            capacity_bytes: CAPACITY,
            ..Config::loopback()
        };
        let array = Array::start(config).during("the simulated array cannot start")?;
        let fingerprint = array
            .fingerprint()
            .ok_or_else(|| CheckError::failure("the simulated array has no certificate"))?;
        let fingerprint = fingerprint.parse().map_err(CheckError::failure)?;
        request.source = CheckSource::Array(ArrayRequest {
            management: Management {
                address: array.management_address().to_string(),
                token: ApiSecret::new(array.token().reveal()),
                trust: Trust::Fingerprint(fingerprint),
                call_timeout: Duration::from_secs(10),
            },
            filesystem: None,
            bucket: None,
        });
        request.load.dataset = request.load.dataset.min(DATASET);
        // The array ends with this process: a killed demonstration needs no clean-up.
        let mut journal = None;
        if request.journal_dir.is_none() {
            let directory = request.scratch.join(format!("manometer-demo-{}-{a}-{b}", std::process::id()));
            journal = Some(directory.clone());
            request.journal_dir = Some(directory);
        }
        let ports = array.data().iter().flat_map(|data| {
            let address = SimulatedAddress {
                ip: data.ip,
                nfs_port: data.nfs_port,
                mount_port: data.mount_port,
                portmap_port: data.portmap_port,
                s3_port: data.s3_port,
            };
            address.ports()
        });
        Ok(Self { ports: ports.collect(), _array: array, journal })
    }
}

impl Drop for DemoArray {
    fn drop(&mut self) {
        if let Some(directory) = &self.journal {
            // Only this process knew about it.
            let _ = std::fs::remove_dir_all(directory);
        }
    }
}
